"""`gitvirt demo` as a newcomer sees it: it runs to its end, and leaves nothing, however it ends."""

from __future__ import annotations

import os
import pty
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from reconciler.cli.demo.screen import clipped
from reconciler.cli.terminal import width

COMMAND = [sys.executable, "-m", "reconciler", "demo"]


@pytest.fixture
def folder() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="demo") as folder:  # short, for the path of a socket
        yield Path(folder)


def started(folder: Path, *options: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [*COMMAND, *options],
        env=os.environ | {"TMPDIR": str(folder)},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )


def left_of(folder: Path) -> list[str]:
    """Processes whose command line names the folder."""
    found = []
    for process in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = process.read_bytes().replace(b"\0", b" ").decode(errors="replace")
        except OSError:
            continue
        if str(folder) in words:
            found.append(words)
    return found


def assert_nothing_is_left(folder: Path) -> None:
    ends = time.monotonic() + 10
    while (left := left_of(folder)) and time.monotonic() < ends:
        time.sleep(0.1)
    assert left == []


def test_the_demo_shows_a_fleet_from_its_first_commit_to_a_host_that_fails(folder: Path) -> None:
    demo = started(folder)
    said, _ = demo.communicate(timeout=110)
    assert demo.returncode == 0, said
    for part in (
        "machine default/web-1: Running on rack-",
        "All run, after",
        "web-3 runs on rack-",
        "Noticed after",
        "Back after",
        "Gone after",
        "Ada: add web-3",
        "order the deletion of default/web-3",
        "What to try next",
    ):
        assert part in said, said
    assert "Traceback" not in said
    assert list(folder.iterdir()) == []
    assert_nothing_is_left(folder)


@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGINT, 128 + signal.SIGINT), (signal.SIGTERM, 128 + signal.SIGTERM), (signal.SIGKILL, -signal.SIGKILL)]
)  # fmt: skip
def test_an_interrupted_demo_leaves_no_process(folder: Path, number: signal.Signals, code: int) -> None:
    demo = started(folder)
    assert demo.stdout is not None
    while "pool rack-" not in (line := demo.stdout.readline()):
        assert line, "the demo ended early"
    demo.send_signal(number)
    rest, _ = demo.communicate(timeout=120)
    assert demo.returncode == code, rest
    assert "Traceback" not in rest
    assert_nothing_is_left(folder)
    if number is not signal.SIGKILL:
        assert list(folder.iterdir()) == []


@pytest.mark.parametrize("columns", range(1, 40))
def test_a_line_is_cut_to_the_terminal_with_whole_colours(columns: int) -> None:
    line = "rack-a1  \x1b[32;1mReady\x1b[0m  \x1b[31m\u2588\u2588\u2591\x1b[0m  12%"
    cut = clipped(line, columns)
    assert width(cut) <= columns
    assert width(line) > columns or cut == line
    assert cut.count("\x1b[0m") >= cut.count("\x1b[3") or "\x1b" not in cut


def test_on_a_terminal_a_picture_is_redrawn_in_place(folder: Path) -> None:
    ours, theirs = pty.openpty()
    demo = subprocess.Popen(
        COMMAND, env=os.environ | {"TMPDIR": str(folder), "TERM": "xterm"}, stdin=theirs, stdout=theirs, stderr=theirs, start_new_session=True
    )  # fmt: skip
    os.close(theirs)
    said = b""
    while said.count(b"F\x1b[J") < 3:
        said += os.read(ours, 65536)
    demo.send_signal(signal.SIGINT)
    while True:  # until it has closed its side
        try:
            said += os.read(ours, 65536)
        except OSError:
            break
    assert demo.wait(120) == 128 + signal.SIGINT
    os.close(ours)
    assert "█".encode() in said or "░".encode() in said
    assert b"Traceback" not in said
    assert_nothing_is_left(folder)
