"""What a report of the own pool does to an assignment, what a grant does to it, and when a report may adopt an object."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from reconciler.decide.apply_report import (
    PoolFact,
    adopt,
    adoption_claims,
    apply_report,
    describe_reason,
    has_data,
    under_grant,
)
from reconciler.decide.need import Adopt, Blocked
from reconciler.decide.object_edit import ObjectEdit
from reconciler.decide.outcome import adopt_reported, block, keep, wait_for_pool
from reconciler.decide.pool_requests import NO_REQUESTS, PoolRequests
from reconciler.plan.types import Action
from reconciler.world.objects.object_state import ObjectState
from reconciler.world.record import empty_status
from reconciler.world.reports.object_report import ObjectReport
from schemas.kinds import Key, Kind
from schemas.model import (
    Assignment,
    DestroyRequest,
    Evict,
    GrantedHost,
    MachinePoolStatus,
    MoveRequest,
)
from schemas.report import objects as report
from tests.reconciler.decide.small import NOW, Small, machine, make_object, uid_of, volume

WEB, DATA = Key(Kind.MACHINE, "default", "web"), Key(Kind.VOLUME, "default", "data")
POOL = Key(Kind.MACHINE_POOL, "", "a")
MADE = {"volumeID": "sim://1", "state": "Available"}
RUNNING = report.ReportedMachineStatus(machine_id="sim://1", state="Running")
FULL = (report.ReportedReason(code="Full", message="memory is short"),)


def web(on: str = "a") -> ObjectState:
    return machine("web", on=on)


def data(*, made: bool = False, on: str = "a") -> ObjectState:
    return volume("data", on=on, status=MADE if made else None)


def daily(on: str = "a", *, made: bool = False) -> ObjectState:
    status = {"snapshotID": "sim://2", "state": "Ready"} if made else None
    return make_object(Kind.VOLUME_SNAPSHOT, "daily", {"volumeRef": {"name": "data"}}, on=on, status=status)


def to_leave(known: ObjectState) -> ObjectState:
    """With an order to leave its pool."""
    assignment, status = known.record.assignment, known.record.status
    assert assignment is not None
    assert status is not None
    ordered = msgspec.structs.replace(status, evict=Evict(assignment=assignment.id, reason="Drained"))
    return msgspec.structs.replace(known, record=msgspec.structs.replace(known.record, status=ordered))


def edit_of(known: ObjectState) -> ObjectEdit:
    status = known.record.status or empty_status(known.key.kind)
    return ObjectEdit(known, msgspec.structs.replace(known.record, status=status), NOW)


def make_report(known: ObjectState, phase: Any, **changes: Any) -> ObjectReport:
    given: dict[str, Any] = {"uid": known.record.uid, "assignment": "f" * 8, "pool": "a", "reasons": FULL}
    return ObjectReport("a", "a", phase=phase, **(given | changes))


Row = tuple[Callable[[], ObjectState], str, bool, bool, tuple[Action, ...]]

# The object, the phase (empty without a report), whether its pool is lost; whether it stays assigned, what is logged
PHASES: dict[str, Row] = {
    "no report": (web, "", False, True, ()),
    "a machine is present": (web, "present", False, True, (Action.STATUS,)),
    "a machine is unknown": (web, "unknown", False, True, (Action.STATUS,)),
    "a machine is rejected": (web, "rejected", False, False, (Action.WITHDRAW,)),
    "a machine is gone": (web, "gone", False, False, (Action.WITHDRAW,)),
    "a machine is gone as ordered": (lambda: to_leave(web()), "gone", False, False, (Action.WITHDRAW,)),
    "a machine is present though it was ordered to leave": (
        lambda: to_leave(web()),
        "present",
        False,
        True,
        (Action.STATUS,),
    ),
    "a machine is gone, in the last report of a lost pool": (web, "gone", True, True, ()),
    "a machine is rejected, in the last report of a lost pool": (web, "rejected", True, True, ()),
    "a machine is present, in the last report of a lost pool": (web, "present", True, True, ()),
    "a machine on no pool": (lambda: web(on=""), "gone", False, False, ()),
    "an unmade volume is rejected": (data, "rejected", False, False, (Action.WITHDRAW,)),
    "an unmade volume is gone": (data, "gone", False, False, (Action.WITHDRAW,)),
    "a made volume is rejected": (lambda: data(made=True), "rejected", False, True, ()),
    "a made volume is gone": (lambda: data(made=True), "gone", False, True, ()),
    "a made volume is gone as ordered": (
        lambda: to_leave(data(made=True)),
        "gone",
        False,
        False,
        (Action.WITHDRAW,),
    ),
    "a snapshot is rejected": (daily, "rejected", False, True, ()),
    "a snapshot is gone": (daily, "gone", False, False, (Action.WITHDRAW,)),
    "a made snapshot is rejected": (lambda: daily(made=True), "rejected", False, True, ()),
    "a made snapshot is gone": (lambda: daily(made=True), "gone", False, True, ()),
    "a snapshot is gone, in the last report of a lost pool": (daily, "gone", True, True, ()),
}


@pytest.mark.parametrize(("make", "phase", "is_lost", "stays", "actions"), PHASES.values(), ids=PHASES)
def test_an_assignment_ends_only_by_a_current_report_that_may_end_it(
    make: Callable[[], ObjectState], phase: str, is_lost: bool, stays: bool, actions: tuple[Action, ...]
) -> None:
    known = make()
    status = RUNNING if known.key.kind is Kind.MACHINE else None
    fact = PoolFact(make_report(known, phase, status=status) if phase else None, is_lost)
    edit = apply_report(edit_of(known), fact)
    assert (edit.assignment is not None) is stays
    assert tuple(each.action for each in edit.change_reasons) == actions
    assert (edit.record.pool != "") is stays
    if is_lost or not phase:
        assert edit.record == known.record


@pytest.mark.parametrize(
    ("known", "noun"),
    [
        pytest.param(data(made=True), "volume", id="a volume"),
        pytest.param(daily(made=True), "snapshot", id="a snapshot"),
    ],
)
def test_an_end_that_has_no_order_is_shown_on_what_holds_data(known: ObjectState, noun: str) -> None:
    edit = apply_report(edit_of(known), PoolFact(make_report(known, "gone")))
    shown = edit.condition("Ready")
    assert shown is not None
    assert (shown.status, shown.reason) == ("Unknown", "Contradictory")
    assert shown.message == (
        f"pool a reports the {noun} as gone without a deletion order; its data may still exist"
    )


def test_a_machine_that_left_loses_the_order_and_its_condition_and_keeps_its_rejections() -> None:
    known = to_leave(web())
    edit = apply_report(edit_of(known), PoolFact(make_report(known, "rejected")))
    edit = edit.assign("b", "f" * 8, edit_world().grant(POOL)).set_condition("Eviction", "True", "Evicting")
    after = apply_report(edit, PoolFact(make_report(known, "gone")))
    assert (after.evict, after.condition("Eviction")) == (None, None)
    assert [each.pool for each in after.rejections] == ["a"]
    assert after.change_reasons[-1].reason == "gone from b"


def edit_world() -> Small:
    return Small().pool("a").volume_pool("a")


@pytest.mark.parametrize(
    ("known", "want"),
    [
        pytest.param(data(made=True), True, id="a made volume"),
        pytest.param(data(), False, id="an unmade volume"),
        pytest.param(to_leave(data(made=True)), False, id="a made volume that is ordered to leave"),
        pytest.param(web(), False, id="a machine"),
        pytest.param(daily(made=True), True, id="a made snapshot"),
        pytest.param(daily(), False, id="an unmade snapshot"),
    ],
)
def test_only_what_was_made_and_has_no_order_has_data_that_a_report_must_not_end(
    known: ObjectState, want: bool
) -> None:
    assert has_data(edit_of(known)) is want


def destroy(state: Any = "Followed") -> DestroyRequest:
    return DestroyRequest(commit="c0ffee", host="a", state=state)


def move(state: Any = "Followed") -> MoveRequest:
    return MoveRequest(commit="c0ffee", host="h2", state=state, from_host="a")


def status(host: str, epoch: int, **requests: Any) -> MachinePoolStatus:
    return MachinePoolStatus(host=GrantedHost(id=host) if host else None, epoch=epoch, **requests)


GRANTS: dict[str, tuple[MachinePoolStatus | None, tuple[str, int] | None, str]] = {
    "a pool without a document": (None, ("a", 1), ""),
    "the same grant": (status("a", 1), ("a", 1), ""),
    "a later epoch": (status("a", 3), ("a", 3), "epoch of pool a: 1 -> 3"),
    "moved": (status("h2", 2, move=move()), ("h2", 2), "pool a moved from host a to host h2"),
    "a move that waits": (status("a", 1, move=move("Waiting")), ("a", 1), ""),
    "a move that is void": (status("a", 1, move=move("Void")), ("a", 1), ""),
    "another host, without a request": (status("h9", 4), ("a", 1), ""),
    "no host, without a request": (status("", 4), ("a", 1), ""),
    "its host is destroyed": (status("", 2, destroyed=destroy()), None, "host a of pool a is destroyed"),
    "a destruction that waits": (status("a", 1, destroyed=destroy("Waiting")), ("a", 1), ""),
    "a destruction that is void": (status("a", 1, destroyed=destroy("Void")), ("a", 1), ""),
}


@pytest.mark.parametrize(("pool", "want", "reason"), GRANTS.values(), ids=GRANTS)
@pytest.mark.parametrize("is_decided_now", [False, True], ids=["on live", "in this tick"])
def test_an_assignment_follows_its_grant_and_ends_only_with_a_destroyed_host(
    pool: MachinePoolStatus | None, want: tuple[str, int] | None, reason: str, is_decided_now: bool
) -> None:
    found, requests = edit_world(), NO_REQUESTS
    if pool is not None and is_decided_now:
        requests = PoolRequests(status={POOL: pool})
    elif pool is not None:
        there = make_object(Kind.MACHINE_POOL, "a", {})
        record = msgspec.structs.replace(there.record, status=pool)
        found.add(msgspec.structs.replace(there, record=record))
    edit = under_grant(edit_of(web()), requests, found)
    after = edit.assignment
    assert ((after.host, after.epoch) if after is not None else None) == want
    assert [each.reason for each in edit.change_reasons] == ([reason] if reason else [])
    before = web().record.assignment
    assert after is None or (before is not None and after.id == before.id)


def test_what_is_decided_in_this_tick_counts_more_than_live() -> None:
    found = edit_world().add(
        make_object(Kind.MACHINE_POOL, "a", {}, status={"host": {"id": "a"}, "epoch": 1})
    )
    requests = PoolRequests(status={POOL: status("", 2, destroyed=destroy())})
    assert under_grant(edit_of(web()), requests, found).assignment is None


def claim(pool: str = "a", **changes: Any) -> ObjectReport:
    given: dict[str, Any] = {"uid": uid_of("web"), "assignment": "f" * 8, "status": RUNNING}
    return ObjectReport(pool, pool, phase="present", pool=pool, **(given | changes))


ADOPTIONS: dict[str, tuple[ObjectState, tuple[ObjectReport, ...], set[Key], int]] = {
    "live assigns it to no pool": (web(on=""), (claim(),), set(), 1),
    "live assigns it": (web(), (claim(),), set(), 0),
    "no poollet reports it": (web(on=""), (), set(), 0),
    "two poollets report it": (web(on=""), (claim(), claim("b")), set(), 2),
    "its host loses the grant in this tick": (web(on=""), (claim(),), {POOL}, 0),
    "one of two hosts loses the grant in this tick": (web(on=""), (claim(), claim("b")), {POOL}, 1),
    "the grant of the other kind of pool ends": (
        web(on=""),
        (claim(),),
        {Key(Kind.VOLUME_POOL, "", "a")},
        1,
    ),
}


@pytest.mark.parametrize(("known", "claims", "ended", "want"), ADOPTIONS.values(), ids=ADOPTIONS)
def test_only_an_unassigned_object_can_be_adopted_and_only_by_a_host_that_keeps_its_grant(
    known: ObjectState, claims: tuple[ObjectReport, ...], ended: set[Key], want: int
) -> None:
    found = edit_world().pool("b").add(known)
    found.claims[known.key] = claims
    assert len(adoption_claims(found, edit_of(known), PoolFact(ended=ended))) == want


UIDS: dict[str, tuple[ObjectState, str, bool]] = {
    "the same uid": (web(on=""), uid_of("web"), True),
    "another uid, and live has one": (web(on=""), "other", False),
    "another uid, and it is new": (machine("web", is_new=True), "other", True),
}


@pytest.mark.parametrize(("known", "uid", "want"), UIDS.values(), ids=UIDS)
def test_an_object_of_the_same_name_with_another_uid_is_not_adopted(
    known: ObjectState, uid: str, want: bool
) -> None:
    edit = adopt(edit_world(), edit_of(known), claim(uid=uid))
    assert (edit is not None) is want
    if edit is not None:
        assert (edit.record.uid, edit.record.pool) == (uid, "a")
        assert edit.assignment == Assignment(pool="a", id="f" * 8, host="a", epoch=1)
        assert [each.action for each in edit.change_reasons] == [Action.ADOPT]


def test_no_poollet_adopts_a_machine_that_two_of_them_report() -> None:
    """It may run twice, and an order to one of them would say nothing about the other."""
    found = edit_world().pool("b").add(web(on=""))
    found.is_lost = True
    found.claims[WEB] = (claim("b", uid=uid_of("other")), claim())
    blocked = adopt_reported(found, edit_of(web(on="")), PoolFact())
    assert isinstance(blocked, Blocked)
    shown = blocked.record.condition("Accepted")
    assert shown is not None
    files = (
        f".gitvirt/orphans/{claim().uid}.yaml with the line `pool: a`",
        f".gitvirt/orphans/{uid_of('other')}.yaml with the line `pool: b`",
    )
    assert shown.message == (
        "poollets a and b report it at once; remove it from all hosts but one. To DELETE it from one, with its data, "
        f"commit {' or '.join(sorted(files))}"
    )
    found.claims[WEB] = (claim(),)
    assert isinstance(adopt_reported(found, edit_of(web(on="")), PoolFact()), Adopt)
    found.claims[WEB] = ()
    assert adopt_reported(found, edit_of(web(on="")), PoolFact()) is None


@pytest.mark.parametrize(
    ("known", "want"),
    [
        pytest.param(web(), {"Accepted"}, id="a placed one keeps its placement"),
        pytest.param(web(on=""), {"Accepted", "Scheduled"}, id="an unplaced one is not scheduled either"),
    ],
)
def test_a_blocked_object_shows_it_and_keeps_its_assignment(known: ObjectState, want: set[str]) -> None:
    blocked = block(edit_of(known), "Missing", "Secret boot does not exist")
    shown = {type for type in ("Accepted", "Scheduled") if blocked.record.condition(type) is not None}
    assert shown == want
    assert blocked.record.assignment == known.record.assignment
    assert [each.action for each in blocked.change_reasons] == [Action.BLOCKED]
    written = msgspec.structs.replace(known, record=blocked.record)
    assert block(edit_of(written), "Missing", "Secret boot does not exist").change_reasons == ()


WAITS: dict[str, tuple[MachinePoolStatus | None, str]] = {
    "a pool without a document": (None, "pool a"),
    "the same host": (status("a", 1), "pool a"),
    "moved to the host of the assignment": (
        status("a", 2, move=MoveRequest(commit="c0ffee", host="a", state="Followed", from_host="h0")),
        "host a, which pool a moved to,",
    ),
    "moved to another host": (status("h2", 2, move=move()), "pool a"),
}


@pytest.mark.parametrize(("pool", "source"), WAITS.values(), ids=WAITS)
def test_an_object_that_waits_for_its_pool_keeps_everything_but_its_readiness(
    pool: MachinePoolStatus | None, source: str
) -> None:
    found, known = edit_world(), web()
    if pool is not None:
        there = make_object(Kind.MACHINE_POOL, "a", {})
        record = msgspec.structs.replace(there.record, status=pool)
        found.add(msgspec.structs.replace(there, record=record))
    need = wait_for_pool(found, edit_of(known), "a", "; it may still run")
    assert need.record.assignment == known.record.assignment
    shown = need.record.condition("Ready")
    assert shown is not None
    assert (shown.status, shown.reason) == ("Unknown", "PoolLost")
    assert shown.message == f"no heartbeat from {source} within its timeout; it may still run"


def test_what_is_kept_is_as_the_edit_has_it() -> None:
    edit = edit_of(web()).set_condition("Ready", "True", "Running")
    assert (keep(edit).record, keep(edit).before) == (edit.record, web().record)


@pytest.mark.parametrize(
    ("reason", "want"),
    [
        pytest.param(report.ReportedReason(code="Full", message="no room"), "no room", id="a message alone"),
        pytest.param(
            report.ReportedReason(code="Full", message="no room", need="4Gi", have="1Gi"),
            "no room (needs 4Gi, has 1Gi)",
            id="with amounts",
        ),
    ],
)
def test_a_reason_of_a_pool_names_what_it_needs_and_has(reason: report.ReportedReason, want: str) -> None:
    assert describe_reason(reason) == want
