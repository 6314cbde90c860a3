"""A test that hangs where no Python signal handler is called is told with its stack, and the others are run."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
STUCK = """
import ctypes, signal

def test_stuck():
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGALRM})
    ctypes.CDLL(None).sleep(100)

def test_first(): pass
def test_second(): pass
def test_third(): pass
"""


def test_a_hang_in_c_prints_its_stack_and_the_other_tests_run(tmp_path: Path) -> None:
    (tmp_path / "test_hang.py").write_text(STUCK)
    given = ("faulthandler_timeout=2", "faulthandler_exit_on_timeout=true", "cache_dir=cache")
    options = [word for option in given for word in ("-o", option)]
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-n",
        "1",
        "-c",
        ROOT / "pyproject.toml",
        "--rootdir",
        tmp_path,
    ]
    done = subprocess.run(
        [*map(str, command), *options, str(tmp_path)],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert "line 6 in test_stuck" in done.stderr
    assert "1 failed, 3 passed" in done.stdout


def test_the_suite_is_watched_for_hangs() -> None:
    settings = (ROOT / "pyproject.toml").read_text()
    assert "\nfaulthandler_timeout = " in settings
    assert "-o faulthandler_exit_on_timeout=" in (ROOT / "tools" / "test").read_text()
