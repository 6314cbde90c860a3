"""Runtimes that a poollet starts: what they hold of it, and what is left to end."""

from __future__ import annotations

import contextlib
import os
import random
import signal
import subprocess
import sys
from pathlib import Path

from poollet.runtimes.runtime_processes import RuntimeProcess, RuntimeProcesses

STARTER = """
import random, sys, time
from poollet.runtimes.runtime_processes import RuntimeProcess, RuntimeProcesses
made = RuntimeProcesses([RuntimeProcess("r1", "simulated", (sys.argv[1],), ("--state", sys.argv[2]))], random.Random(1))
made.start()
while not made.own_processes:
    time.sleep(0.01)
print(made._supervisors[0]._process.pid, flush=True)
made.stop(ends=False)
"""


def test_what_was_never_started_is_stopped() -> None:
    """As by a host that leaves the fleet."""
    made = RuntimeProcesses([RuntimeProcess("r1", "simulated", ("unix:///nowhere",))], random.Random(1))
    made.stop(ends=True)
    assert made.own_processes == ()


def test_a_runtime_that_goes_on_does_not_hold_what_the_poollet_prints(tmp_path: Path) -> None:
    """`gitvirt poollet --once | tail` ended when the runtime did."""
    address, state = f"unix://{tmp_path}/s", str(tmp_path / "state")
    with (tmp_path / "log").open("wb") as log:
        done = subprocess.run(
            [sys.executable, "-c", STARTER, address, state],
            stdout=subprocess.PIPE,
            stderr=log,
            timeout=120,
            check=True,
        )
    pid = int(done.stdout)
    try:
        assert Path(f"/proc/{pid}").exists(), "it goes on"
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
