"""What a pool's document becomes: its status, its grant, what people asked about its host, and the announcement itself."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any, Literal

import msgspec
import pytest

from reconciler.decide.decide import start_edit
from reconciler.decide.need import Need
from reconciler.decide.object_edit import ObjectEdit
from reconciler.decide.pool import announcement, decide_pool, with_grant, with_mismatch, with_requests
from reconciler.decide.pool_requests import NO_REQUESTS, PoolNotice, PoolRequests
from reconciler.plan.types import Action
from reconciler.world.objects.object_state import ObjectState, Origin
from reconciler.world.pools.grants import Grant
from reconciler.world.pools.pool_state import PoolState
from reconciler.world.record import DESTROYED, HOST_MISMATCH, HOST_MOVED, condition
from reconciler.world.reports.heartbeat import Heartbeat
from reconciler.world.reports.host_report import HostReport
from reconciler.world.reports.rewind import Rewind
from reconciler.world.reports.start_wait import AwaitedHost
from schemas.kinds import Key, Kind
from schemas.model import DestroyRequest, GrantedHost, MachinePoolStatus, MoveRequest
from schemas.report import objects as report
from tests.reconciler.decide.small import NOW, Small, make_object

POOL = Key(Kind.MACHINE_POOL, "", "a")
READY = report.PoolReport(status=report.ReportedPoolStatus(state="Ready"))
LABELED = report.PoolReport(
    labels={"zone": "b", "arch": "x"}, status=report.ReportedPoolStatus(state="Ready")
)
ALIVE, EXPIRED, UNCONFIRMED = Heartbeat.ALIVE, Heartbeat.EXPIRED, Heartbeat.UNCONFIRMED


def destroy(state: Any = "Followed", host: str = "h1") -> DestroyRequest:
    return DestroyRequest(commit="c0ffee", host=host, state=state)


def move(state: Any = "Followed") -> MoveRequest:
    return MoveRequest(commit="c0ffee", host="h2", state=state, from_host="h1")


def pool(status: MachinePoolStatus | None = None, **changes: Any) -> ObjectState:
    found = make_object(Kind.MACHINE_POOL, "a", {}, **changes)
    if status is None:
        return found
    return msgspec.structs.replace(found, record=msgspec.structs.replace(found.record, status=status))


def make_status(host: str = "h1", epoch: int = 1, **requests: Any) -> MachinePoolStatus:
    return MachinePoolStatus(host=GrantedHost(id=host) if host else None, epoch=epoch, **requests)


def state(**changes: Any) -> PoolState:
    given: dict[str, Any] = {
        "poollet": "rack",
        "grant": Grant("h1", 1),
        "heartbeat": ALIVE,
        "announced": READY,
    }
    return PoolState(POOL, is_declared=False, **(given | changes))


def edit_of(known: ObjectState) -> ObjectEdit:
    return ObjectEdit(known, known.record, NOW)


def with_true(edit: ObjectEdit, *types: str) -> ObjectEdit:
    for type in types:
        edit = edit.set_condition(type, "True", "Confirmed", "done")
    return edit


def decide(known: ObjectState, requests: PoolRequests = NO_REQUESTS, **changes: Any) -> Need:
    found = Small().add(known)
    found.pools_by_kind[Kind.MACHINE_POOL]["a"] = state(**changes)
    return decide_pool(found, start_edit(found, known, NOW, requests), requests)


ANNOUNCEMENTS: dict[str, tuple[Callable[[], ObjectState], report.PoolReport | None, bool]] = {
    "declared": (pool, READY, False),
    "announced, and not on live yet": (lambda: pool(origin=Origin.ANNOUNCED, is_new=True), READY, True),
    "announced, and on live": (lambda: pool(origin=Origin.ANNOUNCED), READY, False),
    "announced with other labels": (lambda: pool(origin=Origin.ANNOUNCED), LABELED, True),
    "announced with the labels that live has": (
        lambda: pool(origin=Origin.ANNOUNCED, labels={"zone": "b", "arch": "x"}),
        LABELED,
        False,
    ),
    "no longer declared, and announced": (lambda: pool(origin=Origin.LEAVING), READY, True),
    "no longer declared, and not announced": (lambda: pool(origin=Origin.LEAVING), None, False),
    "announced earlier, and not announced now": (lambda: pool(origin=Origin.ANNOUNCED), None, False),
    "frozen": (lambda: pool(origin=Origin.FROZEN), LABELED, False),
}


@pytest.mark.parametrize(("make", "announced", "is_written"), ANNOUNCEMENTS.values(), ids=ANNOUNCEMENTS)
def test_the_document_of_a_pool_is_written_only_when_no_file_declares_it(
    make: Callable[[], ObjectState], announced: report.PoolReport | None, is_written: bool
) -> None:
    need = decide(make(), announced=announced)
    assert (need.body is not None) is is_written
    assert (Action.ANNOUNCE in {each.action for each in need.change_reasons}) is is_written


@pytest.mark.parametrize(
    ("labels", "want"),
    [({}, {"name": "a"}), ({"zone": "b", "arch": "x"}, {"name": "a", "labels": {"arch": "x", "zone": "b"}})],
)
def test_an_announcement_has_the_name_and_the_sorted_labels(labels: dict[str, str], want: Any) -> None:
    body = announcement(POOL, labels)
    assert (body["kind"], body["metadata"]) == ("MachinePool", want)
    assert str(body["apiVersion"]).startswith("compute.")


def test_a_pool_without_a_state_only_follows_requests() -> None:
    found = Small().add(pool(make_status()))
    requests = PoolRequests(status={POOL: make_status("", 2, destroyed=destroy())})
    need = decide_pool(found, edit_of(found.objects[POOL]), requests)
    assert isinstance(need.record.status, MachinePoolStatus)
    assert (need.record.status.host, need.record.status.epoch) == (None, 2)


class Waiting(Small):
    """A process that has just started, and awaits another host."""

    awaited_hosts = (AwaitedHost("b", "h2", 30.0),)


class Started(Small):
    """A process that started less than a timeout of the fleet ago: a host that live does not know may report yet."""

    def time_to_gather(self, time: timedelta) -> timedelta:
        return timedelta(seconds=1) if time == self.usual_timeout else timedelta(0)


class Held(Small):
    """The report of the pool's own poollet names a commit that live lacks."""

    rewind = Rewind(reports={"rack": ("c" * 40,)})


