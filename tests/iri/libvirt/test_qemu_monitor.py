"""Replies of QEMU: what cannot be parsed is a FailedPrecondition, never a crash of the caller."""

from __future__ import annotations

import pytest

from iri.errors import FailedPrecondition
from iri.libvirt.connect.qemu_monitor import parse_answer, qemu_state_of
from iri.libvirt.domain.qemu_state import BlockNode, QemuState

DISK = "ua-disk-data-0123abcd"
NOTHING = {"network": "", "devices": [], "objects": [], "nodes": [], "blocks": []}


def test_reply_yields_the_returned_value() -> None:
    assert parse_answer("query-block", '{"return": [], "id": "libvirt-7"}') == []


@pytest.mark.parametrize(
    ("reply", "words"),
    [
        ('{"error": {"class": "GenericError", "desc": "no such node"}}', "QEMU refuses query-block: no such node"),
        ('{"return": [', "JSONDecodeError"),
        ("[]", "TypeError"),
        ("{}", "KeyError"),
        ('{"error": "no"}', "AttributeError"),
    ],
)  # fmt: skip
def test_invalid_reply_is_a_failed_precondition(reply: str, words: str) -> None:
    with pytest.raises(FailedPrecondition, match=words):
        parse_answer("query-block", reply)


def test_state_of_qemu_is_parsed_from_its_replies() -> None:
    node = {
        "node-name": "libvirt-2-format",
        "file": "/pool/a",
        "image": {"full-backing-filename": "/images/b"},
    }
    found = qemu_state_of(
        network="net0: index=0\n \\ hostua-nic-primary-0123abcd: index=0,type=tap",
        devices=[{"name": DISK, "type": "child<virtio-blk-pci>"}],
        objects=[{"name": "masterKey0", "type": "child<secret>"}],
        nodes=[node],
        blocks=[
            {"qdev": f"/machine/peripheral/{DISK}/virtio-backend", "inserted": {"node-name": "libvirt-2-format"}},
            {"qdev": "ide0", "device": ""},
        ],
    )  # fmt: skip
    assert found == QemuState(
        devices=frozenset({DISK}),
        nics=frozenset({"ua-nic-primary-0123abcd"}),
        nodes=(BlockNode(name="libvirt-2-format", place="/pool/a", rests_on="/images/b"),),
        objects=frozenset({"masterKey0"}),
        disks={DISK: "libvirt-2-format"},
    )


@pytest.mark.parametrize(
    ("field", "description"),
    [
        ("network", None),
        ("devices", [{}]),
        ("objects", 7),
        ("nodes", [{"file": "/pool/a"}]),
        ("nodes", [{"node-name": "a", "file": None}]),
        ("nodes", [{"node-name": "a", "file": "/pool/a", "image": None}]),
        ("blocks", [{"inserted": {}}]),
        ("blocks", None),
    ],
)
def test_reply_that_cannot_be_parsed_is_a_failed_precondition(field: str, description: object) -> None:
    with pytest.raises(FailedPrecondition, match="cannot parse the QEMU monitor reply"):
        qemu_state_of(**NOTHING | {field: description})
