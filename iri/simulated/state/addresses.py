"""Addresses on simulated networks: a range for each network, the lowest free one to who asks.

Nothing here is kept on disk: it is worked out again from the leases of the machines.
"""

from __future__ import annotations

import ipaddress
import zlib
from collections.abc import Iterable

from iri.machine import RuntimeNetworkInterface
from iri.simulated.machine_lifecycle import SimulatedMachine

PREFIX_LENGTH = 16  # of a network that says nothing: room for fleets on one network


class AddressRange:
    """The host addresses of one IPv4 network. The first is the gateway's."""

    def __init__(self, network: ipaddress.IPv4Network) -> None:
        self.network = network
        self._first = int(network.network_address) + 2
        self._last = int(network.broadcast_address) - 1
        self._cursor = self._first
        self._users: dict[int, int] = {}

    @property
    def is_used(self) -> bool:
        return bool(self._users)

    def lowest_free(self) -> int | None:
        """None when there is none; taken by `hold`."""
        while self._cursor in self._users:
            self._cursor += 1
        return self._cursor if self._cursor <= self._last else None

    def hold(self, address: int) -> bool:
        """False when somebody else has it too."""
        self._users[address] = self._users.get(address, 0) + 1
        return self._users[address] == 1

    def release(self, address: int) -> None:
        users = self._users.get(address, 0)
        if users > 1:
            self._users[address] = users - 1
        elif users:
            del self._users[address]
            if self._first <= address < self._cursor:
                self._cursor = address


class SimulatedNetworks:
    def __init__(self) -> None:
        self._ranges: dict[tuple[str, str], AddressRange] = {}

    def leases(self, interfaces: Iterable[RuntimeNetworkInterface]) -> tuple[tuple[str, str], ...]:
        """By interface name, an address for each that brings none and whose network gives some."""
        found = []
        for interface in interfaces:
            if interface.ips or interface.attributes.get("dhcp") == "false":
                continue
            addresses = self._range(interface)
            address = addresses.lowest_free()
            if address is not None:
                addresses.hold(address)  # so that the next interface gets another
                found.append((interface, address))
        for interface, address in found:
            self._range(interface).release(address)
            self._forget_unused(interface)
        return tuple((interface.name, str(ipaddress.IPv4Address(address))) for interface, address in found)

    def change(self, before: SimulatedMachine | None, after: SimulatedMachine | None) -> list[str]:
        """Keeps up with a machine; returns the addresses that somebody else has too."""
        if before is not None and after is not None:
            is_same = before.machine.spec is after.machine.spec and before.leases is after.leases
            if is_same:
                return []
        had, has = _addresses(before), _addresses(after)
        if had == has:
            return []
        for interface, address in had:
            self._range(interface).release(address)
            self._forget_unused(interface)
        taken = [address for interface, address in has if not self._range(interface).hold(address)]
        return [str(ipaddress.IPv4Address(address)) for address in taken]

    def _range(self, interface: RuntimeNetworkInterface) -> AddressRange:
        key = _key(interface)
        found = self._ranges.get(key)
        if found is None:
            found = self._ranges[key] = AddressRange(_network(*key))
        return found

    def _forget_unused(self, interface: RuntimeNetworkInterface) -> None:
        """A range that nobody uses is worked out again when somebody does."""
        if not self._range(interface).is_used:
            del self._ranges[_key(interface)]


def _key(interface: RuntimeNetworkInterface) -> tuple[str, str]:
    return interface.network_id, interface.attributes.get("cidr", "")


def _addresses(guest: SimulatedMachine | None) -> list[tuple[RuntimeNetworkInterface, int]]:
    if guest is None or not guest.machine.spec.network_interfaces:
        return []
    leases = dict(guest.leases)
    return [
        (interface, number)
        for interface in guest.machine.spec.network_interfaces
        for text in interface.ips or (leases.get(interface.name, ""),)
        if (number := _ipv4(text))
    ]


def _network(network_id: str, cidr: str) -> ipaddress.IPv4Network:
    """The one the interface names; else one of 10.0.0.0/8 that depends on the network's name alone."""
    try:
        return ipaddress.IPv4Network(cidr, strict=False)
    except ValueError:
        second = zlib.crc32(network_id.encode()) % 256
        return ipaddress.IPv4Network((f"10.{second}.0.0", PREFIX_LENGTH))


def _ipv4(text: str) -> int:
    try:
        return int(ipaddress.IPv4Address(text))
    except ValueError:
        return 0
