"""Every rule, by the tables; and laws that hold for whatever they find."""

from __future__ import annotations

from collections import Counter

import pytest

from schemas.codes import rules
from schemas.codes.content import CODES as CONTENT
from schemas.codes.revisions import CODES as REVISIONS
from tests.schemas.validate.case import BASE, Case
from tests.schemas.validate.checks import check, summarize
from tests.schemas.validate.history_cases import CHANGES, Change
from tests.schemas.validate.rule_cases import CASES

ABOUT_FILES = {"GV360", "GV361"}


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_rule(case: Case) -> None:
    problems = check({**BASE, **case.files}, case.policy)
    assert summarize(problems) == case.want
    assert not case.said or any(case.said in f"{each.message} {each.hint}" for each in problems)


@pytest.mark.parametrize("change", CHANGES, ids=lambda change: change.id)
def test_change(change: Change) -> None:
    problems = check(change.after, change.policy, change.before)
    assert summarize(problems) == change.want
    assert not change.said or any(change.said in f"{each.message} {each.hint}" for each in problems)


def test_tables_provoke_every_code() -> None:
    wanted = [case.want for case in CASES] + [change.want for change in CHANGES]
    provoked = {line.split()[0] for lines in wanted for line in lines}
    assert set(rules.CODES) | set(REVISIONS) | set(CONTENT) == {code for code in provoked if code[2] in "345"}


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_findings_name_what_they_are_about(case: Case) -> None:
    for problem in check({**BASE, **case.files}, case.policy):
        assert not problem.message.endswith(".")
        assert (problem.line > 0) == (problem.column > 0) == (problem.code not in ABOUT_FILES)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_order_of_files_decides_only_who_came_first(case: Case) -> None:
    files = {**BASE, **case.files}
    backwards = dict(reversed(files.items()))
    there, back = (Counter(each.code for each in check(order, case.policy)) for order in (files, backwards))
    assert there == back
