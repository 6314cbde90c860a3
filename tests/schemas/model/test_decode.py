"""From documents to objects: what is written, what is filled in, and that whatever passes the check can be decoded."""

from __future__ import annotations

import copy
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given, settings

from schemas.kinds import Key, Kind
from schemas.manifest.schema_check import violations
from schemas.model import (
    TYPES,
    LocalDisk,
    Machine,
    MachineClass,
    MachinePool,
    NameRef,
    Network,
    NetworkInterface,
    Object,
    Secret,
    Volume,
    VolumePool,
    decode,
    defaults,
)
from schemas.model.capacity import needs
from schemas.model.compute import EphemeralVolume
from schemas.model.quantity import parse
from tests.schemas.manifest.mutations import mutate
from tests.schemas.samples import SAMPLES, load


def sample(name: str) -> Object:
    body: Any = load(SAMPLES[name])
    return decode(Kind(body["kind"]), body)


def machine(**spec: object) -> Machine:
    body = {"apiVersion": "compute.ironcore.dev/v1alpha1", "kind": "Machine", "metadata": {"name": "web"}}
    found = decode(Kind.MACHINE, {**body, "spec": {"machineClassRef": {"name": "small"}, **spec}})
    assert isinstance(found, Machine)
    return found


@pytest.mark.parametrize("seconds", [60.0, 1e18, 1e300])
def test_a_whole_number_may_be_written_with_a_point(seconds: float) -> None:
    found = machine(tolerations=[{"key": "a", "operator": "Exists", "tolerationSeconds": seconds}])
    assert found.spec.tolerations[0].toleration_seconds == int(seconds)


@pytest.mark.parametrize("name", SAMPLES)
def test_published_manifests_decode_without_being_changed(name: str) -> None:
    body: Any = load(SAMPLES[name])
    before = copy.deepcopy(body)
    found = decode(Kind(body["kind"]), body)
    assert body == before
    assert found.api_version == body["apiVersion"]
    namespace = body["metadata"].get("namespace", "default") if found.KIND.is_namespaced else ""
    assert found.key == Key(found.KIND, namespace, body["metadata"]["name"])
    assert decode(Kind(body["kind"]), body) == found


@settings(max_examples=300, deadline=None)
@given(mutate(is_hostile=True))
def test_every_valid_document_decodes(case: tuple[Kind, Any]) -> None:
    kind, body = case
    if not violations(kind, body):
        assert isinstance(decode(kind, body), TYPES[kind])


def test_a_machine_gets_its_defaults() -> None:
    found = machine(
        volumes=[{"name": "a", "localDisk": {}}], ignitionRef={"name": "boot"}, tolerations=[{"key": "a"}]
    )
    assert found.namespace == "default"
    assert found.hostname == "web"
    assert found.spec.power == defaults.POWER
    assert found.spec.on_pool_lost == defaults.ON_POOL_LOST
    assert found.spec.priority == 0
    assert found.spec.volumes[0].device == "oda"
    assert found.spec.volumes[0].source == LocalDisk()
    assert found.spec.ignition_ref is not None
    assert found.spec.ignition_ref.key == "ignition.yaml"
    assert found.spec.tolerations[0].operator == defaults.TOLERATION_OPERATOR


def test_an_empty_field_means_the_default() -> None:
    found = machine(
        ignitionRef={"name": "boot", "key": ""}, tolerations=[{"key": "a", "operator": "", "effect": ""}]
    )
    assert found.spec.ignition_ref is not None
    assert found.spec.ignition_ref.key == "ignition.yaml"
    assert found.spec.tolerations[0].operator == "Equal"


@pytest.mark.parametrize(
    ("written", "filled"),
    [
        ([], []),
        ([""], ["oda"]),
        (["", "", ""], ["oda", "odb", "odc"]),
        (["odb", "", ""], ["odb", "oda", "odc"]),
        (["", "oda", "vda"], ["odb", "oda", "vda"]),
        ([""] * 27, [f"od{letter}" for letter in "abcdefghijklmnopqrstuvwxyz"] + ["odaa"]),
    ],
)
def test_a_disk_without_device_gets_the_first_free_name(written: list[str], filled: list[str]) -> None:
    disks = [{"name": f"d{index}", "localDisk": {}} for index in range(len(written))]
    for disk, device in zip(disks, written, strict=True):
        disk.update({"device": device} if device else {})
    assert [disk.device for disk in machine(volumes=disks).spec.volumes] == filled


