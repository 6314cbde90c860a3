"""What an interface asks for, held against the operator's policy. A refusal names its cause and its cure. Pure.

`network_id` says where it is plugged in: `libvirt:<network>` and `bridge:<bridge>` name what the host has; any other text is an
isolated network of that identity. The attributes `vlan`, `cidr`, `dhcp`, `nat` and `mac` say how. Guests are told `cidr`, `dhcp`, `gateway`
and `dns` of any network (`seed.network_config`).

    network_id          needs of the policy                       attributes that count
    libvirt:<network>   networks.named                            mac
    bridge:<bridge>     networks.bridges, and the VLAN in it      mac, vlan
    any other text      networks.onDemand: the cidr, and NAT      mac, cidr, dhcp, nat

An attribute that would have no effect is refused: a person who wrote it expects one. Must never happen: a text of a spec reaches the
name of a device or of a libvirt network without being one that the operator wrote; isolated networks are named by a digest.

Called twice for an interface: when a spec asks for it, to refuse, and when it is connected, by the policy of that time.
"""

from __future__ import annotations

import hashlib
import ipaddress
import re
from collections.abc import Iterable

import msgspec

from iri.errors import InvalidArgument, NetworkNotOffered
from iri.libvirt.device_sources import BridgeNic, NetworkNic
from iri.libvirt.networks.isolated_network import IsolatedNetwork, Subnet
from iri.libvirt.networks.network_policy import NetworkPolicy
from iri.machine import RuntimeNetworkInterface

LIBVIRT, BRIDGE = "libvirt:", "bridge:"
FLAGS = {"true": True, "false": False, "": None}
LARGEST_PREFIX = 30  # the smallest network with room for the host and a guest
LONGEST_ID = 512
MAC = re.compile(r"[0-9a-f]{2}(:[0-9a-f]{2}){5}")
MAC_PREFIX = "52:54"  # locally administered, and known as the prefix of virtual machines
MULTICAST_BIT = 0x01
RESERVED_PREFIX = "fe:"  # libvirt gives it to the host's end of the wire


class InterfaceRequest(msgspec.Struct, frozen=True, kw_only=True):
    """`where`: a network that the operator defined, a bridge of the host, or a network on demand. `reserved`: addresses that DHCP
    reserves for this interface."""

    where: NetworkNic | BridgeNic | IsolatedNetwork
    mac: str
    reserved: tuple[str, ...] = ()


def parse_request(
    machine_id: str, interface: RuntimeNetworkInterface, policy: NetworkPolicy
) -> InterfaceRequest:
    """Raises NetworkNotOffered for what the policy does not allow, InvalidArgument for what no host could do."""
    mac = mac_address(machine_id, interface.name, interface.attributes.get("mac", ""))
    id = interface.network_id
    if not id or len(id) > LONGEST_ID or not id.isprintable():
        raise InvalidArgument(
            f"interface {interface.name}: network_id must have 1 to {LONGEST_ID} printable characters: libvirt:<network>,"
            " bridge:<bridge>, or the name of an isolated network"
        )
    if id.startswith(LIBVIRT):
        return InterfaceRequest(where=_parse_named(id.removeprefix(LIBVIRT), interface, policy), mac=mac)
    if id.startswith(BRIDGE):
        return InterfaceRequest(where=_parse_bridge(id.removeprefix(BRIDGE), interface, policy), mac=mac)
    where = _parse_isolated(id, interface, policy)
    return InterfaceRequest(where=where, mac=mac, reserved=_parse_reserved(where, interface))


def isolated_identity(network_id: str) -> str:
    """Empty when the id names a network or bridge of the host."""
    return "" if network_id.startswith((LIBVIRT, BRIDGE)) else network_id


def _parse_named(network: str, interface: RuntimeNetworkInterface, policy: NetworkPolicy) -> NetworkNic:
    """The network must be in the policy; whether it exists and runs is asked later, by `networks`."""
    if network not in policy.named:
        raise _not_offered(interface, f"libvirt network {network!r}", "networks.named", policy.named)
    _refuse_attributes(interface, "vlan", "nat")
    return NetworkNic(network=network)


def _parse_bridge(name: str, interface: RuntimeNetworkInterface, policy: NetworkPolicy) -> BridgeNic:
    """A VLAN must be one that the policy names for that bridge."""
    bridge = policy.bridges.get(name)
    if bridge is None:
        raise _not_offered(interface, f"bridge {name!r}", "networks.bridges", policy.bridges)
    _refuse_attributes(interface, "nat")
    text = interface.attributes.get("vlan", "")
    if not text:
        return BridgeNic(bridge=name, openvswitch=bridge.openvswitch)
    if not text.isdecimal() or not text.isascii() or len(text) > 4 or not bridge.has_vlan(int(text)):
        what, setting = f"VLAN {text[:20]!r} on bridge {name}", f"networks.bridges.{name}.vlans"
        raise _not_offered(interface, what, setting, bridge.vlans)
    return BridgeNic(bridge=name, vlan=int(text), openvswitch=bridge.openvswitch)


