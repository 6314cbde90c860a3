from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reconciler.decide.compose import compose
from reconciler.decide.decide import decide_needs
from reconciler.decide.deletion import review_deletions
from reconciler.decide.need import DeletionPhase, Keep, Remove
from reconciler.decide.placement.offers import Placements
from reconciler.plan.types import Action
from reconciler.world.changes import Confirm
from reconciler.world.objects.object_state import Origin
from reconciler.world.record import condition
from reconciler.world.reports.heartbeat import Heartbeat
from reconciler.world.source.rules import Rules
from schemas.kinds import Key, Kind
from schemas.report import objects as report
from schemas.settings.fleet import DeleteLimit
from tests.reconciler.decide.small import NOW, Small, machine, make_object, uid_of, volume

WEB = Key(Kind.MACHINE, "default", "web")
DATA = Key(Kind.VOLUME, "default", "data")
DAILY = Key(Kind.VOLUME_SNAPSHOT, "default", "daily")
SMALL = Key(Kind.MACHINE_CLASS, "", "small")
LAN = Key(Kind.NETWORK_INTERFACE, "default", "web-lan")
ASKS_FOR_LAN = {
    "networkInterfaces": [
        {
            "name": "lan",
            "ephemeral": {"networkInterfaceTemplate": {"spec": {"networkRef": {"name": "office"}}}},
        }
    ]
}
USES_DATA = {"volumes": [{"name": "data", "volumeRef": {"name": "data"}}]}
MADE = {"volumeID": "libvirt://v", "state": "Available"}
IS_MADE = report.ReportedVolumeStatus(volume_id="libvirt://v", state="Available")
OWNER = {
    "apiVersion": "compute.ironcore.dev/v1alpha1",
    "kind": "Machine",
    "name": "web",
    "uid": uid_of("web"),
}


def crowd(count: int = 9) -> Small:
    """Enough of everything that one deletion needs no approval."""
    world = Small().pool("a").volume_pool("a")
    world.add(*(machine(f"other{number}", on="a") for number in range(count)))
    world.add(*(volume(f"other{number}", on="a") for number in range(count)))
    world.add(
        *(
            make_object(Kind.MACHINE_CLASS, f"other{n}", {"capabilities": {"cpu": 1, "memory": 1}})
            for n in range(count)
        )
    )
    return world


def with_snapshot(pool: str) -> Small:
    """Its deletion is ordered, and its volume no longer exists."""
    world = crowd().add(make_object(Kind.VOLUME_SNAPSHOT, "daily", {"volumeRef": {"name": "data"}}, on=pool))
    return world.order_deletion(DAILY).with_report(DAILY, "unknown")


def small_class() -> Any:
    return make_object(Kind.MACHINE_CLASS, "small", {"capabilities": {"cpu": 1, "memory": 1}})


def with_volume(**spec: Any) -> Small:
    return crowd().add(volume("data", on="a", spec=spec, status=MADE))


def _lan() -> Any:
    spec = {"networkRef": {"name": "office"}}
    return make_object(Kind.NETWORK_INTERFACE, "web-lan", spec, ownerReferences=[OWNER])


Case = tuple[str, Callable[[], Small], Key, DeletionPhase]

