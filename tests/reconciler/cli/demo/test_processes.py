"""The end of the demo is the end of all who play in it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from functools import partial

from reconciler.cli.demo.processes import die_with

FOREVER = [sys.executable, "-c", "import time; time.sleep(600)"]
NO_PROCESS = 0


def test_whose_parent_is_there_lives() -> None:
    process = subprocess.Popen(FOREVER, preexec_fn=partial(die_with, os.getpid()))
    try:
        assert process.poll() is None
    finally:
        process.kill()
    assert process.wait() == -signal.SIGKILL


def test_whose_parent_ended_before_it_could_say_so_ends_at_once() -> None:
    process = subprocess.Popen(FOREVER, preexec_fn=partial(die_with, NO_PROCESS))
    assert process.wait(timeout=60) == 1
