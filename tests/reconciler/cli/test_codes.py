"""Every problem code is explained in full, in the form that the page promises, and provoked by some test."""

from __future__ import annotations

import re
from pathlib import Path

from reconciler.cli.codes import CODES, read_codes

ROOT = Path(__file__).parents[3]
PAGE = (ROOT / "docs/problems.md").read_text()


def test_each_code_has_title_cause_and_cure() -> None:
    for code, explained in CODES.items():
        assert re.fullmatch(r"GV[1-8]\d\d", code)
        assert all(text.strip() for text in explained), code
        assert not explained.title.endswith("."), code


def test_every_text_of_the_page_belongs_to_a_code() -> None:
    _, *chapters = re.split(r"^## .+$", PAGE, flags=re.MULTILINE)
    sections = (
        f'### <a id="{code.lower()}"></a>{code}: {text.title} {text.cause} *What to do:* {text.cure}'
        for code, text in CODES.items()
    )
    assert " ".join(chapters).split() == " ".join(sections).split()


def test_the_sections_are_in_the_order_of_their_codes_and_each_chapter_has_its_digit() -> None:
    assert list(CODES) == sorted(CODES)
    digits = [
        {code[2] for code in read_codes(chapter)}
        for chapter in re.split(r"^## ", PAGE, flags=re.MULTILINE)[1:]
    ]
    assert digits == [{digit} for digit in "12345678"]


def test_every_code_of_a_repo_occurs_in_a_test() -> None:
    """Named in a test at least; the tables of `validate` hold their own codes to more than that."""
    tests = "\n".join(path.read_text() for path in (ROOT / "tests").rglob("*.py"))
    assert sorted(code for code in CODES if code[2] in "123456" and code not in tests) == []


def test_every_used_code_is_explained() -> None:
    packages = ("schemas", "reconciler", "poollet", "iri")
    sources = "\n".join(path.read_text() for package in packages for path in (ROOT / package).rglob("*.py"))
    assert sorted(set(re.findall(r'"(GV\d{3})"', sources)) - set(CODES)) == []
