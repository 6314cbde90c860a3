"""Which networks the host reaches, from the kernel's routing table: an isolated network must not overlap any of them. Pure.

The host gets an address in each isolated network with a subnet. If that subnet were one that the host reaches already, its packets
would go to the guests from then on. Only IPv4: isolated networks have no other addresses.
"""

from __future__ import annotations

import ipaddress
import struct
from collections.abc import Iterator

import msgspec

TABLE = "/proc/net/route"
UP = 0x1


class Route(msgspec.Struct, frozen=True):
    """A network that the host reaches, and the device through which it does."""

    network: ipaddress.IPv4Network
    device: str


def routes(table: str) -> Iterator[Route]:
    """All routes but the default route, which covers every network."""
    for line in table.splitlines()[1:]:
        device, destination, _, flags, *_, mask = line.split()[:8]
        network = ipaddress.IPv4Network((_address(destination), _address(mask)))
        if int(flags, 16) & UP and network.prefixlen:
            yield Route(network, device)


def overlapping_route(network: str, table: str, own_device: str) -> Route | None:
    """The first route through another device that overlaps the network."""
    desired = ipaddress.IPv4Network(network)
    return next(
        (route for route in routes(table) if route.device != own_device and route.network.overlaps(desired)),
        None,
    )


def _address(text: str) -> str:
    """The kernel writes addresses as hexadecimal numbers in the byte order of the machine."""
    return str(ipaddress.IPv4Address(struct.pack("=I", int(text, 16))))
