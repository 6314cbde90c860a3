"""All that is absent, judged at once: what is counted, what is held, and what one approval covers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from reconciler.decide.deletion import (
    OVER_LIMIT,
    approval_subject,
    finish_deletion,
    follows_its_owner,
    hold_reason,
    is_announced,
    may_hold_data,
    order_deletion,
    review_deletions,
)
from reconciler.decide.need import DeletionPhase
from reconciler.decide.object_edit import ObjectEdit
from reconciler.gitstore.approval import HoldKind, approval_digest
from reconciler.plan.types import Action
from reconciler.world.changes import Confirm
from reconciler.world.objects.object_state import ObjectState, Origin
from reconciler.world.pools.grants import follow_grant
from reconciler.world.record import DELETION_HELD, UNVERIFIED
from reconciler.world.reports.heartbeat import Heartbeat
from reconciler.world.source.rules import Rules
from schemas import live_layout
from schemas.kinds import Key, Kind
from schemas.model import ClaimRef, DestroyRequest, VolumePoolStatus
from schemas.report import objects as report
from schemas.settings.fleet import DeleteLimit
from tests.reconciler.decide.small import FLEET, NOW, Small, machine, make_object, uid_of, volume

WEB, DATA = Key(Kind.MACHINE, "default", "web"), Key(Kind.VOLUME, "default", "data")
POOL = Key(Kind.MACHINE_POOL, "", "a")
PAUSED: Any = {"annotations": {live_layout.PAUSED: "true"}}
EXPIRED: Any = {"heartbeat": Heartbeat.EXPIRED}
MADE = {"volumeID": "sim://1", "state": "Available"}
USES_DATA = {"volumes": [{"name": "data", "volumeRef": {"name": "data"}}]}
SCRATCH = {
    "volumes": [
        {
            "name": "scratch",
            "ephemeral": {
                "volumeTemplate": {
                    "spec": {"volumeClassRef": {"name": "fast"}, "resources": {"storage": "1Gi"}}
                }
            },
        }
    ]
}
AWAITS: Any = {
    "status": {
        "conditions": [
            {"type": DELETION_HELD, "status": "True", "reason": OVER_LIMIT, "message": "1 of 1 ..."}
        ]
    }
}
OWNED: Any = {
    "ownerReferences": [
        {
            "apiVersion": "compute.ironcore.dev/v1alpha1",
            "kind": "Machine",
            "name": "web",
            "uid": uid_of("web"),
        }
    ]
}


def key(name: str, kind: Kind = Kind.MACHINE) -> Key:
    return Key(kind, "default" if kind.is_namespaced else "", name)


def fleet(count: int, absent: int = 0, ordered: int = 0, **first: Any) -> Small:
    """Machines m0, m1, ... of which the first `absent` left the source, and the next `ordered` are ordered gone."""
    found = (
        Small().pool("a").add(*(machine(f"m{n}", on="a", **(first if n == 0 else {})) for n in range(count)))
    )
    found.leave_source(*(key(f"m{n}") for n in range(absent)))
    for n in range(absent, absent + ordered):
        found.order_deletion(key(f"m{n}"))
    return found


def with_generated(owner: ObjectState | None, order_owner: bool = False) -> Small:
    found = Small().pool("a").volume_pool("a")
    found.add(volume("web-scratch", on="a", origin=Origin.GENERATED, **OWNED))
    if owner is not None:
        found.add(owner)
    if order_owner:
        found.order_deletion(WEB)
    found.relations.absent.add(key("web-scratch", Kind.VOLUME))
    return found


# a world -> the keys that are held, the keys that await approval
REVIEWS: dict[str, tuple[Callable[[], Small], set[str], set[str]]] = {
    "nothing is absent": (lambda: fleet(9), set(), set()),
    "one of nine": (lambda: fleet(9, 1), set(), set()),
    "four of nine": (lambda: fleet(9, 4), set(), set()),
    "five of nine are half or more": (lambda: fleet(9, 5), set(), {"m0", "m1", "m2", "m3", "m4"}),
    "one more than the limit with those that are ordered": (lambda: fleet(9, 1, 4), set(), {"m0"}),
    "what is ordered alone awaits nothing": (lambda: fleet(9, 0, 9), set(), set()),
    "the only one": (lambda: fleet(1, 1), set(), {"m0"}),
    "one of nine that awaited approval when it was the only one": (
        lambda: fleet(9, 1, **AWAITS),
        set(),
        {"m0"},
    ),
    "another one than the one that awaits approval": (lambda: fleet(9, 2, **AWAITS), set(), {"m0"}),
    "a paused one is held for itself": (lambda: fleet(9, 1, **PAUSED), {"m0"}, set()),
    "a paused one counts against the limit of the others": (
        lambda: fleet(4, 2, **PAUSED),
        {"m0"},
        {"m1"},
    ),
    "a generated object whose owner is ordered gone is not counted": (
        lambda: with_generated(machine("web", spec=SCRATCH), order_owner=True),
        set(),
        set(),
    ),
    "a generated object whose owner is gone is not counted": (lambda: with_generated(None), set(), set()),
    "a generated object whose owner stays is counted": (
        lambda: with_generated(machine("web")),
        set(),
        {"web-scratch"},
    ),
    "a pool that its poollet announces is not counted": (
        lambda: Small().pool("a").add(make_object(Kind.MACHINE_POOL, "a", {})).leave_source(POOL),
        set(),
        set(),
    ),
    "a pool that no poollet announces is counted": (
        lambda: Small().add(make_object(Kind.MACHINE_POOL, "a", {})).leave_source(POOL),
        set(),
        {"a"},
    ),
}  # fmt: skip


@pytest.mark.parametrize(("make", "held", "awaiting"), REVIEWS.values(), ids=REVIEWS)
def test_each_absent_object_is_free_held_or_awaiting_approval(
    make: Callable[[], Small], held: set[str], awaiting: set[str]
) -> None:
    review = review_deletions(make())
    over = {each.name for each, (reason, _) in review.why.items() if reason == OVER_LIMIT}
    assert over == awaiting
    assert {each.name for each in review.why} - over == held
    assert {each.name for _, _, keys in review.held for each in keys} == awaiting
    assert bool(review.trailer) is bool(awaiting)


@pytest.mark.parametrize("make", [row[0] for row in REVIEWS.values()], ids=REVIEWS)
def test_an_approval_frees_what_awaits_it_and_nothing_else(make: Callable[[], Small]) -> None:
    before = review_deletions(make())
    if before.trailer:
        found = make().confirm(Confirm.APPROVAL, before.trailer.removeprefix("Gitvirt-Approve: "))
        after = review_deletions(found)
        assert (after.held, after.trailer, after.idle) == ((), "", ())
        assert after.why == {each: why for each, why in before.why.items() if why[0] != OVER_LIMIT}


def test_an_approval_does_not_cover_what_left_the_source_after_it() -> None:
    trailer = review_deletions(fleet(9, 5)).trailer.removeprefix("Gitvirt-Approve: ")
    later = review_deletions(fleet(9, 6).confirm(Confirm.APPROVAL, trailer))
    assert {each.name for each in later.why} == {f"m{n}" for n in range(6)}
    assert [each.value for each in later.idle] == [trailer]


def test_an_approval_does_not_cover_another_object_of_the_same_name() -> None:
    found, other = fleet(1, 1), fleet(1, 1)
    state = other.objects[key("m0")]
    other.add(msgspec.structs.replace(state, record=msgspec.structs.replace(state.record, uid=uid_of("x"))))
    other.confirm(Confirm.APPROVAL, review_deletions(found).trailer.removeprefix("Gitvirt-Approve: "))
    assert review_deletions(other).why.keys() == {key("m0")}


def test_one_digest_approves_all_kinds_at_once() -> None:
    found = fleet(1, 1).volume_pool("a").add(volume("v", on="a")).leave_source(key("v", Kind.VOLUME))
    review = review_deletions(found)
    subjects = [uid_of("m0"), uid_of("v")]
    assert review.trailer == f"Gitvirt-Approve: {approval_digest(FLEET, HoldKind.DELETION, subjects)}"
    assert [kind for kind, _, _ in review.held] == [Kind.MACHINE, Kind.VOLUME]


@pytest.mark.parametrize(
    ("old", "new", "is_held"),
    [
        pytest.param((10, 20), (10, 20), True, id="over the limit"),
        pytest.param((10, 20), (99, 99), True, id="raised by the commit that breaks it"),
        pytest.param((99, 99), (10, 20), True, id="lowered by the commit that breaks it"),
        pytest.param((99, 99), (99, 99), False, id="raised earlier"),
        pytest.param((10, 99), (99, 20), True, id="the stricter count and the stricter percentage"),
    ],
)
def test_the_stricter_of_the_old_and_the_new_limits_counts(
    old: tuple[int, int], new: tuple[int, int], is_held: bool
) -> None:
    found = fleet(50, 11)
    settings = found.rules.settings

    def limit(count: int, percent: int) -> Any:
        limits = msgspec.structs.replace(settings.limits, delete=DeleteLimit(count=count, percent=percent))
        return msgspec.structs.replace(settings, limits=limits)

    found.rules = Rules(limit(*new), before=limit(*old))
    assert bool(review_deletions(found).held) is is_held


def unreachable(known: ObjectState) -> Small:
    return Small().volume_pool("a", **EXPIRED).add(known)


DOUBTS: dict[str, tuple[Callable[[], Small], bool]] = {
    "unmade on a lost pool": (lambda: unreachable(volume("data", on="a")), True),
    "unmade on an unknown pool": (lambda: Small().add(volume("data", on="a")), True),
    "unmade on a pool that reports": (lambda: Small().volume_pool("a").add(volume("data", on="a")), False),
    "made, so that it is retained anyway": (lambda: unreachable(volume("data", on="a", status=MADE)), False),
    "unmade and on no pool": (lambda: unreachable(volume("data")), False),
    "its policy says Delete": (
        lambda: unreachable(volume("data", on="a", spec={"deletionPolicy": "Delete"})),
        False,
    ),
    "its policy says Retain": (
        lambda: unreachable(volume("data", on="a", spec={"deletionPolicy": "Retain"})),
        False,
    ),
    "generated for a machine": (lambda: unreachable(volume("data", on="a", origin=Origin.GENERATED)), False),
    "owned by a machine": (lambda: unreachable(volume("data", on="a", **OWNED)), False),
    "its host is destroyed": (lambda: unreachable(volume("data", on="a")).confirm_destroyed("a"), False),
}


@pytest.mark.parametrize(("make", "want"), DOUBTS.values(), ids=DOUBTS)
def test_a_volume_that_an_unreachable_pool_may_have_made_is_not_deleted(
    make: Callable[[], Small], want: bool
) -> None:
    found = make()
    assert may_hold_data(found, found.objects[DATA]) is want
    reason = hold_reason(found, found.objects[DATA])
    assert (reason is not None and reason[0] == UNVERIFIED) is want


def both(web: ObjectState, data: ObjectState) -> Small:
    return Small().pool("a").volume_pool("a").add(web, data)


ORDER: dict[str, tuple[Callable[[], Small], str]] = {
    "unverified, paused and in use": (
        lambda: _unverify(both(machine("web", spec=USES_DATA), volume("data", on="a", **PAUSED))),
        UNVERIFIED,
    ),
    "paused and in use": (
        lambda: both(machine("web", spec=USES_DATA), volume("data", on="a", **PAUSED)),
        "Paused",
    ),
    "its machine is paused, and it is in use": (
        lambda: both(machine("web", spec=USES_DATA, **PAUSED), volume("data", on="a", **OWNED)),
        "Paused",
    ),
    "in use": (lambda: both(machine("web", spec=USES_DATA), volume("data", on="a")), "InUse"),
    "unmade on a lost pool and in use": (
        lambda: both(machine("web", spec=USES_DATA), volume("data", on="a")).volume_pool("a", **EXPIRED),
        UNVERIFIED,
    ),
}  # fmt: skip


def _unverify(found: Small) -> Small:
    found.unverified[DATA] = "data.yaml cannot be read"
    return found


@pytest.mark.parametrize(("make", "want"), ORDER.values(), ids=ORDER)
def test_the_first_of_several_reasons_to_hold_a_deletion_is_shown(
    make: Callable[[], Small], want: str
) -> None:
    found = make().leave_source(DATA)
    reason = hold_reason(found, found.objects[DATA])
    assert reason is not None
    assert reason[0] == want


def test_a_user_that_stays_holds_a_deletion_and_is_named() -> None:
    found = both(machine("web", spec=USES_DATA), volume("data", on="a")).leave_source(DATA)
    assert hold_reason(found, found.objects[DATA]) == ("InUse", "still used by Machine/default/web")


def test_no_approval_covers_what_a_held_object_needs() -> None:
    """Approved, it would wait all the same, and be asked for again: the approval would be used up."""
    found = both(machine("web", spec=USES_DATA, **PAUSED), volume("data", on="a"))
    found.leave_source(WEB, DATA)
    review = review_deletions(found)
    assert review.why[WEB][0] == "Paused"
    assert review.why[DATA] == ("InUse", "still used by Machine/default/web, whose deletion is held")
    assert (review.held, review.trailer) == ((), "")


@pytest.mark.parametrize(
    ("owner", "is_ordered", "want"),
    [
        pytest.param(None, False, True, id="its owner is gone"),
        pytest.param(machine("web"), True, True, id="its owner is ordered gone"),
        pytest.param(machine("web"), False, False, id="its owner stays"),
    ],
)
def test_a_generated_object_goes_with_its_owner(
    owner: ObjectState | None, is_ordered: bool, want: bool
) -> None:
    found = with_generated(owner, is_ordered)
    assert follows_its_owner(found, found.objects[key("web-scratch", Kind.VOLUME)]) is want


def test_a_declared_object_has_no_owner_to_go_with() -> None:
    assert not follows_its_owner(Small(), machine("web"))


@pytest.mark.parametrize(
    ("changes", "pools", "kind", "want"),
    [
        pytest.param({}, "open", Kind.MACHINE_POOL, True, id="announced"),
        pytest.param({}, "declared", Kind.MACHINE_POOL, False, id="the fleet takes declared pools only"),
        pytest.param({"announced": None}, "open", Kind.MACHINE_POOL, False, id="not announced"),
        pytest.param(None, "open", Kind.MACHINE_POOL, False, id="unknown"),
        pytest.param({}, "open", Kind.MACHINE_CLASS, False, id="not a pool"),
    ],
)
def test_a_pool_stays_while_its_poollet_announces_it_and_the_fleet_is_open(
    changes: dict[str, Any] | None, pools: Any, kind: Kind, want: bool
) -> None:
    found = Small() if changes is None else Small().pool("a", **changes)
    settings = msgspec.structs.replace(found.rules.settings, pools=pools)
    found.rules = Rules(settings, settings)
    assert is_announced(found, Key(kind, "", "a")) is want


def test_kinds_without_uids_are_approved_by_their_name() -> None:
    secret = make_object(Kind.SECRET, "boot", {"stringData": {"a": "b"}})
    assert approval_subject(secret) == "Secret/default/boot"
    assert approval_subject(machine("web")) == uid_of("web")


def edit_of(known: ObjectState) -> ObjectEdit:
    return ObjectEdit(known, known.record, NOW)


@pytest.mark.parametrize(
    ("known", "phase", "action", "reason"),
    [
        pytest.param(machine("web", on="a"), DeletionPhase.ORDER, Action.MARK_DELETED, "no longer in the source", id="a machine"),
        pytest.param(volume("data", on="a", status=MADE), DeletionPhase.RETAIN, Action.RETAIN, "its deletion policy keeps the data", id="a made volume"),
        pytest.param(volume("data", on="a", **OWNED), DeletionPhase.ORDER, Action.MARK_DELETED, "no longer an entry of machine web", id="an entry that was removed"),
        pytest.param(volume("data", on="a", status=MADE, **OWNED), DeletionPhase.ORDER, Action.MARK_DELETED, "no longer an entry of machine web", id="a made volume of a machine"),
    ],
)  # fmt: skip
def test_the_first_phase_orders_or_retains(
    known: ObjectState, phase: DeletionPhase, action: Action, reason: str
) -> None:
    edit = edit_of(known).set_condition(DELETION_HELD, "True", OVER_LIMIT, "held before")
    need = order_deletion(edit, review_deletions(Small()))
    assert (need.phase, need.reason) == (phase, reason)
    assert [each.action for each in need.change_reasons] == [action]
    assert need.record.is_deleting is (phase is DeletionPhase.ORDER)
    assert need.record.condition(DELETION_HELD) is None
    assert need.record.assignment == known.record.assignment


def test_a_held_deletion_shows_its_reason_and_changes_nothing_else() -> None:
    found = fleet(1, 1)
    known = found.objects[key("m0")]
    need = order_deletion(edit_of(known), review_deletions(found))
    shown = need.record.condition(DELETION_HELD)
    assert shown is not None
    assert (need.phase, shown.status, shown.reason) == (DeletionPhase.HOLD, "True", OVER_LIMIT)
    assert "to approve: Gitvirt-Approve: " in shown.message
    assert (need.record.is_deleting, need.record.assignment) == (False, known.record.assignment)


def hold(known: ObjectState) -> ObjectState:
    """With a claim of a machine that no longer exists."""
    record = msgspec.structs.replace(known.record, claim=ClaimRef(name="old", uid="u"))
    return msgspec.structs.replace(known, record=record)


def release(known: ObjectState) -> ObjectEdit:
    """As `under_grant` leaves it when its host is destroyed in this tick."""
    pool = VolumePoolStatus(epoch=2, destroyed=DestroyRequest(commit="c", host="a", state="Followed"))
    assignment = known.record.assignment
    assert assignment is not None
    assert follow_grant(assignment, pool) is None
    return edit_of(known).unassign()


FINISHES: dict[str, tuple[ObjectState, str, DeletionPhase, str]] = {
    "never assigned": (machine("web"), "", DeletionPhase.DROP, "it was not assigned to a pool"),
    "reported gone": (machine("web", on="a"), "gone", DeletionPhase.DROP, "confirmed by its host"),
    "still present": (machine("web", on="a"), "present", DeletionPhase.WAIT, "waiting for pool a to report that it is gone"),
    "a snapshot that is still present": (
        make_object(Kind.VOLUME_SNAPSHOT, "daily", {"volumeRef": {"name": "data"}}, on="a"),
        "present",
        DeletionPhase.WAIT,
        "waiting for pool a to report that it is gone",
    ),
    "a snapshot that is gone": (
        make_object(Kind.VOLUME_SNAPSHOT, "daily", {"volumeRef": {"name": "data"}}, on="a"),
        "gone",
        DeletionPhase.DROP,
        "confirmed by its host",
    ),
    "a made volume that is present": (volume("data", on="a", status=MADE), "present", DeletionPhase.RETAIN, "its deletion policy keeps the data"),
    "a made volume that is paused": (volume("data", on="a", status=MADE, **PAUSED), "present", DeletionPhase.WAIT, "it is paused"),
    "a made volume to be deleted by its policy": (volume("data", on="a", status=MADE, spec={"deletionPolicy": "Delete"}), "present", DeletionPhase.WAIT, "waiting for pool a to report that it is gone"),
    "a class": (make_object(Kind.NETWORK, "lan", {}), "", DeletionPhase.DROP, "no longer used"),
}  # fmt: skip


@pytest.mark.parametrize(("known", "phase", "want", "reason"), FINISHES.values(), ids=FINISHES)
def test_the_second_phase_drops_only_what_is_gone(
    known: ObjectState, phase: str, want: DeletionPhase, reason: str
) -> None:
    found = Small().pool("a").volume_pool("a").add(known).order_deletion(known.key)
    if phase:
        found.with_report(known.key, phase, status=None)
    need = finish_deletion(found, edit_of(found.objects[known.key]))
    assert (need.phase, need.reason) == (want, reason)
    assert need.record.is_deleting is (want is not DeletionPhase.RETAIN)


@pytest.mark.parametrize("policy", ["Delete", None])
def test_a_volume_that_waits_or_is_retained_gives_up_the_claim_of_a_machine_that_is_gone(
    policy: str | None,
) -> None:
    spec = {} if policy is None else {"deletionPolicy": policy}
    found = Small().volume_pool("a").add(hold(volume("data", on="a", status=MADE, spec=spec)))
    need = finish_deletion(found.order_deletion(DATA), edit_of(found.objects[DATA]))
    assert need.phase is (DeletionPhase.WAIT if policy else DeletionPhase.RETAIN)
    assert need.record.claim is None


def test_an_object_with_a_pool_and_no_assignment_was_confirmed_by_no_host() -> None:
    web = machine("web", spec={"machinePoolRef": {"name": "a"}})
    web = msgspec.structs.replace(web, record=msgspec.structs.replace(web.record, pool="a"))
    found = Small().pool("a").add(web).order_deletion(WEB)
    need = finish_deletion(found, edit_of(found.objects[WEB]))
    assert (need.phase, need.reason) == (DeletionPhase.DROP, "it was not assigned to a pool")


def test_the_end_of_a_destroyed_host_is_named() -> None:
    found = Small().volume_pool("a").add(volume("data", on="a", status=MADE)).order_deletion(DATA)
    need = finish_deletion(found, release(found.objects[DATA]))
    assert (need.phase, need.reason) == (DeletionPhase.DROP, "the host of pool a is destroyed")


@pytest.mark.parametrize(("assignment", "want"), [("", DeletionPhase.DROP), ("another", DeletionPhase.WAIT)])
def test_a_rejection_counts_only_for_the_assignment_that_it_names(
    assignment: str, want: DeletionPhase
) -> None:
    found = Small().pool("a").add(machine("web", on="a")).order_deletion(WEB)
    named = {"assignment": assignment} if assignment else {}
    full = (report.ReportedReason(code="Full", message="no room"),)
    found.with_report(WEB, "rejected", reasons=full, **named)
    assert finish_deletion(found, edit_of(found.objects[WEB])).phase is want