def test_there_is_a_device_for_every_disk_that_the_schema_allows() -> None:
    disks = [{"name": f"d{index}", "localDisk": {}} for index in range(len(tuple(defaults.device_names())))]
    assert machine(volumes=disks).spec.volumes[-1].device == "odzz"
    body = {"apiVersion": "compute.ironcore.dev/v1alpha1", "kind": "Machine", "metadata": {"name": "web"}}
    spec = {"machineClassRef": {"name": "small"}, "volumes": [*disks, {"name": "more", "localDisk": {}}]}
    assert [found.code for found in violations(Kind.MACHINE, {**body, "spec": spec})] == ["GV211"]


def test_former_names_of_fields_mean_the_new_ones() -> None:
    shop = sample("machine-with-ephemeral-resources")
    assert isinstance(shop, Machine)
    root, old, scratch, older = shop.spec.volumes
    assert isinstance(root.source, EphemeralVolume)
    assert isinstance(old.source, EphemeralVolume)
    source = old.source.volume_template.spec.data_source
    assert source is not None
    assert source.os_image is not None
    assert source.os_image.image == "debian:13"
    assert isinstance(scratch.source, LocalDisk)
    assert scratch.source.size_bytes == 2**30
    assert isinstance(older.source, LocalDisk)
    assert older.source.size_bytes == defaults.LOCAL_DISK_BYTES
    assert older.empty_disk is None


def test_amounts_are_whole_numbers() -> None:
    small = sample("openkcm-machine-class")
    assert isinstance(small, MachineClass)
    assert needs(small.capabilities) == {"cpu": 4000, "memory": 16 * 2**30}
    root = sample("volume")
    assert isinstance(root, Volume)
    assert root.spec.storage_bytes == 100 * 2**30
    outside = sample("volume-provided-from-outside")
    assert isinstance(outside, Volume)
    assert outside.spec.storage_bytes == 0


def test_overcommit_is_exact() -> None:
    body = {
        "apiVersion": "compute.ironcore.dev/v1alpha1",
        "kind": "MachinePool",
        "metadata": {"name": "rack"},
    }
    pool = decode(Kind.MACHINE_POOL, {**body, "spec": {"overcommit": {"cpu": "1.1", "memory": 1.5}}})
    assert isinstance(pool, MachinePool)
    assert (pool.spec.overcommit.cpu, pool.spec.overcommit.memory) == (Fraction(11, 10), Fraction(3, 2))
    bare = decode(Kind.MACHINE_POOL, {**body, "spec": None, "status": None})
    assert isinstance(bare, MachinePool)
    assert bare.spec.overcommit.cpu == 1


def test_null_means_absent() -> None:
    body = {
        "apiVersion": "networking.ironcore.dev/v1alpha1",
        "kind": "Network",
        "metadata": {"name": "front", "labels": None, "annotations": None, "deletionTimestamp": None},
        "spec": None,
        "status": {1: 2, "state": "Available"},
    }
    found = decode(Kind.NETWORK, body)
    assert isinstance(found, Network)
    assert found.metadata.labels == {}
    assert found.spec.ipv4 is None
    assert found.status.state == "Available"
    assert not found.metadata.is_deleting


def test_all_kinds_decode_their_parts() -> None:
    primary = sample("network-interface")
    assert isinstance(primary, NetworkInterface)
    assert primary.spec.addresses == ("10.0.0.1",)
    ceph = sample("volume-pool")
    assert isinstance(ceph, VolumePool)
    assert ceph.spec.machine_pool_selector is None
    assert ceph.status.allocatable == {"class/volume.fast": parse("9Ti")}
    assert ceph.status.available_volume_classes == (NameRef(name="fast"),)


def test_secrets_return_their_values_and_never_print_them() -> None:
    body = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "key"}}
    plain = decode(Kind.SECRET, {**body, "data": {"a": "aHVu\ndGVyMg=="}, "stringData": {"b": "swordfish"}})
    assert isinstance(plain, Secret)
    assert (plain.value("a"), plain.value("b"), plain.value("c")) == (b"hunter2", b"swordfish", None)
    assert plain.keys == {"a", "b"}
    assert not plain.is_encrypted
    assert "swordfish" not in f"{plain!r} {plain} {plain.__rich_repr__()}"
    assert "aHVu" not in repr(plain)
    sealed = sample("secret-sops")
    assert isinstance(sealed, Secret)
    assert sealed.is_encrypted
    assert sealed.value("encryptionKey") is None
    assert sealed.value("other") is None


def test_objects_are_frozen() -> None:
    found = machine()
    with pytest.raises(AttributeError):
        found.spec.power = "Off"  # type: ignore[misc]
    with pytest.raises(AttributeError):
        parse("1").nano = 5
