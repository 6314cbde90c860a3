"""What an interface may ask for: refusals name the cause and the setting that would change it."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from iri.errors import InvalidArgument
from iri.libvirt.device_sources import BridgeNic, NetworkNic
from iri.libvirt.networks.interface_request import (
    MAC,
    InterfaceRequest,
    mac_address,
    parse_request,
)
from iri.libvirt.networks.isolated_network import IsolatedNetwork, Subnet
from iri.libvirt.networks.network_policy import Bridge, NetworkPolicy, OnDemand
from iri.machine import RuntimeNetworkInterface

ID = "0d0c2d9e-0000-4000-8000-000000000001"
RULES = NetworkPolicy(
    named=("default",),
    bridges={
        "br0": Bridge(),
        "trunk": Bridge(vlans=("7", "100-199")),
        "ovs": Bridge(vlans=("5",), openvswitch=True),
    },
    on_demand=OnDemand(nat=True, subnets=("10.0.0.0/8",)),
)


def interface(network_id: str, *ips: str, name: str = "eth0", **attributes: str) -> RuntimeNetworkInterface:
    return RuntimeNetworkInterface(name=name, network_id=network_id, ips=ips, attributes=attributes)


def lan(cidr: str = "", *, dhcp: bool = True, nat: bool = False) -> IsolatedNetwork:
    return IsolatedNetwork(identity="lan", subnet=Subnet(network=cidr, dhcp=dhcp, nat=nat) if cidr else None)


@pytest.mark.parametrize(
    ("given_", "want"),
    [
        (interface("libvirt:default"), NetworkNic(network="default")),
        (interface("libvirt:default", dhcp="false"), NetworkNic(network="default")),
        (interface("libvirt:default", cidr="10.0.0.0/24", dhcp="true"), NetworkNic(network="default")),
        (interface("bridge:br0"), BridgeNic(bridge="br0")),
        (interface("bridge:br0", cidr="192.168.7.0/24", gateway="192.168.7.1"), BridgeNic(bridge="br0")),
        (interface("bridge:trunk", vlan="150"), BridgeNic(bridge="trunk", vlan=150)),
        (interface("bridge:ovs", vlan="5"), BridgeNic(bridge="ovs", vlan=5, openvswitch=True)),
        (interface("lan"), lan()),
        (interface("lan", cidr="10.1.0.0/24"), lan("10.1.0.0/24")),
        (interface("lan", cidr="10.1.0.7/24"), lan("10.1.0.0/24")),
        (interface("lan", cidr="10.1.0.0/24", dhcp="false"), lan("10.1.0.0/24", dhcp=False)),
        (interface("lan", cidr="10.1.0.0/24", dhcp="True", nat="true"), lan("10.1.0.0/24", nat=True)),
    ],
)
def test_request_within_the_policy_is_parsed(given_: RuntimeNetworkInterface, want: object) -> None:
    assert parse_request(ID, given_, RULES).where == want


@pytest.mark.parametrize(
    ("given_", "says"),
    [
        (interface(""), "network_id"),
        (interface("a\nb"), "network_id"),
        (interface("x" * 513), "network_id"),
        (interface("libvirt:other"), r"networks\.named .*now: default"),
        (interface("libvirt:"), r"networks\.named"),
        (interface("bridge:eth0"), r"networks\.bridges .*now: br0, ovs, trunk"),
        (interface("bridge:../br0"), r"networks\.bridges"),
        (interface("bridge:br0", vlan="7"), r"bridges\.br0\.vlans .*now: none"),
        (interface("bridge:trunk", vlan="200"), r"bridges\.trunk\.vlans"),
        (interface("bridge:trunk", vlan="0"), "vlans"),
        (interface("bridge:trunk", vlan="٧"), "vlans"),
        (interface("bridge:trunk", vlan="7'/>"), "vlans"),
        (interface("lan", vlan="7"), "vlan has no effect"),
        (interface("libvirt:default", vlan="7"), "vlan has no effect"),
        (interface("bridge:br0", nat="true"), "nat has no effect"),
        (interface("lan", dhcp="true"), "need the attribute cidr"),
        (interface("lan", nat="true"), "need the attribute cidr"),
        (interface("lan", cidr="nope"), "must be an IPv4 network"),
        (interface("lan", cidr="fd00::/64"), "must be an IPv4 network"),
        (interface("lan", cidr="10.1.0.0/31"), "no room"),
        (interface("lan", cidr="192.168.1.0/24"), r"onDemand\.subnets .*now: 10\.0\.0\.0/8"),
        (interface("lan", cidr="0.0.0.0/0"), r"onDemand\.subnets"),
        (interface("lan", cidr="10.1.0.0/24", dhcp="maybe"), "true or false"),
        (interface("lan", "10.2.0.5", cidr="10.1.0.0/24"), "not an address for guests of 10.1.0.0/24"),
        (interface("lan", "10.1.0.1", cidr="10.1.0.0/24"), "not an address for guests"),
        (interface("lan", "10.1.0.255", cidr="10.1.0.0/24"), "not an address for guests"),
        (interface("lan", "x", cidr="10.1.0.0/24"), "not an IP address"),
        (interface("lan", "10.1.0.5", "10.1.0.6", cidr="10.1.0.0/24"), "one IPv4 address"),
        (interface("lan", mac="nope"), "write a MAC address"),
        (interface("lan", mac="01:00:5e:00:00:01"), "is reserved"),
        (interface("lan", mac="fe:00:00:00:00:01"), "is reserved"),
        (interface("lan", mac="00:00:00:00:00:00"), "is reserved"),
    ],
)
def test_what_is_refused(given_: RuntimeNetworkInterface, says: str) -> None:
    with pytest.raises(InvalidArgument, match=says):
        parse_request(ID, given_, RULES)


def test_policy_without_settings_allows_isolated_networks_alone() -> None:
    for one in (
        interface("libvirt:default"),
        interface("bridge:br0"),
        interface("lan", cidr="10.1.0.0/24", nat="true"),
    ):
        with pytest.raises(InvalidArgument, match="its operator can"):
            parse_request(ID, one, NetworkPolicy())
    assert parse_request(ID, interface("lan"), NetworkPolicy()).where == lan()
    with pytest.raises(InvalidArgument, match=r"onDemand\.allowed"):
        parse_request(ID, interface("lan"), NetworkPolicy(on_demand=OnDemand(allowed=False)))


def test_addresses_that_dhcp_gives_are_reserved() -> None:
    assert parse_request(ID, interface("lan", "10.1.0.5", "fd00::5", cidr="10.1.0.0/24"), RULES).reserved == (
        "10.1.0.5",
    )
    assert (
        parse_request(ID, interface("lan", "10.1.0.5", cidr="10.1.0.0/24", dhcp="false"), RULES).reserved
        == ()
    )
    assert parse_request(ID, interface("bridge:br0", "10.1.0.5"), RULES).reserved == ()


def test_mac_addresses_are_stable_and_unique() -> None:
    made = {mac_address(f"machine-{n}", f"eth{m}", "") for n in range(100) for m in range(4)}
    assert len(made) == 400
    assert all(MAC.fullmatch(mac) and mac.startswith("52:54:") for mac in made)
    assert mac_address(ID, "eth0", "") == "52:54:eb:d5:43:6d"
    assert mac_address(ID, "eth0", "AA-BB-CC-00-11-22") == "aa:bb:cc:00:11:22"


@pytest.mark.parametrize("vlans", [("0",), ("4095",), ("9-7",), ("a",), ("1-",), ("",)])
def test_invalid_vlans_are_refused(vlans: tuple[str, ...]) -> None:
    with pytest.raises(ValueError, match="VLAN"):
        Bridge(vlans=vlans)


@pytest.mark.parametrize("name", ["", "a" * 16, "a/b", "../x", "a b", "-a"])
def test_invalid_bridge_names_are_refused(name: str) -> None:
    with pytest.raises(ValueError, match="bridge"):
        NetworkPolicy(bridges={name: Bridge()})


texts = st.text(max_size=30) | st.sampled_from(
    [
        "",
        "true",
        "lan",
        "libvirt:default",
        "libvirt:x",
        "bridge:br0",
        "bridge:eth0",
        "10.1.0.0/24",
        "7",
        "bridge:trunk",
    ]
)


@settings(deadline=None)
@given(
    texts,
    texts,
    st.dictionaries(st.sampled_from(["mac", "vlan", "cidr", "dhcp", "nat"]), texts),
    st.lists(texts, max_size=2),
)
def test_any_request_reaches_only_what_the_policy_names(
    network_id: str, name: str, attributes: dict[str, str], ips: list[str]
) -> None:
    try:
        got: InterfaceRequest = parse_request(
            ID,
            RuntimeNetworkInterface(name=name, network_id=network_id, ips=tuple(ips), attributes=attributes),
            RULES,
        )
    except InvalidArgument:
        return
    match got.where:
        case NetworkNic(network=network):
            assert network in RULES.named
        case BridgeNic(bridge=bridge, vlan=vlan):
            assert not vlan or RULES.bridges[bridge].has_vlan(vlan)
        case IsolatedNetwork(identity=identity, subnet=subnet):
            assert identity == network_id
            assert subnet is None or subnet.network.startswith("10.")
    assert MAC.fullmatch(got.mac)