ANSWERS: dict[str, tuple[type[Small], dict[str, Any], str]] = {
    "it asks": (Small, {"asks": "run-2"}, "run-2"),
    "it asks for nothing": (Small, {}, "run-1"),
    "it was answered": (Small, {"asks": "run-1"}, "run-1"),
    "another host has the grant": (Small, {"asks": "run-2", "grant": Grant("h9", 1)}, "run-1"),
    "other hosts are awaited": (Waiting, {"asks": "run-2"}, "run-1"),
    "the process has just started": (Started, {"asks": "run-2"}, "run-1"),
    "it gets its first grant from one that has just started": (
        Started,
        {"asks": "run-2", "grant": Grant("h1", 2, is_new=True)},
        "run-2",
    ),
    "it gets the grant now": (Waiting, {"asks": "run-2", "grant": Grant("h1", 2, is_new=True)}, "run-2"),
    "its report is held": (Held, {"asks": "run-2"}, "run-1"),
}


@pytest.mark.parametrize(("kind", "changes", "answered"), ANSWERS.values(), ids=ANSWERS)
def test_a_host_without_memory_is_answered_once_live_is_known_to_be_current(
    kind: type[Small], changes: dict[str, Any], answered: str
) -> None:
    world = kind().add(pool(MachinePoolStatus(host=GrantedHost(id="h1", answered="run-1"), epoch=1)))
    world.pools_by_kind[Kind.MACHINE_POOL]["a"] = state(**changes)
    need = decide_pool(world, start_edit(world, world.objects[POOL], NOW, NO_REQUESTS))
    status = need.record.status
    assert isinstance(status, MachinePoolStatus)
    assert status.host is not None
    assert status.host.answered == answered
    is_waiting = answered == "run-1" and kind is not Small
    assert (need.due is not None) is is_waiting


@pytest.mark.parametrize("is_there", [True, False])
def test_a_host_without_memory_is_not_answered_while_another_host_has_what_live_assigns_to_it(
    is_there: bool,
) -> None:
    """That other host only waits, because an older `live` does not know it."""
    world = Small().add(pool(MachinePoolStatus(host=GrantedHost(id="h1", answered="run-1"), epoch=1)))
    world.pools_by_kind[Kind.MACHINE_POOL]["a"] = state(asks="run-2")
    web = make_object(Kind.MACHINE, "web", {"machineClassRef": {"name": "small"}}, on="a")
    world.add(web)
    held = report.HeldObject("Machine", web.key.name, "default", web.record.uid)
    candidate = report.CandidateReport(
        name="b", host_id="h9", instance="1", objects=(held,) if is_there else ()
    )
    found = HostReport("b", "c" * 40, "c" * 40, NOW, host="h9", candidate=candidate)
    world.reports.by_poollet["b"] = found
    world.reports.candidate_index.replace("b", (), candidate.objects)
    need = decide_pool(world, start_edit(world, world.objects[POOL], NOW, NO_REQUESTS))
    status = need.record.status
    assert isinstance(status, MachinePoolStatus)
    assert status.host is not None
    shown = need.record.condition("OrdersConfirmed")
    if not is_there:
        assert (status.host.answered, shown) == ("run-2", None)
        return
    assert status.host.answered == "run-1"
    assert need.due is not None
    assert shown is not None
    assert (shown.status, shown.reason) == ("False", "OnAnotherHost")
    assert "host h9 waits for the pools of poollet b, and has Machine/default/web" in shown.message
    assert "git push origin --delete refs/poollets/b" in shown.message


