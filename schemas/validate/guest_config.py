"""First-boot data that is in the repository: public keys are keys, secrets are none, and a guest can read the whole.

    GV337   something in it looks like a secret
    GV338   an ssh key is malformed, or is the name of a file
    GV339   userData is in no language that guests read, or contradicts itself
    GV352   two sources of one thing: userData and ignitionRef, a field and userData, a user twice
    GV353   all of it is larger than first-boot data may be
    GV355   a time zone that is in no list
    GV356   a user that each image has

No message quotes a value. The content of Secrets is not known here: the poollet reports what it cannot combine with that.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Hashable, Iterator, Mapping, Sequence
from functools import cache
from importlib.resources import files

from schemas.model import Machine
from schemas.model.compute import GuestConfig
from schemas.model.user_data import DataFormat, UserDataLanguage, detect_language
from schemas.problem import Severity
from schemas.reader import Unreadable, Value, read
from schemas.spelling import nearest
from schemas.validate.finding import Finding
from schemas.validate.secret_texts import find_secrets
from schemas.validate.tree import AnyDeclaration

AT = "/spec/guestConfig"
LARGEST_BYTES = 65536
KEY_TYPES = (
    "ssh-ed25519",
    "ssh-rsa",
    "ecdsa-sha2-nistp256",
    "ecdsa-sha2-nistp384",
    "ecdsa-sha2-nistp521",
    "sk-ssh-ed25519@openssh.com",
    "sk-ecdsa-sha2-nistp256@openssh.com",
)
KEY = re.compile(
    rf"(?:^|[\s,\"])(?P<type>{'|'.join(map(re.escape, KEY_TYPES))})\s+(?P<data>[A-Za-z0-9+/=]+)(?:\s|$)"
)
PASSWORDS = ("passwd", "plain_text_passwd", "hashed_passwd")
KEY_HINT = "write the line of the .pub file, such as `ssh-ed25519 AAAA... anna@laptop`"
SECRET_HINT = "put it into a Secret (`gitvirt secret create`) that ignitionRef names, and change the secret itself if it was pushed"


def findings(entry: AnyDeclaration, machine: Machine) -> Iterator[Finding]:
    """GV337 to GV339, GV352, GV353, GV355, GV356."""
    config = machine.spec.guest_config
    if not config.has_settings and not config.user_data:
        return
    keys, texts = dict(list_keys(config)), dict(list_texts(config))
    # A key that OpenSSH accepts is a public one, and nearly every machine has some.
    others = {pointer: key for pointer, key in keys.items() if why_malformed(key)}
    for pointer, text in (texts | others).items():
        for line, what in find_secrets(text):
            where = f" in line {line + 1} of the text" if "\n" in text.strip() else ""
            message = f"this looks like {what}{where}, and everyone who can read the repo can read it"
            yield entry.finding("GV337", pointer, message, SECRET_HINT)
    yield from of_keys(entry, config)
    yield from of_users(entry, config)
    yield from of_time_zone(entry, config)
    yield from of_user_data(entry, machine)
    size = sum(len(text.encode()) for text in (texts | keys).values())
    if size > LARGEST_BYTES:
        message = f"first-boot data has {size:,} bytes in all, and may have {LARGEST_BYTES:,}"
        yield entry.finding("GV353", AT, message, "fetch large files in a command of the first boot")


def list_texts(config: GuestConfig) -> Iterator[tuple[str, str]]:
    """Every text in a language of the guest, by its pointer."""
    yield f"{AT}/userData", config.user_data
    for position, command in enumerate(config.run_commands):
        yield f"{AT}/runCommands/{position}", command


def list_keys(config: GuestConfig) -> Iterator[tuple[str, str]]:
    """Keys of the default user and of the others, by their pointers."""
    for position, key in enumerate(config.ssh_authorized_keys):
        yield f"{AT}/sshAuthorizedKeys/{position}", key
    for number, user in enumerate(config.users):
        for position, key in enumerate(user.ssh_authorized_keys):
            yield f"{AT}/users/{number}/sshAuthorizedKeys/{position}", key


def of_keys(entry: AnyDeclaration, config: GuestConfig) -> Iterator[Finding]:
    """GV338. A key that looks like a secret has its own finding."""
    for pointer, key in list_keys(config):
        if (wrong := why_malformed(key)) and not any(find_secrets(key)):
            yield entry.finding("GV338", pointer, f"this is not a public ssh key: {wrong}", KEY_HINT)


def why_malformed(key: str) -> str:
    """Empty for a key that OpenSSH accepts, also with options before it."""
    if "\n" in key.strip():
        return "it has several lines; each key is an entry of its own"
    found = KEY.search(key.strip())
    if found is None:
        if key.strip().startswith("ssh-dss"):
            return "OpenSSH accepts no DSA keys any more"
        if key.strip().endswith(".pub") or key.startswith(("/", "~")):
            return "it is the name of a file, not its content"
        return f"it has no type and data ({KEY_TYPES[0]}, {KEY_TYPES[1]}, ...)"
    name = found["type"].encode()
    try:
        data = base64.b64decode(found["data"], validate=True)
    except (binascii.Error, ValueError):
        return "its data is not base64; a part of it may be missing"
    if data[:4] != len(name).to_bytes(4, "big") or data[4 : 4 + len(name)] != name:
        return f"its data is not of a key of type {found['type']}"
    return "" if is_whole(data) else "its data ends too early; a part of it is missing"


def is_whole(data: bytes) -> bool:
    """Whether the data consists of fields, each behind its length, and of more than the type."""
    at, fields = 0, 0
    while at < len(data):
        size = int.from_bytes(data[at : at + 4], "big")
        at, fields = at + 4 + size, fields + 1
    return at == len(data) and fields > 1


def of_users(entry: AnyDeclaration, config: GuestConfig) -> Iterator[Finding]:
    """GV352 for a name that two users have, GV356 for root."""
    seen: set[str] = set()
    for position, user in enumerate(config.users):
        if user.name in seen:
            message = f"another entry of users has the name {user.name}"
            yield entry.finding("GV352", f"{AT}/users/{position}/name", message, "remove one of them")
        if user.name == "root":
            message = (
                "each image has the user root: these keys would log in as root, and its password is locked"
            )
            hint = "name a user of your own, with `sudo: true`"
            yield entry.finding("GV356", f"{AT}/users/{position}/name", message, hint, Severity.WARNING)
        seen.add(user.name)


def of_time_zone(entry: AnyDeclaration, config: GuestConfig) -> Iterator[Finding]:
    """GV355. A warning: a guest may know a zone that is newer than the list."""
    if config.timezone and config.timezone not in time_zones():
        near = nearest(config.timezone, time_zones())
        hint = f"did you mean {near}?" if near else "`timedatectl list-timezones` lists them"
        message = (
            f"{config.timezone} is not in the list of time zones; a guest that does not know it stays in UTC"
        )
        yield entry.finding("GV355", f"{AT}/timezone", message, hint, Severity.WARNING)


@cache
def time_zones() -> tuple[str, ...]:
    """Names of the IANA's time zones, also the old ones. A file of ours, because that of the computer differs from one to the next."""
    return tuple((files("schemas") / "time_zones.txt").read_text("ascii").split())


