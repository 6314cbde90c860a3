"""What the operator lets specs ask of the host's networks. Frozen, and nothing is allowed that is not named. Pure."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Mapping

import msgspec

LAST_VLAN = 4094
BRIDGE = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,14}")  # what the kernel takes for a device's name
PRIVATE_SUBNETS = ("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16")


class Bridge(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, rename="camel"):
    """`vlans`: numbers and spans such as "100-199" that an interface may ask for. Without any, it is plugged in untagged."""

    vlans: tuple[str, ...] = ()
    openvswitch: bool = False

    def __post_init__(self) -> None:
        for text in self.vlans:
            span(text)

    def has_vlan(self, vlan: int) -> bool:
        return any(vlan in span(text) for text in self.vlans)


class OnDemand(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, rename="camel"):
    """Isolated networks. `subnets`: where those that want addresses may lie; the host gets an address of each."""

    allowed: bool = True
    nat: bool = False  # a way out through the host, as the host
    subnets: tuple[str, ...] = PRIVATE_SUBNETS
    most: int = 256

    def __post_init__(self) -> None:
        if self.most < 0:
            raise ValueError("`most` networks cannot be fewer than none")
        for subnet in self.subnets:
            ipaddress.IPv4Network(subnet)

    def has_subnet(self, subnet: ipaddress.IPv4Network) -> bool:
        return any(subnet.subnet_of(ipaddress.IPv4Network(allowed)) for allowed in self.subnets)


class NetworkPolicy(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, rename="camel"):
    """`named`: networks of libvirt that are the operator's own. `bridges`: devices of the host, by name."""

    named: tuple[str, ...] = ()
    bridges: Mapping[str, Bridge] = {}
    on_demand: OnDemand = OnDemand()

    def __post_init__(self) -> None:
        for name in self.bridges:
            if not BRIDGE.fullmatch(name):
                raise ValueError(f"{name!r} is no name of a bridge")


def span(text: str) -> range:
    """`7` or `7-9`. ValueError when it is neither, or no VLAN has such a number."""
    match = re.fullmatch(r"(\d{1,4})(?:-(\d{1,4}))?", text, re.ASCII)
    first = int(match[1]) if match else 0
    last = int(match[2] or first) if match else 0
    if not 1 <= first <= last <= LAST_VLAN:
        raise ValueError(f"{text!r} is no VLAN from 1 to {LAST_VLAN} and no span of such")
    return range(first, last + 1)
