"""A commit on live can be computed again: a World that is given the verdicts and the keys of a tick drafts the same commit."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reconciler.gitstore.repo import Refs
from reconciler.loop.outcome import Failed
from reconciler.loop.tick import ProcessInputs
from reconciler.write.tick_commit import CommitIdentity
from tests.reconciler.lifecycle.hosts import Fleet, Host
from tests.reconciler.lifecycle.replayed import ReplayedReconciler
from tests.reconciler.lifecycle.test_laws import ACTS, CLASSES, QUIET, ROOM, Life
from tests.reconciler.world.scene import SETTINGS, Scene, machine, pool
from tests.reconciler.world.test_laws import Action, actions


class ReplayedFleet(Fleet):
    def another(self, heartbeats_seen: object = None) -> ReplayedReconciler:
        found = ReplayedReconciler(
            self.store, Refs(), CommitIdentity("one"), around=ProcessInputs(start_wait=None)
        )
        if heartbeats_seen is not None:
            found.world = found._new_world(heartbeats_seen)  # type: ignore[arg-type]
        return found


def replay_life(acts: list[tuple[object, ...]]) -> None:
    fleet = ReplayedFleet(
        {"gitvirt.yaml": SETTINGS, "classes.yaml": CLASSES},
        *(Host(name, machines=ROOM, is_local=name == "c") for name in "abc"),
    )
    life = Life(fleet)
    for what, *of in acts:
        if what == "tick":
            fleet.tick(float(str(of[0])))
        elif what != "work":
            life.act(str(what), *of)  # type: ignore[arg-type]
        else:
            fleet.now_later(float(str(of[0])))
            fleet.hosts_report()
    fleet.hosts_report()
    fleet.tick()
    assert isinstance(fleet.reconciler, ReplayedReconciler)


@given(st.lists(ACTS, min_size=5, max_size=30))
@settings(max_examples=12, deadline=None, suppress_health_check=QUIET)
def test_each_commit_of_a_random_life_is_computed_again(acts: list[tuple[object, ...]]) -> None:
    replay_life(acts)


@pytest.mark.long
@pytest.mark.timeout(1800)
@given(st.lists(ACTS, min_size=5, max_size=60))
@settings(max_examples=1000, deadline=None, suppress_health_check=QUIET)
def test_each_commit_of_many_random_lives_is_computed_again(acts: list[tuple[object, ...]]) -> None:
    replay_life(acts)


@settings(max_examples=60, deadline=None)
@given(st.lists(actions(), min_size=1, max_size=8))
def test_each_commit_on_a_random_repo_is_computed_again(steps: list[Action]) -> None:
    """Whatever the files, the reports and live hold, also what no poollet and no reconciler writes."""
    scene = Scene({"a.yaml": machine("web-1"), "pool.yaml": pool("pool-a")})
    reconciler = ReplayedReconciler(
        scene.store, Refs(), CommitIdentity("one"), around=ProcessInputs(start_wait=None)
    )
    for act in steps:
        act.run(scene)
        scene.now = scene.now.replace(microsecond=7)
        outcome = reconciler.tick(lambda: scene.now)
        assert not isinstance(outcome, Failed), outcome
        for ref, head in scene.store._objects.remote.refs.items():  # type: ignore[attr-defined]
            scene.heads[ref] = head