CASES: list[Case] = [
    ("an unplaced machine needs an order too", lambda: crowd().add(machine("web")).leave_source(WEB), WEB, DeletionPhase.ORDER),
    ("a placed machine", lambda: crowd().add(machine("web", on="a")).leave_source(WEB), WEB, DeletionPhase.ORDER),
    ("its absence is unverified", lambda: _with_unverified_absence(crowd().add(machine("web", on="a")).leave_source(WEB), WEB), WEB, DeletionPhase.HOLD),
    ("paused", lambda: crowd().add(machine("web", on="a", annotations={"gitvirt.dev/paused": "true"})).leave_source(WEB), WEB, DeletionPhase.HOLD),
    ("a class in use", lambda: crowd().add(small_class()).leave_source(SMALL), SMALL, DeletionPhase.HOLD),
    ("a volume in use", lambda: with_volume().add(machine("web", on="a", spec=USES_DATA)).leave_source(DATA), DATA, DeletionPhase.HOLD),
    ("a volume and its machine", lambda: with_volume(deletionPolicy="Delete").add(machine("web", on="a", spec=USES_DATA)).leave_source(DATA, WEB), DATA, DeletionPhase.ORDER),
    ("a volume with data", lambda: with_volume().leave_source(DATA), DATA, DeletionPhase.RETAIN),
    ("a volume without data", lambda: crowd().add(volume("data", on="a")).leave_source(DATA), DATA, DeletionPhase.ORDER),
    ("a volume that its pool reports as made since", lambda: crowd().add(volume("data", on="a")).leave_source(DATA).with_report(DATA, "present", status=IS_MADE), DATA, DeletionPhase.RETAIN),
    ("a volume on no pool", lambda: crowd().add(volume("data")).leave_source(DATA), DATA, DeletionPhase.ORDER),
    ("its policy says Delete", lambda: with_volume(deletionPolicy="Delete").leave_source(DATA), DATA, DeletionPhase.ORDER),
    ("its policy says Retain", lambda: crowd().add(volume("data", on="a", spec={"deletionPolicy": "Retain"})).leave_source(DATA), DATA, DeletionPhase.RETAIN),
    ("ordered, its pool reports nothing of it", lambda: crowd().add(machine("web", on="a")).order_deletion(WEB), WEB, DeletionPhase.WAIT),
    ("ordered, still there", lambda: crowd().add(machine("web", on="a")).order_deletion(WEB).with_report(WEB, "present"), WEB, DeletionPhase.WAIT),
    ("ordered, its runtime does not answer", lambda: crowd().add(machine("web", on="a")).order_deletion(WEB).with_report(WEB, "unknown"), WEB, DeletionPhase.WAIT),
    ("ordered, gone", lambda: crowd().add(machine("web", on="a")).order_deletion(WEB).with_report(WEB, "gone"), WEB, DeletionPhase.DROP),
    ("ordered, had been rejected", lambda: crowd().add(machine("web", on="a")).order_deletion(WEB).with_report(WEB, "rejected"), WEB, DeletionPhase.DROP),
    ("ordered, on no pool", lambda: crowd().add(machine("web")).order_deletion(WEB), WEB, DeletionPhase.DROP),
    ("ordered, its pool lost", lambda: crowd().add(machine("web", on="b")).order_deletion(WEB), WEB, DeletionPhase.WAIT),
    ("ordered, its pool destroyed", lambda: crowd().add(machine("web", on="b")).order_deletion(WEB).confirm_destroyed("b"), WEB, DeletionPhase.DROP),
    ("ordered, its pool confirmed destroyed but alive", lambda: crowd().add(machine("web", on="a")).order_deletion(WEB).confirm_destroyed("a"), WEB, DeletionPhase.WAIT),
    ("ordered, and created after the order", lambda: crowd().add(volume("data", on="a")).order_deletion(DATA).with_report(DATA, "present", status=IS_MADE), DATA, DeletionPhase.RETAIN),
    ("ordered, made, its runtime does not answer", lambda: crowd().add(volume("data", on="a", status=MADE)).order_deletion(DATA).with_report(DATA, "unknown"), DATA, DeletionPhase.RETAIN),
    ("ordered, not made yet", lambda: crowd().add(volume("data", on="a")).order_deletion(DATA).with_report(DATA, "present", status=report.ReportedVolumeStatus(state="Pending")), DATA, DeletionPhase.WAIT),
    ("ordered, never made", lambda: crowd().add(volume("data", on="a")).order_deletion(DATA).with_report(DATA, "gone"), DATA, DeletionPhase.DROP),
    ("ordered, made, and reported gone", lambda: with_volume().order_deletion(DATA).with_report(DATA, "gone"), DATA, DeletionPhase.DROP),
    ("ordered, made, its pool destroyed", lambda: crowd().add(volume("data", on="b", status=MADE)).order_deletion(DATA).confirm_destroyed("b"), DATA, DeletionPhase.DROP),
    ("ordered, a snapshot", lambda: with_snapshot("b"), DAILY, DeletionPhase.WAIT),
    ("ordered, a snapshot, its pool destroyed", lambda: with_snapshot("b").confirm_destroyed("b"), DAILY, DeletionPhase.DROP),
    ("ordered, a snapshot, its pool confirmed destroyed but alive", lambda: with_snapshot("a").confirm_destroyed("a"), DAILY, DeletionPhase.WAIT),
    ("ordered by its policy, still there", lambda: with_volume(deletionPolicy="Delete").order_deletion(DATA).with_report(DATA, "present", status=IS_MADE), DATA, DeletionPhase.WAIT),
    ("ordered with its owner, still there", lambda: crowd().add(volume("data", on="a", ownerReferences=[OWNER])).order_deletion(DATA).with_report(DATA, "present", status=IS_MADE), DATA, DeletionPhase.WAIT),
    ("ordered, a class whose last user is ordered gone too", lambda: crowd(0).add(small_class(), machine("web", on="a")).order_deletion(WEB).order_deletion(SMALL), SMALL, DeletionPhase.WAIT),
    ("ordered, an unused class", lambda: crowd(0).add(small_class()).order_deletion(SMALL), SMALL, DeletionPhase.DROP),
    ("ordered, and its owner has the entry again", lambda: crowd().add(_lan(), machine("web", on="a", spec=ASKS_FOR_LAN)).order_deletion(LAN), LAN, DeletionPhase.DROP),
    ("ordered, paused since", lambda: crowd().add(machine("web", annotations={"gitvirt.dev/paused": "true"})).order_deletion(WEB), WEB, DeletionPhase.WAIT),
]  # fmt: skip


