"""What the operator allows specs to ask of the host's networks. Frozen; what is not named is not allowed. Pure.

Isolated networks are allowed by default, because they connect guests with one another and with the host alone. Everything that leads
out of the host (a network of the operator, a bridge, NAT) has to be named. The policy is read at each request and at each start of a
guest, so a stricter one reaches existing machines with their next start.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Mapping

import msgspec

LAST_VLAN = 4094
BRIDGE = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,14}")  # the kernel's limit for a device's name
PRIVATE_SUBNETS = ("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16")


class Bridge(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, rename="camel"):
    """`vlans`: numbers and ranges such as "100-199" that interfaces may ask for. Without a VLAN an interface is untagged."""

    vlans: tuple[str, ...] = ()
    openvswitch: bool = False

    def __post_init__(self) -> None:
        for text in self.vlans:
            span(text)

    def has_vlan(self, vlan: int) -> bool:
        """Whether interfaces on this bridge may ask for that VLAN. None are allowed by default."""
        return any(vlan in span(text) for text in self.vlans)


class OnDemand(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, rename="camel"):
    """Isolated networks. `subnets`: the ranges for networks with addresses; the host gets an address in each network."""

    allowed: bool = True
    nat: bool = False  # whether guests may reach other networks through the host, with its address
    subnets: tuple[str, ...] = PRIVATE_SUBNETS
    most: int = 256

    def __post_init__(self) -> None:
        if self.most < 0:
            raise ValueError("onDemand.most must not be negative")
        for subnet in self.subnets:
            ipaddress.IPv4Network(subnet)

    def has_subnet(self, subnet: ipaddress.IPv4Network) -> bool:
        """Whether the whole subnet lies in one of the allowed ranges."""
        return any(subnet.subnet_of(ipaddress.IPv4Network(allowed)) for allowed in self.subnets)


class NetworkPolicy(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, rename="camel"):
    """`named`: libvirt networks that the operator defined. `bridges`: devices of the host, by name."""

    named: tuple[str, ...] = ()
    bridges: Mapping[str, Bridge] = {}
    on_demand: OnDemand = OnDemand()

    def __post_init__(self) -> None:
        for name in self.bridges:
            if not BRIDGE.fullmatch(name):
                raise ValueError(f"invalid bridge name {name!r}")


def span(text: str) -> range:
    """Parses `7` or `7-9`. Raises ValueError for other text and for numbers that no VLAN has."""
    match = re.fullmatch(r"(\d{1,4})(?:-(\d{1,4}))?", text, re.ASCII)
    first = int(match[1]) if match else 0
    last = int(match[2] or first) if match else 0
    if not 1 <= first <= last <= LAST_VLAN:
        raise ValueError(
            f"invalid VLAN {text!r}: write a number from 1 to {LAST_VLAN}, or a range such as 100-199"
        )
    return range(first, last + 1)