GRANTS: dict[str, tuple[MachinePoolStatus, Grant, tuple[str, int], bool]] = {
    "a first grant": (make_status("", 0), Grant("h1", 1, is_new=True), ("h1", 1), False),
    "the grant that live has": (make_status(), Grant("h1", 1), ("h1", 1), False),
    "a new grant after a destruction": (
        make_status("", 2, destroyed=destroy()),
        Grant("h2", 3, is_new=True),
        ("h2", 3),
        True,
    ),
    "a new grant for the host that was said to be destroyed": (
        make_status("", 2, destroyed=destroy()),
        Grant("h1", 3, is_new=True),
        ("h1", 3),
        False,
    ),
    "a grant that is not new is not written": (make_status("h1", 1), Grant("h9", 9), ("h1", 1), False),
}


@pytest.mark.parametrize(("status", "grant", "want", "is_destroyed"), GRANTS.values(), ids=GRANTS)
def test_a_new_grant_is_written_with_its_epoch(
    status: MachinePoolStatus, grant: Grant, want: tuple[str, int], is_destroyed: bool
) -> None:
    after = with_grant(edit_of(pool(status)), state(grant=grant, heartbeat=EXPIRED)).record.status
    assert isinstance(after, MachinePoolStatus)
    assert (after.host.id if after.host is not None else "", after.epoch) == want
    assert (after.destroyed is not None) is is_destroyed


CLEARED: dict[str, tuple[Grant, Heartbeat | None, bool]] = {
    "its host is alive": (Grant("h2", 2), ALIVE, True),
    "its host is unconfirmed": (Grant("h2", 2), UNCONFIRMED, False),
    "its host is expired": (Grant("h2", 2), EXPIRED, False),
    "its host left": (Grant("h2", 2), Heartbeat.LEFT, False),
    "no host has the grant": (Grant("", 2), ALIVE, False),
}


@pytest.mark.parametrize(("grant", "beat", "is_cleared"), CLEARED.values(), ids=CLEARED)
def test_a_followed_request_is_shown_until_the_next_host_is_alive(
    grant: Grant, beat: Heartbeat | None, is_cleared: bool
) -> None:
    edit = with_true(edit_of(pool(make_status("h2", 2, move=move()))), DESTROYED, HOST_MOVED)
    after = with_grant(edit, state(grant=grant, heartbeat=beat))
    assert [after.condition(type) is None for type in (DESTROYED, HOST_MOVED)] == [is_cleared] * 2


def test_a_refused_request_stays_shown_while_the_host_is_alive() -> None:
    """It is the answer to a person, and about a host that lives."""
    edit = edit_of(pool(make_status())).set_condition(DESTROYED, "False", "HostStillReporting", "it lives")
    assert with_grant(edit, state()).condition(DESTROYED) is not None


REQUESTS: dict[str, tuple[MachinePoolStatus | None, tuple[str, ...]]] = {
    "none": (None, (DESTROYED, HOST_MOVED)),
    "both requests ended": (make_status(), ()),
    "a destruction": (make_status("", 2, destroyed=destroy()), (DESTROYED,)),
    "a move": (make_status("h2", 2, move=move()), (HOST_MOVED,)),
    "both": (make_status("", 3, destroyed=destroy(), move=move("Void")), (DESTROYED, HOST_MOVED)),
}


@pytest.mark.parametrize(("after", "shown"), REQUESTS.values(), ids=REQUESTS)
def test_the_condition_of_a_request_ends_with_the_request(
    after: MachinePoolStatus | None, shown: tuple[str, ...]
) -> None:
    edit = with_true(edit_of(pool(make_status(destroyed=destroy(), move=move()))), DESTROYED, HOST_MOVED)
    requests = NO_REQUESTS if after is None else PoolRequests(status={POOL: after})
    edit = with_requests(edit, requests)
    assert tuple(type for type in (DESTROYED, HOST_MOVED) if edit.condition(type)) == shown
    if after is not None:
        assert isinstance(edit.record.status, MachinePoolStatus)
        assert (edit.record.status.host, edit.record.status.epoch) == (after.host, after.epoch)
        assert (edit.record.status.destroyed, edit.record.status.move) == (after.destroyed, after.move)


