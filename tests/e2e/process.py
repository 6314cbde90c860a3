"""The verbs of gitvirt in processes of their own, each on its place of the network."""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import subprocess
import sys
import time
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

PARENT_DEATH_SIGNAL = 1  # PR_SET_PDEATHSIG of linux/prctl.h
STOP_SECONDS = 20.0


class Process:
    """One that runs until it is stopped or killed. Its log goes on over restarts."""

    def __init__(self, log: Path, inside: Sequence[str], arguments: Sequence[str], given: Mapping[str, str]):
        self.log = log
        with log.open("ab") as file:
            self.process = subprocess.Popen(
                [*inside, sys.executable, "-m", "reconciler", *arguments],
                stdin=subprocess.DEVNULL,
                stdout=file,
                stderr=file,
                env=environment(given),
                start_new_session=True,
                preexec_fn=_die_with_parent,
            )

    @property
    def log_text(self) -> str:
        return self.log.read_text(errors="replace")

    def kill(self) -> None:
        """It alone: what it started, such as a fetch by git, goes on to its end."""
        self.process.kill()
        self.process.wait()

    def cut_power(self) -> None:
        """End it together with all that it started, which must not write to the disk any more."""
        self.process.send_signal(signal.SIGSTOP)  # so that it starts nothing while we look
        started = descendants(self.process.pid)
        for pid in started:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        self.kill()
        for pid in started:
            _wait_until_gone(pid)

    def stop(self) -> int:
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            with contextlib.suppress(subprocess.TimeoutExpired):
                return self.process.wait(STOP_SECONDS)
            self.process.kill()
        return self.process.wait()


def run(
    inside: Sequence[str],
    command: Sequence[str],
    folder: Path,
    given: Mapping[str, str],
    codes: Collection[int] = (0,),
) -> str:
    """What a command printed that was to end with one of these codes."""
    done = subprocess.run(
        [*inside, *command],
        cwd=folder,
        env=environment(given),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=200,
        check=False,
    )
    assert done.returncode in codes, f"{' '.join(command)}: {done.returncode}\n{done.stdout}{done.stderr}"
    return done.stdout


def descendants(pid: int) -> list[int]:
    """The processes that this one started, and what those started."""
    found: list[int] = []
    with contextlib.suppress(FileNotFoundError, ProcessLookupError):
        for children in Path(f"/proc/{pid}/task").glob("*/children"):
            for child in map(int, children.read_text().split()):
                found += [child, *descendants(child)]
    return found


def environment(given: Mapping[str, str]) -> dict[str, str]:
    """Of the tests, whose HOME is blank; the packages are found from any folder."""
    root = str(Path(__file__).parents[2])
    return {**os.environ, "PYTHONPATH": root, "GRPC_ENABLE_FORK_SUPPORT": "0", **given}


def _wait_until_gone(pid: int) -> None:
    """Its files are closed then. Whoever inherited it may not have waited for it yet."""
    status = Path(f"/proc/{pid}/status")
    with contextlib.suppress(FileNotFoundError, ProcessLookupError):
        while "State:\tZ" not in status.read_text():
            time.sleep(0.01)


def _die_with_parent() -> None:
    ctypes.CDLL(None).prctl(PARENT_DEATH_SIGNAL, signal.SIGKILL)
