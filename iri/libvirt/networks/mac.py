"""MAC addresses of interfaces: the one a spec brings, or one that follows from the machine's id and never changes. Pure."""

from __future__ import annotations

import hashlib
import re

from iri.errors import InvalidArgument

MAC = re.compile(r"[0-9a-f]{2}(:[0-9a-f]{2}){5}")
PREFIX = "52:54"  # locally administered, and known as a virtual machine's
MULTICAST = 0x01
RESERVED = "fe:"  # libvirt gives it to the host's end of the wire


def mac_address(machine_id: str, interface_name: str, asked: str) -> str:
    if not asked:
        digest = hashlib.sha256(f"{machine_id}/{interface_name}".encode()).digest()
        return ":".join((PREFIX, *(f"{octet:02x}" for octet in digest[:4])))
    mac = asked.lower().replace("-", ":")
    if not MAC.fullmatch(mac):
        raise InvalidArgument("attribute mac is no MAC address such as 52:54:00:12:34:56")
    if int(mac[:2], 16) & MULTICAST or mac.startswith(RESERVED) or mac == "00:00:00:00:00:00":
        raise InvalidArgument(
            f"attribute mac: {mac} cannot be an interface's own; 52:54:00 is a good beginning"
        )
    return mac
