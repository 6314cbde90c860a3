"""Model objects as runtime objects, case by case."""

from __future__ import annotations

import json
from typing import Any

import pytest
from msgspec.structs import replace

from iri.machine import (
    Disk,
    Image,
    Power,
    RuntimeGuestConfig,
    RuntimeLocalDisk,
    RuntimeMachine,
    RuntimeMachineSpec,
    RuntimeNetworkInterface,
    VolumeConnection,
)
from poollet.decide import model_to_iri
from poollet.decide.actions import Ref
from poollet.decide.assignments import list_orders
from schemas.kinds import Kind
from schemas.model import Machine, Network, NetworkInterface
from tests.poollet.documents import FLEET, document, machine, uid_of, volume
from tests.poollet.site import site

GIB = 1 << 30
LAN_SPEC = {"networkRef": {"name": "lan"}}


def model(**spec: Any) -> Machine:
    found = machine(spec=spec).object
    assert isinstance(found, Machine)
    return found


def network(**spec: Any) -> Network:
    found = document(Kind.NETWORK, "lan", spec=spec).object
    assert isinstance(found, Network)
    return found


def interface(**spec: Any) -> NetworkInterface:
    found = document(Kind.NETWORK_INTERFACE, "nic", spec={**LAN_SPEC, **spec}).object
    assert isinstance(found, NetworkInterface)
    return found


@pytest.mark.parametrize(
    ("kind", "prefix"),
    [
        (Kind.MACHINE, "machinepoollet.ironcore.dev/machine"),
        (Kind.VOLUME, "volumepoollet.ironcore.dev/volume"),
    ],
)
def test_labels_tell_whose_an_object_is_and_its_name_is_read_from_them(kind: Kind, prefix: str) -> None:
    here = site(machine() if kind is Kind.MACHINE else volume("web"))
    (order,) = list_orders(here.view, here.facts)
    labels = model_to_iri.labels(order, FLEET)
    assert labels == {
        f"{prefix}-uid": uid_of(kind, "web"),
        f"{prefix}-namespace": "default",
        f"{prefix}-name": "web",
        "gitvirt.dev/fleet": FLEET,
        "gitvirt.dev/pool": "a" if kind is Kind.MACHINE else "disks",
        "gitvirt.dev/assignment": order.assignment,
    }
    assert model_to_iri.read_name(order.ref, labels) == ("default", "web")


def test_an_object_without_a_name_is_called_by_its_uid() -> None:
    assert model_to_iri.read_name(Ref(RuntimeMachine, "u"), {}) == ("", "u")


# what the machine declares, the token of the last restart, the annotations beside the constant ones
ANNOTATIONS: dict[str, tuple[dict[str, Any], str, dict[str, Any]]] = {
    "nothing": ({}, "", {}),
    "a priority": ({"priority": 7}, "", {"gitvirt.dev/priority": "7"}),
    "a restart": ({}, "t1", {"gitvirt.dev/restart": "t1"}),
    "a firmware variable": (
        {"efiVars": [{"name": "a", "uuid": "b", "value": "c"}]},
        "",
        {"gitvirt.dev/efi-variables": [{"name": "a", "uuid": "b", "value": "c"}]},
    ),
}


@pytest.mark.parametrize(("spec", "restart", "want"), ANNOTATIONS.values(), ids=ANNOTATIONS.keys())
def test_annotations_carry_what_the_runtime_interface_has_no_field_for(
    spec: dict[str, Any], restart: str, want: dict[str, Any]
) -> None:
    found = model_to_iri.machine_annotations(model(**spec), {"lan": ("nic", "u1")}, restart)
    assert found.keys() <= model_to_iri.OWN_ANNOTATIONS
    assert found.pop(model_to_iri.GENERATION) == found.pop(model_to_iri.IRI_GENERATION) == "0"
    assert json.loads(found.pop(model_to_iri.INTERFACES)) == {"lan": {"name": "nic", "uid": "u1"}}
    assert {key: json.loads(value) if value[0] in "[{" else value for key, value in found.items()} == want


@pytest.mark.parametrize(
    ("written", "want"), [({}, Power.ON), ({"power": "On"}, Power.ON), ({"power": "Off"}, Power.OFF)]
)
def test_a_machine_is_on_unless_it_is_declared_off(written: dict[str, str], want: Power) -> None:
    assert model_to_iri.power(model(**written)) is want


DISKS: dict[str, tuple[dict[str, Any], Disk]] = {
    "a blank disk": (
        {"localDisk": {"sizeLimit": "3Gi"}},
        Disk(name="root", local_disk=RuntimeLocalDisk(size_bytes=3 * GIB)),
    ),
    "the default size": (
        {"localDisk": {}},
        Disk(name="root", local_disk=RuntimeLocalDisk(size_bytes=10 * GIB)),
    ),
    "an image": (
        {"localDisk": {"sizeLimit": "3Gi", "image": "os:1"}, "device": "odb"},
        Disk(
            name="root",
            device="odb",
            local_disk=RuntimeLocalDisk(size_bytes=3 * GIB, image=Image(image="os:1")),
        ),
    ),
}


