from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reconciler.decide.deletion_limit import Losses, objection, stricter
from schemas.settings.fleet import DeleteLimit

LIMIT = DeleteLimit()


@pytest.mark.parametrize(
    ("losses", "said"),
    [
        pytest.param(Losses(100, 0, 0), "", id="nothing-goes"),
        pytest.param(Losses(100, 60, 0), "", id="what-was-ordered-is-not-asked-again"),
        pytest.param(Losses(1, 0, 1), "1 of 1 would go: all there are", id="the-only-one"),
        pytest.param(Losses(2, 0, 1), "", id="one-of-two"),
        pytest.param(Losses(2, 1, 1), "2 of 2 would go: all there are", id="the-second-of-two"),
        pytest.param(Losses(3, 0, 1), "", id="one-of-three"),
        pytest.param(Losses(3, 0, 2), "2 of 3 would go: half or more", id="two-of-three"),
        pytest.param(Losses(4, 1, 1), "2 of 4 would go: half or more", id="half-counting-those-going"),
        pytest.param(Losses(50, 0, 10), "", id="ten-is-not-more-than-ten"),
        pytest.param(
            Losses(50, 0, 11), "11 of 50 would go: more than 10 and more than 20%", id="eleven-of-fifty"
        ),
        pytest.param(Losses(55, 0, 11), "", id="a-fifth-is-not-more-than-a-fifth"),
        pytest.param(
            Losses(50, 10, 1), "11 of 50 would go: more than 10 and more than 20%", id="drop-by-drop"
        ),
    ],
)
def test_objection(losses: Losses, said: str) -> None:
    assert objection(losses, LIMIT) == said


def test_the_stricter_limit_counts() -> None:
    old, new = DeleteLimit(count=5, percent=50), DeleteLimit(count=500, percent=1)
    assert stricter(old, new) == DeleteLimit(count=5, percent=1)


@given(total=st.integers(1, 300), going=st.integers(0, 300), absent=st.integers(1, 300))
def test_losing_more_is_never_easier(total: int, going: int, absent: int) -> None:
    if objection(Losses(total, going, absent), LIMIT):
        assert objection(Losses(total, going, absent + 1), LIMIT)
        assert objection(Losses(total, going + 1, absent), LIMIT)


@given(total=st.integers(1, 300))
def test_everything_at_once_is_always_asked(total: int) -> None:
    assert objection(Losses(total, 0, total), DeleteLimit(count=10**9, percent=100))
