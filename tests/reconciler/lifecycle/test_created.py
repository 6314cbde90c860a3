"""`metadata.creationTimestamp`: written once with the uid, kept for one life of an object, and empty where it is unknown."""

from __future__ import annotations

from datetime import timedelta

import pytest

from reconciler.loop.outcome import Committed, TickBlocked
from reconciler.world.record import moment, stamp
from schemas.kinds import Key, Kind
from tests.reconciler.lifecycle.hosts import Fleet, Host
from tests.reconciler.lifecycle.test_lives import EPHEMERAL, OFFICE, OTHERS
from tests.reconciler.world.scene import LIVE, REPORTS, SETTINGS, machine, pool, volume

WEB = Key(Kind.MACHINE, "default", "web")
LOCAL = "  volumes:\n    - name: root\n      localDisk: {sizeLimit: 10Gi}\n"
LONG_AGO = "2001-02-03T04:05:06Z"


def fleet(*hosts: Host, **files: str) -> Fleet:
    named = {f"{name}.yaml": text for name, text in files.items()}
    found = Fleet({**OTHERS, **named}, *(hosts or (Host("a"), Host("b"))))
    found.settle()
    return found


def read_times(world: Fleet) -> dict[Key, str]:
    """Of every kind, as `live` has it."""
    return {key: found.metadata.creation_timestamp for _, key, found in world.documents()}


def read_pool(world: Fleet) -> tuple[str, str]:
    """Uid and creation time of pool a."""
    key = Key(Kind.MACHINE_POOL, "", "a")
    found = next(each for _, found, each in world.documents() if found == key)
    return found.metadata.uid, found.metadata.creation_timestamp


def test_what_has_a_uid_has_the_time_of_its_first_tick_and_keeps_it() -> None:
    world = fleet(web=machine("web", EPHEMERAL), data=volume("data"), office=OFFICE)
    first = read_times(world)
    assert first[WEB]
    for _, key, found in world.documents():
        assert bool(found.metadata.uid) is bool(found.metadata.creation_timestamp), key
    began, now = moment(first[WEB]), world.now
    assert began is not None
    assert began <= now
    world.source({"web.yaml": machine("web", f"  priority: 7\n{EPHEMERAL}"), "late.yaml": machine("late")})
    world.settle()
    after = read_times(world)
    assert {key: after[key] for key in first} == first
    assert after[Key(Kind.MACHINE, "default", "late")] >= stamp(now)


def test_a_pool_that_its_host_announces_has_no_identity_and_no_age() -> None:
    world = fleet()
    assert read_pool(world) == ("", "")
    world.source({"a.yaml": pool("a")})
    world.settle()
    assert all(read_pool(world))


def test_declared_again_after_its_end_it_has_a_later_one() -> None:
    world = fleet(web=machine("web"))
    first = read_times(world)[WEB]
    world.source({"web.yaml": None})
    world.settle()
    assert WEB not in read_times(world)
    world.now += timedelta(seconds=2)
    world.source({"web.yaml": machine("web")})
    world.settle()
    assert read_times(world)[WEB] > first


def test_brought_back_in_the_time_for_an_undo_it_keeps_its_age() -> None:
    world = fleet(web=machine("web", LOCAL), gitvirt=f"{SETTINGS}limits: {{undo: 1m}}\n")
    first = read_times(world)[WEB]
    world.source({"web.yaml": None})
    world.settle()
    assert read_times(world)[WEB] == first
    world.source({"web.yaml": machine("web", LOCAL)})
    world.settle()
    assert world.machine("web").status.undo is None
    assert read_times(world)[WEB] == first


@pytest.mark.parametrize("written", [f'"{LONG_AGO}"', "null", '"soon"'])
def test_what_people_write_does_not_count(written: str) -> None:
    text = machine("web").replace("metadata:", f"metadata:\n  creationTimestamp: {written}", 1)
    if "metadata: {" in machine("web"):
        text = machine("web").replace("metadata: {", f"metadata: {{creationTimestamp: {written}, ", 1)
    assert written in text
    world = fleet(web=text)
    first = read_times(world)[WEB]
    assert first not in ("", LONG_AGO, "soon")
    assert first == read_times(fleet(web=machine("web")))[WEB]
    world.source({"web.yaml": text.replace("kind: Machine", "kind: Machine # the first")})
    world.settle()
    assert read_times(world)[WEB] == first


def test_taken_over_from_a_host_after_live_was_lost_it_has_no_age_because_that_is_unknown() -> None:
    world = fleet(web=machine("web", EPHEMERAL), data=volume("data"), office=OFFICE)
    uid = world.machine("web").metadata.uid
    reports = {name: world.heads[REPORTS + name] for name in world.hosts}
    del world.remote.refs[LIVE], world.heads[LIVE]
    world.reconciler = world.another()
    assert isinstance(world.tick(), TickBlocked)
    world.heads |= {REPORTS + name: commit for name, commit in reports.items()}
    for name in world.hosts:
        world.now += timedelta(seconds=1)
        world.edit_report(name)
    assert isinstance(world.tick(), Committed)
    assert world.machine("web").metadata.uid == uid
    assert set(read_times(world).values()) == {""}
    world.settle()
    assert set(read_times(world).values()) == {""}
    world.source({"late.yaml": machine("late")})
    world.settle()
    assert {key.name for key, when in read_times(world).items() if when} == {"late"}
