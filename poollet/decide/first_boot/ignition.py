"""guestConfig as an Ignition config that merges the user's. Pure, and the same bytes for the same machine.

field                  Ignition
---------------------  -----------------------------------------------------------------------------
the user's config      ignition.config.merge: what it says wins, and its lists are appended to these
host name              /etc/hostname
sshAuthorizedKeys      keys of the user `core`, whom the images of CoreOS and Flatcar have
users                  passwd.users; `sudo` is a file of sudoers
runCommands            a script, and a unit of systemd that runs it once
timezone               the link /etc/localtime
packages               none: refused before

The user's config is a child of ours, as Ignition calls it, each with a version of its own. It stays as it is, but for YAML, which guests do
not read.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping
from typing import Any

import msgspec

from schemas.model.compute import GuestConfig, GuestUser
from schemas.reader import Unreadable, read

VERSION = "3.0.0"  # the first one that merges: guests read it and all later ones
DEFAULT_USER = "core"
SCRIPT, DONE = "/etc/gitvirt/first-boot", "/var/lib/gitvirt/first-boot-done"
UNIT = f"""[Unit]
Description=Commands of guestConfig, at the first boot
ConditionPathExists=!{DONE}
Wants=network-online.target
After=network-online.target

[Service]
Type=oneshot
RemainAfterExit=yes
ExecStart={SCRIPT}
ExecStartPost=/usr/bin/mkdir -p {DONE}

[Install]
WantedBy=multi-user.target
"""
Node = dict[str, Any]


def wrap_ignition(hostname: str, config: GuestConfig, own: bytes) -> bytes | None:
    """None for data that is not an Ignition config of version 3."""
    child = to_json(own)
    if child is None:
        return None
    result: Node = {
        "ignition": {"version": VERSION, "config": {"merge": [{"source": data_url(child)}]}},
        "passwd": {"users": [render_default_user(config), *map(render_user, config.users)]},
        "storage": {"files": [render_file("/etc/hostname", f"{hostname}\n", 0o644), *render_files(config)]},
    }
    if config.timezone:
        target = f"/usr/share/zoneinfo/{config.timezone}"
        result["storage"]["links"] = [{"path": "/etc/localtime", "target": target, "overwrite": True}]
    if config.run_commands:
        unit = {"name": "gitvirt-first-boot.service", "enabled": True, "contents": UNIT}
        result["systemd"] = {"units": [unit]}
    return msgspec.json.encode(result)


def to_json(own: bytes) -> bytes | None:
    """JSON as it is; YAML turned into it."""
    try:
        values = read(own.decode())
    except UnicodeDecodeError:
        return None
    if isinstance(values, Unreadable) or len(values) != 1 or not isinstance(values[0], Mapping):
        return None
    ignition = values[0].get("ignition")
    version = ignition.get("version") if isinstance(ignition, Mapping) else None
    if not isinstance(version, str) or not version.startswith("3."):
        return None
    return own if own.lstrip()[:1] == b"{" else msgspec.json.encode(values[0])


def render_default_user(config: GuestConfig) -> Node:
    keys = {"sshAuthorizedKeys": list(config.ssh_authorized_keys)} if config.ssh_authorized_keys else {}
    return {"name": DEFAULT_USER, **keys}


def render_user(user: GuestUser) -> Node:
    """Without a password, so that only keys log in."""
    written = {
        "sshAuthorizedKeys": list(user.ssh_authorized_keys),
        "groups": list(user.groups),
        "shell": user.shell,
    }
    return {"name": user.name, **{name: value for name, value in written.items() if value}}


def render_files(config: GuestConfig) -> list[Node]:
    """Rules of sudo, and the script of the commands."""
    files = [
        render_file(f"/etc/sudoers.d/90-gitvirt-{user.name}", f"{user.name} ALL=(ALL) NOPASSWD:ALL\n", 0o440)
        for user in config.users
        if user.sudo
    ]
    if config.run_commands:
        body = "".join(f"{command}\n" for command in config.run_commands)
        files.append(render_file(SCRIPT, f"#!/bin/sh\n{body}", 0o700))
    return files


def render_file(path: str, text: str, mode: int) -> Node:
    contents = {"source": data_url(text.encode())}
    return {"path": path, "mode": mode, "overwrite": True, "contents": contents}


def data_url(data: bytes) -> str:
    return f"data:;base64,{base64.b64encode(data).decode()}"
