"""Volumes whose data is retained: when one comes back, and the one way in which it ends."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from reconciler.decide.decide import decide_needs
from reconciler.decide.need import Blocked, DeletionPhase, Keep, Remove
from reconciler.decide.pool_requests import judge_requests, status_of
from reconciler.decide.removal.retained import (
    discard_destroyed,
    follow_kept,
    is_being_restored,
    restore,
    retained_volume_for,
)
from reconciler.plan.types import Action
from reconciler.world.objects.object_state import ObjectState, Origin
from reconciler.world.pools.grants import Grant
from reconciler.world.reports.heartbeat import Heartbeat
from reconciler.world.reports.host_report import HostReport
from reconciler.world.reports.object_report import ObjectReport
from schemas.kinds import Key, Kind
from schemas.model import ClaimRef, VolumeStatus
from schemas.report.objects import Orphan
from tests.reconciler.decide.small import NOW, SOURCE, Small, machine, make_object, uid_of, volume

DATA, WEB = Key(Kind.VOLUME, "default", "data"), Key(Kind.MACHINE, "default", "web")
STORE = Key(Kind.VOLUME_POOL, "", "a")
MADE = {"volumeID": "sim://1", "state": "Available"}
USES_DATA = {"volumes": [{"name": "data", "volumeRef": {"name": "data"}}]}
EXPIRED: Any = {"heartbeat": Heartbeat.EXPIRED}


def make_retained(name: str = "data", uid: str = "", on: str = "a") -> ObjectState:
    found = volume(name, on=on, status=MADE, origin=Origin.RETAINED)
    record = msgspec.structs.replace(
        found.record, uid=uid or uid_of(name), claim=ClaimRef(name="old", uid="u")
    )
    return msgspec.structs.replace(found, record=record, source=None)


def world(*declared: ObjectState, kept: tuple[ObjectState, ...] = (make_retained(),)) -> Small:
    found = Small().pool("a").volume_pool("a").add(*declared)
    found.retained_volumes = {each.record.uid: each for each in kept}
    return found


NEW = volume("data", is_new=True)
OWNED = volume("data", is_new=True, origin=Origin.GENERATED)

TABLE: dict[str, tuple[ObjectState, tuple[ObjectState, ...], bool]] = {
    "declared again": (NEW, (make_retained(),), True),
    "declared again, and another volume is retained": (NEW, (make_retained("other"),), False),
    "declared again, and nothing is retained": (NEW, (), False),
    "declared again, and two of that name are retained": (
        NEW,
        (make_retained(), make_retained(uid="second")),
        False,
    ),
    "on live already, so it is another volume": (volume("data"), (make_retained(),), False),
    "generated for a machine, so it is another volume": (OWNED, (make_retained(),), False),
    "frozen": (volume("data", is_new=True, origin=Origin.FROZEN), (make_retained(),), False),
    "an object of another kind by that name": (machine("data", is_new=True), (make_retained(),), False),
}


@pytest.mark.parametrize(("declared", "kept", "want"), TABLE.values(), ids=TABLE)
def test_only_the_declaration_of_one_retained_volume_brings_it_back(
    declared: ObjectState, kept: tuple[ObjectState, ...], want: bool
) -> None:
    found = world(declared, kept=kept)
    assert (retained_volume_for(found, declared) is not None) is want
    assert is_being_restored(found, declared.key) is want


def test_a_key_that_is_not_declared_is_not_being_restored() -> None:
    assert not is_being_restored(world(), DATA)


def test_a_restored_volume_has_its_uid_its_pool_and_its_data_but_neither_claim_nor_deletion() -> None:
    kept = make_retained()
    ordered = msgspec.structs.replace(kept.record, deletion_timestamp="2026-03-01T11:00:00Z")
    edit = restore(NEW, msgspec.structs.replace(kept, record=ordered), NOW)
    assert (edit.record.uid, edit.record.pool) == (kept.record.uid, "a")
    assert (edit.record.claim, edit.record.is_deleting) == (None, False)
    assert edit.record.assignment == kept.record.assignment
    assert isinstance(edit.record.status, VolumeStatus)
    assert edit.record.status.volume_id == "sim://1"
    assert [each.action for each in edit.change_reasons] == [Action.ADOPT]


def test_a_restored_volume_is_kept_on_its_pool_and_its_machine_waits_one_tick() -> None:
    found = world(NEW, machine("web", spec=USES_DATA))
    needs = {need.key: need for need in decide_needs(found, {DATA, WEB}, NOW)}
    assert isinstance(needs[DATA], Keep)
    assert (needs[DATA].record.uid, needs[DATA].record.pool) == (uid_of("data"), "a")
    blocked = needs[WEB]
    assert isinstance(blocked, Blocked)
    assert blocked.reason == "RestoringRetainedVolume"


def test_a_volume_of_which_two_are_retained_gets_neither_of_them() -> None:
    """Which one is meant is for a person to say: a wrong choice would show another machine's data."""
    found = world(NEW, kept=(make_retained(), make_retained(uid="second")))
    (need,) = decide_needs(found, {DATA}, NOW)
    assert need.record.uid not in ("second", uid_of("data"))
    assert need.record.assignment is None


