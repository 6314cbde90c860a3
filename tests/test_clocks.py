"""The tests marked `clock` pass whatever the monotonic clock shows: on a host that has just booted, and on one up for years.

A monotonic clock counts from the boot. Code that takes a zero of it for "never" works on a machine that has been up for a
while, and fails on one that has just booted. So these tests run again in time namespaces of their own (needs root).
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
MARK = "pytest.mark." + "clock"
JUST_BOOTED_SECONDS = 2
YEARS_SECONDS = 10 * 365 * 86400


def marked_files() -> list[str]:
    return [str(path) for path in sorted((ROOT / "tests").rglob("test_*.py")) if MARK in path.read_text()]


def run_with_uptime(seconds: int, *command: str) -> subprocess.CompletedProcess[str]:
    """Runs the command where the host seems to have been up for so long."""
    offset = seconds - int(time.clock_gettime(time.CLOCK_BOOTTIME))
    own = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    namespace = (
        "unshare",
        "--time",
        "--monotonic",
        str(offset),
        "--boottime",
        str(offset),
        "--fork",
        "--kill-child",
    )
    return subprocess.run(
        [*namespace, *command], cwd=ROOT, env=own, text=True, capture_output=True, timeout=280
    )


@pytest.mark.parametrize("uptime", [JUST_BOOTED_SECONDS, YEARS_SECONDS], ids=["just booted", "up for years"])
def test_clock_tests_pass_whatever_the_uptime(uptime: int, tmp_path: Path) -> None:
    shown = run_with_uptime(uptime, "cut", "-d.", "-f1", "/proc/uptime").stdout
    assert abs(int(shown) - uptime) <= 2, "the clock is not shifted"
    options = ("-q", "-x", "-m", "clock", "-p", "no:cacheprovider", "--basetemp", str(tmp_path / "nested"))
    run = run_with_uptime(uptime, sys.executable, "-m", "pytest", *options, *marked_files())
    assert run.returncode == 0, run.stdout + run.stderr
    assert " passed" in run.stdout
