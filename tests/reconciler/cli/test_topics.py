"""`gitvirt help TOPIC`: verbs first, then pages and problem codes, and a near miss is suggested."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from reconciler.cli import main, paging
from reconciler.cli.codes import docs_folder
from reconciler.cli.exits import Exit
from reconciler.cli.topics import names
from tests.iri.exec.screen import Screen

Capture = pytest.CaptureFixture[str]


@pytest.mark.parametrize(
    ("topic", "want"),
    [
        ("concepts", "Concepts\n"),
        ("Tutorial", "gitvirt init fleet"),
        ("gv301", "GV301: "),
        ("GV102", "What to do: "),
    ],
)
def test_shows(topic: str, want: str, capsys: Capture) -> None:
    assert main(["help", topic]) == Exit.OK
    assert want in capsys.readouterr().out


def test_every_page_is_shown_and_links_are_commands(capsys: Capture) -> None:
    for page in docs_folder().iterdir():
        if page.name.endswith(".md"):
            assert main(["help", page.name]) == Exit.OK
    output = capsys.readouterr().out
    assert "(gitvirt help settings.md)" in output
    assert "(gitvirt help plan.md)" in output  # as every page: `help plan` is the verb's own


@pytest.mark.parametrize(
    ("topic", "cure"),
    [
        ("concpets", "did you mean `gitvirt help concepts`?"),
        ("qqqq", "topics: "),
        ("validat", "gitvirt help validate"),
    ],
)
def test_a_near_miss_is_suggested(topic: str, cure: str, capsys: Capture) -> None:
    assert main(["help", topic]) == Exit.USAGE
    assert cure in capsys.readouterr().err


def test_help_alone_names_every_topic(capsys: Capture) -> None:
    assert main(["help"]) == Exit.OK
    output = capsys.readouterr().out
    assert all(topic in output for topic in names())
    assert main(["--help"]) == Exit.OK
    assert "topics:" not in capsys.readouterr().out


@pytest.fixture
def pager(tmp_path: Path) -> dict[str, str]:
    """A pager that keeps what it was given, beside it."""
    place = tmp_path / "pager"
    place.write_text(f"#!/bin/sh\ncat > {tmp_path}/paged\necho the pager was here\n")
    place.chmod(0o755)
    return {**os.environ, "PAGER": str(place), "TERM": "xterm", "NO_COLOR": "1"}


def test_on_a_terminal_a_page_goes_through_the_pager(tmp_path: Path, pager: dict[str, str]) -> None:
    screen = Screen([sys.executable, "-m", "reconciler", "help", "concepts"], pager)
    try:
        screen.expect(b"the pager was here")
        assert screen.process.wait(120) == Exit.OK
    finally:
        screen.close()
    assert (tmp_path / "paged").read_text().startswith("Concepts\n")


@pytest.mark.parametrize("words", [["help", "concepts"], ["help", "GV301"], ["help"]])
def test_without_a_terminal_there_is_no_pager(
    tmp_path: Path, pager: dict[str, str], words: list[str]
) -> None:
    command = [sys.executable, "-m", "reconciler", *words]
    done = subprocess.run(command, env=pager, capture_output=True, text=True, check=True)
    assert done.stdout
    assert not (tmp_path / "paged").exists()


@pytest.mark.parametrize(
    ("named", "want"),
    [
        ("cat", None),
        ("", None),
        ("no-such-pager -x", None),
        ("'", None),
        ("sh -c true", ["sh", "-c", "true"]),
    ],
)
def test_the_pager_that_is_meant(named: str, want: list[str] | None) -> None:
    assert paging.pager({"PAGER": named}) == want


def test_a_pager_that_is_left_early_is_fine(tmp_path: Path) -> None:
    paging.pipe_through(["true"], "line\n" * 200_000, os.environ)
