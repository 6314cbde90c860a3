"""guestConfig as a cloud-config, and several parts for cloud-init as one text. Pure, and the same bytes for the same machine.

The user's own part comes first, then ours. Its header tells cloud-init how to merge: lists are appended to the user's, and where both
have a value, the user's stays. Without the header, cloud-init would replace the user's lists by ours.

Parts are in base64: cloud-init would damage characters beyond ASCII in any other encoding.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterable

from schemas.model.compute import GuestConfig, GuestUser
from schemas.model.user_data import CLOUD_CONFIG

MERGE_TYPE = "list(append)+dict(no_replace,recurse_list)+str()"
SUDO = "ALL=(ALL) NOPASSWD:ALL"
LINE = 76  # characters of base64 in a line of mail
ESCAPES = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\t": "\\t"}


def render_cloud_config(config: GuestConfig) -> bytes:
    """In the order of the schema, and without the host name, which is meta-data. Users come beside the image's default user."""
    lines = ["#cloud-config"]
    lines += render_list("ssh_authorized_keys", config.ssh_authorized_keys)
    if config.users:
        lines += ["users:", "  - default"]
        for user in config.users:
            lines += render_user(user)
    if config.packages:
        lines += ["package_update: true", *render_list("packages", config.packages)]
    lines += render_list("runcmd", config.run_commands)
    if config.timezone:
        lines.append(f"timezone: {quote(config.timezone)}")
    return "".join(f"{line}\n" for line in lines).encode()


def render_user(user: GuestUser) -> list[str]:
    """The password is locked, as cloud-init does by default: said here, because the default is another program's."""
    lines = [f"  - name: {quote(user.name)}", "    lock_passwd: true"]
    if user.shell:
        lines.append(f"    shell: {quote(user.shell)}")
    if user.sudo:
        lines.append(f"    sudo: {quote(SUDO)}")
    if user.groups:
        lines.append(f"    groups: [{', '.join(map(quote, user.groups))}]")
    return [*lines, *render_list("ssh_authorized_keys", user.ssh_authorized_keys, "    ")]


def render_list(name: str, values: Iterable[str], indent: str = "") -> list[str]:
    """Nothing for an empty list: an empty key would replace a value of the image."""
    items = [f"{indent}  - {quote(value)}" for value in values]
    return [f"{indent}{name}:", *items] if items else []


def quote(text: str) -> str:
    """A YAML scalar that every version of YAML reads as this text."""
    return f'"{"".join(map(escape, text))}"'


def escape(character: str) -> str:
    if character in ESCAPES:
        return ESCAPES[character]
    return character if character.isprintable() else f"\\U{ord(character):08x}"


def combine_parts(own: bytes, content_type: str, ours: bytes) -> bytes:
    """An archive of two parts. Its boundary follows from them, so that it is in neither."""
    boundary = f"gitvirt-{hashlib.sha256(own + ours).hexdigest()[:24]}"
    parts = (
        render_part(boundary, own, content_type),
        render_part(boundary, ours, CLOUD_CONFIG, f"X-Merge-Type: {MERGE_TYPE}"),
    )
    head = f'Content-Type: multipart/mixed; boundary="{boundary}"\nMIME-Version: 1.0\n\n'
    return f"{head}{''.join(parts)}--{boundary}--\n".encode()


def render_part(boundary: str, data: bytes, content_type: str, *headers: str) -> str:
    encoded = base64.b64encode(data).decode()
    body = "\n".join(encoded[at : at + LINE] for at in range(0, len(encoded), LINE))
    lines = [
        f"--{boundary}",
        f'Content-Type: {content_type}; charset="utf-8"',
        "Content-Transfer-Encoding: base64",
        *headers,
    ]
    return "\n".join((*lines, "", body, ""))