def _parse_isolated(id: str, interface: RuntimeNetworkInterface, policy: NetworkPolicy) -> IsolatedNetwork:
    """The identity is any text; it becomes a name only by its digest."""
    if not policy.on_demand.allowed:
        raise NetworkNotOffered(
            f"interface {interface.name}: this host creates no networks on demand; name one of the host's (libvirt:<network>"
            " or bridge:<bridge>), or have its operator set networks.onDemand.allowed in the runtime's settings"
        )
    _refuse_attributes(interface, "vlan")
    return IsolatedNetwork(identity=id, subnet=_parse_subnet(interface, policy))


def _parse_subnet(interface: RuntimeNetworkInterface, policy: NetworkPolicy) -> Subnet | None:
    """None without a cidr: then the host has no address in the network and DHCP is off."""
    dhcp, nat = _parse_flag(interface, "dhcp"), _parse_flag(interface, "nat")
    text = interface.attributes.get("cidr", "")
    if not text:
        if dhcp or nat:
            raise InvalidArgument(f"interface {interface.name}: dhcp and nat need the attribute cidr")
        return None
    try:
        network = ipaddress.IPv4Network(text, strict=False)
    except ValueError:
        raise InvalidArgument(
            f"interface {interface.name}: attribute cidr must be an IPv4 network such as 10.1.0.0/24"
        ) from None
    if network.prefixlen > LARGEST_PREFIX:
        raise InvalidArgument(
            f"interface {interface.name}: cidr {network} has no room for the host and a guest"
        )
    if not policy.on_demand.has_subnet(network):
        subnets = policy.on_demand.subnets
        raise _not_offered(interface, f"network {network}", "networks.onDemand.subnets", subnets)
    if nat and not policy.on_demand.nat:
        raise _not_offered(interface, "NAT for isolated networks", "networks.onDemand.nat")
    return Subnet(network=str(network), dhcp=dhcp is not False, nat=bool(nat))


def _parse_reserved(where: IsolatedNetwork, interface: RuntimeNetworkInterface) -> tuple[str, ...]:
    """The interface's IPv4 addresses, when the guest gets them by DHCP."""
    if where.subnet is None or not where.subnet.dhcp:
        return ()
    network = ipaddress.IPv4Network(where.subnet.network)
    reserved = []
    for text in interface.ips:
        try:
            address = ipaddress.ip_address(text)
        except ValueError:
            raise InvalidArgument(
                f"interface {interface.name}: ips has a value that is not an IP address"
            ) from None
        if isinstance(address, ipaddress.IPv6Address):
            continue
        ends = (network.network_address, network.broadcast_address, network.network_address + 1)
        if address not in network or address in ends:
            raise InvalidArgument(
                f"interface {interface.name}: {address} is not an address for guests of {network}"
            )
        reserved.append(str(address))
    if len(reserved) > 1:
        raise InvalidArgument(f"interface {interface.name}: DHCP gives one IPv4 address, not {len(reserved)}")
    return tuple(reserved)


def _parse_flag(interface: RuntimeNetworkInterface, name: str) -> bool | None:
    """None when it is not given, which is not the same as false: DHCP is on by default."""
    text = interface.attributes.get(name, "").lower()
    if text not in FLAGS:
        raise InvalidArgument(f"interface {interface.name}: attribute {name} must be true or false")
    return FLAGS[text]


def _refuse_attributes(interface: RuntimeNetworkInterface, *names: str) -> None:
    """Refuses attributes that have no effect on a network of this kind."""
    for name in names:
        if interface.attributes.get(name, "").lower() not in ("", "false"):
            raise InvalidArgument(
                f"interface {interface.name}: attribute {name} has no effect on {interface.network_id.split(':')[0]!r}"
                " networks here; leave it out"
            )


def _not_offered(
    interface: RuntimeNetworkInterface, what: str, setting: str, allowed: Iterable[str] | None = None
) -> NetworkNotOffered:
    """`allowed`: what the setting has now; None for a setting that is not a list."""
    now = "" if allowed is None else f" (now: {', '.join(sorted(allowed)) or 'none'})"
    return NetworkNotOffered(
        f"interface {interface.name}: this host does not allow {what}; its operator can allow it by {setting} in the runtime's"
        f" settings{now}"
    )


def mac_address(machine_id: str, interface_name: str, requested: str) -> str:
    """The address that the spec brings, or one that follows from the machine's id and never changes."""
    if not requested:
        digest = hashlib.sha256(f"{machine_id}/{interface_name}".encode()).digest()
        return ":".join((MAC_PREFIX, *(f"{octet:02x}" for octet in digest[:4])))
    mac = requested.lower().replace("-", ":")
    if not MAC.fullmatch(mac):
        raise InvalidArgument("attribute mac: write a MAC address such as 52:54:00:12:34:56")
    if int(mac[:2], 16) & MULTICAST_BIT or mac.startswith(RESERVED_PREFIX) or mac == "00:00:00:00:00:00":
        raise InvalidArgument(f"attribute mac: {mac} is reserved; use one that begins with 52:54:00")
    return mac
