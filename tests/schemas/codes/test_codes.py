"""Every problem code is explained in full, documented, and provoked by some test."""

from __future__ import annotations

import re
from pathlib import Path

from schemas.codes import CODES
from schemas.codes.page import render

ROOT = Path(__file__).parents[3]


def test_each_code_has_title_cause_and_cure() -> None:
    for code, explained in CODES.items():
        assert re.fullmatch(r"GV[1-8]\d\d", code)
        assert all(text.strip() for text in explained), code
        assert not explained.title.endswith("."), code


def test_the_page_is_that_of_make_docs() -> None:
    assert (ROOT / "docs/problems.md").read_text() == render(CODES), "run `make docs`"


def test_every_code_of_a_repo_occurs_in_a_test() -> None:
    """Named in a test at least; the tables of `validate` hold their own codes to more than that."""
    tests = "\n".join(path.read_text() for path in (ROOT / "tests").rglob("*.py"))
    assert sorted(code for code in CODES if code[2] in "123456" and code not in tests) == []


def test_every_used_code_is_explained() -> None:
    packages = ("schemas", "reconciler", "poollet", "iri")
    sources = "\n".join(path.read_text() for package in packages for path in (ROOT / package).rglob("*.py"))
    assert sorted(set(re.findall(r'"(GV\d{3})"', sources)) - set(CODES)) == []
