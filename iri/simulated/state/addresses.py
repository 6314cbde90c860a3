"""Addresses on simulated networks: a range per network, and a free address for each interface.

On a network with a cidr, which is one of this host alone, that is the lowest free one. A network without a cidr may be a bridge that other
hosts share, and no host knows which addresses the others gave: there the search begins at a place that the machine's id decides, so that two
hosts hardly ever give the same one.

An address that a machine brings in its spec is taken too; two machines may bring the same one, which is reported as an
event and not refused, as on a real network. Nothing here is on disk: it is computed from the machines' records.

A lease is chosen once, when the interface is attached, and recorded with its machine. So addresses stay what they are over a
restart, in whatever order the records are read again.
"""

from __future__ import annotations

import ipaddress
import zlib
from collections import Counter
from collections.abc import Iterable

from iri.machine import RuntimeNetworkInterface
from iri.simulated.machine_lifecycle import SimulatedMachine

PREFIX_LENGTH = 16  # of a network without a cidr: room for a whole fleet on one network


class AddressRange:
    """The host addresses of one IPv4 network. The first is the gateway's.

    No address below `_cursor` is free, so finding one does not begin at the start of a range that is nearly full.
    """

    def __init__(self, network: ipaddress.IPv4Network) -> None:
        self.network = network
        self._first = int(network.network_address) + 2
        self._last = int(network.broadcast_address) - 1
        self._cursor = self._first
        self._users: Counter[int] = Counter()

    @property
    def is_in_use(self) -> bool:
        return bool(self._users)

    def find_free(self, start: int = 0) -> int | None:
        """The lowest free address, or the first one from `start` addresses on; None when all are taken. `take` takes it."""
        if start:
            found = self._first + start % max(1, self._last - self._first)
            while found in self._users and found < self._last:
                found += 1
            if found not in self._users and found <= self._last:
                return found
        while self._cursor in self._users:
            self._cursor += 1
        return self._cursor if self._cursor <= self._last else None

    def take(self, address: int) -> bool:
        """False when another interface has it too."""
        self._users[address] += 1
        return self._users[address] == 1

    def release(self, address: int) -> None:
        """An address that two had is free once both have released it."""
        users = self._users[address]
        if users > 1:
            self._users[address] = users - 1
        elif users:
            del self._users[address]
            if self._first <= address < self._cursor:
                self._cursor = address


class SimulatedNetworks:
    """One range per network id and cidr."""

    def __init__(self) -> None:
        self._ranges: dict[tuple[str, str], AddressRange] = {}

    def pick_leases(
        self, machine_id: str, interfaces: Iterable[RuntimeNetworkInterface]
    ) -> tuple[tuple[str, str], ...]:
        """(interface name, address) for each interface that brings no address, where its network has one left."""
        found = []
        for interface in interfaces:
            if interface.ips or interface.attributes.get("dhcp") == "false":
                continue
            addresses = self._range(interface)
            is_shared = not interface.attributes.get("cidr")
            start = zlib.crc32(f"{machine_id}/{interface.name}".encode()) if is_shared else 0
            address = addresses.find_free(start)
            if address is not None:
                addresses.take(address)  # so that the next interface of this machine gets another
                found.append((interface, address))
        for interface, address in found:
            self._range(interface).release(address)
            self._forget_unused(interface)
        return tuple((interface.name, str(ipaddress.IPv4Address(address))) for interface, address in found)

    def update(self, before: SimulatedMachine | None, after: SimulatedMachine | None) -> list[str]:
        """Follows one machine's record; returns its addresses that another machine has too."""
        if before is not None and after is not None:
            is_same = before.machine.spec is after.machine.spec and before.leases is after.leases
            if is_same:
                return []
        old, new = _addresses(before), _addresses(after)
        if old == new:
            return []
        for interface, address in old:
            self._range(interface).release(address)
            self._forget_unused(interface)
        shared = [address for interface, address in new if not self._range(interface).take(address)]
        return [str(ipaddress.IPv4Address(address)) for address in shared]

    def _range(self, interface: RuntimeNetworkInterface) -> AddressRange:
        """Made at the first use of the network."""
        key = _key(interface)
        found = self._ranges.get(key)
        if found is None:
            found = self._ranges[key] = AddressRange(_network(*key))
        return found

    def _forget_unused(self, interface: RuntimeNetworkInterface) -> None:
        """Drops a range without users; it is built again on demand."""
        if not self._range(interface).is_in_use:
            del self._ranges[_key(interface)]


def _key(interface: RuntimeNetworkInterface) -> tuple[str, str]:
    """Interfaces that name one network with different cidrs are on different networks."""
    return interface.network_id, interface.attributes.get("cidr", "")


def _addresses(guest: SimulatedMachine | None) -> list[tuple[RuntimeNetworkInterface, int]]:
    """Those of the spec, else the assigned ones. Addresses that are not IPv4 take no part."""
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
    """The network of the interface's cidr; else one of 10.0.0.0/8 that depends on the network's name alone."""
    try:
        return ipaddress.IPv4Network(cidr, strict=False)
    except ValueError:
        second = zlib.crc32(network_id.encode()) % 256
        return ipaddress.IPv4Network((f"10.{second}.0.0", PREFIX_LENGTH))


def _ipv4(text: str) -> int:
    """An IPv4 address as a number, for the leases of simulated guests. 0, which no guest has, for any other text."""
    try:
        return int(ipaddress.IPv4Address(text))
    except ValueError:
        return 0
