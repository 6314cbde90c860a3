"""What an interface asks for, held against the operator's rules: a refusal names its cause and its cure. Pure.

`network_id` says where it is plugged in: `libvirt:<network>` and `bridge:<bridge>` name what the host has, any other text
an isolated network of that identity. The attributes `vlan`, `cidr`, `dhcp`, `nat` and `mac` say how.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable

import msgspec

from iri.errors import InvalidArgument, NetworkNotOffered
from iri.libvirt.networks.isolated_network import IsolatedNetwork, Subnet
from iri.libvirt.networks.mac import mac_address
from iri.libvirt.networks.network_policy import NetworkPolicy
from iri.machine import RuntimeNetworkInterface

LIBVIRT, BRIDGE = "libvirt:", "bridge:"
FLAGS = {"true": True, "false": False, "": None}
LARGEST_PREFIX = 30  # room for the host and one guest
LONGEST_ID = 512


class NamedNetwork(msgspec.Struct, frozen=True):
    """A network of libvirt's that is the operator's."""

    network: str


class BridgePort(msgspec.Struct, frozen=True):
    bridge: str
    vlan: int
    openvswitch: bool


class InterfaceRequest(msgspec.Struct, frozen=True, kw_only=True):
    """`reserved`: addresses that DHCP keeps for this interface."""

    where: NamedNetwork | BridgePort | IsolatedNetwork
    mac: str
    reserved: tuple[str, ...] = ()


def asked(machine_id: str, interface: RuntimeNetworkInterface, rules: NetworkPolicy) -> InterfaceRequest:
    """NetworkNotOffered for what this host does not give as it is set up, InvalidArgument for what no host could."""
    mac = mac_address(machine_id, interface.name, interface.attributes.get("mac", ""))
    id = interface.network_id
    if not id or len(id) > LONGEST_ID or not id.isprintable():
        raise InvalidArgument(
            f"interface {interface.name}: network_id has 1 to {LONGEST_ID} printable characters; it is libvirt:<network>,"
            " bridge:<bridge>, or the name of an isolated network"
        )
    if id.startswith(LIBVIRT):
        return InterfaceRequest(where=_named(id.removeprefix(LIBVIRT), interface, rules), mac=mac)
    if id.startswith(BRIDGE):
        return InterfaceRequest(where=_bridged(id.removeprefix(BRIDGE), interface, rules), mac=mac)
    where = _isolated(id, interface, rules)
    return InterfaceRequest(where=where, mac=mac, reserved=_reserved(where, interface))


def isolated_identity(network_id: str) -> str:
    """Empty when it names something of the host's."""
    return "" if network_id.startswith((LIBVIRT, BRIDGE)) else network_id


def _named(network: str, interface: RuntimeNetworkInterface, rules: NetworkPolicy) -> NamedNetwork:
    if network not in rules.named:
        raise NetworkNotOffered(
            f"interface {interface.name}: this host allows no libvirt network {network!r}; its operator can, by"
            f" networks.named in the runtime's settings ({_those(rules.named)})"
        )
    _refuse_attributes(interface, "vlan", "cidr", "dhcp", "nat")
    return NamedNetwork(network)


def _bridged(name: str, interface: RuntimeNetworkInterface, rules: NetworkPolicy) -> BridgePort:
    bridge = rules.bridges.get(name)
    if bridge is None:
        raise NetworkNotOffered(
            f"interface {interface.name}: this host allows no bridge {name!r}; its operator can, by networks.bridges"
            f" in the runtime's settings ({_those(rules.bridges)})"
        )
    _refuse_attributes(interface, "cidr", "dhcp", "nat")
    text = interface.attributes.get("vlan", "")
    if not text:
        return BridgePort(name, 0, bridge.openvswitch)
    if not text.isdecimal() or not text.isascii() or len(text) > 4 or not bridge.has_vlan(int(text)):
        raise NetworkNotOffered(
            f"interface {interface.name}: this host allows no VLAN {text[:20]!r} on bridge {name}; its operator can, by"
            f" networks.bridges.{name}.vlans in the runtime's settings ({_those(bridge.vlans)})"
        )
    return BridgePort(name, int(text), bridge.openvswitch)


