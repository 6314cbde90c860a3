"""The XML of networks on demand, and what is read back of it."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from iri.errors import InvalidArgument
from iri.libvirt import xml
from iri.libvirt.networks.host_routes import overlapping_route, routes
from iri.libvirt.networks.isolated_network import IsolatedNetwork, Subnet
from iri.libvirt.networks.network_xml import parse_network, render_network

PLAIN = """<network xmlns:ns0="https://gitvirt.dev/libvirt/network">
  <name>gitvirt-094a367b0262</name>
  <uuid>e2e6955b-652b-5f27-8e38-f7380a628670</uuid>
  <metadata>
    <ns0:network id="lan" />
  </metadata>
  <bridge name="gv094a367b0262" stp="off" delay="0" />
</network>"""
WITH_DHCP = PLAIN.replace(
    "</network>",
    """  <dns enable="no" />
  <ip address="10.1.0.1" prefix="24">
    <dhcp>
      <range start="10.1.0.2" end="10.1.0.254">
        <lease expiry="1" unit="hours" />
      </range>
    </dhcp>
  </ip>
</network>""",
)
WITH_NAT = WITH_DHCP.replace('  <dns enable="no" />\n', "").replace(
    "  <bridge", '  <forward mode="nat" />\n  <bridge'
)
STATIC = PLAIN.replace(
    "</network>", '  <dns enable="no" />\n  <ip address="10.1.0.1" prefix="24" />\n</network>'
)


@pytest.mark.parametrize(
    ("subnet", "want"),
    [
        (None, PLAIN),
        (Subnet(network="10.1.0.0/24"), WITH_DHCP),
        (Subnet(network="10.1.0.0/24", nat=True), WITH_NAT),
        (Subnet(network="10.1.0.0/24", dhcp=False), STATIC),
    ],
)
def test_network_is_as_in_its_golden_file(subnet: Subnet | None, want: str) -> None:
    assert xml.text(render_network(IsolatedNetwork(identity="lan", subnet=subnet))) == want


def test_different_subnets_have_different_shapes() -> None:
    subnets = [
        None,
        Subnet(network="10.1.0.0/24"),
        Subnet(network="10.1.0.0/25"),
        Subnet(network="10.1.0.0/24", dhcp=False),
        Subnet(network="10.1.0.0/24", nat=True),
    ]
    shapes = {
        parse_network(render_network(IsolatedNetwork(identity="a", subnet=one)), is_active=False).shape
        for one in subnets
    }
    assert len(shapes) == len(subnets)


def test_a_range_stays_within_what_libvirt_accepts() -> None:
    assert Subnet(network="10.0.0.0/8").range == ("10.0.0.2", "10.0.255.255")
    assert Subnet(network="10.1.2.0/30").range == ("10.1.2.2", "10.1.2.2")


@settings(deadline=None)
@given(st.text(min_size=1))
def test_identity_is_always_an_attribute(identity: str) -> None:
    network = IsolatedNetwork(identity=identity, subnet=Subnet(network="10.1.0.0/24"))
    try:
        document = xml.text(render_network(network))
    except InvalidArgument:
        return
    read = xml.parse(document)
    harmless = render_network(IsolatedNetwork(identity="lan", subnet=network.subnet))
    assert [one.tag for one in read.iter()] == [one.tag for one in harmless.iter()]
    assert (
        parse_network(read, is_active=False).identity == " ".join(identity.replace("\r\n", "\n").splitlines())
        or identity
    )
    assert len(network.bridge) < 16


def test_identities_never_share_names() -> None:
    made = [IsolatedNetwork(identity=f"network-{n}") for n in range(1000)]
    assert (
        len({one.name for one in made})
        == len({one.bridge for one in made})
        == len({one.uuid for one in made})
        == 1000
    )


TABLE = """Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\t\tMTU\tWindow\tIRTT
eth0\t00000000\t0100A8C0\t0003\t0\t0\t0\t00000000\t0\t0\t0
eth0\t0000A8C0\t00000000\t0001\t0\t0\t0\t00FFFFFF\t0\t0\t0
gv1\t0000010A\t00000000\t0001\t0\t0\t0\t00FFFFFF\t0\t0\t0
eth1\t0000020A\t00000000\t0000\t0\t0\t0\t00FFFFFF\t0\t0\t0
"""


def test_routing_table_of_the_kernel_is_parsed() -> None:
    assert [(str(route.network), route.device) for route in routes(TABLE)] == [
        ("192.168.0.0/24", "eth0"),
        ("10.1.0.0/24", "gv1"),
    ]


@pytest.mark.parametrize(
    ("network", "own", "want"),
    [
        ("192.168.0.0/24", "gv1", "eth0"),
        ("192.168.0.128/25", "gv1", "eth0"),
        ("192.0.0.0/8", "gv1", "eth0"),
        ("192.168.1.0/24", "gv1", None),
        ("10.1.0.0/16", "gv1", None),
        ("10.1.0.0/16", "gv2", "gv1"),
    ],
)
def test_network_that_overlaps_a_route_of_the_host_is_found(network: str, own: str, want: str | None) -> None:
    route = overlapping_route(network, TABLE, own)
    assert (route.device if route else None) == want
