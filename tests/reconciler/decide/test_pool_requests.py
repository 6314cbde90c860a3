"""What people commit about the host of a pool: each state, each event, and what happens to the assignments there."""

from __future__ import annotations

from datetime import timedelta

import msgspec
import pytest
from msgspec.structs import replace

from reconciler.decide.decide import decide_needs, make_plan
from reconciler.decide.pool_requests import NO_REQUESTS, judge_requests
from reconciler.world.changes import Confirm, WorldChanges
from reconciler.world.pools.grants import Grant, follow_grant, grant_for
from reconciler.world.reports.heartbeat import Heartbeat
from reconciler.world.reports.object_report import ObjectReport
from schemas.kinds import Key, Kind
from schemas.model import (
    Assignment,
    DestroyRequest,
    GrantedHost,
    MachinePoolStatus,
    MoveRequest,
    VolumePoolStatus,
)
from schemas.model.part import RequestState
from tests.reconciler.decide.small import NOW, SOURCE, Small, machine, make_object

POOL, STORE = Key(Kind.MACHINE_POOL, "", "a"), Key(Kind.VOLUME_POOL, "", "a")
THEN, LATER = "a1" * 20, "b2" * 20
DESTROYED, HOST = Confirm.POOL_DESTROYED, Confirm.POOL_HOST
ALIVE, UNCONFIRMED, EXPIRED, LEFT = Heartbeat.ALIVE, Heartbeat.UNCONFIRMED, Heartbeat.EXPIRED, Heartbeat.LEFT


def destroy(state: RequestState = "Waiting", host: str = "h1", report: str = THEN) -> DestroyRequest:
    return DestroyRequest(commit="c0ffee", host=host, state=state, report_commit=report)


def move(state: RequestState = "Waiting", host: str = "h2", before: str = "h1") -> MoveRequest:
    return MoveRequest(commit="c0ffee", host=host, state=state, from_host=before, report_commit=THEN)


def status(host: str = "h1", epoch: int = 1, **requests: DestroyRequest | MoveRequest) -> MachinePoolStatus:
    granted = GrantedHost(id=host) if host else None
    return MachinePoolStatus(host=granted, epoch=epoch, **requests)  # type: ignore[arg-type]


def pool_with(found: MachinePoolStatus, beat: Heartbeat | None = EXPIRED, report: str = THEN) -> Small:
    """Pool `a` on live, with the newest report of its host, and its heartbeat."""
    pool = make_object(Kind.MACHINE_POOL, "a", {})
    record = msgspec.structs.replace(pool.record, status=found)
    world = Small().add(msgspec.structs.replace(pool, record=record))
    host = found.host.id if found.host is not None else ""
    world.pool("a", heartbeat=beat, grant=Grant(host, found.epoch))
    world.commits = {host: report} if report else {}
    return world


def after(world: Small) -> MachinePoolStatus | VolumePoolStatus:
    return judge_requests(world).status[POOL]


@pytest.mark.parametrize(
    ("report", "beat", "want"),
    [
        pytest.param(THEN, ALIVE, "Waiting", id="alive"),
        pytest.param(THEN, UNCONFIRMED, "Waiting", id="not seen to change yet"),
        pytest.param("", UNCONFIRMED, "Waiting", id="its report was removed less than a timeout ago"),
        pytest.param(THEN, EXPIRED, "Fenced", id="expired"),
        pytest.param(THEN, LEFT, "Fenced", id="it left"),
        pytest.param("", None, "Fenced", id="no trace of it"),
        pytest.param("", EXPIRED, "Fenced", id="its report was removed"),
        pytest.param(LATER, ALIVE, "Void", id="it reported since"),
        pytest.param(LATER, UNCONFIRMED, "Void", id="it reported since, before a start"),
        pytest.param(LATER, EXPIRED, "Void", id="it reported since, and its heartbeat expired"),
    ],
)
@pytest.mark.parametrize("is_move", [False, True], ids=["destroyed", "moved"])
def test_a_waiting_request_is_judged_by_its_host(
    report: str, beat: Heartbeat | None, want: RequestState, is_move: bool
) -> None:
    world = pool_with(status(move=move()) if is_move else status(destroyed=destroy()), beat, report)
    found = after(world)
    request = found.move if is_move else found.destroyed
    assert request is not None
    assert request.state == want
    granted = found.host.id if found.host is not None else ""
    assert (granted, found.epoch) == (("", 2) if want == "Fenced" else ("h1", 1))
    assert follow_grant(HELD, found) == HELD, "nothing is given away in the commit that ends the grant"


