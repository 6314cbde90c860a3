"""The rules of deletion one by one: what holds it, what it waits for, and whose data is kept."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product

import pytest

from reconciler.decide.deletion import hold_reason, is_retained, waiting_for, was_made
from reconciler.decide.object_edit import ObjectEdit
from reconciler.world.objects.object_state import ObjectState, Origin
from reconciler.world.record import UNVERIFIED
from reconciler.world.reports.heartbeat import Heartbeat
from schemas import live_layout
from schemas.kinds import Key, Kind
from schemas.model import VolumeStatus
from tests.reconciler.decide.small import NOW, Small, machine, make_object, volume

WEB = Key(Kind.MACHINE, "default", "web")
DATA = Key(Kind.VOLUME, "default", "data")
MADE = {"volumeID": "sim://1", "state": "Available"}
USES_DATA = {"volumes": [{"name": "data", "volumeRef": {"name": "data"}}]}
PAUSED = {"annotations": {live_layout.PAUSED: "true"}}
LOST = {"heartbeat": Heartbeat.EXPIRED}
OWNED = {
    "ownerReferences": [
        {"apiVersion": "compute.ironcore.dev/v1alpha1", "kind": "Machine", "name": "web", "uid": "u"}
    ]
}


def world(*objects: ObjectState) -> Small:
    return Small().pool("a").volume_pool("a").add(*objects)


def with_unverified_absence() -> Small:
    found = world(machine("web", on="a"))
    found.unverified[WEB] = "web.yaml cannot be read"
    return found


def unreachable(*objects: ObjectState) -> Small:
    return world(*objects).volume_pool("a", **LOST)


HOLDS: dict[str, tuple[Callable[[], Small], Key, str]] = {
    "nothing": (lambda: world(machine("web", on="a")), WEB, ""),
    "its absence is unverified": (with_unverified_absence, WEB, UNVERIFIED),
    "paused": (lambda: world(machine("web", on="a", **PAUSED)), WEB, "Paused"),
    "paused by another value": (
        lambda: world(machine("web", on="a", annotations={live_layout.PAUSED: "yes"})),
        WEB,
        "",
    ),
    "its machine is paused": (
        lambda: world(machine("web", on="a", **PAUSED), volume("data", on="a", **OWNED)),
        DATA,
        "Paused",
    ),
    "a machine that stays uses it": (
        lambda: world(machine("web", spec=USES_DATA), volume("data", on="a", status=MADE)),
        DATA,
        "InUse",
    ),
    "a machine that goes too uses it": (
        lambda: world(machine("web", spec=USES_DATA), volume("data", on="a", status=MADE)).leave_source(WEB),
        DATA,
        "",
    ),
    "not made, as far as its unreachable pool reported": (
        lambda: unreachable(volume("data", on="a")),
        DATA,
        UNVERIFIED,
    ),
    "not made, on a pool that reports": (lambda: world(volume("data", on="a")), DATA, ""),
    "made, on an unreachable pool": (lambda: unreachable(volume("data", on="a", status=MADE)), DATA, ""),
    "not made and its policy says Delete": (
        lambda: unreachable(volume("data", on="a", spec={"deletionPolicy": "Delete"})),
        DATA,
        "",
    ),
    "on no pool": (lambda: unreachable(volume("data")), DATA, ""),
}


@pytest.mark.parametrize(("make", "key", "want"), HOLDS.values(), ids=HOLDS)
def test_what_holds_a_deletion(make: Callable[[], Small], key: Key, want: str) -> None:
    found = make()
    found.leave_source(key)
    reason = hold_reason(found, found.objects[key])
    assert (reason[0] if reason else "") == want
    assert reason is None or reason[1], "each reason has a message"


WAITS: dict[str, tuple[Callable[[], Small], Key, str]] = {
    "not reported": (
        lambda: world(machine("web", on="a")),
        WEB,
        "waiting for pool a to report that it is gone",
    ),
    "still there": (
        lambda: world(machine("web", on="a")).with_report(WEB, "present"),
        WEB,
        "waiting for pool a to report that it is gone",
    ),
    "unknown": (
        lambda: world(machine("web", on="a")).with_report(WEB, "unknown"),
        WEB,
        "waiting for pool a to report that it is gone",
    ),
    "gone": (lambda: world(machine("web", on="a")).with_report(WEB, "gone"), WEB, ""),
    "rejected, so it was never created": (
        lambda: world(machine("web", on="a")).with_report(WEB, "rejected"),
        WEB,
        "",
    ),
    "rejected under an earlier assignment": (
        lambda: world(machine("web", on="a")).with_report(WEB, "rejected", assignment="another"),
        WEB,
        "waiting for pool a to report that it is gone",
    ),
    "on no pool": (lambda: world(machine("web")), WEB, ""),
    "paused": (lambda: world(machine("web", on="a", **PAUSED)).with_report(WEB, "gone"), WEB, "it is paused"),
    "a class that a machine uses": (
        lambda: world(machine("web")),
        Key(Kind.MACHINE_CLASS, "", "small"),
        "still used by Machine/default/web",
    ),
    "a class without users": (world, Key(Kind.MACHINE_CLASS, "", "small"), ""),
    "a pool with a machine": (
        lambda: world(machine("web", on="a"), make_object(Kind.MACHINE_POOL, "a")),
        Key(Kind.MACHINE_POOL, "", "a"),
        "still used by Machine/default/web",
    ),
    "a pool without machines": (
        lambda: world(make_object(Kind.MACHINE_POOL, "a")),
        Key(Kind.MACHINE_POOL, "", "a"),
        "",
    ),
    "a volume that a machine names": (
        lambda: world(machine("web", spec=USES_DATA), volume("data", on="a")).with_report(DATA, "gone"),
        DATA,
        "",
    ),
}


@pytest.mark.parametrize(("make", "key", "want"), WAITS.values(), ids=WAITS)
def test_what_an_ordered_deletion_waits_for(make: Callable[[], Small], key: Key, want: str) -> None:
    found = make().order_deletion(key)
    state = found.objects[key]
    assert waiting_for(found, ObjectEdit(state, state.record, NOW)) == want


@pytest.mark.parametrize(
    ("policy", "is_made", "is_generated", "is_assigned"),
    list(product((None, "Retain", "Delete"), (True, False), (True, False), (True, False))),
)
def test_whose_data_is_kept(policy: str | None, is_made: bool, is_generated: bool, is_assigned: bool) -> None:
    state = volume(
        "data",
        on="a" if is_assigned else "",
        spec={} if policy is None else {"deletionPolicy": policy},
        status=MADE if is_made else None,
        origin=Origin.GENERATED if is_generated else Origin.DECLARED,
    )
    kept = is_assigned and (policy == "Retain" or (policy is None and is_made and not is_generated))
    assert is_retained(ObjectEdit(state, state.record, NOW)) is kept


@pytest.mark.parametrize(
    ("status", "want"),
    [
        (None, False),
        (VolumeStatus(), False),
        (VolumeStatus(state="Pending"), False),
        (VolumeStatus(state="Available"), True),
        (VolumeStatus(state="Error"), True),
        (VolumeStatus(state="Pending", volume_id="sim://1"), True),
    ],
)
def test_a_volume_may_hold_data_once_its_runtime_created_it(status: VolumeStatus | None, want: bool) -> None:
    assert was_made(status) is want
