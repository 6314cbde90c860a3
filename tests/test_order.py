"""Tests that take long begin before the others, each on a worker of its own, and no test is lost."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.order import hand_out


@pytest.mark.parametrize(
    ("early", "others", "workers", "want"),
    [
        ("", "abc", 1, "abc"),
        ("XY", "abc", 1, "XYabc"),
        ("XY", "abcdefghijklmnopqrstuv", 2, "XabYcdefghijklmnopqrstuv"),
        ("XYZ", "abcdefghijklmnopqrstu", 2, "XZaYbcdefghijklmnopqrstu"),
        ("UVWXYZ", "ab", 2, "UWYVXZab"),
    ],
)
def test_each_worker_begins_with_its_share(early: str, others: str, workers: int, want: str) -> None:
    assert "".join(hand_out(early, others, workers)) == want


@given(st.integers(0, 9), st.integers(0, 99), st.integers(1, 9))
def test_each_test_is_handed_out_once(early: int, others: int, workers: int) -> None:
    numbers = range(early + others)
    assert sorted(hand_out(numbers[:early], numbers[early:], workers)) == list(numbers)


@pytest.mark.early
def test_the_suite_begins_with_them(request: pytest.FixtureRequest) -> None:
    items = request.session.items
    early = [item for item in items if item.get_closest_marker("early")]
    assert items[0] in early