@pytest.mark.parametrize(
    ("report", "beat", "want"),
    [
        pytest.param(THEN, UNCONFIRMED, "Fenced", id="the reconciler was started in between"),
        pytest.param(THEN, ALIVE, "Fenced", id="alive by an older report"),
        pytest.param(THEN, EXPIRED, "Followed", id="expired"),
        pytest.param(THEN, LEFT, "Followed", id="it left"),
        pytest.param("", None, "Followed", id="no trace of it"),
        pytest.param(LATER, ALIVE, "Void", id="it reported since"),
        pytest.param(LATER, UNCONFIRMED, "Void", id="it reported since, before a start"),
        pytest.param(LATER, EXPIRED, "Void", id="it reported since, and its heartbeat expired"),
    ],
)
@pytest.mark.parametrize("is_move", [False, True], ids=["destroyed", "moved"])
def test_a_fenced_pool_is_given_away_only_while_its_host_does_not_report(
    report: str, beat: Heartbeat | None, want: RequestState, is_move: bool
) -> None:
    fenced = status("", 2, move=move("Fenced")) if is_move else status("", 2, destroyed=destroy("Fenced"))
    world = pool_with(fenced, beat, report)
    world.commits = {"h1": report} if report else {}
    world.pool("a", heartbeat=beat, grant=Grant("h1", 2))
    found, requests = after(world), judge_requests(world)
    request = found.move if is_move else found.destroyed
    assert request is not None
    assert request.state == want
    to = {"Fenced": "", "Followed": "h2" if is_move else "", "Void": "h1"}[want]
    assert (found.host.id if found.host is not None else "", found.epoch) == (to, 2)
    held = {"Fenced": HELD, "Followed": replace(HELD, host="h2", epoch=2) if is_move else None}
    assert follow_grant(HELD, found) == held.get(want, replace(HELD, epoch=2))
    assert (POOL in requests.ended) is (want != "Fenced")
    assert (POOL in requests.cleared_pools) is (want == "Followed" and not is_move)


def test_a_fenced_pool_that_another_host_has_is_left_to_it() -> None:
    found = after(pool_with(status("h3", 3, destroyed=destroy("Fenced")), EXPIRED))
    assert found.destroyed is not None
    assert (found.host, found.epoch, found.destroyed.state) == (GrantedHost(id="h3"), 3, "Void")


def test_a_machine_is_released_and_placed_only_after_the_commit_that_fenced_its_host() -> None:
    web = machine("web", on="a")
    rows: list[tuple[RequestState, str]] = [("Waiting", "a"), ("Fenced", "b")]
    for state, want in rows:
        before = {"destroyed": msgspec.to_builtins(destroy(state)), "epoch": 1}
        before |= {"host": {"id": "a"}} if state == "Waiting" else {}
        before["destroyed"] |= {"host": "a"}
        world = Small().add(web, make_object(Kind.MACHINE_POOL, "a", {}, status=before))
        world.pool("a", heartbeat=EXPIRED, why_not_ready="expired").pool(
            "b", allocatable={"cpu": 9000, "memory": 9}
        )
        world.commits = {"a": THEN}
        plan = make_plan(world, WorldChanges(frozenset({web.key, POOL})), NOW)
        (found,) = [each.after for each in plan.changes if each.key == web.key] or [web.record]
        assert found is not None
        assert found.pool == want


@pytest.mark.parametrize("state", ["Followed", "Void"])
def test_a_request_that_ended_is_not_judged_again(state: RequestState) -> None:
    world = pool_with(status(destroyed=destroy(state), move=move(state)), EXPIRED)
    assert judge_requests(world) == NO_REQUESTS


