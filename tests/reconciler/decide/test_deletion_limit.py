from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reconciler.decide.removal.deletion_limit import DeletionCounts, stricter, why_over_limit
from schemas.settings.fleet import DeleteLimit

LIMIT = DeleteLimit()


@pytest.mark.parametrize(
    ("losses", "want"),
    [
        pytest.param(DeletionCounts(100, 0, 0), "", id="nothing-goes"),
        pytest.param(DeletionCounts(100, 60, 0), "", id="what-was-ordered-needs-no-second-approval"),
        pytest.param(DeletionCounts(1, 0, 1), "1 of 1 would be deleted: all of them", id="the-only-one"),
        pytest.param(DeletionCounts(2, 0, 1), "", id="one-of-two"),
        pytest.param(DeletionCounts(2, 1, 1), "2 of 2 would be deleted: all of them", id="the-second-of-two"),
        pytest.param(DeletionCounts(3, 0, 1), "", id="one-of-three"),
        pytest.param(DeletionCounts(3, 0, 2), "2 of 3 would be deleted: half or more", id="two-of-three"),
        pytest.param(
            DeletionCounts(4, 1, 1), "2 of 4 would be deleted: half or more", id="half-counting-those-going"
        ),
        pytest.param(DeletionCounts(50, 0, 10), "", id="ten-is-not-more-than-ten"),
        pytest.param(
            DeletionCounts(50, 0, 11),
            "11 of 50 would be deleted: more than 10 and more than 20%",
            id="eleven-of-fifty",
        ),
        pytest.param(DeletionCounts(55, 0, 11), "", id="a-fifth-is-not-more-than-a-fifth"),
        pytest.param(
            DeletionCounts(50, 10, 1),
            "11 of 50 would be deleted: more than 10 and more than 20%",
            id="drop-by-drop",
        ),
    ],
)
def test_a_deletion_over_the_limit_needs_an_approval(losses: DeletionCounts, want: str) -> None:
    assert why_over_limit(losses, LIMIT) == want


def test_the_stricter_limit_counts() -> None:
    old, new = DeleteLimit(count=5, percent=50), DeleteLimit(count=500, percent=1)
    assert stricter(old, new) == DeleteLimit(count=5, percent=1)


@given(total=st.integers(1, 300), going=st.integers(0, 300), absent=st.integers(1, 300))
def test_losing_more_is_never_easier(total: int, going: int, absent: int) -> None:
    if why_over_limit(DeletionCounts(total, going, absent), LIMIT):
        assert why_over_limit(DeletionCounts(total, going, absent + 1), LIMIT)
        assert why_over_limit(DeletionCounts(total, going + 1, absent), LIMIT)


@given(total=st.integers(1, 300))
def test_deleting_everything_always_needs_an_approval(total: int) -> None:
    assert why_over_limit(DeletionCounts(total, 0, total), DeleteLimit(count=10**9, percent=100))
