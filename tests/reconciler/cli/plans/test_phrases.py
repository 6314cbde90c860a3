"""What the formats of a plan say alike."""

from __future__ import annotations

import pytest

from reconciler.cli.plans import phrases
from reconciler.plan.types import Action, Change, Plan, UnschedulableObject
from schemas.kinds import Key, Kind


def key(name: str) -> Key:
    return Key(Kind.MACHINE, "default", name)


@pytest.mark.parametrize(
    ("known", "new", "want"),
    [
        pytest.param([], ["a"], "1 scheduled, 1 unschedulable", id="found now"),
        pytest.param(["a"], [], "1 scheduled, 1 unschedulable", id="known before"),
        pytest.param(["a", "b"], ["c"], "1 scheduled, 3 unschedulable", id="both"),
    ],
)
def test_an_unschedulable_object_is_counted_once(known: list[str], new: list[str], want: str) -> None:
    """One that is known to be unschedulable needs no change, one that is found so now has one."""
    changes = [Change(key("web"), Action.SCHEDULE, None, None)]
    changes += [Change(key(name), Action.UNSCHEDULABLE, None, None) for name in new]
    unschedulable = tuple(UnschedulableObject(key(name), ()) for name in (*known, *new))
    assert phrases.summary(Plan("source", "target", tuple(changes), unschedulable=unschedulable)) == want
