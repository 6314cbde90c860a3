"""Lists select by id and labels, encode unchanged objects once, and are refused when they exceed a message."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from iri.errors import ResourceExhausted
from iri.machine import RuntimeMachine, RuntimeMachineSpec
from iri.proto.machine.v1alpha1 import api_pb2 as pb
from iri.server.list_encoder import ListEncoder
from iri.server.object_services import encode_machine
from iri.wire.connection import LARGEST_MESSAGE_BYTES

MACHINES = {
    machine.id: machine
    for machine in (
        RuntimeMachine(id="m1", labels={"app": "web", "tier": "front"}),
        RuntimeMachine(id="m2", labels={"app": "web"}),
        RuntimeMachine(id="m3"),
    )
}
SELECTIONS: list[tuple[str, dict[str, str], list[str]]] = [
    ("", {}, ["m1", "m2", "m3"]),
    ("m2", {}, ["m2"]),
    ("nope", {}, []),
    ("m3", {"app": "web"}, ["m3"]),
    ("", {"app": "web"}, ["m1", "m2"]),
    ("", {"app": "web", "tier": "front"}, ["m1"]),
    ("", {"app": "WEB"}, []),
    ("", {"tier": ""}, []),
]


class Counted:
    """Encodes, and counts how often."""

    def __init__(self) -> None:
        self.count = 0

    def __call__(self, machine: RuntimeMachine) -> pb.Machine:
        self.count += 1
        return encode_machine(machine)


def ids(response: bytes) -> list[str]:
    return [machine.metadata.id for machine in pb.ListMachinesResponse.FromString(response).machines]


@pytest.mark.parametrize(("id", "labels", "expected"), SELECTIONS, ids=str)
def test_id_alone_decides_and_labels_must_all_match(
    id: str, labels: Mapping[str, str], expected: list[str]
) -> None:
    assert ids(ListEncoder(RuntimeMachine, encode_machine).encode(MACHINES, id, labels)) == expected


def test_only_what_has_changed_is_encoded_again() -> None:
    encode = Counted()
    lists = ListEncoder(RuntimeMachine, encode)
    for _ in range(3):
        lists.encode(MACHINES, "", {})
    assert encode.count == 3
    changed = MACHINES | {"m2": RuntimeMachine(id="m2", labels={"app": "new"})}
    assert ids(lists.encode(changed, "", {"app": "new"})) == ["m2"]
    lists.encode(changed, "", {})
    assert encode.count == 4


def test_removed_objects_are_dropped_from_the_cache() -> None:
    lists = ListEncoder(RuntimeMachine, encode_machine)
    lists.encode({str(number): RuntimeMachine(id=str(number)) for number in range(1000)}, "", {})
    lists.encode(MACHINES, "", {})
    assert len(lists._encoded) <= len(MACHINES)


def test_ten_thousand_machines_fit_or_are_refused_by_name() -> None:
    def many(size: int) -> dict[str, RuntimeMachine]:
        spec = RuntimeMachineSpec(class_name="small", ignition_data=b"x" * size)
        return {str(number): RuntimeMachine(id=str(number), spec=spec) for number in range(10_000)}

    lists = ListEncoder(RuntimeMachine, encode_machine)
    small = lists.encode(many(4000), "", {})
    assert len(ids(small)) == 10_000
    assert len(small) < LARGEST_MESSAGE_BYTES
    with pytest.raises(
        ResourceExhausted, match=r"10000 machines take 7\d\.\d MiB and a response holds 64 MiB"
    ):
        lists.encode(many(7500), "", {})
    assert ids(lists.encode(many(7500), "17", {})) == ["17"]
