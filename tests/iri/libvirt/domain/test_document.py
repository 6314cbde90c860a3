"""Whole domains, as they are given to libvirt: one golden file a plan."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from iri.errors import InvalidArgument
from iri.libvirt.device_sources import DiskSource, FileSource, PreparedDisk
from iri.libvirt.domain.document import DomainPlan, render_domain, resized_document
from iri.libvirt.domain.domain_state import parse_hardware
from iri.libvirt.domain.names import DeviceKind, alias_of
from iri.libvirt.domain.record import NAMESPACE, TAG, from_metadata
from iri.libvirt.domain.traits import HostPlatform
from iri.libvirt.xml import UNWRITABLE, parse
from iri.machine import (
    Disk,
    RuntimeGuestConfig,
    RuntimeLocalDisk,
    RuntimeMachineSpec,
    RuntimeNetworkInterface,
    VolumeConnection,
)
from tests.iri.libvirt.domain.plans import FIELDS, NETWORK, PLAIN, PLANS, record
from tests.servers.libvirtd import Libvirtd

GOLDENS = Path(__file__).parent / "goldens"


@pytest.mark.parametrize("name", PLANS)
def test_domain_is_as_in_its_golden_file(name: str, request: pytest.FixtureRequest) -> None:
    golden = GOLDENS / f"{name}.xml"
    made = render_domain(PLANS[name]) + "\n"
    if request.config.getoption("--regen"):
        golden.write_text(made, encoding="utf-8")
    assert made == golden.read_text(encoding="utf-8")


def test_every_golden_file_has_its_case() -> None:
    assert {path.stem for path in GOLDENS.iterdir()} == set(PLANS)


def test_every_field_of_a_spec_changes_some_golden() -> None:
    assert set(FIELDS) == set(RuntimeMachineSpec.__struct_fields__), "a new field needs a plan"
    for field in FIELDS:
        plain = getattr(PLAIN.record.spec, field)
        changed = [name for name, plan in PLANS.items() if getattr(plan.record.spec, field) != plain]
        assert changed, field
        assert any(render_domain(PLANS[name]) != render_domain(PLAIN) for name in changed), field


def test_every_trait_changes_some_golden() -> None:
    for field in PLAIN.traits.__struct_fields__:
        plain = getattr(PLAIN.traits, field)
        assert any(getattr(plan.traits, field) != plain for plan in PLANS.values()), field


def test_domain_contains_no_secrets() -> None:
    for plan in PLANS.values():
        assert "hush" not in render_domain(plan)
        assert "aHVzaA" not in render_domain(plan), "nor in base64"


TEXT = st.text(min_size=1).filter(lambda text: "\r" not in text)


@given(TEXT, TEXT, TEXT, TEXT)
def test_no_text_of_a_spec_becomes_structure(name: str, device: str, hostname: str, path: str) -> None:
    disk = Disk(name=name, device=device, local_disk=RuntimeLocalDisk())
    nic = RuntimeNetworkInterface(name=name, network_id=hostname, attributes={name: device})
    machine = record(
        labels={name: path, "machinepoollet.ironcore.dev/machine-name": hostname},
        annotations={device: name},
        spec=RuntimeMachineSpec(
            class_name=hostname,
            volumes=(disk,),
            network_interfaces=(nic,),
            guest_config=RuntimeGuestConfig(hostname=hostname),
        ),
    )
    source = PreparedDisk(source=DiskSource(where=FileSource(path=path)))
    plan = replace(PLAIN, record=machine, disks=((disk, source),), nics=((nic, NETWORK),))
    if any(UNWRITABLE.search(text) for text in (device[:20], path)):
        with pytest.raises(InvalidArgument):
            render_domain(plan)
        return
    made = parse(render_domain(plan))
    assert [part.tag for part in made.iter()] == tags(PLAIN)
    metadata = made.find(f"metadata/{{{NAMESPACE}}}{TAG}")
    assert metadata is not None
    assert from_metadata(metadata) == machine


def tags(plan: DomainPlan) -> list[str]:
    return [part.tag for part in parse(render_domain(plan)).iter()]


@pytest.mark.parametrize("name", [name for name in PLANS if name != "arm"])
def test_libvirt_accepts_it_by_its_schema(name: str, libvirtd: Libvirtd) -> None:
    """With emulation: nothing else can be had everywhere."""
    plan = replace(PLANS[name], platform=HostPlatform(cpus=8))
    document_file = libvirtd.folder / f"{name}.xml"
    document_file.write_text(render_domain(plan), encoding="utf-8")
    libvirtd.virsh("define", "--validate", str(document_file))
    assert parse_hardware(libvirtd.virsh("dumpxml", "--inactive", plan.id).stdout).aliases == set(
        parse_hardware(render_domain(plan)).aliases
    )
    libvirtd.virsh("undefine", "--nvram", plan.id)


def test_hardware_is_parsed_from_the_domain() -> None:
    plan = PLANS["two-disks"]
    seen = parse_hardware(render_domain(plan))
    assert {alias.name: target for alias, target in seen.disks.items()} == {"root": "vda", "data": "vdb"}
    assert {alias.name: mac for alias, mac in seen.nics.items()} == {"primary": "52:54:00:12:34:56"}
    assert set(seen.disks) == {alias_of(disk) for disk, _ in plan.disks}
    assert set(seen.nics) == {alias_of(nic) for nic, _ in plan.nics}
    assert (seen.cpus, seen.memory_bytes) == (2, 1 << 30)


def test_resize_changes_the_part_of_the_class_alone() -> None:
    larger = replace(PLAIN, record=record(resources={"cpu": 4, "memory": 2 << 30}))
    again = parse(resized_document(render_domain(PLAIN), larger))
    wanted = parse(render_domain(larger))
    for tag in ("memory", "currentMemory", "vcpu"):
        assert again.findtext(tag) == wanted.findtext(tag)
    assert sorted(part.tag for part in again) == sorted(part.tag for part in wanted)
    assert (
        parse_hardware(resized_document(render_domain(PLAIN), larger)).aliases
        == parse_hardware(render_domain(PLAIN)).aliases
    )


def test_disk_that_has_grown_is_the_same_and_another_volume_is_not() -> None:
    disk = Disk(name="data", device="odb", connection=VolumeConnection(driver="ceph", handle="v1"))
    assert disk.connection is not None
    grown = replace(
        disk, connection=replace(disk.connection, effective_storage_bytes=5, secret_data={"k": b"v"})
    )
    other = replace(disk, connection=replace(disk.connection, handle="v2"))
    assert alias_of(disk) == alias_of(grown)
    assert alias_of(disk) != alias_of(other)
    assert alias_of(disk).kind == DeviceKind.DISK.value
