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
    parse_requests,
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


LINE = f"Gitvirt-Approve: {DIGEST}"
SQUASHED = {
    "a trailer": f"approve\n\n{LINE}",
    "the title, with the number of a pull request": f"{LINE} (#12)",
    "the title, with the number of a merge request": f"{LINE} (!12)",
    "an item of the list of commits": f"clean up (#12)\n\n* remove machines\n* {LINE}\n",
    "the message of a commit in the list": f"clean up (#12)\n\n* remove machines\n\n* approve\n\n{LINE}\n\n* more\n\nwhy",
    "indented": f"clean up (#12)\n\n* approve\n\n  {LINE}\n\n* more",
    "before the trailers of the forge": f"clean up\n\n{LINE}\n\nthe end\n\n---------\n\nCo-authored-by: a <a@example.org>",
    "with line ends of another system": f"clean up\r\n\r\n* approve\r\n\r\n{LINE}\r\n\r\n* more",
    "the message of a merge with its text": f"Merge branch 'x' into 'main'\n\n{LINE}\n\nSee merge request a/b!12",
}


@pytest.mark.parametrize("message", SQUASHED.values(), ids=SQUASHED)
def test_a_request_survives_a_squash_merge(message: str) -> None:
    assert ("Gitvirt-Approve", DIGEST) in parse_requests(message)


@pytest.mark.parametrize("name", ["Pool-Destroyed", "Pool-Host"])
def test_requests_about_a_pool_survive_it_too(name: str) -> None:
    for message in (f"{name}: a=b1-c (#3)", f"x (#3)\n\n* y\n\n{name}: a=b1-c\n\n* z"):
        assert (name, "a=b1-c") in parse_requests(message)


@pytest.mark.parametrize(
    "message",
    [
        f'Revert "{LINE}"',
        f'Revert "{LINE} (#12)" (#13)',
        f"x\n\n> {LINE}\n\ny",
        f"x\n\nTo approve, merge `{LINE}`\n\ny",
        f"x\n\nthe line {LINE} approves it\n\ny",
        "x\n\nGitvirt-Approve: 67056a9\n\ny",
        "x\n\nGitvirt-Approve: <digest>\n\ny",
        "Pool-Destroyed: a",
    ],
)
def test_a_text_about_a_request_is_none(message: str) -> None:
    assert parse_requests(message) == ()


def test_each_request_is_found_once_and_a_trailer_with_any_value() -> None:
    assert parse_requests(f"{LINE}\n\nGitvirt-Approve: slip\n{LINE}") == (
        ("Gitvirt-Approve", DIGEST),
        ("Gitvirt-Approve", "slip"),
    )
