"""What guests are told about their network: rows of the table, and the laws that a parser of cloud-init's format checks."""

from __future__ import annotations

import ipaddress
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from iri.errors import InvalidArgument
from iri.libvirt.networks.interface_request import mac_address
from iri.libvirt.seed.network_config import network_config
from iri.machine import RuntimeMachine, RuntimeMachineSpec, RuntimeNetworkInterface
from tests.iri.libvirt.seed.cloud_init_format import read_network_config

ID = "0d0c2d9e-0000-4000-8000-000000000001"
MAC = "02:aa:bb:cc:dd:01"


def interface(network_id: str, *ips: str, name: str = "lan", **attributes: str) -> RuntimeNetworkInterface:
    given_ = {"mac": MAC, **attributes}
    return RuntimeNetworkInterface(name=name, network_id=network_id, ips=ips, attributes=given_)


def machine(*interfaces: RuntimeNetworkInterface) -> RuntimeMachine:
    return RuntimeMachine(id=ID, spec=RuntimeMachineSpec(network_interfaces=interfaces))


UPLINK = {"cidr": "10.20.0.0/24", "gateway": "10.20.0.1", "dns": "10.20.0.53,fd00::53"}

# the interface, what its guest is told beside its MAC address; None: the guest needs to be told nothing
ROWS: dict[str, tuple[RuntimeNetworkInterface, dict[str, Any] | None]] = {
    "an isolated network without addresses": (interface("lan"), None),
    "a server of this host": (interface("lan", "10.1.0.7", cidr="10.1.0.0/24", dhcp="true"), None),
    "a server of this host, by default": (interface("lan", "10.1.0.7", cidr="10.1.0.0/24", nat="true"), None),
    "a bridge": (interface("bridge:br0"), None),
    "a bridge, and an address whose prefix length is unknown": (interface("bridge:br0", "10.20.0.7"), None),
    "a static address": (
        interface("bridge:br0", "10.20.0.7", vlan="120", **UPLINK),
        {
            "dhcp4": False,
            "addresses": ["10.20.0.7/24"],
            "routes": [{"to": "0.0.0.0/0", "via": "10.20.0.1"}],
            "nameservers": {"addresses": ["10.20.0.53", "fd00::53"]},
        },
    ),
    "a static address in a network of the host's libvirt": (
        interface("libvirt:default", "10.20.0.7", cidr="10.20.0.0/16"),
        {"dhcp4": False, "addresses": ["10.20.0.7/16"]},
    ),
    "DHCP is off, behind the NAT of this host": (
        interface("lan", "10.1.0.7", cidr="10.1.0.0/24", dhcp="false", nat="true"),
        {
            "dhcp4": False,
            "addresses": ["10.1.0.7/24"],
            "routes": [{"to": "0.0.0.0/0", "via": "10.1.0.1"}],
        },
    ),
    "DHCP is off, without an address": (interface("bridge:br0", dhcp="false"), {"dhcp4": False}),
    "DHCP, and name servers of the network": (
        interface("bridge:br0", dns="10.20.0.53"),
        {"dhcp4": True, "nameservers": {"addresses": ["10.20.0.53"]}},
    ),
    "two versions of IP": (
        interface("bridge:br0", "10.20.0.7", "fd00::7", cidr="10.20.0.0/24", gateway="fd00::1"),
        {
            "dhcp4": False,
            "addresses": ["10.20.0.7/24", "fd00::7/64"],
            "routes": [{"to": "::/0", "via": "fd00::1"}],
        },
    ),
    "IPv6 beside DHCP": (
        interface("lan", "10.1.0.7", "fd00::7", cidr="10.1.0.0/24"),
        {"dhcp4": True, "addresses": ["fd00::7/64"]},
    ),
}


@pytest.mark.parametrize(("given_", "want"), ROWS.values(), ids=ROWS.keys())
def test_guest_gets_what_no_server_gives_it(
    given_: RuntimeNetworkInterface, want: dict[str, Any] | None
) -> None:
    found = network_config(machine(given_))
    if want is None:
        assert found == b""
    else:
        identity = {"match": {"macaddress": MAC}, "set-name": "eth0"}
        assert read_network_config(found) == {"eth0": identity | want}


def test_all_interfaces_are_listed_once_one_needs_it() -> None:
    second = interface("lan", name="second", mac="02:aa:bb:cc:dd:02", cidr="10.1.0.0/24")
    found = read_network_config(
        network_config(machine(interface("bridge:br0", "10.20.0.7", **UPLINK), second))
    )
    assert [(each["set-name"], each["dhcp4"]) for each in found.values()] == [("eth0", False), ("eth1", True)]


def test_interface_without_a_mac_address_is_found_by_the_one_that_the_host_gives_it() -> None:
    without = RuntimeNetworkInterface(name="lan", network_id="bridge:br0", attributes={"dns": "10.0.0.1"})
    found = read_network_config(network_config(machine(without)))
    assert found["eth0"]["match"] == {"macaddress": mac_address(ID, "lan", "")}


def test_the_text_is_one_and_the_same() -> None:
    """The bytes are kept: a disk with others would be written again."""
    assert network_config(machine(interface("bridge:br0", "10.20.0.7", **UPLINK))).decode() == (
        """\
version: 2
ethernets:
  eth0:
    match:
      macaddress: "02:aa:bb:cc:dd:01"
    set-name: eth0
    dhcp4: false
    addresses:
      - "10.20.0.7/24"
    routes:
      - to: "0.0.0.0/0"
        via: "10.20.0.1"
    nameservers:
      addresses:
        - "10.20.0.53"
        - "fd00::53"
"""
    )


@pytest.mark.parametrize(
    ("given_", "says"),
    [
        (interface("bridge:br0", gateway="router"), "gateway has a value that is not an IP address"),
        (interface("bridge:br0", dns="10.0.0.1, x"), "dns has a value that is not an IP address"),
        (interface("bridge:br0", cidr="10.0.0.0/40"), "cidr must be an IPv4 network"),
    ],
)
def test_malformed_attribute_is_refused(given_: RuntimeNetworkInterface, says: str) -> None:
    with pytest.raises(InvalidArgument, match=says):
        network_config(machine(given_))


addresses = st.ip_addresses().map(str)
interfaces = st.builds(
    RuntimeNetworkInterface,
    name=st.text(max_size=5),
    network_id=st.sampled_from(["lan", "bridge:br0", "libvirt:default"]),
    ips=st.lists(addresses, max_size=3).map(tuple),
    attributes=st.fixed_dictionaries(
        {},
        optional={
            "cidr": st.ip_addresses(v=4).map(lambda each: f"{each}/24"),
            "dhcp": st.sampled_from(["true", "false"]),
            "nat": st.sampled_from(["true", "false"]),
            "gateway": addresses,
            "dns": st.lists(addresses, max_size=2).map(",".join),
        },
    ),
)


@settings(deadline=None)
@given(st.lists(interfaces, max_size=3))
def test_any_configuration_is_one_that_cloud_init_reads(given_: list[RuntimeNetworkInterface]) -> None:
    text = network_config(machine(*given_))
    assert network_config(machine(*given_)) == text
    if not text:
        return
    found = read_network_config(text)
    assert len(found) == len(given_)
    for read, one in zip(found.values(), given_, strict=True):
        static = {str(ipaddress.ip_interface(each).ip) for each in read.get("addresses", ())}
        assert static <= {str(ipaddress.ip_address(ip)) for ip in one.ips}, "no address but its own"
        has_ipv4 = any(":" not in each for each in static)
        assert not (has_ipv4 and read["dhcp4"]), "one source of its IPv4 address"
