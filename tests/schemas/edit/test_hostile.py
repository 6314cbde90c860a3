"""Texts made to hurt: a finding or an edit, and neither a hang nor a traceback nor memory out of proportion."""

from __future__ import annotations

import tracemalloc

import pytest

from schemas.edit import Edited, EditRefused, Field, Means, Outcome, edit, edit_all
from tests.schemas.edit.styles.case import PLACE, PLACE_AND_RUN

BLOCK = "metadata:\n  name: x\nspec:\n  power: On\n"
BOMB = "a: &a [x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"{here}: &{here} [{', '.join(['*' + there] * 9)}]\n"
    for there, here in zip("abcdefgh", "bcdefghi", strict=True)
)
MANY = 40_000

SIZES = {
    "long list": "spec:\n  volumes:\n" + "  - name: x\n" * MANY,
    "long text": "spec:\n  text: " + "x " * MANY + "\n",
    "long literal": "spec:\n  text: |\n" + "    # x\n" * MANY,
    "long comment": "spec:\n  power: On\n" + "  # x\n" * MANY,
    "blank lines": "spec:\n" + "\n" * MANY + "  power: On\n" + " \n" * MANY,
    "many keys": "".join(f"k{i}: v\n" for i in range(MANY)) + BLOCK,
    "json": '{"spec": {"power": "On"}, "x": [' + ", ".join(['{"a": "b"}'] * (MANY // 2)) + "]}",
    "dashes": "spec:\n  power: On\nx: '" + "- " * MANY + "|'\n",
    "colons": "spec:\n  power: On\nx: '" + ": " * MANY + "'\n",
    "bars": "spec:\n  power: |\n    On\n" + "".join(f"  k{i}: |\n    # y\n" for i in range(MANY // 10)),
}  # fmt: skip


@pytest.mark.timeout(30)
@pytest.mark.parametrize("what", SIZES)
def test_large_texts_are_edited(what: str) -> None:
    text = SIZES[what]
    outcome = edit(text.encode(), 0, PLACE)
    assert isinstance(outcome, Edited), outcome
    assert outcome.means is Means.LINES
    undone = edit(outcome.data, 0, dict.fromkeys(PLACE))
    assert isinstance(undone, Edited)
    assert undone.data == text.encode()


REFUSED = {
    "deep braces": ("{a: " * 100_000, "GV701"),
    "deep and closed": ("spec: " + "[" * 100_000 + "]" * 100_000 + "\n", "GV701"),
    "deep lists": ("spec:\n" + "".join(" " * i + "-\n" for i in range(3000)), "GV701"),
    "compact lists": ("spec: {}\nx:\n " + "- " * 100_000 + "x\n", "GV701"),
    "alias bomb": (BOMB + BLOCK, "GV701"),
    "zeros": ("\0" * 1_000_000, "GV701"),
    "nothing but quotes": ('"' * 100_001, "GV701"),
    "nothing but braces": ("{" * 100_000, "GV701"),
    "nothing but colons": (":" * 100_000, "GV701"),
    "a number without end": ("spec:\n  n: " + "9" * 100_000 + "\n", "GV701"),
    "large and explicit": ("? spec\n: power: On\n? x\n: |\n" + "  x\n" * 100_000, "GV706"),
    "large and between braces": ("{spec: {power: On}, x: '" + "x" * (1 << 20) + "'}", "GV706"),
    "large and shared": ("spec: &s {power: On}\nother: *s\nx: |\n" + "  x\n" * 30_000, "GV703"),
}


@pytest.mark.timeout(30)
@pytest.mark.parametrize("what", REFUSED)
def test_a_text_that_is_too_large_is_refused(what: str) -> None:
    text, code = REFUSED[what]
    outcome = edit(text.encode(), 0, PLACE_AND_RUN)
    assert isinstance(outcome, EditRefused), outcome
    assert outcome.problem.code == code


@pytest.mark.timeout(30)
def test_a_file_of_many_documents_is_edited_in_bounded_time() -> None:
    texts = [f"kind: Machine\nmetadata:\n  name: m-{i}\nspec:\n  power: On\n" for i in range(2000)]
    stream = "---\n".join(texts).encode()
    outcome = edit_all(stream, {i: PLACE for i in range(0, 2000, 2)})
    assert isinstance(outcome, Edited)
    assert outcome.data.count(b"machinePoolRef") == 1000
    undone: Outcome = edit_all(outcome.data, {i: dict.fromkeys(PLACE) for i in range(2000)})
    assert isinstance(undone, Edited)
    assert undone.data == stream


def test_an_edit_needs_memory_in_proportion_to_the_text() -> None:
    text = (SIZES["long list"] * 2).replace("spec:", "spec0:", 1).encode()
    tracemalloc.start()
    try:
        edit(text, 0, PLACE)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 60 * len(text)  # two readings of it as Python values, which weigh far more than their text


def test_one_refusal_prevents_all_edits_of_a_file() -> None:
    outcome = edit_all(b"spec: {}\n---\nspec: 5\n", {0: PLACE, 1: PLACE}, path="a.yaml")
    assert isinstance(outcome, EditRefused)
    assert (outcome.problem.code, outcome.problem.line, outcome.problem.column) == ("GV702", 3, 1)


def test_a_refusal_names_the_field_that_causes_it() -> None:
    outcome = edit(b"metadata: {name: a}\nspec: &s {}\nx: *s\n", 0, {Field.UID: "u", **PLACE_AND_RUN})
    assert isinstance(outcome, EditRefused)
    assert "spec.machinePoolRef" in outcome.problem.message
    assert "metadata.uid" not in outcome.problem.message


def test_a_refusal_names_the_value_that_cannot_be_written() -> None:
    outcome = edit(b"spec: {}\n", 0, {Field.UID: "a\ud800", Field.STATUS: {}})
    assert isinstance(outcome, EditRefused)
    assert outcome.problem.code == "GV705"
    assert "metadata.uid" in outcome.problem.message
    assert "status" not in outcome.problem.message
