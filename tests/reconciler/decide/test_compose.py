"""How needs and placements become the changes of a plan: which are written, what names them, and what awaits approval."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import timedelta
from typing import Any

import msgspec
import pytest

from reconciler.decide.compose import (
    apply_unschedulable,
    change_of,
    compose,
    decide_assigned,
    decide_unplaced,
    main_reason,
    pending_approvals,
    summary,
)
from reconciler.decide.decide import decide_needs
from reconciler.decide.deletion import review_deletions
from reconciler.decide.need import ChangeReason, DeletionPhase, Keep, Need, Place, Remove
from reconciler.decide.object_edit import assignment_id
from reconciler.decide.placement.offers import Placements
from reconciler.plan.types import Action
from reconciler.schedule.decision import Placed, Predicate, Reason, Refusal, Score, Unschedulable
from reconciler.world.changes import Confirm
from reconciler.world.objects.object_state import Origin
from reconciler.world.pools.grants import Grant
from reconciler.world.record import SCHEDULED, Record
from reconciler.world.reports.recovery_wait import MissingHost, Why
from schemas import live_layout
from schemas.kinds import Key, Kind
from schemas.model import ClaimRef
from tests.reconciler.decide.small import LIVE, NOW, SOURCE, Small, machine, make_object, uid_of, volume

WEB, DATA = Key(Kind.MACHINE, "default", "web"), Key(Kind.VOLUME, "default", "data")
USES_DATA = {"volumes": [{"name": "data", "volumeRef": {"name": "data"}}]}
RECORD = Record(uid=uid_of("web"))
OTHER = Record(uid=uid_of("web"), pool="a")
GONE_TOO = Record(uid=uid_of("web"), deletion_timestamp="2026-03-01T11:00:00Z")
SCORE, NO_SCORE = Score(1234567, ()), Score(0, ())


def keep(before: Record | None, after: Record, *why: ChangeReason, **changes: Any) -> Keep:
    return Keep(key=WEB, before=before, record=after, change_reasons=why, **changes)


def remove(phase: DeletionPhase, before: Record | None = RECORD, after: Record = RECORD) -> Remove:
    return Remove(key=WEB, before=before, record=after, phase=phase)


CHANGES: dict[str, tuple[Need, Any]] = {
    "the record is as it was": (keep(RECORD, RECORD), None),
    "the record is as it was, whatever led there": (
        keep(RECORD, RECORD, ChangeReason(Action.STATUS, "running")),
        None,
    ),
    "another record": (keep(RECORD, OTHER), OTHER),
    "an object that is not on live yet": (keep(None, RECORD), RECORD),
    "an object that live never has a record of": (keep(None, Record()), None),
    "a document without a record is written": (keep(None, Record(), body={"kind": "MachinePool"}), Record()),
    "a document that is rewritten, with the same record": (keep(RECORD, RECORD, body={"kind": "Volume"}), RECORD),
    "a held deletion that is held already": (remove(DeletionPhase.HOLD), None),
    "an ordered deletion that waits": (remove(DeletionPhase.WAIT, GONE_TOO, GONE_TOO), None),
    "an ordered deletion": (remove(DeletionPhase.ORDER, RECORD, GONE_TOO), GONE_TOO),
    "a retained volume moves although its record stays": (remove(DeletionPhase.RETAIN), RECORD),
}  # fmt: skip


@pytest.mark.parametrize(("need", "after"), CHANGES.values(), ids=CHANGES)
def test_a_need_is_a_change_when_its_record_or_document_becomes_another(
    need: Need, after: Record | None
) -> None:
    change = change_of(need)
    assert (change.after if change is not None else None) == after
    assert change is None or (change.key, change.before, change.body) == (need.key, need.before, need.body)


def test_only_a_dropped_object_has_no_record_afterwards() -> None:
    for phase in DeletionPhase:
        change = change_of(remove(phase, GONE_TOO, replace_pool(GONE_TOO)))
        assert change is not None
        assert (change.after is None) is (phase is DeletionPhase.DROP)


def replace_pool(record: Record) -> Record:
    return msgspec.structs.replace(record, pool="b")


def why(action: Action, text: str = "") -> ChangeReason:
    return ChangeReason(action, text)


REASONS: dict[str, tuple[tuple[ChangeReason, ...], Record | None, Action, str]] = {
    "none, and it is new": ((), None, Action.SYNC, ""),
    "none, and it is on live": ((), RECORD, Action.STATUS, ""),
    "the heaviest names the change": (
        (why(Action.STATUS, "running"), why(Action.EVICT, "drained"), why(Action.CLAIM, "claimed")),
        RECORD,
        Action.EVICT,
        "drained",
    ),
    "of two of one weight the first": (
        (why(Action.STATUS, "pending"), why(Action.STATUS, "running")),
        RECORD,
        Action.STATUS,
        "pending",
    ),
    "a placement names why the last pool lost it": (
        (why(Action.WITHDRAW, "a rejected it"), why(Action.SCHEDULE, "scored 1")),
        RECORD,
        Action.SCHEDULE,
        "a rejected it",
    ),
    "a placement after two ends names both": (
        (why(Action.WITHDRAW, "one"), why(Action.WITHDRAW, "two"), why(Action.SCHEDULE)),
        RECORD,
        Action.SCHEDULE,
        "one; two",
    ),
    "a first placement names its score": ((why(Action.SCHEDULE, "scored 1"),), None, Action.SCHEDULE, "scored 1"),
}  # fmt: skip


@pytest.mark.parametrize(("reasons", "before", "action", "text"), REASONS.values(), ids=REASONS)
def test_the_heaviest_reason_names_the_change(
    reasons: tuple[ChangeReason, ...], before: Record | None, action: Action, text: str
) -> None:
    assert main_reason(keep(before, RECORD, *reasons)) == ChangeReason(action, text)


def test_a_deletion_outweighs_a_status_and_a_placement_outweighs_everything() -> None:
    order = list(Action)
    assert order[0] is Action.SCHEDULE
    assert order.index(Action.MARK_DELETED) < order.index(Action.AWAIT_APPROVAL) < order.index(Action.STATUS)
    assert order[-1] is Action.SYNC


def refusal(pool: str, *predicates: Predicate, message: str = "4Gi needed, 1Gi free") -> Refusal:
    return Refusal(pool, tuple(Reason(each, message) for each in predicates))


@pytest.mark.parametrize(
    ("refusals", "want"),
    [
        pytest.param((), "no pool fits", id="no refusal"),
        pytest.param(
            (refusal("", Predicate.NO_POOLS, message="there is no pool"),), "there is no pool", id="no pools"
        ),
        pytest.param((refusal("a", Predicate.CAPACITY),), "no pool fits: InsufficientCapacity", id="full"),
        pytest.param(
            (refusal("b", Predicate.TAINT), refusal("a", Predicate.CAPACITY, Predicate.TAINT)),
            "no pool fits: InsufficientCapacity, TaintNotTolerated",
            id="several pools, each word once",
        ),
        pytest.param(
            (refusal("", Predicate.QUOTA, message="quota q is used up"), refusal("a", Predicate.CAPACITY)),
            "quota q is used up; no pool fits: InsufficientCapacity",
            id="quota and pools",
        ),
        pytest.param(
            (refusal("", Predicate.QUOTA, Predicate.QUOTA, message="quota q is used up"),),
            "quota q is used up",
            id="one message once",
        ),
    ],
)
def test_the_summary_has_reasons_and_no_amounts(refusals: tuple[Refusal, ...], want: str) -> None:
    """What is free changes with each placement, and a condition that quotes it would be written with each tick."""
    assert summary(refusals) == want


def world(on: str = "", claim: str = "", used: bool = True) -> Small:
    data = volume("data", on=on)
    if claim:
        record = msgspec.structs.replace(data.record, claim=ClaimRef(name=claim, uid=uid_of(claim)))
        data = msgspec.structs.replace(data, record=record)
    return Small().pool("a").volume_pool("a").add(machine("web", spec=USES_DATA if used else {}), data)


def places(found: Small, *keys: Key) -> dict[Key, Need]:
    return {
        key: Place(key=key, before=found.objects[key].record, record=found.objects[key].record)
        for key in keys
    }


def test_a_placed_machine_takes_its_pool_its_volumes_and_their_claims() -> None:
    found = world()
    needs = places(found, WEB, DATA)
    placed = Placed(WEB, "a", ((DATA, "a"),), SCORE)
    after = {need.key: need for need in decide_assigned(found, needs, placed, Placements(), NOW)}
    assert {key: need.record.pool for key, need in after.items()} == {WEB: "a", DATA: "a"}
    id = assignment_id(uid_of("web"), LIVE)
    assert after[DATA].record.claim == ClaimRef(name="web", uid=uid_of("web"), assignment=id)
    for need in after.values():
        assignment = need.record.assignment
        assert assignment is not None
        assert assignment.id == assignment_id(need.record.uid, LIVE)
        assert (assignment.host, assignment.epoch) == ("a", 1)
        shown = need.record.condition(SCHEDULED)
        assert shown is not None
        assert (shown.status, shown.message) == ("True", "on a")
    assert why(Action.SCHEDULE, "of the pools that fit it has the most room") in after[WEB].change_reasons


CLAIMS: dict[str, tuple[Callable[[], Small], tuple[Key, ...], tuple[tuple[Key, str], ...], str | None]] = {
    "a volume that is placed with it": (world, (WEB, DATA), ((DATA, "a"),), "web"),
    "a volume that is placed already": (lambda: world(on="a"), (WEB, DATA), (), "web"),
    "a volume that another machine holds": (lambda: world(on="a", claim="also"), (WEB, DATA), (), "also"),
    "a volume without a need in this tick": (lambda: world(on="a"), (WEB,), (), None),
    "a volume that it does not name": (lambda: world(used=False), (WEB, DATA), ((DATA, "a"),), None),
}


@pytest.mark.parametrize(("make", "keys", "volumes", "holder"), CLAIMS.values(), ids=CLAIMS)
def test_a_placed_machine_claims_the_free_volumes_that_it_names(
    make: Callable[[], Small], keys: tuple[Key, ...], volumes: tuple[tuple[Key, str], ...], holder: str | None
) -> None:
    found = make()
    decided = decide_assigned(
        found, places(found, *keys), Placed(WEB, "a", volumes, NO_SCORE), Placements(), NOW
    )
    records = {need.key: need.record for need in decided}
    claim = records.get(DATA, found.objects[DATA].record).claim
    assert (claim.name if claim is not None else None) == holder


def test_a_volume_placed_alone_gets_no_claim() -> None:
    found = world()
    placed = Placed(DATA, "", ((DATA, "a"),), NO_SCORE)
    (need,) = decide_assigned(found, places(found, DATA), placed, Placements(), NOW)
    assert (need.record.pool, need.record.claim) == ("a", None)
    assert need.change_reasons == (why(Action.SCHEDULE, ""),)


def test_an_assignment_names_the_grant_that_this_tick_writes() -> None:
    found = world().pool("a", grant=Grant("h9", 7, is_new=True))
    (need,) = decide_assigned(found, places(found, WEB), Placed(WEB, "a", (), NO_SCORE), Placements(), NOW)
    assert need.record.assignment is not None
    assert (need.record.assignment.host, need.record.assignment.epoch) == ("h9", 7)


def test_an_unschedulable_machine_keeps_its_record_but_for_the_condition() -> None:
    found = world()
    need = places(found, WEB)[WEB]
    after = apply_unschedulable(found, need, Unschedulable(WEB, (refusal("a", Predicate.CORDON),)), NOW)
    shown = after.record.condition(SCHEDULED)
    assert shown is not None
    assert (shown.status, shown.reason, shown.message) == (
        "False",
        "Unschedulable",
        "no pool fits: PoolCordoned",
    )
    assert (after.record.pool, after.record.assignment, after.record.uid) == ("", None, need.record.uid)
    again = apply_unschedulable(found, after, Unschedulable(WEB, (refusal("a", Predicate.CORDON),)), NOW)
    assert again.record == after.record


def test_a_plan_has_one_change_a_key_in_the_order_of_keys() -> None:
    found = world(used=False)
    due = NOW + timedelta(seconds=10)
    needs = {key: replace(need, due=due) for key, need in places(found, WEB, DATA).items()}
    refused = Unschedulable(DATA, (refusal("a", Predicate.CAPACITY),))
    plan = compose(found, needs.values(), Placements((refused, Placed(WEB, "a", (), NO_SCORE))), NOW)
    assert [change.key for change in plan.changes] == [WEB, DATA]
    assert [change.action for change in plan.changes] == [Action.SCHEDULE, Action.UNSCHEDULABLE]
    assert [each.key for each in plan.unschedulable] == [DATA]
    assert plan.due == ((WEB, due), (DATA, due))
    assert (plan.source, plan.target) == (SOURCE, LIVE)


def test_nothing_awaits_approval_while_a_lost_live_waits_for_reports() -> None:
    found = Small().add(machine("web", on="a")).leave_source(WEB)
    found.missing = (MissingHost("b", Why.SILENT),)
    (only,) = pending_approvals(found, None)
    assert (only.keys, only.trailer) == ((), "")
    assert "b (silent)" in only.reason


def crowd(count: int = 9) -> Small:
    return Small().pool("a").add(*(machine(f"other{number}", on="a") for number in range(count)))


def pause(name: str) -> Any:
    return machine(name, on="a", annotations={live_layout.PAUSED: "true"})


HOLDS: dict[str, tuple[Callable[[], Small], Mapping[str, int]]] = {
    "nothing is absent": (crowd, {}),
    "one of many is absent": (lambda: crowd().add(machine("web", on="a")).leave_source(WEB), {}),
    "the only one is absent": (
        lambda: crowd(0).add(machine("web", on="a")).leave_source(WEB),
        {"1 of 1 would be deleted: all of them": 1},
    ),
    "two are absent and paused": (
        lambda: crowd().add(pause("m1"), pause("m2")).leave_source(
            Key(Kind.MACHINE, "default", "m1"), Key(Kind.MACHINE, "default", "m2")
        ),
        {
            "it is paused; put its document back without the annotation gitvirt.dev/paused, "
            "and remove it again once `live` has it so": 2
        },
    ),
    "a request about an unknown pool": (
        lambda: crowd().add(make_object(Kind.MACHINE_POOL, "a", {})).confirm(Confirm.POOL_DESTROYED, "nosuch=h"),
        {},
    ),
    "an approval of nothing that is held": (
        lambda: crowd().confirm(Confirm.APPROVAL, "0123456789abcdef"),
        {
            "Gitvirt-Approve: 0123456789abcdef (commit 222222222222) matches nothing that awaits approval here; "
            "a host that rejects `live` compares it itself": 0
        },
    ),
}  # fmt: skip


@pytest.mark.parametrize(("make", "want"), HOLDS.values(), ids=HOLDS)
def test_each_reason_that_holds_something_is_listed_once(
    make: Callable[[], Small], want: Mapping[str, int]
) -> None:
    assert {each.reason: len(each.keys) for each in pending_approvals(make(), None)} == want


def test_a_request_about_an_unknown_pool_is_answered_and_awaits_no_approval() -> None:
    found = crowd().add(make_object(Kind.MACHINE_POOL, "a", {})).confirm(Confirm.POOL_DESTROYED, "nosuch=h")
    plan = compose(found, (), Placements(), NOW)
    (answer,) = plan.pool_requests
    assert answer.startswith("Pool-Destroyed: nosuch=h (commit 222222222222): unknown pool nosuch")
    assert plan.pending_approvals == ()


def test_only_what_exceeds_the_limit_has_a_trailer_that_approves_it() -> None:
    found = crowd(0).add(machine("web", on="a"), pause("m1"))
    found.leave_source(WEB, Key(Kind.MACHINE, "default", "m1"))
    review = review_deletions(found)
    by_key = {each.keys: each.trailer for each in pending_approvals(found, review)}
    assert by_key == {(WEB,): review.trailer, (Key(Kind.MACHINE, "default", "m1"),): ""}
    assert review.trailer


def test_an_approval_of_another_digest_is_answered_with_the_right_one() -> None:
    found = crowd(0).add(machine("web", on="a")).leave_source(WEB)
    trailer = review_deletions(found).trailer
    found.confirm(Confirm.APPROVAL, "0123456789abcdef")
    assert any(each.reason.endswith(f"did you mean {trailer}?") for each in pending_approvals(found, None))


def test_a_tick_that_changes_nothing_has_an_empty_plan() -> None:
    found = Small().pool("a").add(machine("web", on="a"))
    for need in decide_needs(found, {WEB}, NOW):
        found.add(msgspec.structs.replace(found.objects[need.key], record=need.record))
    plan = compose(found, decide_needs(found, {WEB}, NOW), Placements(), NOW)
    assert (plan.changes, plan.pending_approvals, plan.unschedulable, plan.due) == ((), (), (), ())


def test_a_frozen_object_is_in_the_plan_only_when_its_condition_changes() -> None:
    found = Small().pool("a").add(machine("web", on="a", origin=Origin.FROZEN))
    first = compose(found, decide_needs(found, {WEB}, NOW), Placements(), NOW)
    assert [change.action for change in first.changes] == [Action.BLOCKED]
    found.add(msgspec.structs.replace(found.objects[WEB], record=first.changes[0].after))
    assert compose(found, decide_needs(found, {WEB}, NOW), Placements(), NOW).changes == ()


def leaving(holder: str = "web", attached: str = "", now: str = "") -> Need | None:
    """What becomes of the volume when no pool takes its machine, whose assignment ends in this tick."""
    found = world(on="a", claim=holder)
    found.add(machine("web", spec=USES_DATA, on="" if now else "a"))
    if attached:
        found.with_report(DATA, "present", attached_to=(uid_of(attached),))
    web = found.objects[WEB].record
    needs = places(found, WEB, DATA)
    needs[WEB] = replace(needs[WEB], record=Record(uid=web.uid))
    decided = decide_unplaced(found, needs, Unschedulable(WEB, ()), NOW)
    return {need.key: need for need in decided}.get(DATA)


def test_the_claim_of_a_machine_that_no_pool_takes_ends_by_the_commit_that_withdraws_it() -> None:
    need = leaving()
    assert need is not None
    assert need.record.claim is None
    assert need.change_reasons == (why(Action.CLAIM, "machine web is not assigned to a pool"),)


@pytest.mark.parametrize(
    "given",
    [{"attached": "web"}, {"attached": "also"}, {"holder": "also"}, {"now": "unplaced before"}],
    ids=str,
)
def test_a_claim_stays_where_a_host_may_still_use_it(given: dict[str, str]) -> None:
    """Or where an earlier commit withdrew its machine, so that the volume's own rules end it."""
    assert leaving(**given) is None
