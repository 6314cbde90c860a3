"""Any repo: findings, and never an exception; and a revision against itself changes nothing."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from reconciler.cli.codes import CODES
from schemas.kinds import recognize_document
from schemas.validate import ValidationPolicy
from tests.schemas.manifest.mutations import VALUES, change_value, places
from tests.schemas.validate.case import BASE
from tests.schemas.validate.checks import check
from tests.schemas.validate.history_cases import CHANGES
from tests.schemas.validate.rule_cases import CASES

TREES = [{**BASE, **case.files} for case in CASES] + [change.after for change in CHANGES]


def bodies(files: dict[str, str]) -> list[tuple[str, Any]]:
    """Each document with its file; other text is not changed."""
    found = []
    for path, text in files.items():
        for part in text.split("\n---\n"):
            try:
                found.append((path, json.loads(part)))
            except ValueError:
                found.append((path, part))
    return found


def write_files(documents: list[tuple[str, Any]]) -> dict[str, str]:
    files: dict[str, str] = {}
    for path, body in documents:
        text = body if isinstance(body, str) else json.dumps(body)
        files[path] = f"{files[path]}\n---\n{text}" if path in files else text
    return files


@st.composite
def nearly_right(draw: st.DrawFn) -> dict[str, str]:
    """One of the tables' trees, with a few values changed at random places."""
    documents = bodies(TREES[draw(st.integers(0, len(TREES) - 1))])
    for _ in range(draw(st.integers(0, 4))):
        at = draw(st.integers(0, len(documents) - 1))
        path, body = documents[at]
        if not isinstance(body, dict):
            continue
        steps = places(body)
        where = steps[draw(st.integers(0, len(steps) - 1))]
        how = draw(st.sampled_from(["replace", "remove", "rename", "repeat", "swap"]))
        if how == "swap":  # a value of another document, which is far more often a valid one
            _, other = documents[draw(st.integers(0, len(documents) - 1))]
            value = at_place(other, where)
            how = "replace"
        else:
            value = VALUES[draw(st.integers(0, len(VALUES) - 1))]
        documents[at] = (path, change_value(body, where, how, value))
    return write_files(documents)


def at_place(body: Any, where: tuple[Any, ...]) -> Any:
    for step in where:
        try:
            body = body[step]
        except (KeyError, IndexError, TypeError):
            return None
    return body


@given(before=nearly_right(), after=nearly_right(), policy=st.builds(ValidationPolicy))
def test_any_tree_has_findings_and_raises_nothing(
    before: dict[str, str], after: dict[str, str], policy: ValidationPolicy
) -> None:
    for problem in check(after, policy, before):
        assert problem.code in CODES
        assert problem.message
        assert problem.message.isprintable()
        assert problem.hint.isprintable()


@given(files=nearly_right())
def test_a_revision_compared_with_itself_has_no_findings(files: dict[str, str]) -> None:
    """Also if every file was written again: only the values of the documents count."""
    again = {path: f"{text}\n" for path, text in files.items()}
    for before in (files, again):
        codes = {problem.code for problem in check(files, ValidationPolicy(), before)}
        assert not {code for code in codes if code.startswith("GV4")} - {"GV420"}


@given(files=nearly_right())
def test_a_new_object_breaks_no_rule_about_changes(files: dict[str, str]) -> None:
    codes = {problem.code for problem in check(files, ValidationPolicy(), {})}
    assert not {code for code in codes if code.startswith("GV4")}


def test_trees_are_taken_apart_and_put_together_again() -> None:
    for files in TREES:
        parts = bodies(write_files(bodies(files)))
        assert parts == bodies(files)
        assert all(recognize_document(body) is not None for _, body in parts)
