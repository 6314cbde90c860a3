"""Networks on a real libvirtd: made for the first interface, gone with the last, whatever happened in between."""

from __future__ import annotations

import threading
import uuid
from collections.abc import Iterator

import pytest

from iri.errors import FailedPrecondition, InvalidArgument, ResourceExhausted
from iri.libvirt import xml
from iri.libvirt.connect.link import LibvirtLink
from iri.libvirt.connect.networks import LibvirtNetworks
from iri.libvirt.device_sources import BridgeNic, NetworkNic
from iri.libvirt.networks.isolated_network import IsolatedNetwork
from iri.libvirt.networks.network_policy import Bridge, NetworkPolicy, OnDemand
from iri.libvirt.networks.network_xml import render_network
from iri.libvirt.networks.networks import Networks
from iri.machine import RuntimeNetworkInterface
from tests.servers.libvirtd import Libvirtd

RULES = NetworkPolicy(
    named=("operators", "missing"),
    bridges={"br0": Bridge(vlans=("5",), openvswitch=True)},
    on_demand=OnDemand(nat=True, most=4),
)
ROUTES = "Iface\tDestination\tGateway\tFlags\tRefCnt\tUse\tMetric\tMask\tMTU\tWindow\tIRTT\n"
LAN = "eth0\t0000A8C0\t00000000\t0001\t0\t0\t0\t00FFFFFF\t0\t0\t0\n"  # 192.168.0.0/24
A, B = str(uuid.UUID(int=1)), str(uuid.UUID(int=2))


@pytest.fixture(scope="module")
def link(libvirtd: Libvirtd) -> Iterator[LibvirtLink]:
    made = LibvirtLink(libvirtd.uri)
    made.open()
    yield made
    made.close()


@pytest.fixture
def store(link: LibvirtLink) -> Iterator[LibvirtNetworks]:
    made = LibvirtNetworks(link)
    yield made
    for network in made.all():
        made.stop(network.name)
        made.undefine(network.name)


@pytest.fixture
def networks(link: LibvirtLink, store: LibvirtNetworks) -> Networks:
    return Networks(store, RULES, lambda: ROUTES + LAN)


def nic(network_id: str, *ips: str, name: str = "eth0", **attributes: str) -> RuntimeNetworkInterface:
    return RuntimeNetworkInterface(name=name, network_id=network_id, ips=ips, attributes=attributes)


def names(store: LibvirtNetworks) -> set[str]:
    return {network.name for network in store.all()}


def test_network_is_created_with_its_first_interface_and_removed_with_its_last(
    networks: Networks, store: LibvirtNetworks, libvirtd: Libvirtd
) -> None:
    lan = nic("fleet/default/lan", cidr="10.1.0.0/24")
    source = networks.connect(A, lan)
    assert isinstance(source.where, NetworkNic)
    assert names(store) == {source.where.network}
    made = store.find(source.where.network)
    assert made is not None
    assert (made.identity, made.is_active) == ("fleet/default/lan", True)
    assert made.bridge in libvirtd.inside("ip", "-br", "link").stdout
    assert networks.connect(A, lan) == source
    networks.connect(B, lan)
    networks.prune(lambda: [(B, lan)])
    assert names(store) == {made.name}
    networks.prune(list)
    assert names(store) == set()
    assert made.bridge not in libvirtd.inside("ip", "-br", "link").stdout
    assert not list((libvirtd.folder / "lib" / "dnsmasq").glob(f"{made.bridge}*"))


def test_network_is_started_again_after_a_boot_of_the_host(
    networks: Networks, link: LibvirtLink, store: LibvirtNetworks
) -> None:
    source = networks.connect(A, nic("lan"))
    assert isinstance(source.where, NetworkNic)
    name = source.where.network
    assert link.call(lambda raw: raw.networkLookupByName(name).autostart(), "asking")
    store.stop(name)
    networks.connect(A, nic("lan"))
    found = store.find(name)
    assert found is not None
    assert found.is_active


def test_only_networks_of_ours_are_pruned(networks: Networks, store: LibvirtNetworks) -> None:
    store.define("<network><name>operators</name><bridge name='virbr7'/></network>")
    store.define("<network><name>gitvirt-but-not-ours</name><bridge name='virbr8'/></network>")
    networks.connect(A, nic("lan"))
    networks.prune(list)
    assert names(store) == {"operators", "gitvirt-but-not-ours"}


def test_named_network_must_be_defined_and_running(networks: Networks, store: LibvirtNetworks) -> None:
    with pytest.raises(FailedPrecondition, match="no libvirt network 'missing'"):
        networks.connect(A, nic("libvirt:missing"))
    store.define("<network><name>operators</name><bridge name='virbr7'/></network>")
    with pytest.raises(FailedPrecondition, match="stopped"):
        networks.connect(A, nic("libvirt:operators"))
    store.start("operators")
    assert networks.connect(A, nic("libvirt:operators")).where == NetworkNic(network="operators")


def test_bridge_is_passed_on_to_libvirt(networks: Networks) -> None:
    source = networks.connect(A, nic("bridge:br0", vlan="5", mac="52:54:00:00:00:01"))
    assert source.where == BridgeNic(bridge="br0", vlan=5, openvswitch=True)
    assert source.mac == "52:54:00:00:00:01"
    with pytest.raises(InvalidArgument, match="br1"):
        networks.connect(A, nic("bridge:br1"))


