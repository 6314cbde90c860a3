"""Isolated networks: when two interfaces share one, and what libvirt calls it. Pure.

All names follow from the identity by a digest: an identity can be any text, a device's name has at most 15 bytes. So the same
identity has the same network after a restart, and nothing has to be remembered. Machines of different owners that name the same
identity share a network: identities are the fleet's to give.

Limits: decides nothing about policy. What a spec may ask for is `interface_request`'s to check before.
"""

from __future__ import annotations

import hashlib
import ipaddress
import uuid

import msgspec

NAMESPACE = uuid.UUID("b1b4a6f0-37cb-5c8e-8f0c-0f5c0a4d6a77")
NAME_PREFIX, BRIDGE_PREFIX = "gitvirt-", "gv"
DIGITS = 12
SPAN = 0xFFFF  # libvirt refuses a DHCP range that crosses a /16


class Subnet(msgspec.Struct, frozen=True, kw_only=True):
    """The addresses of an isolated network. The host takes the first one."""

    network: str
    dhcp: bool = True
    nat: bool = False

    @property
    def host(self) -> str:
        """The host's own address: the first of the network."""
        return str(ipaddress.IPv4Network(self.network).network_address + 1)

    @property
    def range(self) -> tuple[str, str]:
        """The first and the last address that DHCP gives to guests."""
        network = ipaddress.IPv4Network(self.network)
        first = int(network.network_address) + 2
        last = min(int(network.broadcast_address) - 1, first | SPAN)
        return str(ipaddress.IPv4Address(first)), str(ipaddress.IPv4Address(last))


class IsolatedNetwork(msgspec.Struct, frozen=True, kw_only=True):
    """Two interfaces of one identity share the network."""

    identity: str
    subnet: Subnet | None = None  # None: for guests alone, without an address of the host

    @property
    def name(self) -> str:
        return NAME_PREFIX + self._digest

    @property
    def bridge(self) -> str:
        return BRIDGE_PREFIX + self._digest

    @property
    def uuid(self) -> str:
        return str(uuid.uuid5(NAMESPACE, self.identity))

    @property
    def _digest(self) -> str:
        return hashlib.sha256(self.identity.encode()).hexdigest()[:DIGITS]