def with_destroyed_host(make: Callable[[], Small], beat: Heartbeat | None = Heartbeat.EXPIRED) -> Small:
    return make().volume_pool("a", heartbeat=beat).pool("a", heartbeat=beat).confirm_destroyed("a")


DISCARDS: dict[str, tuple[Callable[[], Small], set[str]]] = {
    "its pool is well": (world, set()),
    "its pool is lost": (lambda: world().volume_pool("a", **EXPIRED), set()),
    "its pool is not known": (lambda: world(kept=(make_retained(on="gone"),)), set()),
    "its host is destroyed": (lambda: with_destroyed_host(world), {"data"}),
    "its host is confirmed destroyed, and alive": (lambda: with_destroyed_host(world, Heartbeat.ALIVE), set()),
    "its host is confirmed destroyed, and unconfirmed": (lambda: with_destroyed_host(world, Heartbeat.UNCONFIRMED), set()),
    "another host is destroyed": (lambda: with_destroyed_host(lambda: world(kept=(make_retained(on="b"),))), set()),
    "one of two hosts is destroyed": (
        lambda: with_destroyed_host(lambda: world(kept=(make_retained(), make_retained("other", on="b")))),
        {"data"},
    ),
    "it is on no pool": (lambda: with_destroyed_host(lambda: world(kept=(make_retained(on=""),))), set()),
    "it is declared again in this tick": (lambda: with_destroyed_host(lambda: world(NEW)), set()),
}  # fmt: skip


@pytest.mark.parametrize(("make", "want"), DISCARDS.values(), ids=DISCARDS)
def test_retained_data_ends_only_with_its_destroyed_host(make: Callable[[], Small], want: set[str]) -> None:
    found = make()
    discarded = list(discard_destroyed(found, judge_requests(found), NOW))
    assert {each.key.name for each in discarded} == want
    for each in discarded:
        assert each.phase is DeletionPhase.DROP
        assert "host a of pool a is destroyed" in each.reason


def rewound(reported: str) -> Small:
    """`live` has the pool on host a, and the pool's report shows that h9 got the grant since. `reported`: how h9 has the volume."""
    found = world().volume_pool("a", grant=Grant("h9", 3, is_new=True))
    found.add(make_object(Kind.VOLUME_POOL, "a", {}, status={"host": {"id": "a"}, "epoch": 1}))
    orphan = Orphan("Volume", "a", "sim://1", uid_of("data"), "default", "data")
    entry = ObjectReport("a", "h9", "a", uid_of("data"), "f" * 8, "present")
    found.reports.by_poollet["a"] = HostReport(
        "a",
        SOURCE,
        SOURCE,
        NOW,
        host="h9",
        entries={DATA: entry} if reported == "entry" else {},
        orphans=(orphan,) if reported == "orphan" else (),
    )
    return found


def test_retained_data_of_a_host_that_lost_the_grant_since_the_backup_is_discarded() -> None:
    found = rewound("")
    (dropped,) = discard_destroyed(found, judge_requests(found), NOW)
    assert dropped.phase is DeletionPhase.DROP
    assert dropped.reason == "pool a was granted to host h9 since, which does not have its data"


@pytest.mark.parametrize("reported", ["entry", "orphan"])
def test_retained_data_that_moved_with_its_pool_since_the_backup_stays(reported: str) -> None:
    found = rewound(reported)
    assert not list(discard_destroyed(found, judge_requests(found), NOW))
    (kept,) = found.retained_volumes.values()
    after = follow_kept(found, kept, status_of(found, STORE))
    assert after is not None
    assert (after.pool, after.host, after.epoch) == ("a", "h9", 3)


def test_retained_data_of_a_host_that_was_destroyed_earlier_is_discarded_too() -> None:
    """The request ended in an earlier tick; the pool's status on live still names the host."""
    found = world()
    destroy = {"commit": "c0ffee", "host": "a", "state": "Followed"}
    found.add(make_object(Kind.VOLUME_POOL, "a", {}, status={"epoch": 2, "destroyed": destroy}))
    (dropped,) = [need for need in decide_needs(found, {STORE}, NOW) if need.key == DATA]
    assert isinstance(dropped, Remove)
    assert dropped.phase is DeletionPhase.DROP


def test_a_volume_that_is_declared_again_while_its_host_is_destroyed_is_released_and_not_dropped() -> None:
    found = with_destroyed_host(lambda: world(NEW))
    (need,) = [each for each in decide_needs(found, {DATA, STORE}, NOW) if each.key == DATA]
    assert not isinstance(need, Remove)
    assert (need.record.assignment, need.record.pool) == (None, "")
