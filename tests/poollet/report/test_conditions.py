"""Conditions: what makes one true, what its message says, and what a report can carry."""

from __future__ import annotations

import pytest

from poollet.report.conditions import (
    CALL_REASONS,
    Truth,
    condition,
    duplicates_condition,
    sort_conditions,
    summarize_problems,
    unknown_pool_condition,
)
from schemas.live_layout import MAX_TEXT
from schemas.report import ReportedCondition

STATUSES: dict[str, tuple[Truth | bool, str]] = {
    "true": (True, "True"),
    "false": (False, "False"),
    "unknown, as a word": ("Unknown", "Unknown"),
    "false, as a word": ("False", "False"),
    "true, as a word": ("True", "True"),
}


@pytest.mark.parametrize(("given", "want"), STATUSES.values(), ids=STATUSES.keys())
def test_a_status_is_one_of_three_words(given: Truth | bool, want: str) -> None:
    assert condition("Ready", given, "Because", "m") == ReportedCondition("Ready", want, "Because", "m")  # type: ignore[arg-type]


LENGTHS: dict[str, tuple[int, int]] = {
    "empty": (0, 0),
    "as long as allowed": (MAX_TEXT, MAX_TEXT),
    "too long": (MAX_TEXT + 1, MAX_TEXT),
}


@pytest.mark.parametrize(("length", "want"), LENGTHS.values(), ids=LENGTHS.keys())
def test_a_message_is_cut_to_what_a_report_can_carry(length: int, want: int) -> None:
    assert len(condition("Ready", False, "Because", "x" * length).message) == want


FULL, SLOW = ("Full", "no space"), ("Slow", "still copying")

# the problems, and status, reason and message of the condition
SUMMARIES: dict[str, tuple[list[tuple[str, str]], tuple[str, str, str]]] = {
    "none": ([], ("True", "VolumesReady", "")),
    "one": ([FULL], ("False", "Full", "no space")),
    "two: the first gives the reason": ([FULL, SLOW], ("False", "Full", "no space; still copying")),
    "in the other order": ([SLOW, FULL], ("False", "Slow", "still copying; no space")),
    "the same one twice is named once": ([FULL, SLOW, FULL], ("False", "Full", "no space; still copying")),
    "one reason with two messages": (
        [FULL, ("Full", "no inodes")],
        ("False", "Full", "no space; no inodes"),
    ),
}


@pytest.mark.parametrize(("problems", "want"), SUMMARIES.values(), ids=SUMMARIES.keys())
def test_problems_of_one_part_are_one_condition(
    problems: list[tuple[str, str]], want: tuple[str, str, str]
) -> None:
    found = summarize_problems("VolumesReady", problems)
    assert (found.type, found.status, found.reason, found.message) == ("VolumesReady", *want)


def test_duplicates_name_each_object_and_the_cure() -> None:
    found = duplicates_condition([("kvm", "1"), ("lab", "2")])
    assert (found.type, found.status, found.reason) == ("UpToDate", "False", "DuplicateObjects")
    assert found.message == ("several objects have this uid: kvm: 1, lab: 2; remove all but one on the host")


def test_a_pool_of_unknown_capacity_is_named() -> None:
    found = unknown_pool_condition("rack-1")
    assert (found.type, found.status, found.reason) == ("ClassReady", "False", "PoolUnknown")
    assert "rack-1" in found.message


ORDERS: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "none": ((), ()),
    "sorted": (("A", "B"), ("A", "B")),
    "not sorted": (("UpToDate", "ClassReady", "Ready"), ("ClassReady", "Ready", "UpToDate")),
}


@pytest.mark.parametrize(("types", "want"), ORDERS.values(), ids=ORDERS.keys())
def test_conditions_are_in_the_order_of_their_types(types: tuple[str, ...], want: tuple[str, ...]) -> None:
    found = sort_conditions(condition(type, True, type) for type in types)
    assert tuple(one.type for one in found) == want


@pytest.mark.parametrize(
    ("reason", "want"),
    [
        ("NoEffect", True),
        ("Unavailable", True),
        ("ResourceExhausted", True),
        ("NetworkNotReady", True),
        ("VolumeMissing", False),
        ("Paused", False),
        ("Pending", False),
    ],
)
def test_reasons_of_calls_differ_from_those_of_documents(reason: str, want: bool) -> None:
    assert (reason in CALL_REASONS) is want