def _with_unverified_absence(world: Small, key: Key) -> Small:
    world.unverified[key] = "web.yaml cannot be read"
    return world


def removal(world: Small, key: Key) -> Remove:
    found = next(need for need in decide_needs(world, {key}, NOW) if need.key == key)
    assert isinstance(found, Remove)
    return found


@pytest.mark.parametrize(("make", "key", "want"), [row[1:] for row in CASES], ids=[row[0] for row in CASES])
def test_a_deletion_is_in_the_phase_of_its_facts(
    make: Callable[[], Small], key: Key, want: DeletionPhase
) -> None:
    found = removal(make(), key)
    assert found.phase is want
    assert found.record.is_deleting == (want in (DeletionPhase.ORDER, DeletionPhase.WAIT, DeletionPhase.DROP))
    if want is not DeletionPhase.DROP:
        assert found.record.assignment == make().objects[key].record.assignment


@pytest.mark.parametrize(("make", "key", "want"), [row[1:] for row in CASES], ids=[row[0] for row in CASES])
def test_only_what_is_dropped_leaves_live(make: Callable[[], Small], key: Key, want: DeletionPhase) -> None:
    world = make()
    plan = compose(world, decide_needs(world, {key}, NOW), Placements(), NOW)
    gone = {change.key for change in plan.changes if change.after is None}
    assert gone == ({key} if want is DeletionPhase.DROP else set())


def empty_tree() -> Small:
    world = crowd(5)
    return world.leave_source(*world.objects)


def test_an_empty_source_tree_deletes_nothing_without_an_approval() -> None:
    world = empty_tree()
    needs = decide_needs(world, set(), NOW)
    assert {need.key for need in needs} == set(world.objects)
    for need in needs:
        assert isinstance(need, Remove)
        assert need.phase is DeletionPhase.HOLD
        assert not need.record.is_deleting
    plan = compose(world, needs, Placements(), NOW)
    assert {change.action for change in plan.changes} == {Action.AWAIT_APPROVAL}
    assert {held.kind for held in plan.pending_approvals} >= {Kind.MACHINE, Kind.VOLUME, Kind.MACHINE_CLASS}
    (trailer,) = {held.trailer for held in plan.pending_approvals}
    assert trailer.startswith("Gitvirt-Approve: ")
    last = next(need for need in needs if need.key.kind is Kind.VOLUME)
    held = condition(getattr(last.record.status, "conditions", ()), "DeletionHeld")
    assert held is not None
    assert trailer in held.message


def approve(world: Small) -> Small:
    return world.confirm(Confirm.APPROVAL, review_deletions(world).trailer.removeprefix("Gitvirt-Approve: "))