@pytest.mark.parametrize(("written", "want"), DISKS.values(), ids=DISKS.keys())
def test_a_local_disk_has_a_size_and_perhaps_an_image(written: dict[str, Any], want: Disk) -> None:
    (entry,) = model(volumes=[{"name": "root", **written}]).spec.volumes
    assert entry.local_disk is not None
    assert model_to_iri.local_disk(entry, entry.local_disk) == replace(want, device=entry.device)


# the network, the interface, the interface of the runtime
INTERFACES: dict[str, tuple[Network, NetworkInterface, RuntimeNetworkInterface]] = {
    "a network of the fleet": (
        network(),
        interface(),
        RuntimeNetworkInterface(name="lan", network_id=f"{FLEET}/default/lan", attributes={"mac": "m"}),
    ),
    "a network of the host": (
        network(providerID="bridge:br0"),
        interface(),
        RuntimeNetworkInterface(name="lan", network_id="bridge:br0", attributes={"mac": "m"}),
    ),
    "a network with addresses": (
        network(ipv4={"cidr": "10.1.0.0/24", "dhcp": False}),
        interface(ips=[{"value": "10.1.0.7"}]),
        RuntimeNetworkInterface(
            name="lan",
            network_id=f"{FLEET}/default/lan",
            ips=("10.1.0.7",),
            attributes={"mac": "m", "cidr": "10.1.0.0/24", "dhcp": "false", "nat": "false"},
        ),
    ),
    "what guests are told": (
        network(providerID="bridge:br0", vlan=120, gateway="10.1.0.1", dns=["10.1.0.53", "fd00::53"]),
        interface(),
        RuntimeNetworkInterface(
            name="lan",
            network_id="bridge:br0",
            attributes={"mac": "m", "vlan": "120", "gateway": "10.1.0.1", "dns": "10.1.0.53,fd00::53"},
        ),
    ),
    "the same as attributes of the interface": (
        network(providerID="bridge:br0"),
        interface(attributes={"vlan": "120", "gateway": "10.1.0.1", "dns": "10.1.0.53"}),
        RuntimeNetworkInterface(
            name="lan",
            network_id="bridge:br0",
            attributes={"mac": "m", "vlan": "120", "gateway": "10.1.0.1", "dns": "10.1.0.53"},
        ),
    ),
    "attributes of the interface": (
        network(),
        interface(attributes={"mtu": "9000", "mac": "ignored"}),
        RuntimeNetworkInterface(
            name="lan", network_id=f"{FLEET}/default/lan", attributes={"mtu": "9000", "mac": "m"}
        ),
    ),
}


@pytest.mark.parametrize(("net", "nic", "want"), INTERFACES.values(), ids=INTERFACES.keys())
def test_an_interface_names_its_network_for_the_runtime(
    net: Network, nic: NetworkInterface, want: RuntimeNetworkInterface
) -> None:
    assert model_to_iri.interface("lan", nic.spec, net, FLEET, "m") == want


def test_a_mac_address_is_local_and_unique_by_fleet_namespace_and_name() -> None:
    names = [("f", "a", "b"), ("g", "a", "b"), ("f", "c", "b"), ("f", "a", "c")]
    found = {model_to_iri.mac_address(*one) for one in names}
    assert len(found) == len(names)
    assert all(one.startswith("02:") and len(one) == 17 for one in found)
    assert model_to_iri.mac_address("f", "a", "b") == "02:01:cc:a4:77:1c", "a MAC must never change"


SPEC = RuntimeMachineSpec(
    class_name="small",
    guest_config=RuntimeGuestConfig(hostname="web"),
    volumes=(Disk(name="data", connection=VolumeConnection(driver="rbd", handle="h")),),
)


def with_connection(**connection: Any) -> RuntimeMachineSpec:
    (disk,) = SPEC.volumes
    assert disk.connection is not None
    return replace(SPEC, volumes=(replace(disk, connection=replace(disk.connection, **connection)),))


# what differs, whether it is another desired state
DIGESTS: dict[str, tuple[RuntimeMachineSpec, dict[str, str], bool]] = {
    "nothing": (SPEC, {"a": "1"}, False),
    "the power": (replace(SPEC, power=Power.OFF), {"a": "1"}, True),
    "the class": (replace(SPEC, class_name="large"), {"a": "1"}, True),
    "an annotation": (SPEC, {"a": "2"}, True),
    "the handle of a volume": (with_connection(handle="i"), {"a": "1"}, True),
    "the ignition, a secret": (replace(SPEC, ignition_data=b"x"), {"a": "1"}, False),
    "the secret of a volume": (with_connection(secret_data={"key": b"x"}), {"a": "1"}, False),
    "the key of an encrypted volume": (with_connection(encryption_data={"key": b"x"}), {"a": "1"}, False),
    "the size of a volume": (with_connection(effective_storage_bytes=GIB), {"a": "1"}, False),
}


@pytest.mark.parametrize(("spec", "annotations", "differs"), DIGESTS.values(), ids=DIGESTS.keys())
def test_a_digest_tells_desired_states_apart_and_leaves_secrets_out(
    spec: RuntimeMachineSpec, annotations: dict[str, str], differs: bool
) -> None:
    before = model_to_iri.spec_digest(SPEC, {"a": "1"})
    assert (model_to_iri.spec_digest(spec, annotations) != before) is differs
