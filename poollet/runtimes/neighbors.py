"""Who has an address on the networks of this host: the kernel's neighbor table, for IPv4 and IPv6 alike, asked over netlink.

Parsing is pure. The table has an address for seconds after a packet was exchanged with it; an address of this host itself, and one behind a
router, is not in it.
"""

from __future__ import annotations

import ipaddress
import socket
import struct
from collections.abc import Iterator

GET_NEIGHBORS, NEW_NEIGHBOR, DONE, ERROR = 30, 28, 3, 2  # of rtnetlink
REQUEST, DUMP = 1, 0x300
HEADER, NEIGHBOR, ATTRIBUTE = struct.Struct("=IHHII"), struct.Struct("=BBHiHBB"), struct.Struct("=HH")
ADDRESS, HARDWARE_ADDRESS = 1, 2  # attributes of a neighbor
RECEIVE_BYTES = 1 << 16
SECONDS = 5.0


def find_hardware_addresses(address: str) -> frozenset[str]:
    """The MAC addresses that the kernel has for it, on any interface; empty for one that is not a neighbor."""
    wanted = ipaddress.ip_address(address)
    return frozenset(mac for neighbor, mac in list_neighbors() if neighbor == wanted)


def list_neighbors() -> Iterator[tuple[ipaddress.IPv4Address | ipaddress.IPv6Address, str]]:
    """Raises OSError."""
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, socket.NETLINK_ROUTE) as kernel:
        kernel.settimeout(SECONDS)
        size = HEADER.size + NEIGHBOR.size
        kernel.send(
            HEADER.pack(size, GET_NEIGHBORS, REQUEST | DUMP, 1, 0) + NEIGHBOR.pack(0, 0, 0, 0, 0, 0, 0)
        )
        is_done = False
        while not is_done:
            for kind, body in parse_messages(kernel.recv(RECEIVE_BYTES)):
                is_done |= kind in (DONE, ERROR)
                if kind == NEW_NEIGHBOR and (found := parse_neighbor(body)) is not None:
                    yield found


def parse_messages(data: bytes) -> Iterator[tuple[int, bytes]]:
    """Type and body of each netlink message. One that is cut off ends the list."""
    at = 0
    while at + HEADER.size <= len(data):
        size, kind, *_ = HEADER.unpack_from(data, at)
        if size < HEADER.size or at + size > len(data):
            return
        yield kind, data[at + HEADER.size : at + size]
        at += align(size)


def parse_neighbor(body: bytes) -> tuple[ipaddress.IPv4Address | ipaddress.IPv6Address, str] | None:
    """None for an entry without both addresses, as one that did not answer."""
    found: dict[int, bytes] = {}
    at = NEIGHBOR.size
    while at + ATTRIBUTE.size <= len(body):
        size, kind = ATTRIBUTE.unpack_from(body, at)
        if size < ATTRIBUTE.size:
            break
        found[kind] = body[at + ATTRIBUTE.size : at + size]
        at += align(size)
    address, hardware = found.get(ADDRESS, b""), found.get(HARDWARE_ADDRESS, b"")
    if len(address) not in (4, 16) or len(hardware) != 6:
        return None
    return ipaddress.ip_address(address), hardware.hex(":")


def align(size: int) -> int:
    """Messages and attributes begin at multiples of four."""
    return (size + 3) & ~3
