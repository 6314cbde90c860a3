"""Addresses of interfaces must lie in their networks and differ from each other; networks must not overlap.

Addresses are compared within one network of one namespace, MAC addresses in the whole tree: two networks may be one wire
of the provider. Addresses are compared in canonical form, because IPv6 has many spellings of each.
"""

from __future__ import annotations

import ipaddress
import socket
from collections.abc import Iterator
from typing import NamedTuple

from schemas.model import Network, NetworkInterfaceSpec
from schemas.problem import Severity
from schemas.validate.finding import Finding
from schemas.validate.tree import AnyDeclaration, Declaration, Name, SpecSource, Tree

ATTRIBUTE_HINT = "remove the attribute, or the field of the network where its interfaces differ"


class AddressUse(NamedTuple):
    """Where an address is used first."""

    entry: AnyDeclaration
    pointer: str


def findings(tree: Tree) -> Iterator[Finding]:
    """GV340 to GV346, GV349, GV350 and GV354."""
    ranges = {
        name: ipaddress.IPv4Network(network.object.spec.ipv4.cidr)
        for name, network in tree.of(Network).items()
        if network.object.spec.ipv4
    }
    yield from overlaps(tree, ranges)
    yield from of_interfaces(tree, ranges)


def overlaps(tree: Tree, ranges: dict[Name, ipaddress.IPv4Network]) -> Iterator[Finding]:
    """GV346, for networks that gitvirt creates: it does not manage the addresses of the others.

    Sorted by their first address, a network overlaps an earlier one exactly if it begins before the furthest end so far. One
    pass suffices, and each network is reported once, however many others it overlaps.
    """
    networks = tree.of(Network)
    made = [name for name in ranges if not networks[name].object.spec.provider_id]
    last: Name | None = None  # of those before, the one that reaches furthest
    for name in sorted(made, key=lambda name: (ranges[name].network_address, ranges[name].prefixlen)):
        if last is not None and ranges[name].network_address <= ranges[last].broadcast_address:
            network, other = networks[name], networks[last]
            yield network.finding(
                "GV346",
                "/spec/ipv4/cidr",
                f"{ranges[name]} overlaps {ranges[last]} of {other.key}",
                "one host cannot have both: choose another range, unless no host ever has both networks",
                Severity.WARNING,
            )._replace(also=(other.path,))
        if last is None or ranges[name].broadcast_address > ranges[last].broadcast_address:
            last = name


def of_interfaces(tree: Tree, ranges: dict[Name, ipaddress.IPv4Network]) -> Iterator[Finding]:
    """Each address and each MAC address belongs to one interface."""
    addresses: dict[tuple[str, str, str], AddressUse] = {}
    macs: dict[str, AddressUse] = {}
    for source in tree.interface_sources:
        spec, entry = source.spec, source.entry
        namespace, network = entry.key.namespace, spec.network_ref.name
        within = ranges.get((namespace, network))
        if (declared := tree.of(Network).get((namespace, network))) is not None:
            yield from of_settings(source, declared)
            yield from of_servers(source, declared)
        for position, ip in enumerate(spec.ips):
            if not ip.value:
                continue
            address, pointer = canonical_address(ip.value), f"{source.pointer}/ips/{position}/value"
            if within is not None and ":" not in address:
                yield from of_address(entry, pointer, address, within)
                if declared is not None and not declared.object.spec.provider_id:
                    yield from of_host(entry, pointer, address, within)
            here = AddressUse(entry, pointer)
            first = addresses.setdefault((namespace, network, address), here)
            if first is not here:
                yield taken_address("GV341", entry, pointer, f"{address} in network {network}", first)
        if spec.mac_address:
            yield from of_mac(source, spec.mac_address.lower(), macs)


