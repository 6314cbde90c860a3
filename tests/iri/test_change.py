"""The object after each change, and the changes that are refused."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from iri.change import (
    AttachInterface,
    AttachVolume,
    DetachInterface,
    DetachVolume,
    ExpandVolume,
    MachineChange,
    Resize,
    SetAnnotations,
    SetPower,
    UpdateVolume,
    change_machine,
    expand_volume,
)
from iri.errors import AlreadyExists, FailedPrecondition, IRIError, NotFound
from iri.machine import (
    Disk,
    Power,
    RuntimeLocalDisk,
    RuntimeMachine,
    RuntimeMachineSpec,
    RuntimeNetworkInterface,
    VolumeConnection,
)
from iri.volume import Resources, RuntimeVolume, RuntimeVolumeSpec

ROOT = Disk(name="root", device="oda", local_disk=RuntimeLocalDisk(size_bytes=1))
DATA = Disk(name="data", device="odb", connection=VolumeConnection(driver="ceph", handle="h1"))
PRIMARY = RuntimeNetworkInterface(name="primary", network_id="n1", ips=("10.0.0.2", "10.0.0.1"))
MACHINE = RuntimeMachine(
    id="m1",
    annotations={"a": "1"},
    generation=4,
    spec=RuntimeMachineSpec(class_name="small", volumes=(ROOT, DATA), network_interfaces=(PRIMARY,)),
)
GROWN = Disk(
    name="data",
    device="odb",
    connection=VolumeConnection(driver="ceph", handle="h1", effective_storage_bytes=9),
)

CHANGES: list[tuple[str, MachineChange, RuntimeMachineSpec]] = [
    (
        "power",
        SetPower(Power.OFF),
        RuntimeMachineSpec(
            power=Power.OFF, class_name="small", volumes=(ROOT, DATA), network_interfaces=(PRIMARY,)
        ),
    ),
    (
        "resize",
        Resize("large"),
        RuntimeMachineSpec(class_name="large", volumes=(ROOT, DATA), network_interfaces=(PRIMARY,)),
    ),
    (
        "attach volume goes last",
        AttachVolume(Disk(name="more", device="odc")),
        RuntimeMachineSpec(
            class_name="small",
            volumes=(ROOT, DATA, Disk(name="more", device="odc")),
            network_interfaces=(PRIMARY,),
        ),
    ),
    (
        "detach volume",
        DetachVolume("root"),
        RuntimeMachineSpec(class_name="small", volumes=(DATA,), network_interfaces=(PRIMARY,)),
    ),
    (
        "update volume keeps its place",
        UpdateVolume(GROWN),
        RuntimeMachineSpec(class_name="small", volumes=(ROOT, GROWN), network_interfaces=(PRIMARY,)),
    ),
    (
        "attach interface",
        AttachInterface(RuntimeNetworkInterface(name="second")),
        RuntimeMachineSpec(
            class_name="small",
            volumes=(ROOT, DATA),
            network_interfaces=(PRIMARY, RuntimeNetworkInterface(name="second")),
        ),
    ),
    (
        "detach interface",
        DetachInterface("primary"),
        RuntimeMachineSpec(class_name="small", volumes=(ROOT, DATA)),
    ),
]

REFUSALS: list[tuple[str, MachineChange, type[IRIError], str]] = [
    ("same name", AttachVolume(ROOT), AlreadyExists, "root"),
    (
        "same device",
        AttachVolume(Disk(name="x", device="oda")),
        FailedPrecondition,
        "volume root has device oda already",
    ),
    ("update to a taken device", UpdateVolume(Disk(name="data", device="oda")), FailedPrecondition, "oda"),
    ("detach unknown volume", DetachVolume("nope"), NotFound, "nope"),
    ("update unknown volume", UpdateVolume(Disk(name="nope")), NotFound, "nope"),
    ("same interface", AttachInterface(PRIMARY), AlreadyExists, "primary"),
    ("detach unknown interface", DetachInterface("nope"), NotFound, "nope"),
]


@pytest.mark.parametrize(
    ("change", "spec"), [case[1:] for case in CHANGES], ids=[case[0] for case in CHANGES]
)
def test_change_touches_its_part_of_spec_and_counts(change: MachineChange, spec: RuntimeMachineSpec) -> None:
    changed = change_machine(MACHINE, change)
    assert changed.spec == spec
    assert changed.generation == MACHINE.generation + 1
    assert changed.annotations == MACHINE.annotations


@pytest.mark.parametrize(
    ("change", "error", "words"), [case[1:] for case in REFUSALS], ids=[case[0] for case in REFUSALS]
)
def test_impossible_change_is_refused(change: MachineChange, error: type[IRIError], words: str) -> None:
    with pytest.raises(error, match=words):
        change_machine(MACHINE, change)


@pytest.mark.parametrize("change", [SetPower(Power.ON), Resize("small"), UpdateVolume(DATA)])
def test_change_that_spec_already_has_changes_nothing(change: MachineChange) -> None:
    assert change_machine(MACHINE, change) is MACHINE


@given(st.dictionaries(st.text(), st.text()))
def test_replacing_annotations_keeps_the_generation(annotations: dict[str, str]) -> None:
    changed = change_machine(MACHINE, SetAnnotations(annotations))
    assert changed.annotations == annotations
    assert (changed.generation, changed.spec) == (MACHINE.generation, MACHINE.spec)


@pytest.mark.parametrize("change", [case[1] for case in CHANGES], ids=[case[0] for case in CHANGES])
def test_machine_under_deletion_takes_no_change(change: MachineChange) -> None:
    with pytest.raises(FailedPrecondition, match="being deleted"):
        change_machine(RuntimeMachine(id="m1", deleted_at=1, spec=MACHINE.spec), change)


def test_attach_after_detach_of_the_same_name() -> None:
    other = Disk(name="root", device="oda", local_disk=RuntimeLocalDisk(size_bytes=2))
    changed = change_machine(change_machine(MACHINE, DetachVolume("root")), AttachVolume(other))
    assert changed.spec.volumes == (DATA, other)


def volume(size: int, deleted_at: int = 0) -> RuntimeVolume:
    return RuntimeVolume(
        id="v1",
        generation=1,
        deleted_at=deleted_at,
        spec=RuntimeVolumeSpec(resources=Resources(storage_bytes=size)),
    )


def test_volume_grows() -> None:
    grown = expand_volume(volume(5), ExpandVolume(Resources(storage_bytes=6)))
    assert grown.spec.resources == Resources(storage_bytes=6)
    assert grown.generation == 2


def test_volume_with_the_desired_size_is_left_alone() -> None:
    before = volume(5)
    assert expand_volume(before, ExpandVolume(Resources(storage_bytes=5))) is before


@pytest.mark.parametrize(
    ("before", "size", "words"), [(volume(5), 4, "cannot shrink"), (volume(5, 1), 6, "deleted")]
)
def test_volume_change_is_refused(before: RuntimeVolume, size: int, words: str) -> None:
    with pytest.raises(FailedPrecondition, match=words):
        expand_volume(before, ExpandVolume(Resources(storage_bytes=size)))