def test_foreign_network_of_the_same_name_is_left_alone(networks: Networks, store: LibvirtNetworks) -> None:
    name = IsolatedNetwork(identity="lan").name
    store.define(f"<network><name>{name}</name><bridge name='virbr7'/></network>")
    with pytest.raises(FailedPrecondition, match="another libvirt network"):
        networks.connect(A, nic("lan"))
    networks.prune(list)
    assert names(store) == {name}


def test_network_that_overlaps_the_host_or_another_network_is_refused(
    networks: Networks, store: LibvirtNetworks
) -> None:
    with pytest.raises(FailedPrecondition, match=r"192\.168\.0\.0/24, which this host reaches through eth0"):
        networks.connect(A, nic("lan", cidr="192.168.0.128/25"))
    networks.connect(A, nic("one", cidr="10.1.0.0/16"))
    with pytest.raises(FailedPrecondition, match="overlaps the addresses of one"):
        networks.connect(A, nic("two", cidr="10.1.2.0/24"))
    assert len(names(store)) == 1, "nothing half-made"


def test_number_of_isolated_networks_is_limited(networks: Networks, store: LibvirtNetworks) -> None:
    for n in range(4):
        networks.connect(A, nic(f"lan-{n}"))
    with pytest.raises(ResourceExhausted, match=r"onDemand\.most"):
        networks.connect(A, nic("lan-4"))
    networks.connect(A, nic("lan-3"))
    assert len(names(store)) == 4


def test_network_changes_once_no_guest_uses_it(networks: Networks, store: LibvirtNetworks) -> None:
    name = IsolatedNetwork(identity="lan").name
    networks.connect(A, nic("lan", cidr="10.1.0.0/24"))
    networks.connect(A, nic("lan", cidr="10.2.0.0/24", nat="true"))
    found = store.find(name)
    assert found is not None
    assert found.is_active
    assert [str(subnet) for subnet in found.subnets] == ["10.2.0.0/24"]
    assert found.shape[0] == "forward=nat"


def test_network_that_does_not_start_leaves_nothing_behind(
    networks: Networks, store: LibvirtNetworks, libvirtd: Libvirtd
) -> None:
    bridge = IsolatedNetwork(identity="lan").bridge
    libvirtd.inside("ip", "link", "add", bridge, "type", "bridge")
    try:
        with pytest.raises(FailedPrecondition, match=bridge):
            networks.connect(A, nic("lan"))
        assert names(store) == set()
    finally:
        libvirtd.inside("ip", "link", "del", bridge)
    networks.connect(A, nic("lan"))


def test_a_network_defined_but_never_started_is_started_or_pruned(
    networks: Networks, store: LibvirtNetworks
) -> None:
    network = IsolatedNetwork(identity="lan")
    store.define(xml.text(render_network(network)))
    networks.connect(A, nic("lan"))
    assert [one.is_active for one in store.all()] == [True]
    store.stop(network.name)
    networks.prune(list)
    assert names(store) == set()


def test_reservations_follow_the_interfaces(networks: Networks, store: LibvirtNetworks) -> None:
    def reservations_of() -> set[str]:
        (network,) = store.all()
        return {address for _, address in network.reservations}

    first, second = nic("lan", "10.1.0.5", cidr="10.1.0.0/24"), nic("lan", "10.1.0.6", cidr="10.1.0.0/24")
    networks.connect(A, first)
    networks.connect(A, first)
    networks.connect(B, second)
    assert reservations_of() == {"10.1.0.5", "10.1.0.6"}
    with pytest.raises(FailedPrecondition, match="exist"):
        networks.connect(str(uuid.UUID(int=3)), first)
    moved = nic("lan", "10.1.0.7", cidr="10.1.0.0/24")
    networks.connect(A, moved)
    assert reservations_of() == {"10.1.0.6", "10.1.0.7"}
    networks.prune(lambda: [(A, moved)])
    assert reservations_of() == {"10.1.0.7"}


def test_interface_allowed_by_an_earlier_policy_keeps_its_network(
    networks: Networks, store: LibvirtNetworks, link: LibvirtLink
) -> None:
    first = nic("lan", "10.1.0.5", cidr="10.1.0.0/24")
    networks.connect(A, first)
    stricter = NetworkPolicy(on_demand=OnDemand(allowed=False))
    Networks(store, stricter).prune(lambda: [(A, first)])
    (network,) = store.all()
    assert [address for _, address in network.reservations] == ["10.1.0.5"]


def test_connecting_and_pruning_at_once_never_loses_a_network(
    networks: Networks, store: LibvirtNetworks
) -> None:
    wanted: dict[str, RuntimeNetworkInterface] = {}
    stop = threading.Event()
    trouble: list[Exception] = []

    def prune() -> None:
        while not stop.is_set():
            try:
                networks.prune(lambda: list(wanted.items()))
            except Exception as error:  # noqa: BLE001 - checked below, in the test's own thread
                trouble.append(error)

    pruner = threading.Thread(target=prune)
    pruner.start()
    for n in range(4):
        machine = str(uuid.UUID(int=n))
        wanted[machine] = nic(f"lan-{n}")
        networks.connect(machine, wanted[machine])
        (name,) = {one.name for one in store.all() if one.identity == f"lan-{n}"}
        assert name in names(store)
        if n % 2:
            del wanted[machine]
    stop.set()
    pruner.join()
    assert not trouble
    networks.prune(lambda: list(wanted.items()))
    assert {network.identity for network in store.all()} == {"lan-0", "lan-2"}