def of_settings(source: SpecSource[NetworkInterfaceSpec], network: Declaration[Network]) -> Iterator[Finding]:
    """GV349: an attribute that the network has as a field. GV350: an address that no guest can be given."""
    spec = network.object.spec
    for name in sorted(source.spec.attributes.keys() & spec.attributes.keys()):
        message = f"attribute {name} is given twice: {network.key} in {network.path} has {name} as a field"
        found = source.entry.finding("GV349", f"{source.pointer}/attributes/{name}", message, ATTRIBUTE_HINT)
        yield found._replace(also=(network.path,))
    is_ours = not spec.provider_id
    for position, ip in enumerate(source.spec.ips):
        if is_ours or spec.ipv4 is not None or not ip.value or ":" in ip.value:
            continue
        pointer = f"{source.pointer}/ips/{position}/value"
        message = f"the guest is not given {ip.value}: {network.key} has no ipv4.cidr, so its prefix length is unknown"
        hint = f"add `ipv4: {{cidr: ...}}` in {network.path}, unless a DHCP server of yours gives the address"
        found = source.entry.finding("GV350", pointer, message, hint, Severity.NOTICE)
        yield found._replace(also=(network.path,))


def of_servers(source: SpecSource[NetworkInterfaceSpec], network: Declaration[Network]) -> Iterator[Finding]:
    """GV354: a guest with the address of the router or of a name server. A warning, because it may be that server."""
    spec = network.object.spec
    servers = {canonical_address(address): "a DNS server" for address in spec.dns}
    servers |= {canonical_address(spec.gateway): "the gateway"} if spec.gateway else {}
    for position, ip in enumerate(source.spec.ips):
        if ip.value and (what := servers.get(canonical_address(ip.value))):
            message = f"{ip.value} is {what} of {network.key}, which other guests are told to use"
            hint = "choose another address, unless this machine is that server"
            pointer = f"{source.pointer}/ips/{position}/value"
            found = source.entry.finding("GV354", pointer, message, hint, Severity.WARNING)
            yield found._replace(also=(network.path,))


def of_host(
    entry: AnyDeclaration, pointer: str, address: str, within: ipaddress.IPv4Network
) -> Iterator[Finding]:
    """GV342 in a network that gitvirt creates: each host takes the first address for itself."""
    if within.prefixlen < 31 and address == str(within[1]):
        hint = f"choose one from {within[2]} to {within[-2]}"
        yield entry.finding("GV342", pointer, f"{address} is the address of the host in this network", hint)


def canonical_address(address: str) -> str:
    """The canonical text of an address. IPv4 has only one form, and is far more frequent."""
    return str(ipaddress.IPv6Address(address)) if ":" in address else address


def of_address(
    entry: AnyDeclaration, pointer: str, address: str, within: ipaddress.IPv4Network
) -> Iterator[Finding]:
    """GV340 and GV342: inside the network, and neither its own nor its broadcast address."""
    number = int.from_bytes(socket.inet_aton(address), "big")
    first, last = int(within.network_address), int(within.broadcast_address)
    if not first <= number <= last:
        hint = f"choose one from {within[0]} to {within[-1]}"
        yield entry.finding("GV340", pointer, f"{address} is not in the network's range {within}", hint)
    elif within.prefixlen < 31 and number in (first, last):
        what = "is the address of the network itself" if number == first else "is the broadcast address"
        hint = f"choose one from {within[1]} to {within[-2]}"
        yield entry.finding("GV342", pointer, f"{address} {what}", hint)


def of_mac(
    source: SpecSource[NetworkInterfaceSpec], mac: str, macs: dict[str, AddressUse]
) -> Iterator[Finding]:
    """GV343 and GV344: a unicast address that no other interface has."""
    entry, pointer = source.entry, f"{source.pointer}/macAddress"
    if int(mac[:2], 16) & 1 or mac == "00:00:00:00:00:00":
        what = "all zeros" if mac.startswith("00") else "a multicast address"
        hint = "write a unicast address such as 02:00:00:00:00:01, or leave macAddress out"
        yield entry.finding("GV344", pointer, f"{mac} is {what}, which no interface can have", hint)
        return
    here = AddressUse(entry, pointer)
    first = macs.setdefault(mac, here)
    if first is not here:
        yield taken_address("GV343", entry, pointer, mac, first)


def taken_address(code: str, entry: AnyDeclaration, pointer: str, what: str, first: AddressUse) -> Finding:
    """The finding at the second use, which also names the first one."""
    owner = "this object" if first.entry is entry else f"{first.entry.key} in {first.entry.path}"
    found = entry.finding(code, pointer, f"{what} already belongs to {owner}", "choose another")
    return found._replace(also=(first.entry.path,))
