"""What a guest is told about its network at its first boot: cloud-init's network configuration, version 2. Pure.

Rule: a guest is told what no DHCP server tells it. Each interface is found by its MAC address, whatever the guest calls it at first.

    interface                                                    IPv4 of the guest
    in an isolated network whose DHCP server this host runs      DHCP: the server reserves its `ips`
    `ips`, in a network with a `cidr`                            these addresses, with the prefix length of `cidr`
    attribute dhcp: false                                        none
    any other                                                    DHCP

IPv6 addresses of `ips` are static, with /64. `gateway` and `dns` are given wherever they are known, but no gateway of IPv4 to a guest without
IPv4, which could not reach it; a network behind the NAT of this host has the host itself as gateway.

A machine that DHCP tells everything gets no configuration at all, and its image does as it does elsewhere. If one of its interfaces
needs one, all of them are listed: cloud-init configures no interface that its configuration lacks.

The text is the same for the same machine, byte for byte: a disk with other bytes would be written again.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable

import msgspec

from iri.errors import InvalidArgument
from iri.libvirt.networks.interface_request import isolated_identity, mac_address
from iri.machine import RuntimeMachine, RuntimeNetworkInterface

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
IPV6_PREFIX = 64
DEFAULT_ROUTE = {4: "0.0.0.0/0", 6: "::/0"}


class GuestInterface(msgspec.Struct, frozen=True, kw_only=True):
    """One interface as the guest is told. `addresses` have their prefix length."""

    mac: str
    dhcp: bool
    addresses: tuple[str, ...] = ()
    gateways: tuple[str, ...] = ()
    dns: tuple[str, ...] = ()

    @property
    def is_left_to_dhcp(self) -> bool:
        """Whether the guest needs to be told nothing."""
        return self.dhcp and not (self.addresses or self.gateways or self.dns)


def network_config(machine: RuntimeMachine) -> bytes:
    """Empty where DHCP tells the guest everything. InvalidArgument for an attribute that is malformed."""
    interfaces = guest_interfaces(machine)
    if all(one.is_left_to_dhcp for one in interfaces):
        return b""
    lines = ["version: 2", "ethernets:"]
    for number, one in enumerate(interfaces):
        lines += render_interface(f"eth{number}", one)
    return "".join(f"{line}\n" for line in lines).encode()


def guest_interfaces(machine: RuntimeMachine) -> list[GuestInterface]:
    """In the order of the machine. InvalidArgument for an attribute that is malformed."""
    return [guest_interface(machine.id, one) for one in machine.spec.network_interfaces]


def guest_interface(machine_id: str, interface: RuntimeNetworkInterface) -> GuestInterface:
    """One row of the table above."""
    written = interface.attributes
    is_isolated = bool(isolated_identity(interface.network_id))
    cidr, dhcp = parse_cidr(interface), written.get("dhcp", "").lower() != "false"
    is_host_answering = is_isolated and cidr is not None and dhcp
    ips = parse_addresses(interface, "ips", interface.ips)
    fixed = [f"{ip}/{cidr.prefixlen}" for ip in ips if ip.version == 4 and cidr and not is_host_answering]
    gateways = parse_addresses(interface, "gateway", split(written.get("gateway", "")))
    if is_isolated and cidr and fixed and not gateways and written.get("nat", "").lower() == "true":
        gateways = (cidr.network_address + 1,)
    if not (dhcp or fixed):
        gateways = tuple(one for one in gateways if one.version == 6)
    return GuestInterface(
        mac=mac_address(machine_id, interface.name, written.get("mac", "")),
        dhcp=dhcp and not fixed,
        addresses=(*fixed, *(f"{ip}/{IPV6_PREFIX}" for ip in ips if ip.version == 6)),
        gateways=tuple(map(str, gateways)),
        dns=tuple(map(str, parse_addresses(interface, "dns", split(written.get("dns", ""))))),
    )


def render_interface(name: str, one: GuestInterface) -> list[str]:
    """As YAML. Addresses are quoted: some of IPv6 look like numbers of base 60 to YAML 1.1."""
    lines = [
        f"  {name}:",
        "    match:",
        f"      macaddress: {quote(one.mac)}",
        f"    set-name: {name}",
        f"    dhcp4: {'true' if one.dhcp else 'false'}",
    ]
    if one.addresses:
        lines += ["    addresses:", *(f"      - {quote(address)}" for address in one.addresses)]
    if one.gateways:
        lines.append("    routes:")
        for gateway in one.gateways:
            route = DEFAULT_ROUTE[ipaddress.ip_address(gateway).version]
            lines += [f"      - to: {quote(route)}", f"        via: {quote(gateway)}"]
    if one.dns:
        lines += [
            "    nameservers:",
            "      addresses:",
            *(f"        - {quote(server)}" for server in one.dns),
        ]
    return lines


def quote(text: str) -> str:
    return msgspec.json.encode(text).decode()


def split(text: str) -> list[str]:
    """The parts of an attribute with several values."""
    return [part.strip() for part in text.split(",") if part.strip()]


def parse_addresses(
    interface: RuntimeNetworkInterface, field: str, written: Iterable[str]
) -> tuple[Address, ...]:
    """InvalidArgument for a text that is not an address."""
    try:
        return tuple(ipaddress.ip_address(text) for text in written)
    except ValueError:
        raise InvalidArgument(
            f"interface {interface.name}: {field} has a value that is not an IP address"
        ) from None


def parse_cidr(interface: RuntimeNetworkInterface) -> ipaddress.IPv4Network | None:
    """The range of the interface's network; None where it is not known."""
    text = interface.attributes.get("cidr", "")
    try:
        return ipaddress.IPv4Network(text, strict=False) if text else None
    except ValueError:
        raise InvalidArgument(
            f"interface {interface.name}: attribute cidr must be an IPv4 network such as 10.1.0.0/24"
        ) from None
