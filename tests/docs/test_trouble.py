"""docs/trouble.md: the states, conditions, reasons, codes and log lines that it names are those of the code."""

from __future__ import annotations

import ast
import re
from functools import cache

import pytest

from poollet.sync.live_policy import LiveRejection
from reconciler.cli.codes import CODES
from reconciler.gitstore.remote.transport import RemoteErrorKind
from tests.docs.pages import INLINE, ROOT, Page, rows
from tests.house.sources import modules, syntax

PAGE = Page(ROOT / "docs" / "trouble.md")
PACKAGES = ("reconciler", "poollet", "schemas", "iri")
NAME = re.compile(r"[A-Z][a-z]+(?:[A-Z][a-z]+)*")
# Words of others: of the system, of Git and of systemd.
OTHERS = ("No space left on device", "Read-only file system", "MemoryMax")
COMMANDS = ("git ", "gitvirt ", "systemctl ", "journalctl ", "virsh ")
# Of an outcome that is not the remote's.
TROUBLES = {"refused", "damage", "error"}


@cache
def constants() -> frozenset[str]:
    """Every text of the code, and the constant parts of those that have values in them."""
    paths = [path for package in PACKAGES for path in modules(package)]
    found = (
        node.value for path in paths for node in ast.walk(syntax(path)) if isinstance(node, ast.Constant)
    )
    return frozenset(value for value in found if isinstance(value, str))


def cells() -> list[tuple[str, list[str]]]:
    """What people see, row by row: the trouble, and the words in code of the row."""
    return [(row[0], INLINE.findall(" ".join(row[1:]))) for row in rows(PAGE.prose) if row[0] != "trouble"]


def is_log_line(word: str) -> bool:
    is_ours = not word.startswith(COMMANDS) and word not in OTHERS
    return is_ours and " " in word and word[0].islower() and "{" not in word


CELLS = cells()


def test_the_page_has_every_group() -> None:
    assert len(CELLS) > 50


@pytest.mark.parametrize(("trouble", "words"), CELLS, ids=[trouble for trouble, _ in CELLS])
def test_names_are_those_of_the_code(trouble: str, words: list[str]) -> None:
    for word in words:
        if NAME.fullmatch(word) and word not in OTHERS:
            assert word in constants(), f"{trouble}: {word}"
        for trailer in re.findall(r"([A-Z][a-z]+-[A-Z][a-z]+): ", word):
            assert trailer in constants(), trailer
        if kind := re.search(r"\btrouble=(\w+)", word):
            assert kind[1] in TROUBLES | {each.value for each in RemoteErrorKind}, word


@pytest.mark.parametrize(("trouble", "words"), CELLS, ids=[trouble for trouble, _ in CELLS])
def test_log_lines_are_those_of_the_code(trouble: str, words: list[str]) -> None:
    """Part by part: a value may be between two of them."""
    for word in filter(is_log_line, words):
        for part in re.split(r"\b\d+\b|=\S+|refs/\S+|<[^>]*>", word):
            assert any(part.strip() in text for text in constants()), f"{trouble}: {part}"


def test_codes_exist() -> None:
    assert set(re.findall(r"\bGV\d+", PAGE.text)) <= set(CODES)


def test_every_reason_for_which_hosts_do_not_apply_live_is_on_the_page() -> None:
    assert {hold.value for hold in LiveRejection} <= {word for _, words in CELLS for word in words}
