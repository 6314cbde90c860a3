"""The pages with commands as a newcomer follows them: every command unchanged, in one shell, in an empty home."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SECONDS = 280  # each takes one or two tens of them where nothing else runs
BLOCK = re.compile(r"```(sh|text)\n(.*?)```", re.DOTALL)
# A page that goes on with the fleet that another one makes in its first two blocks.
PREPARED = {"docs/maintenance.md": "docs/recipes.md"}
# Each block is announced, so that its output can be separated from the rest.
MARK = "=== block "
# What differs from run to run: moments, durations, commits, scores, and ages at the end of a row.
VARYING = re.compile(
    r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ|\b[0-9a-f]{10}\b|(?<=after )\d[\d.smhd]*|(?<=scored )[\d,]+"
    r"|(?<= )(?:\d+m)?\d+s$",
    re.MULTILINE,
)


def matches(page: str, output: str) -> bool:
    """Whether a page shows the output of its commands, all of it and in order; a line `...` is any number of lines."""
    lines = (
        r"(.*\n)*" if line == "..." else re.escape(VARYING.sub("?", line)) + r"\n"
        for line in page.splitlines()
    )
    return re.fullmatch("".join(lines), VARYING.sub("?", output)) is not None


@pytest.mark.parametrize(
    ("page", "is_match"),
    [
        pytest.param("a\nb\n", True, id="all of it"),
        pytest.param("a\n", False, id="a line is missing at the end"),
        pytest.param("b\n", False, id="a line is missing at the start"),
        pytest.param("b\na\n", False, id="another order"),
        pytest.param("a\n...\n", True, id="the end is left out"),
        pytest.param("...\nb\n", True, id="the start is left out"),
        pytest.param("a\n...\nb\n", True, id="nothing is left out"),
        pytest.param("a\nB\n", False, id="another letter"),
    ],
)
def test_a_page_shows_whole_lines_in_order(page: str, is_match: bool) -> None:
    assert matches(page, "a\nb\n") is is_match


def test_what_differs_from_run_to_run_is_not_compared() -> None:
    page = "2026-11-19T11:27:25Z  0d194672b3  gitvirt  schedule web-1: scored 988,281\nRunning after 3.1s\n"
    assert matches(
        page, "2027-01-01T00:00:00Z  ffffffffff  gitvirt  schedule web-1: scored 1\nRunning after 10s\n"
    )


def blocks(page: str) -> list[tuple[str, str]]:
    if not page:
        return []
    found: list[tuple[str, str]] = BLOCK.findall((ROOT / page).read_text("utf-8"))
    assert found
    return found


@pytest.fixture
def home() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="tut") as folder:  # short, for the path of a socket
        yield Path(folder)


@pytest.mark.early
@pytest.mark.parametrize("page", ["docs/tutorial.md", "README.md", "docs/recipes.md", "docs/maintenance.md"])
def test_every_command_does_what_the_page_says(home: Path, page: str) -> None:
    found = blocks(PREPARED.get(page, ""))[:2] + blocks(page)
    script = ["set -e -m", "trap 'kill $(jobs -p) 2>/dev/null || true; wait' EXIT"]
    for number, (language, text) in enumerate(found):
        script += [f"echo '{MARK}{number}'", text] if language == "sh" else []
    environment = {
        "HOME": str(home),
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        "GIT_AUTHOR_NAME": "Ada",
        "GIT_AUTHOR_EMAIL": "ada@example.org",
        "GIT_COMMITTER_NAME": "Ada",
        "GIT_COMMITTER_EMAIL": "ada@example.org",
    }
    done = subprocess.run(
        ["bash", "-c", "\n".join(script)], cwd=home, env=environment, capture_output=True,
        text=True, check=False, timeout=SECONDS,
    )  # fmt: skip
    logs = "\n".join(f"{log.name}:\n{log.read_text()}" for log in home.glob("**/*.log"))
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}\n{logs}"
    output = dict(part.split("\n", 1) for part in done.stdout.split(MARK)[1:])
    for number, (language, text) in enumerate(found):
        if language == "text":
            assert matches(text, output[str(number - 1)]), output[str(number - 1)]