def test_a_commit_with_the_digest_approves_exactly_that() -> None:
    world = approve(empty_tree())
    steps = {
        need.key.kind: need.phase for need in decide_needs(world, set(), NOW) if isinstance(need, Remove)
    }
    assert steps[Kind.MACHINE] is DeletionPhase.ORDER
    further = approve(empty_tree().add(machine("one-more", on="a")))
    further.leave_source(Key(Kind.MACHINE, "default", "one-more"))
    assert all(
        need.phase is DeletionPhase.HOLD
        for need in decide_needs(further, set(), NOW)
        if isinstance(need, Remove)
    )


@pytest.mark.parametrize("digits", ["", "abc", "0" * 64])
def test_a_wrong_or_short_digest_approves_nothing(digits: str) -> None:
    world = empty_tree().confirm(Confirm.APPROVAL, digits)
    assert all(
        need.phase is DeletionPhase.HOLD
        for need in decide_needs(world, set(), NOW)
        if isinstance(need, Remove)
    )
    short = empty_tree()
    short.confirm(Confirm.APPROVAL, review_deletions(short).trailer.removeprefix("Gitvirt-Approve: ")[:11])
    assert all(
        need.phase is DeletionPhase.HOLD
        for need in decide_needs(short, set(), NOW)
        if isinstance(need, Remove)
    )


def test_a_commit_cannot_raise_the_limit_that_it_breaks() -> None:
    world = crowd(100)
    world.leave_source(*(Key(Kind.MACHINE, "default", f"other{number}") for number in range(30)))
    settings = world.rules.settings
    limits = msgspec.structs.replace(settings.limits, delete=DeleteLimit(count=1000, percent=100))
    raised = msgspec.structs.replace(settings, limits=limits)
    world.rules = Rules(raised, before=settings)
    assert all(
        need.phase is DeletionPhase.HOLD
        for need in decide_needs(world, set(), NOW)
        if isinstance(need, Remove)
    )
    world.rules = Rules(raised, before=raised)
    assert all(
        need.phase is DeletionPhase.ORDER
        for need in decide_needs(world, set(), NOW)
        if isinstance(need, Remove)
    )


def test_a_held_deletion_ends_when_the_source_declares_the_object_again() -> None:
    world = empty_tree()
    (need, *_) = [each for each in decide_needs(world, set(), NOW) if each.key.kind is Kind.MACHINE]
    again = msgspec.structs.replace(
        world.objects[need.key],
        record=need.record,
        origin=Origin.DECLARED,
        source=world.objects[need.key].live,
    )
    world.add(again)
    found = next(each for each in decide_needs(world, {need.key}, NOW) if each.key == need.key)
    assert isinstance(found, Keep)
    assert condition(getattr(found.record.status, "conditions", ()), "DeletionHeld") is None


def test_a_report_that_lists_nothing_changes_nothing() -> None:
    """Pools without a report are lost; what is on them stays assigned and is not removed."""
    world = crowd()
    for pools in world.pools_by_kind.values():
        pools.clear()
    for need in decide_needs(world, set(world.objects), NOW):
        assert not isinstance(need, Remove)
        assert need.record.assignment == world.objects[need.key].record.assignment


def test_no_volume_is_moved_or_dropped_for_a_pool_that_is_lost() -> None:
    world = with_volume().volume_pool("a", heartbeat=Heartbeat.EXPIRED).leave_source(DATA)
    assert removal(world, DATA).phase is DeletionPhase.RETAIN


NAMES = [f"m{number}" for number in range(12)]


@given(
    there=st.sets(st.sampled_from(NAMES), min_size=1),
    gone=st.sets(st.sampled_from(NAMES)),
    ordered=st.sets(st.sampled_from(NAMES)),
)
def test_no_more_deletions_are_ordered_at_once_than_the_limit_allows(
    there: set[str], gone: set[str], ordered: set[str]
) -> None:
    world = Small().pool("a").add(*(machine(name, on="a") for name in sorted(there)))
    for name in ordered & there:
        world.order_deletion(Key(Kind.MACHINE, "default", name))
    going = len(ordered & there)
    world.leave_source(*(Key(Kind.MACHINE, "default", name) for name in (gone & there) - ordered))
    needs = decide_needs(world, set(), NOW)
    fresh = [need for need in needs if isinstance(need, Remove) and need.phase is DeletionPhase.ORDER]
    assert fresh == [] or going + len(fresh) < len(there)
    if len(there) >= 3:
        assert fresh == [] or (going + len(fresh)) * 2 < len(there)