@pytest.mark.parametrize("host", ["h0", "h9"], ids=["the same answer", "another answer"])
def test_a_second_refusal_is_shown_for_a_day_of_its_own(host: str) -> None:
    """The same answer again changes nothing, so it ends with the day that began first."""

    def write(host: str, now: datetime, known: ObjectState) -> ObjectState:
        notice = PoolNotice(DESTROYED, "False", "NotGranted", f"host {host} does not have the grant")
        requests = PoolRequests(notices={POOL: (notice,)} if host else {})
        edit = with_requests(ObjectEdit(known, known.record, now), requests)
        return msgspec.structs.replace(known, record=edit.record)

    first = write("h0", NOW, pool(make_status()))
    second = write(host, NOW + timedelta(hours=23, minutes=59), first)
    later = write("", NOW + timedelta(hours=24), second)
    is_shown = host != "h0"
    assert (later.record.condition(DESTROYED) is not None) is is_shown
    one, other = first.record.condition(DESTROYED), second.record.condition(DESTROYED)
    assert one is not None
    assert other is not None
    assert one.last_transition_time == other.last_transition_time
    assert write("", NOW + timedelta(hours=48), later).record.condition(DESTROYED) is None


@pytest.mark.parametrize(("status", "has_date"), [("False", True), ("Unknown", False), ("True", False)])
def test_only_an_answer_that_ends_by_its_age_is_dated(
    status: Literal["True", "False", "Unknown"], has_date: bool
) -> None:
    """What a request waits for may be told in other words at any time, and nothing follows from when."""
    requests = PoolRequests(notices={POOL: (PoolNotice(DESTROYED, status, "Why", "in words"),)})
    shown = with_requests(edit_of(pool(make_status())), requests).condition(DESTROYED)
    assert shown is not None
    assert (shown.last_update_time != "") is has_date


def test_a_notice_is_a_change_only_when_it_is_new() -> None:
    notice = PoolNotice(DESTROYED, "False", "NotGranted", "host h0 does not have the grant")
    requests = PoolRequests(notices={POOL: (notice,)})
    first = with_requests(edit_of(pool(make_status())), requests)
    assert [each.reason for each in first.change_reasons] == ["host h0 does not have the grant"]
    written = pool(make_status())
    written = msgspec.structs.replace(written, record=first.record)
    again = with_requests(edit_of(written), requests)
    assert (again.record, again.change_reasons) == (first.record, ())


MISMATCHES: dict[str, tuple[str, str, bool]] = {
    "no other host": ("h1", "", False),
    "another host": ("h1", "h2", True),
    "the host that has the grant": ("h1", "h1", False),
    "no host has the grant": ("", "h2", False),
}


@pytest.mark.parametrize(("host", "other", "is_shown"), MISMATCHES.values(), ids=MISMATCHES)
def test_another_host_is_shown_with_every_way_out(host: str, other: str, is_shown: bool) -> None:
    edit = with_mismatch(with_true(edit_of(pool(make_status(host))), HOST_MISMATCH), state(other_host=other))
    shown = edit.condition(HOST_MISMATCH)
    assert (shown is not None) is is_shown
    if shown is not None:
        assert "'Pool-Destroyed: a=h1'" in shown.message
        assert "'Pool-Host: a=h2'" in shown.message
        assert "another name" in shown.message
        assert "Host h2 powers off those of its machines that `live` assigns to another host" in shown.message


def test_a_pool_that_nothing_changes_is_kept_without_a_change() -> None:
    first = decide(pool(make_status()))
    written = pool(make_status())
    again = decide(msgspec.structs.replace(written, record=first.record))
    assert (again.record, again.change_reasons) == (first.record, ())


@pytest.mark.parametrize(
    ("beat", "want"),
    [
        (ALIVE, ("True", "Reported")),
        (EXPIRED, ("Unknown", "ReportLost")),
        (Heartbeat.LEFT, ("False", "PoolletLeft")),
    ],
)
def test_the_heartbeat_of_its_host_is_the_readiness_of_a_pool(beat: Heartbeat, want: tuple[str, str]) -> None:
    need = decide(pool(make_status()), heartbeat=beat)
    shown = condition(getattr(need.record.status, "conditions", ()), "Ready")
    assert shown is not None
    assert (shown.status, shown.reason) == want
    assert isinstance(need.record.status, MachinePoolStatus)
    assert need.record.status.host == GrantedHost(id="h1"), "silence never ends a grant"