@pytest.mark.parametrize("host", ["", "h3"])
def test_a_request_about_a_grant_that_ended_is_void(host: str) -> None:
    for found in (status(host, destroyed=destroy()), status(host, move=move())):
        request = after(pool_with(found, EXPIRED))
        assert (request.host, request.epoch) == (found.host, found.epoch)
        assert {each.state for each in (request.destroyed, request.move) if each} == {"Void"}


def test_only_one_of_two_that_wait_takes_the_grant() -> None:
    found = after(pool_with(status(destroyed=destroy(), move=move()), EXPIRED))
    assert (found.host, found.epoch) == (None, 2)
    assert found.move is not None
    assert found.move.state == "Void"


@pytest.mark.parametrize(
    ("about", "value", "reason", "line"),
    [
        pytest.param(DESTROYED, "a", "HostRequired", "'Pool-Destroyed: a=h1'", id="bare"),
        pytest.param(DESTROYED, "a=", "HostRequired", "'Pool-Destroyed: a=h1'", id="an empty host"),
        pytest.param(DESTROYED, "a=h0", "NotGranted", "'Pool-Destroyed: a=h1'", id="a host of earlier"),
        pytest.param(DESTROYED, "a=h2", "NotGranted", "'Pool-Destroyed: a=h1'", id="the candidate"),
        pytest.param(DESTROYED, "a=H1", "NotGranted", "'Pool-Destroyed: a=h1'", id="almost"),
        pytest.param(HOST, "a", "HostRequired", "'Pool-Host: a=h2'", id="where to"),
        pytest.param(HOST, "a=h1", "AlreadyGranted", "host h1 already has the grant", id="to itself"),
    ],
)
def test_a_trailer_without_a_matching_grant_is_answered_with_the_right_line(
    about: Confirm, value: str, reason: str, line: str
) -> None:
    world = pool_with(status()).pool("a", grant=Grant("h1", 1), other_host="h2", heartbeat=EXPIRED)
    found = judge_requests(world.confirm(about, value))
    assert not found.status
    assert not found.ended
    (answer,) = found.answers
    assert answer.startswith(f"{about}: a: commit {SOURCE[:12]}: ")
    assert line in answer
    (notice,) = found.notices[POOL]
    assert (notice.status, notice.reason) == ("False", reason)
    assert line in notice.message


@pytest.mark.parametrize("about", [DESTROYED, HOST])
def test_a_pool_without_a_grant_needs_no_request(about: Confirm) -> None:
    found = judge_requests(pool_with(status("", 4)).confirm(about, "a=h1"))
    assert not found.status
    assert "the next host that reports it gets it" in found.answers[0]


def test_a_trailer_about_an_unknown_pool_is_answered_with_its_name() -> None:
    found = judge_requests(pool_with(status()).confirm(DESTROYED, "nosuch=h1"))
    assert found.answers[0].endswith("unknown pool nosuch")
    assert not found.notices


@pytest.mark.parametrize(("about", "value"), [(DESTROYED, "a=h1"), (HOST, "a=h2")])
@pytest.mark.parametrize(("seconds", "want"), [(-1, "Waiting"), (0, "Waiting"), (1, "Void")])
def test_a_host_that_reported_after_the_commit_lives(
    about: Confirm, value: str, seconds: int, want: RequestState
) -> None:
    """No tick ran between the commit and the report."""
    world = pool_with(status(), ALIVE).wait_on("h2").confirm(about, value)
    world.reported_at = NOW + timedelta(seconds=seconds)
    found = after(world)
    request = found.destroyed or found.move
    assert request is not None
    assert (request.state, request.commit, request.report_commit) == (want, SOURCE, THEN)
    assert found.host == GrantedHost(id="h1")


def test_a_trailer_for_both_kinds_is_a_request_for_each_that_the_host_has() -> None:
    world = pool_with(status(), ALIVE)
    stored = make_object(Kind.VOLUME_POOL, "a", {}, status={"host": {"id": "h9"}, "epoch": 1})
    world.add(stored).volume_pool("a", grant=Grant("h9", 1))
    assert judge_requests(world.confirm(DESTROYED, "a=h1")).status.keys() == {POOL}
    assert judge_requests(world.confirm(DESTROYED, "a=h9")).status.keys() == {POOL, STORE}


