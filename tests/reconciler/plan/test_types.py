"""The values of a plan: what each says of itself."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from reconciler.plan.types import Action, Change, Plan
from reconciler.world.record import NOTHING, Record
from schemas.kinds import Key, Kind

WEB = Key(Kind.MACHINE, "default", "web")
NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
ON_A, ON_B = Record(uid="u", pool="a"), Record(uid="u", pool="b")


@pytest.mark.parametrize(
    ("before", "after", "want"),
    [
        pytest.param(None, None, "", id="on none"),
        pytest.param(None, ON_A, "a", id="placed"),
        pytest.param(ON_A, ON_B, "b", id="moved: where it is afterwards"),
        pytest.param(ON_A, NOTHING, "a", id="withdrawn: where it was"),
        pytest.param(ON_A, None, "a", id="removed: where it was"),
        pytest.param(NOTHING, NOTHING, "", id="without a pool"),
    ],
)
def test_the_pool_of_a_change(before: Record | None, after: Record | None, want: str) -> None:
    assert Change(WEB, Action.STATUS, before, after).pool == want


def test_the_next_moment_to_look_again_is_the_earliest() -> None:
    assert Plan(None, None).next_due is None
    later = NOON + timedelta(seconds=5)
    assert Plan(None, None, due=((WEB, later), (WEB, NOON))).next_due == NOON


def test_every_action_has_a_noun_and_a_word_of_its_own() -> None:
    assert all(action.noun for action in Action)
    assert len({action.noun for action in Action}) == len(Action)
    assert len({action.value for action in Action}) == len(Action)


@pytest.mark.parametrize(
    ("heavier", "lighter"),
    [
        (Action.SCHEDULE, Action.WITHDRAW),
        (Action.EVICT, Action.STATUS),
        (Action.MARK_DELETED, Action.STATUS),
        (Action.REMOVE, Action.CLAIM),
        (Action.AWAIT_APPROVAL, Action.BLOCKED),
        (Action.UNSCHEDULABLE, Action.STATUS),
        (Action.STATUS, Action.SYNC),
    ],
)
def test_what_matters_more_names_the_change(heavier: Action, lighter: Action) -> None:
    order = list(Action)
    assert order.index(heavier) < order.index(lighter)
