"""What hosts answer to offers is an input of a tick: each commit is computed again from it, byte for byte, and none without it."""

from __future__ import annotations

import json
import random
from collections.abc import Mapping

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reconciler.audit.verify import Result
from reconciler.decide.placement.offers import OfferAnswer, OfferedObject
from reconciler.loop.tick import ProcessInputs, Reconciler
from reconciler.world.reports.heartbeat import HeartbeatSeen, Writer
from reconciler.world.world import World
from reconciler.write.tick_commit import CommitIdentity
from schemas.model import Machine
from tests.reconciler.audit.fleet import AUDITED, AuditedFleet, live_life
from tests.reconciler.audit.test_verify import forge_inputs, read_file, results
from tests.reconciler.lifecycle.hosts import Host
from tests.reconciler.lifecycle.test_laws import ACTS, CLASSES, QUIET, ROOM
from tests.reconciler.loop.offering import NO, YES, OfferingLink
from tests.reconciler.world.scene import LIVE, machine


class OfferingFleet(AuditedFleet):
    """Its hosts answer by chance. Whatever reconciler takes over asks the same hosts."""

    def __init__(self, seed: int) -> None:
        chance = random.Random(seed)
        self.link = OfferingLink(answer=lambda _: chance.choice((YES, YES, NO, None)))
        hosts = (Host(name, machines=ROOM, is_local=name == "c") for name in "abc")
        super().__init__({"gitvirt.yaml": AUDITED, "classes.yaml": CLASSES}, *hosts)

    def another(self, heartbeats_seen: Mapping[Writer, HeartbeatSeen] | None = None) -> Reconciler:
        around = ProcessInputs(link=self.link)
        found = Reconciler(self.store, self.refs, CommitIdentity("one"), around=around)
        found.world = World(heartbeats_seen=heartbeats_seen)
        return found

    def accepted(self) -> dict[str, bool]:
        """Of each machine that is placed."""
        machines = {
            key.name: each.status for key, each in self.objects().items() if isinstance(each, Machine)
        }
        return {name: each.assignment.accepted for name, each in machines.items() if each.assignment}


@given(st.lists(ACTS, min_size=5, max_size=30), st.integers(0, 1000))
@settings(max_examples=15, deadline=None, suppress_health_check=QUIET)
def test_every_commit_of_a_random_life_with_offers_is_explained(
    acts: list[tuple[object, ...]], seed: int
) -> None:
    fleet = OfferingFleet(seed)
    life = live_life(fleet, acts)
    fleet.hosts_report()
    before = fleet.objects()
    fleet.tick()
    life.check(before)
    if LIVE in fleet.remote_refs:
        found = [each for each in fleet.audit() if each.result is not Result.FOREIGN]
        assert results(found) <= {Result.EXPLAINED}, [each for each in found if each.why]


def begin(answer: OfferAnswer | None) -> OfferingFleet:
    """One machine, whose first pool answers so, and every other one accepts."""
    fleet = OfferingFleet(0)
    first: list[str] = []

    def reply(offered: OfferedObject) -> OfferAnswer | None:
        first.append(offered.question.pool)
        return answer if offered.question.pool == first[0] else YES

    fleet.link.answer = reply
    fleet.source({"m1.yaml": machine("m1")})
    fleet.tick()
    return fleet


@pytest.mark.parametrize(("answer", "is_accepted"), [(YES, True), (NO, True), (None, False)])
def test_a_commit_with_an_offer_is_explained(answer: OfferAnswer | None, is_accepted: bool) -> None:
    fleet = begin(answer)
    assert fleet.accepted() == {"m1": is_accepted}
    assert results(fleet.audit()) == {Result.EXPLAINED}


@pytest.mark.parametrize(
    "rounds", [[], [[["Machine/default/m1", "b", None]]], [[["Machine/default/m1", "a", []]]]]
)
def test_other_answers_explain_another_commit(rounds: object) -> None:
    """No host was asked; another pool accepted; the pool that accepted refuses, without a second round."""
    fleet = begin(YES)
    found = forge_inputs(fleet, {"offers.json": json.dumps(rounds).encode()})
    assert found.result is Result.DIFFERS, found


@pytest.mark.parametrize(
    "text",
    [
        '{"a": 1}',
        "[1]",
        "[[1]]",
        "[[[]]]",
        '[[["Machine/default/m1", "a"]]]',
        '[[["Machine", "a", null]]]',
        '[[["Pod/default/m1", "a", null]]]',
        '[[["Machine/default/m1", 1, null]]]',
        '[[["Machine/default/m1", "a", [["Full"]]]]]',
        '[[["Machine/default/m1", "a", [["Full", "m", "cpu", "1", "2", "3"]]]]]',
        '[[["Machine/default/m1", "a", 7]]]',
    ],
)
def test_answers_that_cannot_be_read_are_no_inputs(text: str) -> None:
    fleet = begin(YES)
    found = forge_inputs(fleet, {"offers.json": text.encode()})
    assert found.result is not Result.EXPLAINED
    assert "cannot be read" in found.why or "must be" in found.why, found.why


def test_inputs_of_an_earlier_version_have_no_answers() -> None:
    fleet = begin(None)
    found = forge_inputs(fleet, {"offers.json": None})
    assert found.result is Result.EXPLAINED


def test_no_round_is_recorded_where_no_host_can_be_asked() -> None:
    fleet = begin(YES)
    assert json.loads(fleet.store.read(read_file(fleet, "offers.json"))) != []
    fleet.settle()
    fleet.link.connected = frozenset()
    fleet.source({"m2.yaml": machine("m2")})
    fleet.tick()
    assert json.loads(fleet.store.read(read_file(fleet, "offers.json"))) == []
    assert results(fleet.audit()) == {Result.EXPLAINED}