@pytest.mark.parametrize(
    ("host", "former"),
    [
        pytest.param("h2", {POOL: "h1", STORE: "h9"}, id="each from the host that has it"),
        pytest.param("h9", {POOL: "h1"}, id="one has it already"),
        pytest.param("h1", {STORE: "h9"}, id="the other has it already"),
    ],
)
def test_a_move_of_a_name_of_both_kinds_takes_each_from_its_own_host(
    host: str, former: dict[Key, str]
) -> None:
    world = pool_with(status(), ALIVE)
    stored = make_object(Kind.VOLUME_POOL, "a", {}, status={"host": {"id": "h9"}, "epoch": 1})
    world.add(stored).volume_pool("a", grant=Grant("h9", 1))
    found = judge_requests(world.wait_on(host).confirm(HOST, f"a={host}")).status
    assert {key: each.move.from_host for key, each in found.items() if each.move is not None} == former


@pytest.mark.parametrize(
    ("candidate", "is_offline", "is_request"),
    [
        pytest.param("", False, False, id="a tick without any report"),
        pytest.param("h3", False, False, id="another host waits for the pool"),
        pytest.param("h2", False, True, id="it waits for the pool"),
        pytest.param("", True, True, id="a plan that has no reports"),
    ],
)
def test_a_pool_moves_only_to_a_host_that_is_known(
    candidate: str, *, is_offline: bool, is_request: bool
) -> None:
    """The granted host is silent: a slip in the hostID would take the pool from all hosts."""
    world = pool_with(status(), EXPIRED)
    world.is_offline = is_offline
    if candidate:
        world.wait_on(candidate)
    found = judge_requests(world.confirm(HOST, "a=h2"))
    assert (found.status.keys() == {POOL}) is is_request
    reasons = [each.reason for each in found.notices[POOL]]
    assert reasons == (["HostFenced"] if is_request else ["UnknownHost"])


def test_a_newer_request_takes_the_place_of_one_that_waits() -> None:
    world = pool_with(status(destroyed=destroy()), ALIVE).wait_on("h2").confirm(HOST, "a=h2")
    found = after(world)
    assert found.destroyed is None
    assert found.move is not None
    again = pool_with(status(move=move()), ALIVE).confirm(DESTROYED, "a=h1")
    assert after(again).move is None
    assert after(again).destroyed is not None


def test_a_new_grant_is_not_taken_back_by_a_request_that_it_makes_void() -> None:
    """Assignments of the same tick name the grant that this tick writes."""
    world = pool_with(status("", 2, move=move())).pool("a", grant=Grant("h9", 3, is_new=True))
    (need,) = [each for each in decide_needs(world, {POOL}, NOW) if each.key == POOL]
    found = need.record.status
    assert isinstance(found, MachinePoolStatus)
    assert (found.host, found.epoch) == (GrantedHost(id="h9"), 3)
    assert found.move is not None
    assert found.move.state == "Void"


HELD = Assignment(pool="a", id="1", host="h1", epoch=1)


