"""`make demo` as a newcomer sees it: it runs to its end, and leaves nothing, however it ends."""

from __future__ import annotations

import os
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture
def folder() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="demo") as folder:  # short, for the path of a socket
        yield Path(folder)


def started(folder: Path) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [ROOT / "tools" / "demo"],
        env=os.environ | {"TMPDIR": str(folder)},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )


def test_the_demo_shows_machines_from_file_to_gone(folder: Path) -> None:
    demo = started(folder)
    said, _ = demo.communicate(timeout=110)
    assert demo.returncode == 0, said
    for part in ("Created machine", "Pending", "Running", "web-1:~$", "Suspended", "Terminated", "deleted"):
        assert part in said
    assert "did you mean `network_interfaces`?" in said
    assert "Traceback" not in said
    assert list(folder.iterdir()) == []


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_demo_leaves_nothing(folder: Path, number: signal.Signals) -> None:
    demo = started(folder)
    assert demo.stdout is not None
    while "ready" not in (line := demo.stdout.readline()):
        assert line, "the demo ended early"
    os.killpg(demo.pid, number)
    demo.communicate(timeout=60)
    assert demo.returncode == 128 + number
    assert list(folder.iterdir()) == []
    for _ in range(100):
        if not left_of(demo.pid):
            return
        time.sleep(0.1)
    raise AssertionError(left_of(demo.pid))


def left_of(session: int) -> list[str]:
    """Processes of the demo's session that still run."""
    return [
        (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode()
        for entry in Path("/proc").iterdir()
        if entry.name.isdecimal() and session_of(entry) == session
    ]


def session_of(process: Path) -> int:
    """0 for one that has ended, zombies among them."""
    try:
        state, _, _, session = (process / "stat").read_text().rpartition(")")[2].split()[:4]
    except OSError:
        return 0
    return 0 if state == "Z" else int(session)
