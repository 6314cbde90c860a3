"""A text of a spec stays a text: it adds no element and no attribute to any document for libvirt.

Every string of a machine's whole plan is replaced in turn, mapping keys too, and every string that the builders of networks and
volumes take.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from iri.errors import InvalidArgument
from iri.libvirt import xml
from iri.libvirt.connect.storage import secret_document
from iri.libvirt.device_sources import DiskSource, NicSource
from iri.libvirt.domain.devices import disk_element, nic_element
from iri.libvirt.domain.document import DomainPlan, render_domain
from iri.libvirt.domain.names import alias_of
from iri.libvirt.domain.record import NAMESPACE, TAG, from_metadata
from iri.libvirt.networks.isolated_network import IsolatedNetwork, Subnet
from iri.libvirt.networks.network_xml import render_network, reservation
from iri.libvirt.volumes import storage_xml
from iri.libvirt.volumes.settings import DirPool, NetfsPool, RbdPool
from iri.libvirt.volumes.storage_xml import NewVolume
from iri.machine import Disk, RuntimeLocalDisk, RuntimeMachineSpec, RuntimeNetworkInterface
from tests.iri.libvirt.domain.plans import PLANS
from tests.servers.libvirtd import Libvirtd

VICIOUS = (
    "'/><devices><hostdev/></devices><x a='",
    '"/><disk type="file"><source file="/etc/shadow"/></disk><x a="',
    "</name><name>other",
    "]]><seclabel type='none'/><![CDATA[",
    "<!--",
    "--><x/>",
    "<?xml version='1.0'?>",
    "<!DOCTYPE x [<!ENTITY e SYSTEM 'file:///etc/shadow'>]>&e;",
    "&#60;x/&#62;",
    "&lt;x/&gt;",
    "a,b=c,server=on",  # what QEMU's own command line would take apart
    "../../../etc/shadow",
    "\u2028'/><x/>",
    " ' \" & < > ",
)
HARMLESS = "harmless"
hostile = st.sampled_from(VICIOUS) | st.text(min_size=1, max_size=40)
# What machines bring into a plan; the rest of it is the operator's.
OF_A_SPEC = ("record", "disks", "nics")


def places(value: object) -> Iterator[Callable[[str], object]]:
    """For each string within, a function that makes the same value with another text there."""
    match value:
        case str():
            yield lambda text: text
        case msgspec.Struct():
            for name in value.__struct_fields__:
                for put in places(getattr(value, name)):
                    yield lambda text, name=name, put=put: replace(value, **{name: put(text)})  # type: ignore[misc]
        case Mapping():
            for key, item in value.items():
                yield lambda text, key=key, item=item: {  # type: ignore[misc]
                    **{k: v for k, v in value.items() if k != key},
                    text: item,
                }
                for put in places(item):
                    yield lambda text, key=key, put=put: {**value, key: put(text)}  # type: ignore[misc]
        case tuple():
            for at, item in enumerate(value):
                for put in places(item):
                    yield lambda text, at=at, put=put: (*value[:at], put(text), *value[at + 1 :])  # type: ignore[misc]


def skeleton(document_: str) -> list[tuple[str, frozenset[str]]]:
    return [(part.tag, frozenset(part.attrib)) for part in xml.parse(document_).iter()]


def holds(build: Callable[[Any], str], put: Callable[[str], object], text: str) -> bool:
    """The document is made as with a harmless text in that place. False when it was refused."""
    try:
        made = build(put(text))
    except InvalidArgument:
        return False
    assert skeleton(made) == skeleton(build(put(HARMLESS)))
    return True


def of_a_spec(plan: DomainPlan) -> Iterator[Callable[[str], object]]:
    for name in OF_A_SPEC:
        for put in places(getattr(plan, name)):
            yield lambda text, name=name, put=put: replace(plan, **{name: put(text)})  # type: ignore[misc]


@pytest.mark.parametrize("name", PLANS)
def test_no_text_anywhere_in_a_plan_becomes_structure(name: str) -> None:
    spots = list(of_a_spec(PLANS[name]))
    made = [holds(render_domain, put, VICIOUS[at % len(VICIOUS)]) for at, put in enumerate(spots)]
    assert len(made) > 10
    assert any(made)


@pytest.mark.parametrize("text", VICIOUS)
def test_none_of_these_texts_becomes_structure(text: str) -> None:
    assert any([holds(render_domain, put, text) for put in of_a_spec(PLANS["two-disks"])])


@settings(max_examples=10, deadline=None)
@given(hostile)
def test_no_text_at_all_in_a_plan_becomes_structure(text: str) -> None:
    for put in of_a_spec(PLANS["two-disks"]):
        if holds(render_domain, put, text):
            plan = put(text)
            assert isinstance(plan, DomainPlan)
            kept = xml.parse(render_domain(plan)).find(f"metadata/{{{NAMESPACE}}}{TAG}")
            assert kept is not None
            assert from_metadata(kept).labels == plan.record.labels


@settings(max_examples=50, deadline=None)
@given(hostile)
def test_no_device_that_is_plugged_brings_another(text: str) -> None:
    (disk, prepared), (nic, source) = PLANS["two-disks"].disks[0], PLANS["two-disks"].nics[0]

    def plug(given_: tuple[Disk, DiskSource]) -> str:
        return xml.text(disk_element(alias_of(given_[0]), given_[0].device, "vdb", given_[1]))

    def connect(given_: tuple[RuntimeNetworkInterface, NicSource]) -> str:
        return xml.text(nic_element(alias_of(given_[0]), given_[1]))

    assert all(
        [holds(plug, put, text) is not None for put in places((disk, prepared.source))]
        + [holds(connect, put, text) is not None for put in places((nic, source))]
    )


@settings(deadline=None)
@given(hostile)
def test_no_text_adds_anything_to_a_network(text: str) -> None:
    subnet = Subnet(network="10.1.0.0/24", nat=True)
    holds(lambda id: xml.text(render_network(IsolatedNetwork(identity=id, subnet=subnet))), str, text)
    for put in places(("mac", "address")):
        holds(lambda both: xml.text(reservation(*both)), put, text)


POOLS = (
    DirPool(name="a", path="/a"),
    NetfsPool(name="a", path="/a", host="h", export="/e"),
    RbdPool(name="a", ceph_pool="p", monitors=("m:1",), user="u", key_file="/k"),
)
VOLUME = NewVolume(name="a", size_bytes=1, backing=("/b", "qcow2"), secret_id="c")


@settings(max_examples=50, deadline=None)
@given(hostile)
def test_no_text_adds_anything_to_a_volume(text: str) -> None:
    for put in places(VOLUME):
        holds(storage_xml.volume, put, text)
    for pool in POOLS:
        for put in places(pool):
            holds(lambda changed: storage_xml.pool(changed, "s"), put, text)
    for put in places(("id", "usage")):
        holds(
            lambda both: secret_document(both[0], usage=both[1], description=both[1]),
            put,
            text,
        )


@pytest.mark.parametrize("text", VICIOUS)
def test_libvirt_itself_parses_no_structure_from_a_text(text: str, libvirtd: Libvirtd) -> None:
    """Its own parser, and what it makes of it: a domain of exactly the plain one's devices."""
    plan = PLANS["plain"]
    hurt = replace(
        plan,
        record=replace(
            plan.record,
            labels={text: text},
            annotations={text: text},
            spec=RuntimeMachineSpec(
                class_name=text, volumes=(Disk(name=text, device=text, local_disk=RuntimeLocalDisk()),)
            ),
        ),
        platform=PLANS["tcg"].platform if "tcg" in PLANS else plan.platform,
    )
    shown = []
    for number, each in enumerate((replace(plan, platform=hurt.platform), hurt)):
        file = libvirtd.folder / f"hurt-{number}.xml"
        file.write_text(render_domain(each), encoding="utf-8")
        libvirtd.virsh("define", "--validate", str(file))
        try:
            root = xml.parse(libvirtd.virsh("dumpxml", "--inactive", plan.id).stdout)
        finally:
            libvirtd.virsh("undefine", "--nvram", plan.id)
        shown.append([part.tag for part in root.iter()])
    assert shown[0] == shown[1]
