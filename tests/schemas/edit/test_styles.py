"""Awkward styles, each with the exact bytes or the refusal; and what holds for all of them."""

from __future__ import annotations

import pytest

from reconciler.cli.codes import CODES
from schemas.edit import Changes, Edited, EditRefused, Means, Value, edit
from schemas.reader import read
from tests.schemas.edit.styles import block, discovered, flow, refused, removal, unusual
from tests.schemas.edit.styles.case import Case, Refusal

CASES = (*block.CASES, *flow.CASES, *unusual.CASES, *removal.CASES, *discovered.CASES)

each_case = pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
each_refusal = pytest.mark.parametrize("case", refused.CASES, ids=lambda case: case.id)


def edit_once(data: bytes, document: int, changes: Changes) -> Edited:
    outcome = edit(data, document, changes)
    assert isinstance(outcome, Edited), outcome
    return outcome


def at(body: Value, path: tuple[str, ...]) -> Value:
    for key in path:
        body = body.get(key) if isinstance(body, dict) else None
    return body


@each_case
def test_an_edit_gives_the_listed_bytes(case: Case) -> None:
    outcome = edit_once(case.before.encode(), case.document, case.changes)
    assert outcome.data.decode() == case.after
    assert outcome.means is case.means


@each_case
def test_the_fields_read_back_with_the_desired_values(case: Case) -> None:
    documents = read(case.after)
    assert isinstance(documents, tuple)
    body = documents[case.document]
    for target, value in case.changes.items():
        assert at(body, target.path) == value  # type: ignore[arg-type]


@each_case
def test_a_second_equal_edit_changes_nothing(case: Case) -> None:
    data = case.after.encode()
    again = edit_once(data, case.document, case.changes)
    assert again.data is data
    assert again.means is Means.UNTOUCHED


@each_refusal
def test_a_refusal_names_reason_and_position(case: Refusal) -> None:
    data = case.before if isinstance(case.before, bytes) else case.before.encode()
    outcome = edit(data, case.document, case.changes, path="machines/a.yaml")
    assert isinstance(outcome, EditRefused), outcome
    problem = outcome.problem
    assert (problem.code, (problem.line, problem.column), problem.pointer) == (
        case.code,
        case.place,
        case.pointer,
    )
    assert problem.file == "machines/a.yaml"
    assert problem.message
    assert problem.hint
    assert problem.code in CODES


def test_no_two_cases_have_the_same_name() -> None:
    names = [case.id for case in (*CASES, *refused.CASES)]
    assert len(names) == len(set(names))
