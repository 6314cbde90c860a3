"""Near misses of words."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from schemas.spelling import distance, nearest

FIELDS = ("machineClassRef", "machinePoolRef", "power", "volumes", "networkInterfaces", "memory", "cpu")


@pytest.mark.parametrize(
    ("word", "meant"),
    [
        ("machineClassref", "machineClassRef"),
        ("machine_class_ref", "machineClassRef"),
        ("machineClass", "machineClassRef"),
        ("machinPoolRef", "machinePoolRef"),
        ("pwoer", "power"),
        ("volume", "volumes"),
        ("mem", "memory"),
        ("CPU", "cpu"),
        ("storage", None),
        ("", None),
        ("x" * 1000, None),
    ],
)
def test_the_nearest_word_is_suggested(word: str, meant: str | None) -> None:
    assert nearest(word, FIELDS) == meant


@pytest.mark.parametrize(
    ("left", "right", "expected"),
    [("", "", 0), ("a", "", 1), ("ab", "ba", 1), ("kitten", "sitting", 3), ("same", "same", 0)],
)
def test_the_distance_counts_typing_mistakes(left: str, right: str, expected: int) -> None:
    assert distance(left, right) == expected


@given(st.text(max_size=12), st.text(max_size=12))
def test_distance_is_symmetric_and_bounded(left: str, right: str) -> None:
    assert distance(left, right) == distance(right, left) <= max(len(left), len(right))
    assert (distance(left, right) == 0) == (left == right)
