"""What becomes of a commit that says that a pool is destroyed: by where the report stood then, and how fresh it is."""

from __future__ import annotations

from datetime import timedelta

import msgspec
import pytest

from reconciler.decide import diff
from reconciler.decide.destroyed import Fate, Order, destroyed_pools, orders, read, told
from reconciler.decide.turn import Turn
from reconciler.plan.types import Action
from reconciler.world.advance import Confirm
from reconciler.world.reports.heartbeat import Heartbeat
from reconciler.world.reports.said import Said
from schemas.kinds import Key, Kind
from tests.reconciler.decide.small import NOW, Small, known, machine

POOL = Key(Kind.MACHINE_POOL, "", "a")
THEN, LATER = "a1" * 20, "b2" * 20


def said(report: str, heartbeat: Heartbeat | None, fate: Fate = Fate.WAITS) -> Small:
    """A pool on live of which a commit of earlier said so, while its report stood at THEN."""
    world = Small().add(known(Kind.MACHINE_POOL, "a", {})).pool("a", heartbeat=heartbeat)
    world.reports = {"a": THEN}
    recorded = world.known[POOL]
    turn = told(Turn(recorded, recorded.record, NOW), Order("c0ffee", THEN[:12], fate))
    world.known[POOL] = msgspec.structs.replace(recorded, record=turn.record)
    world.reports = {"a": report} if report else {}
    return world


@pytest.mark.parametrize(
    ("report", "heartbeat", "fate"),
    [
        pytest.param(THEN, Heartbeat.ALIVE, Fate.WAITS, id="within its grace"),
        pytest.param(THEN, Heartbeat.UNCONFIRMED, Fate.WAITS, id="nobody knows yet"),
        pytest.param(THEN, Heartbeat.EXPIRED, Fate.FOLLOWED, id="after its grace"),
        pytest.param("", None, Fate.FOLLOWED, id="its report was removed"),
        pytest.param("", Heartbeat.UNCONFIRMED, Fate.WAITS, id="its report was removed a moment ago"),
        pytest.param(THEN, Heartbeat.LEFT, Fate.FOLLOWED, id="it had left"),
        pytest.param(LATER, Heartbeat.ALIVE, Fate.VOID, id="it reported since"),
        pytest.param(LATER, Heartbeat.EXPIRED, Fate.VOID, id="it reported since, and is lost now"),
    ],
)
def test_what_was_recorded(report: str, heartbeat: Heartbeat | None, fate: Fate) -> None:
    world = said(report, heartbeat)
    assert {name: each.fate for name, each in orders(world).items()} == {"a": fate}
    assert destroyed_pools(world) == (frozenset({"a"}) if fate is Fate.FOLLOWED else frozenset())
    assert (orders(world)["a"].why == "") == (fate is Fate.FOLLOWED)


@pytest.mark.parametrize(
    ("report", "heartbeat", "fate"),
    [
        pytest.param(THEN, Heartbeat.UNCONFIRMED, Fate.FOLLOWED, id="a reconciler that was just started"),
        pytest.param(THEN, Heartbeat.ALIVE, Fate.FOLLOWED, id="one that saw the same report come back"),
        pytest.param("", Heartbeat.UNCONFIRMED, Fate.FOLLOWED, id="its report was removed"),
        pytest.param(LATER, Heartbeat.UNCONFIRMED, Fate.VOID, id="it reports again"),
    ],
)
def test_what_is_followed_stays_so_until_it_reports_again(
    report: str, heartbeat: Heartbeat, fate: Fate
) -> None:
    """Else whatever it said last would be taken back by whoever starts anew, and wait there for ever."""
    web = machine("web")
    world = said(report, heartbeat, Fate.FOLLOWED).add(web)
    world.claims[web.key] = (Said("a", "a", web.record.uid, "f" * 36, "present"),)
    assert orders(world)["a"].fate is fate
    (need,) = [each for each in diff(world, {web.key}, NOW) if each.key == web.key]
    assert (need.record.assignment is None) == (fate is Fate.FOLLOWED)


@pytest.mark.parametrize("report", ["none", "earlier", LATER[:12]])
@pytest.mark.parametrize("fate", list(Fate))
def test_what_is_written_is_what_is_read(fate: Fate, report: str) -> None:
    world = said(THEN, Heartbeat.EXPIRED)
    recorded = world.known[POOL]
    order = Order("0123456789ab", report, fate, "because" if fate is not Fate.FOLLOWED else "")
    turn = told(Turn(recorded, recorded.record, NOW), order)
    world.known[POOL] = msgspec.structs.replace(recorded, record=turn.record)
    found = read(world, POOL)
    assert found is not None
    assert (found.commit, found.report) == (order.commit, order.report)
    assert (POOL in world.destroyed) == (fate is not Fate.VOID)
    again = Turn(world.known[POOL], world.known[POOL].record, NOW)
    assert told(again, order) == again  # at rest nothing is written


def test_a_later_commit_counts_anew() -> None:
    world = said(LATER, Heartbeat.EXPIRED).confirms(Confirm.POOL_DESTROYED, "a")
    assert orders(world)["a"].fate is Fate.FOLLOWED
    assert orders(world)["a"].report == LATER[:12]


@pytest.mark.parametrize(("seconds", "fate"), [(-1, Fate.FOLLOWED), (0, Fate.FOLLOWED), (1, Fate.VOID)])
def test_a_host_that_reported_after_the_commit_lives_though_nobody_reconciled_between(
    seconds: int, fate: Fate
) -> None:
    world = said(THEN, Heartbeat.EXPIRED).confirms(Confirm.POOL_DESTROYED, "a")
    world.reported = NOW + timedelta(seconds=seconds)
    (order,) = orders(world).values()
    assert order.fate is fate
    recorded = world.known[POOL]
    turn = told(Turn(recorded, recorded.record, NOW), order)
    world.known[POOL] = msgspec.structs.replace(recorded, record=turn.record)
    assert (POOL in world.destroyed) == (fate is not Fate.VOID)


def test_a_volume_pool_of_the_same_host_counts_too() -> None:
    world = said(THEN, Heartbeat.EXPIRED).volume_pool("a", heartbeat=Heartbeat.ALIVE)
    assert orders(world)["a"].fate is Fate.WAITS


@pytest.mark.parametrize("is_ordered", [False, True], ids=["held", "ordered gone"])
def test_what_must_not_go_yet_is_on_a_destroyed_pool_no_more(is_ordered: bool) -> None:
    """Later its new host may be heard, which does not know it."""
    web = machine("web", on="a", annotations={"gitvirt.dev/paused": "true"})
    world = said(LATER, Heartbeat.EXPIRED).confirms(Confirm.POOL_DESTROYED, "a").add(web)
    world = world.ordered_gone(web.key) if is_ordered else world.goes(web.key)
    needs = {need.key: need for need in diff(world, {web.key}, NOW)}
    assert needs[web.key].record.assignment is None
    assert Action.WITHDRAW in {deed.action for deed in needs[web.key].deeds}