def of_user_data(entry: AnyDeclaration, machine: Machine) -> Iterator[Finding]:
    """GV339 and GV352: one source, in a language that can be combined with the other fields."""
    config, pointer = machine.spec.guest_config, f"{AT}/userData"
    if not config.user_data:
        return
    if machine.spec.ignition_ref is not None:
        message = f"ignitionRef names Secret {machine.spec.ignition_ref.name} as first-boot data too"
        yield entry.finding("GV352", pointer, message, "remove one of them; move userData into the Secret")
    language = detect_language(config.user_data.encode())
    yield from of_language(entry, config, language)
    body = read_mapping(config.user_data) if language.content_type == "text/cloud-config" else None
    if isinstance(body, str):
        message = f"userData begins with #cloud-config and is not a mapping in YAML: {body}"
        yield entry.finding(
            "GV339", pointer, message, "correct it; `cloud-init schema --config-file FILE` checks more"
        )
    elif body is not None:
        if "timezone" in body and config.timezone:
            message = "userData sets timezone too, and counts"
            yield entry.finding("GV352", f"{AT}/timezone", message, "remove one of them")
        if (place := find_password(body)) and not any(find_secrets(config.user_data)):
            message = f"{place} of the cloud-config is a password as it is written, and everyone who can read the repo can read it"
            yield entry.finding("GV337", pointer, message, SECRET_HINT)


def find_password(body: Mapping[Hashable, Value]) -> str:
    """Where a cloud-config sets a password; empty where it sets none. cloud-init expands nothing in it, so that what looks like a reference to an
    environment or a file, as `find_secrets` allows it in any text, is the password itself. A text with jinja is another language."""
    users = body.get("users")
    places: list[tuple[str, Mapping[Hashable, Value], Sequence[str]]] = [("", body, ("password",))]
    for number, user in enumerate(users if isinstance(users, list) else ()):
        if isinstance(user, Mapping):
            places.append((f"users[{number}].", user, PASSWORDS))
    for where, fields, names in places:
        for name in names:
            value = fields.get(name)
            if isinstance(value, str) and value.strip("!*"):
                return where + name
    return ""


def of_language(entry: AnyDeclaration, config: GuestConfig, language: UserDataLanguage) -> Iterator[Finding]:
    """GV339: what no guest reads, and what cannot be combined."""
    pointer = f"{AT}/userData"
    if language.format is DataFormat.ARCHIVE and config.has_settings:
        message = "userData is an archive (MIME), so the other fields of guestConfig cannot be added to it"
        yield entry.finding(
            "GV339", pointer, message, "move the other fields into the archive, or write one part"
        )
    if language.format is not DataFormat.IGNITION:
        return
    body = read_mapping(config.user_data)
    ignition = body.get("ignition") if isinstance(body, Mapping) else None
    version = ignition.get("version") if isinstance(ignition, Mapping) else None
    if isinstance(body, Mapping) and "variant" in body and ignition is None:
        message = "userData is Butane, which guests do not read"
        yield entry.finding("GV339", pointer, message, "translate it with `butane --strict`")
    elif not isinstance(version, str):
        message = "userData is in no language that guests read"
        hint = "begin with #cloud-config or #!, or write Ignition (`ignition: {version: 3.4.0}`)"
        yield entry.finding("GV339", pointer, message, hint)
    elif config.has_settings and not version.startswith("3."):
        message = f"the other fields of guestConfig cannot be added to Ignition {version[:20]}"
        yield entry.finding("GV339", pointer, message, "write Ignition of version 3")
    elif config.packages:
        message = "userData is Ignition, which installs no packages"
        yield entry.finding("GV339", f"{AT}/packages", message, "remove packages")


def read_mapping(text: str) -> Mapping[Hashable, Value] | str:
    """The only document of a text, or what is wrong with it, without a word of it. An empty one is an empty mapping."""
    values = read(text)
    if isinstance(values, Unreadable):
        return f"line {values.line} of the text cannot be read" if values.line else "it cannot be read"
    if len(values) > 1:
        return "it has several documents"
    value = values[0] if values else None
    if value is None:
        return {}
    return value if isinstance(value, dict) else "it is a list or a text"