@pytest.mark.parametrize(
    ("found", "want"),
    [
        pytest.param(None, HELD, id="a pool that is unknown"),
        pytest.param(status(), HELD, id="as it was granted"),
        pytest.param(status("h1", 3), replace(HELD, epoch=3), id="of an older epoch"),
        pytest.param(
            status("h1", 3, move=move("Followed", "h1", "h2")),
            replace(HELD, epoch=3),
            id="moved away and back",
        ),
        pytest.param(status("h9", 2), HELD, id="another host, without a request"),
        pytest.param(status("", 2), HELD, id="no host, without a request"),
        pytest.param(status("", 1, destroyed=destroy("Waiting")), HELD, id="a request that waits"),
        pytest.param(status("", 2, destroyed=destroy("Fenced")), HELD, id="a host that is fenced"),
        pytest.param(status("", 2, move=move("Fenced")), HELD, id="a host that is fenced for a move"),
        pytest.param(status("h9", 2, destroyed=destroy("Void")), HELD, id="a request that is void"),
        pytest.param(
            status("", 2, destroyed=destroy("Followed", "h0")), HELD, id="another host is destroyed"
        ),
        pytest.param(status("", 2, destroyed=destroy("Followed")), None, id="its host is destroyed"),
        pytest.param(status("h2", 3, destroyed=destroy("Followed")), None, id="and another has the pool"),
        pytest.param(
            status("h2", 2, move=move("Followed")),
            Assignment(pool="a", id="1", host="h2", epoch=2),
            id="moved",
        ),
        pytest.param(status("h1", 1, move=move("Waiting")), HELD, id="a move that waits"),
        pytest.param(status("h3", 3, move=move("Followed")), HELD, id="moved to what was replaced since"),
        pytest.param(
            status("", 3, move=move("Followed"), destroyed=destroy("Followed", "h2")),
            None,
            id="moved to what is destroyed",
        ),
        pytest.param(
            status("h3", 5, move=move("Followed"), destroyed=destroy("Followed")),
            None,
            id="moved once, granted again, and then destroyed",
        ),
    ],
)
def test_an_assignment_follows_the_grant(found: MachinePoolStatus | None, want: Assignment | None) -> None:
    assert follow_grant(HELD, found) == want


def test_an_assignment_of_no_host_is_never_released() -> None:
    old = Assignment(pool="a", id="1")
    assert follow_grant(old, status("", 2, destroyed=destroy("Followed", ""))) == old


@pytest.mark.parametrize(
    ("found", "heartbeat", "is_granted"),
    [
        pytest.param(status("", 0), UNCONFIRMED, True, id="never granted"),
        pytest.param(status("", 2), UNCONFIRMED, False, id="granted before"),
        pytest.param(status("", 2), EXPIRED, False, id="expired"),
        pytest.param(status("", 2, destroyed=destroy("Followed")), UNCONFIRMED, False, id="destroyed"),
        pytest.param(
            status("", 2, destroyed=destroy("Followed")), ALIVE, True, id="destroyed, and it reports"
        ),
        pytest.param(status("", 2, destroyed=destroy("Fenced")), ALIVE, False, id="fenced, and it reports"),
        pytest.param(status("", 2, move=move("Fenced", "h1", "h2")), ALIVE, False, id="fenced for a move"),
        pytest.param(status("", 3, move=move("Followed")), UNCONFIRMED, False, id="moved away from"),
        pytest.param(status("", 3, move=move("Followed")), ALIVE, True, id="moved away from, and it reports"),
        pytest.param(status("", 2, move=move("Void")), UNCONFIRMED, False, id="a move that is void"),
    ],
)
def test_a_report_that_a_previous_host_left_behind_gets_no_grant(
    found: MachinePoolStatus, heartbeat: Heartbeat, is_granted: bool
) -> None:
    state = make_object(Kind.MACHINE_POOL, "a")
    state = replace(state, record=replace(state.record, status=found))
    grant = grant_for(state, "h1", 0, heartbeat)
    assert (grant.host == "h1", grant.is_new) == (is_granted, is_granted)


@pytest.mark.parametrize("is_ordered", [False, True], ids=["held", "ordered gone"])
def test_a_paused_machine_is_released_with_its_host(is_ordered: bool) -> None:
    """The next host of the pool does not know it."""
    web = machine("web", on="a", annotations={"gitvirt.dev/paused": "true"})
    world = Small().pool("a", heartbeat=EXPIRED).confirm_destroyed("a").add(web)
    world = world.order_deletion(web.key) if is_ordered else world.leave_source(web.key)
    needs = {need.key: need for need in decide_needs(world, {web.key}, NOW)}
    assert needs[web.key].record.assignment is None


def test_a_machine_of_a_destroyed_host_is_not_adopted_from_what_that_left() -> None:
    """Otherwise each tick would assign it and release it again."""
    web = machine("web")
    world = Small().pool("a", heartbeat=EXPIRED).confirm_destroyed("a").add(web)
    world.claims[web.key] = (ObjectReport("a", "a", "a", web.record.uid, "f" * 36, "present"),)
    needs = {need.key: need for need in decide_needs(world, {web.key}, NOW)}
    assert needs[web.key].record.assignment is None