def _isolated(id: str, interface: RuntimeNetworkInterface, rules: NetworkPolicy) -> IsolatedNetwork:
    if not rules.on_demand.allowed:
        raise NetworkNotOffered(
            f"interface {interface.name}: this host makes no networks on demand; name one of its own (libvirt:<network>"
            " or bridge:<bridge>), or its operator allows them by networks.onDemand.allowed in the runtime's settings"
        )
    _refuse_attributes(interface, "vlan")
    return IsolatedNetwork(identity=id, subnet=_subnet(interface, rules))


def _subnet(interface: RuntimeNetworkInterface, rules: NetworkPolicy) -> Subnet | None:
    dhcp, nat = _flag(interface, "dhcp"), _flag(interface, "nat")
    text = interface.attributes.get("cidr", "")
    if not text:
        if dhcp or nat:
            raise InvalidArgument(
                f"interface {interface.name}: dhcp and nat need a cidr to give addresses of"
            )
        return None
    try:
        network = ipaddress.IPv4Network(text, strict=False)
    except ValueError:
        raise InvalidArgument(
            f"interface {interface.name}: attribute cidr is no IPv4 network such as 10.1.0.0/24"
        ) from None
    if network.prefixlen > LARGEST_PREFIX:
        raise InvalidArgument(
            f"interface {interface.name}: cidr {network} has no room for the host and a guest"
        )
    if not rules.on_demand.has_subnet(network):
        raise NetworkNotOffered(
            f"interface {interface.name}: this host allows no network {network}; its operator can, by"
            f" networks.onDemand.subnets in the runtime's settings ({_those(rules.on_demand.subnets)})"
        )
    if nat and not rules.on_demand.nat:
        raise NetworkNotOffered(
            f"interface {interface.name}: this host lets no isolated network out by NAT; its operator can, by"
            " networks.onDemand.nat in the runtime's settings"
        )
    return Subnet(network=str(network), dhcp=dhcp is not False, nat=bool(nat))


def _reserved(where: IsolatedNetwork, interface: RuntimeNetworkInterface) -> tuple[str, ...]:
    """The interface's IPv4 addresses, when it is DHCP that has to tell the guest."""
    if where.subnet is None or not where.subnet.dhcp:
        return ()
    network = ipaddress.IPv4Network(where.subnet.network)
    found = []
    for text in interface.ips:
        try:
            address = ipaddress.ip_address(text)
        except ValueError:
            raise InvalidArgument(f"interface {interface.name}: ips holds what is no address") from None
        if isinstance(address, ipaddress.IPv6Address):
            continue
        ends = (network.network_address, network.broadcast_address, network.network_address + 1)
        if address not in network or address in ends:
            raise InvalidArgument(
                f"interface {interface.name}: {address} is none of {network}, or not a guest's"
            )
        found.append(str(address))
    if len(found) > 1:
        raise InvalidArgument(f"interface {interface.name}: DHCP gives one IPv4 address, not {len(found)}")
    return tuple(found)


def _flag(interface: RuntimeNetworkInterface, name: str) -> bool | None:
    text = interface.attributes.get(name, "").lower()
    if text not in FLAGS:
        raise InvalidArgument(f"interface {interface.name}: attribute {name} is true or false")
    return FLAGS[text]


def _refuse_attributes(interface: RuntimeNetworkInterface, *names: str) -> None:
    for name in names:
        if interface.attributes.get(name, "").lower() not in ("", "false"):
            raise InvalidArgument(
                f"interface {interface.name}: attribute {name} has no meaning on {interface.network_id.split(':')[0]!r}"
                " networks here; leave it out"
            )


def _those(names: Iterable[str]) -> str:
    listed = ", ".join(sorted(names))
    return f"now: {listed}" if listed else "now: none"
