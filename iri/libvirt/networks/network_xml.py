"""The XML of an isolated network and of its DHCP reservations, and parsing libvirt's XML of a network. Pure.

Only a network with NAT serves DNS: the host's resolver would be a way out of every other one.

libvirt adds defaults to a definition. So a network is never compared as text, but by its `shape`: the parts that a spec decides, read
from our own document and from libvirt's by the same function. Reservations come and go while the network runs and are not part of it.

    part of the shape          a difference means
    forward                    NAT was added or removed
    bridge                     a device of another name
    ip, dhcp                   other addresses for the host or for guests
    (not in it) reservations   changed in place, see `networks._reserve`
"""

from __future__ import annotations

import ipaddress

import msgspec

from iri.libvirt import xml
from iri.libvirt.networks.isolated_network import IsolatedNetwork, Subnet

METADATA = "https://gitvirt.dev/libvirt/network"
MARK = f"{{{METADATA}}}network"
LEASE_HOURS = 1


class ObservedNetwork(msgspec.Struct, frozen=True, kw_only=True):
    """A network that libvirt has. `shape`: the parts of its definition that make it a different network when they change."""

    name: str
    uuid: str
    identity: str = ""  # empty: not created by this runtime
    bridge: str = ""
    shape: tuple[str, ...] = ()
    reservations: frozenset[tuple[str, str]] = frozenset()  # pairs of MAC and address
    users: int = 0  # interfaces of running guests
    is_active: bool = False

    @property
    def subnets(self) -> tuple[ipaddress.IPv4Network, ...]:
        """The networks in which the host has an address."""
        texts = (part.removeprefix("ip=") for part in self.shape if part.startswith("ip="))
        return tuple(ipaddress.IPv4Network(text, strict=False) for text in texts)


def render_network(network: IsolatedNetwork) -> xml.Element:
    """The identity is metadata, which marks the network as ours."""
    root = xml.element("network")
    xml.child(root, "name", network.name)
    xml.child(root, "uuid", network.uuid)
    xml.child(xml.child(root, "metadata"), MARK, id=network.identity)
    subnet = network.subnet
    if subnet is not None and subnet.nat:
        xml.child(root, "forward", mode="nat")
    xml.child(root, "bridge", name=network.bridge, stp="off", delay=0)
    if subnet is not None:
        if not subnet.nat:
            xml.child(root, "dns", enable="no")
        _addresses(root, subnet)
    return root


def _addresses(root: xml.Element, subnet: Subnet) -> None:
    """The host's own address in the network and, with DHCP, the range for guests. Leases are short, so an address is free again soon."""
    length = ipaddress.IPv4Network(subnet.network).prefixlen
    ip = xml.child(root, "ip", address=subnet.host, prefix=length)
    if subnet.dhcp:
        first, last = subnet.range
        span = xml.child(xml.child(ip, "dhcp"), "range", start=first, end=last)
        xml.child(span, "lease", expiry=LEASE_HOURS, unit="hours")


def reservation(mac: str, address: str) -> xml.Element:
    """libvirt finds the entry to delete by both values."""
    return xml.element("host", mac=mac, ip=address)


def parse_network(root: xml.Element, *, is_active: bool) -> ObservedNetwork:
    """Parses what `virsh net-dumpxml` shows."""
    return ObservedNetwork(
        name=root.findtext("name", ""),
        uuid=root.findtext("uuid", ""),
        identity=xml.attribute(root, f"metadata/{MARK}", "id"),
        bridge=xml.attribute(root, "bridge", "name"),
        shape=shape(root),
        reservations=frozenset(
            (host.get("mac", ""), host.get("ip", "")) for host in root.iterfind("ip/dhcp/host")
        ),
        users=int(root.get("connections", "0")),
        is_active=is_active,
    )


def shape(root: xml.Element) -> tuple[str, ...]:
    """The parts that a spec decides, without libvirt's defaults."""
    forward = root.find("forward")
    parts = [f"forward={forward.get('mode', 'nat')}" if forward is not None else ""]
    parts += [f"bridge={bridge.get('name')}" for bridge in root.iterfind("bridge")]
    for ip in root.iterfind("ip"):
        parts.append(f"ip={ip.get('address')}/{_prefix(ip)}")
        parts += [f"dhcp={span.get('start')}-{span.get('end')}" for span in ip.iterfind("dhcp/range")]
    return tuple(parts)


def _prefix(ip: xml.Element) -> str:
    """libvirt shows a prefix or a mask, as it was defined."""
    mask = ip.get("netmask")
    return ip.get("prefix", "") if mask is None else str(ipaddress.IPv4Network(f"0.0.0.0/{mask}").prefixlen)
