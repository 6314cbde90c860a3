"""One trailer approves whatever awaits approval, and only what was printed with it."""

from __future__ import annotations

from itertools import permutations

import pytest

from reconciler.gitstore.approval import (
    DIGITS,
    LEAST_DIGITS,
    HoldKind,
    approval_digest,
    approval_trailer,
    is_approval_of,
)

FLEET = "5a1e9a5e-0d5c-4f0b-9a54-6d1b6f6f7f10"
OTHER = "5a1e9a5e-0d5c-4f0b-9a54-6d1b6f6f7f11"
DIGEST = approval_digest(FLEET, HoldKind.DELETION, ["a", "b", "c"])


def test_a_digest_covers_exactly_its_subjects_in_any_order() -> None:
    orders = permutations(["a", "b", "c"])
    assert {approval_digest(FLEET, HoldKind.DELETION, order) for order in orders} == {DIGEST}
    assert len(DIGEST) == DIGITS


@pytest.mark.parametrize(
    ("fleet", "kind", "subjects"),
    [
        pytest.param(FLEET, HoldKind.DELETION, ["a", "b"], id="one subject less"),
        pytest.param(FLEET, HoldKind.DELETION, ["a", "b", "c", "d"], id="one subject more"),
        pytest.param(FLEET, HoldKind.DELETION, [], id="no subject"),
        pytest.param(OTHER, HoldKind.DELETION, ["a", "b", "c"], id="another fleet"),
        pytest.param(FLEET, HoldKind.SOURCE, ["a", "b", "c"], id="a rewritten source"),
        pytest.param(FLEET, HoldKind.LIVE, ["a", "b", "c"], id="a rewritten live"),
    ],
)
def test_another_hold_has_another_digest(fleet: str, kind: HoldKind, subjects: list[str]) -> None:
    assert approval_digest(fleet, kind, subjects) != DIGEST


@pytest.mark.parametrize(
    ("value", "want"),
    [
        pytest.param(DIGEST, True, id="as printed"),
        pytest.param(DIGEST.upper(), True, id="in capitals"),
        pytest.param(DIGEST[:LEAST_DIGITS], True, id="the least number of digits"),
        pytest.param(DIGEST[: LEAST_DIGITS - 1], False, id="too few digits"),
        pytest.param(DIGEST + "0", False, id="too many digits"),
        pytest.param(DIGEST[1:], False, id="not from the beginning"),
        pytest.param("0" * DIGITS, False, id="another digest"),
        pytest.param("", False, id="nothing"),
    ],
)
def test_a_trailer_names_a_digest_by_its_first_digits(value: str, want: bool) -> None:
    assert is_approval_of(value, DIGEST) is want
    assert not is_approval_of(value, "")


def test_the_line_that_is_printed() -> None:
    assert approval_trailer("0123") == "Gitvirt-Approve: 0123"
