"""Every rule, by the tables; and laws that hold for whatever they find."""

from __future__ import annotations

from collections import Counter

import pytest

from reconciler.cli.codes import CODES
from tests.schemas.validate.case import BASE, Case
from tests.schemas.validate.checks import check, summarize
from tests.schemas.validate.history_cases import CHANGES, Change
from tests.schemas.validate.rule_cases import CASES

ABOUT_FILES = {"GV115", "GV360", "GV361"}


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_a_tree_has_exactly_the_listed_findings(case: Case) -> None:
    problems = check({**BASE, **case.files}, case.policy)
    assert summarize(problems) == case.want


@pytest.mark.parametrize("change", CHANGES, ids=lambda change: change.id)
def test_a_change_has_exactly_the_listed_findings(change: Change) -> None:
    problems = check(change.after, change.policy, change.before)
    assert summarize(problems) == change.want


@pytest.mark.parametrize("case", [case for case in CASES if case.quote], ids=lambda case: case.id)
def test_a_rule_names_the_fact_or_the_cure(case: Case) -> None:
    problems = check({**BASE, **case.files}, case.policy)
    assert any(case.quote in f"{each.message} {each.hint}" for each in problems)


@pytest.mark.parametrize(
    "change", [change for change in CHANGES if change.quote], ids=lambda change: change.id
)
def test_a_rule_about_a_change_names_the_fact_or_the_cure(change: Change) -> None:
    problems = check(change.after, change.policy, change.before)
    assert any(change.quote in f"{each.message} {each.hint}" for each in problems)


def test_tables_provoke_every_code() -> None:
    wanted = [case.want for case in CASES] + [change.want for change in CHANGES]
    provoked = {line.split()[0] for lines in wanted for line in lines}
    assert {code for code in CODES if code[2] in "345"} == {code for code in provoked if code[2] in "345"}


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_every_finding_has_a_line_unless_it_is_about_a_file(case: Case) -> None:
    for problem in check({**BASE, **case.files}, case.policy):
        assert not problem.message.endswith(".")
        assert (problem.line > 0) == (problem.column > 0) == (problem.code not in ABOUT_FILES)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_the_order_of_files_only_decides_which_duplicate_is_reported(case: Case) -> None:
    files = {**BASE, **case.files}
    backwards = dict(reversed(files.items()))
    there, back = (Counter(each.code for each in check(order, case.policy)) for order in (files, backwards))
    assert there == back
