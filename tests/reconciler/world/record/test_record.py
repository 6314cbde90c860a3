"""What is written is what is read: a record survives its way through a person's text."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import cast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reconciler.world.record import (
    NOTHING,
    Record,
    Status,
    empty_status,
    fields,
    merge_conditions,
    moment,
    record_of,
    stamp,
    with_condition,
)
from schemas import manifest
from schemas.edit import Edited, Means, edit_all
from schemas.kinds import Kind
from schemas.model import (
    Assignment,
    ClaimRef,
    Condition,
    Evict,
    MachinePoolStatus,
    MachineStatus,
    MachineVolumeStatus,
    NameRef,
    PreviousAssignment,
    Rejection,
    ResourceQuotaStatus,
    VolumeStatus,
)
from schemas.model.quantity import parse

NOW = datetime(2026, 5, 4, 12, 0, tzinfo=UTC)
TIME = "2026-05-04T12:00:00Z"

TEXTS = {
    Kind.MACHINE: "apiVersion: compute.ironcore.dev/v1alpha1\nkind: Machine\nmetadata:\n  name: web-1 # the first\nspec:\n  machineClassRef:\n    name: small\n",
    Kind.VOLUME: "apiVersion: storage.ironcore.dev/v1alpha1\nkind: Volume\nmetadata: {name: data}\nspec:\n  volumeClassRef: {name: fast}\n  resources: {storage: 1Gi}\n",
    Kind.MACHINE_POOL: "apiVersion: compute.ironcore.dev/v1alpha1\nkind: MachinePool\nmetadata:\n  name: pool-a\n",
    Kind.RESOURCE_QUOTA: "apiVersion: core.ironcore.dev/v1alpha1\nkind: ResourceQuota\nmetadata:\n  name: quota\nspec:\n  hard: {requests.cpu: 4}\n",
    Kind.SECRET: "apiVersion: v1\nkind: Secret\nmetadata:\n  name: key\nstringData: {a: b}\n",
}

words = st.text(st.characters(codec="ascii", categories=["L", "N"]), min_size=1, max_size=6)
names = st.sampled_from(["pool-a", "pool-b", "h.example"])
lines = st.text(st.characters(codec="utf-8", exclude_categories=["C"]), max_size=20)
conditions = st.lists(
    st.builds(
        Condition,
        type=words,
        status=st.sampled_from(["True", "False", "Unknown"]),
        reason=words,
        message=lines,
        last_transition_time=st.just(TIME),
    ),
    max_size=2,
).map(tuple)
rejections = st.lists(
    st.builds(
        Rejection,
        pool=names,
        assignment=words,
        reason=words,
        message=lines,
        count=st.integers(1, 9),
        time=st.just(TIME),
    ),
    max_size=2,
).map(tuple)
amounts = st.dictionaries(words, st.sampled_from(["1", "500m", "16Gi", "1e3", "0"]).map(parse), max_size=2)
orders = {
    "assignment": st.none() | st.builds(Assignment, pool=names, id=words),
    "evict": st.none() | st.builds(Evict, assignment=words, reason=lines),
    "rejections": rejections,
    "conditions": conditions,
}
disks = st.lists(
    st.builds(
        MachineVolumeStatus,
        name=words,
        state=st.sampled_from(["", "Pending", "Attached"]),
        volume_ref=st.none() | st.builds(NameRef, name=names),
    ),
    max_size=2,
).map(tuple)
statuses = {
    Kind.MACHINE: st.builds(
        MachineStatus,
        machine_id=words,
        state=st.sampled_from(["", "Running"]),
        volumes=disks,
        restart=lines,
        previous_assignment=st.none() | st.builds(PreviousAssignment, pool=names, id=words),
        **orders,
    ),
    Kind.VOLUME: st.builds(
        VolumeStatus, state=st.sampled_from(["", "Available"]), resources=amounts, **orders
    ),
    Kind.MACHINE_POOL: st.builds(
        MachinePoolStatus, state=st.sampled_from(["", "Ready"]), capacity=amounts, conditions=conditions
    ),
    Kind.RESOURCE_QUOTA: st.builds(ResourceQuotaStatus, hard=amounts, used=amounts),
    Kind.SECRET: st.none(),
}


@st.composite
def records(draw: st.DrawFn) -> tuple[Kind, Record]:
    kind = draw(st.sampled_from(sorted(TEXTS)))
    status = draw(statuses[kind])
    assignment = status.assignment if isinstance(status, MachineStatus | VolumeStatus) else None
    return kind, Record(
        uid=draw(st.sampled_from(["", "6d0d0f8e-8d5b-4a53-9b53-1c1c3a3b8f10"])),
        creation_timestamp=draw(st.sampled_from(["", TIME])),
        deletion_timestamp=draw(st.sampled_from(["", TIME])),
        pool=assignment.pool if assignment else "",
        claim=draw(st.none() | st.builds(ClaimRef, name=names, uid=words)) if kind is Kind.VOLUME else None,
        status=cast("Status | None", status),
    )


def write_record(kind: Kind, text: bytes, record: Record, base: Record = NOTHING) -> bytes:
    done = edit_all(text, {0: fields(kind, record, base)})
    assert isinstance(done, Edited), done
    return done.data


def read(text: bytes) -> Record:
    found = manifest.parse("a.yaml", text)
    assert not found.problems
    return record_of(found.documents[0].kind, found.documents[0].body)


@settings(max_examples=150, deadline=None)
@given(records(), records())
def test_what_is_written_is_read_and_written_again_without_a_change(
    first: tuple[Kind, Record], second: tuple[Kind, Record]
) -> None:
    kind, record = first
    text = TEXTS[kind].encode()
    once = write_record(kind, text, record)
    assert read(once) == record
    again = edit_all(once, {0: fields(kind, record)})
    assert isinstance(again, Edited)
    assert again.means is Means.UNTOUCHED
    # And over whatever stood there before.
    if second[0] is kind:
        assert read(write_record(kind, once, second[1], base=record)) == second[1]


def test_a_record_of_a_text_that_says_nothing_is_that_of_its_kind() -> None:
    for kind, text in TEXTS.items():
        assert read(text.encode()) == Record(status=empty_status(kind))


def test_a_pin_stays_and_a_reference_of_ours_goes_with_the_assignment() -> None:
    placed = Record(pool="pool-a", status=MachineStatus(assignment=Assignment(pool="pool-a", id="1")))
    waiting = Record(status=MachineStatus())
    pinned = TEXTS[Kind.MACHINE].encode() + b"  machinePoolRef:\n    name: pool-b\n"
    assert write_record(Kind.MACHINE, pinned, waiting) == pinned
    assert b"pool-a" in write_record(Kind.MACHINE, pinned, placed)
    plain = TEXTS[Kind.MACHINE].encode()
    assert (
        write_record(Kind.MACHINE, write_record(Kind.MACHINE, plain, placed), waiting, base=placed) == plain
    )


def test_whole_numbers_that_are_too_large_for_the_model_are_read_all_the_same() -> None:
    rejections = "  rejections: [{pool: a, count: 2.0}, {pool: b, count: 1e30}]\n"
    found = read(TEXTS[Kind.MACHINE].encode() + b"status:\n" + rejections.encode())
    assert isinstance(found.status, MachineStatus)
    assert [each.count for each in found.status.rejections] == [2, int(1e30)]


def test_a_transition_time_moves_only_with_the_status() -> None:
    old = Condition(type="Ready", status="True", reason="A", last_transition_time="2026-01-01T00:00:00Z")
    same = Condition(type="Ready", status="True", reason="B", last_transition_time="2026-02-02T00:00:00Z")
    other = Condition(type="Ready", status="False", last_transition_time="2026-02-02T00:00:00Z")
    untimed = Condition(type="Ready", status="False")
    (found,) = with_condition((old,), same, NOW)
    assert (found.reason, found.last_transition_time) == ("B", "2026-01-01T00:00:00Z")
    assert with_condition((old,), other, NOW)[0].last_transition_time == "2026-02-02T00:00:00Z"
    assert with_condition((old,), untimed, NOW)[0].last_transition_time == TIME
    assert with_condition((), untimed, NOW)[0].last_transition_time == TIME


def test_folding_keeps_our_own_conditions_and_drops_what_is_no_longer_reported() -> None:
    def of(type: str, status: str = "True") -> Condition:
        return Condition(type=type, status=status, last_transition_time=TIME)  # type: ignore[arg-type]

    kept = (of("Scheduled"), of("Ready"), of("Stale"))
    reported = (of("Ready", "False"), of("Scheduled", "False"))
    assert merge_conditions(kept, reported, NOW) == (of("Ready", "False"), of("Scheduled"))


@pytest.mark.parametrize("text", ["", "yesterday", "2026-05-04T12:00:00"])
def test_what_is_no_moment_is_none(text: str) -> None:
    assert moment(text) is None


def test_a_moment_is_written_as_it_is_read() -> None:
    assert moment(stamp(NOW)) == NOW
    assert moment("2026-05-04T14:00:00+02:00") == NOW
