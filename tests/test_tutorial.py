"""docs/tutorial.md and README.md as a newcomer follows them: every command unchanged, in one shell, in an empty home."""

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
# Each block is announced, so that what it printed can be told from the rest.
MARK = "=== block "


@pytest.fixture
def home() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="tut") as folder:  # short, for the path of a socket
        yield Path(folder)


@pytest.mark.early
@pytest.mark.parametrize("page", ["docs/tutorial.md", "README.md"])
def test_every_command_does_what_the_page_says(home: Path, page: str) -> None:
    found: list[tuple[str, str]] = BLOCK.findall((ROOT / page).read_text("utf-8"))
    assert found
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
        ["bash", "-c", "\n".join(script)], cwd=home, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        text=True, check=False, timeout=SECONDS,
    )  # fmt: skip
    logs = "\n".join(f"{log.name}:\n{log.read_text()}" for log in home.glob("*.log"))
    assert done.returncode == 0, f"{done.stdout}\n{logs}"
    output = dict(part.split("\n", 1) for part in done.stdout.split(MARK)[1:])
    for number, (language, text) in enumerate(found):
        if language == "text":
            for line in text.splitlines():
                assert line in output[str(number - 1)], output[str(number - 1)]
