"""What counts as leaked in QEMU: named by libvirt, not in the domain's XML, and never part of a backup or a copy."""

from __future__ import annotations

import pytest

from iri.libvirt.domain.qemu_state import BlockNode, LeakedDevices, QemuState, data_location, find_leaked

DATA, BASE, ROOT = "/pool/data.qcow2", "/images/base.qcow2", "/pool/root.qcow2"
DISK, NIC = "ua-disk-data-0123abcd", "ua-nic-primary-0123abcd"


def layers(number: int, place: str, rests_on: str = "") -> tuple[BlockNode, ...]:
    return (
        BlockNode(name=f"libvirt-{number}-storage", place=place),
        BlockNode(name=f"libvirt-{number}-format", place=place, rests_on=rests_on),
    )


def document(*devices: str) -> str:
    return f"<domain><devices>{''.join(devices)}</devices></domain>"


def disk(number: int, alias: str = "ua-disk-root-0123abcd") -> str:
    return f"<disk><source file='x' index='{number}'/><alias name='{alias}'/></disk>"


CASES = (
    ("nothing", QemuState(document=document()), (DATA,), LeakedDevices()),
    (
        "a disk before its device",
        QemuState(nodes=(*layers(1, ROOT), *layers(2, DATA)), document=document(disk(1))),
        (DATA,),
        LeakedDevices(nodes=("libvirt-2-format", "libvirt-2-storage")),
    ),
    (
        "one layer of it",
        QemuState(nodes=layers(2, DATA)[:1], document=document(disk(1))),
        (DATA,),
        LeakedDevices(nodes=("libvirt-2-storage",)),
    ),
    (
        "a disk that is not suspected may be part of a backup",
        QemuState(nodes=layers(2, DATA), document=document(disk(1))),
        (ROOT,),
        LeakedDevices(),
    ),
    (
        "a disk that libvirt knows",
        QemuState(nodes=layers(2, DATA), disks={DISK: "libvirt-2-format"}, devices=frozenset({DISK}), document=document(disk(2, DISK))),
        (DATA,),
        LeakedDevices(),
    ),
    (
        "the target of a copy that libvirt knows",
        QemuState(
            nodes=layers(2, DATA),
            document=document("<disk><source index='1'/><mirror><source index='2'/></mirror></disk>"),
        ),
        (DATA,),
        LeakedDevices(),
    ),
    (
        "nodes that are not libvirt's",
        QemuState(nodes=(BlockNode(name="mine", place=DATA), BlockNode(name="#block123", place=DATA)), document=document()),
        (DATA,),
        LeakedDevices(),
    ),
    (
        "what it rests on, with its keys",
        QemuState(
            nodes=(*layers(3, BASE), *layers(2, DATA, BASE)),
            objects=frozenset({"masterKey0", "libvirt-2-format-encryption-secret0", "libvirt-1-format-encryption-secret0"}),
            document=document(disk(1)),
        ),
        (DATA,),
        LeakedDevices(
            nodes=("libvirt-3-format", "libvirt-2-format", "libvirt-3-storage", "libvirt-2-storage"),
            objects=("libvirt-2-format-encryption-secret0",),
        ),
    ),
    (
        "an image that a disk which libvirt knows rests on",
        QemuState(nodes=(*layers(3, BASE), *layers(2, DATA, BASE)), document=document(disk(1), disk(3))),
        (DATA,),
        LeakedDevices(nodes=("libvirt-2-format", "libvirt-2-storage")),
    ),
    (
        "a device, with its disk although that is no longer suspected",
        QemuState(
            devices=frozenset({DISK, "pci.1", "balloon0"}),
            disks={DISK: "libvirt-2-format", "": "libvirt-1-format"},
            nodes=(*layers(1, ROOT), *layers(2, DATA)),
            document=document(disk(1)),
        ),
        (),
        LeakedDevices(devices=(DISK,), nodes=("libvirt-2-format", "libvirt-2-storage")),
    ),
    (
        "an interface before its device",
        QemuState(nics=frozenset({NIC}), document=document()),
        (),
        LeakedDevices(nics=(NIC,)),
    ),
    (
        "an interface that libvirt knows",
        QemuState(nics=frozenset({NIC}), devices=frozenset({NIC}), document=document(f"<interface><alias name='{NIC}'/></interface>")),
        (),
        LeakedDevices(),
    ),
    (
        "a node without a location is not leaked",
        QemuState(nodes=(BlockNode(name="libvirt-2-format", place=""),), document=document()),
        ("",),
        LeakedDevices(),
    ),
)  # fmt: skip


@pytest.mark.parametrize(
    ("inside", "places", "want"), [case[1:] for case in CASES], ids=[case[0] for case in CASES]
)
def test_leaked_is_what_libvirt_named_and_does_not_know(
    inside: QemuState, places: tuple[str, ...], want: LeakedDevices
) -> None:
    assert find_leaked(inside, places) == want
    assert bool(want) == (want != LeakedDevices())


PLACES = (
    ("path", "/pool/a b.qcow2", "/pool/a b.qcow2"),
    ("options of a file", 'json:{"driver": "qcow2", "file": {"driver": "file", "filename": "/pool/a"}}', "/pool/a"),
    ("options of ceph", 'json:{"driver":"raw","file":{"driver":"rbd","pool":"p","image":"i","user":"u"}}', "p/i"),
    ("ceph", "rbd:p/i:id=u:mon_host=h", "p/i"),
    ("nothing", "", ""),
    ("options that are cut off", 'json:{"driver": "qcow2", "file": {"dri...', ""),
    ("options that are none", "json:[1]", ""),
    ("options of a node by its name", 'json:{"driver": "qcow2", "file": "libvirt-2-storage"}', ""),
    ("options of what has no place", 'json:{"driver": "null-co"}', ""),
    ("options that are not text", 'json:{"filename": "\udcff"}', ""),
)  # fmt: skip


@pytest.mark.parametrize(("written", "want"), [case[1:] for case in PLACES], ids=[case[0] for case in PLACES])
def test_location_is_parsed_from_each_notation_of_qemu(written: str, want: str) -> None:
    assert data_location(written) == want
