"""The verbs of gitvirt in processes of their own, each on its place of the network."""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import subprocess
import sys
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
        """As a power cut would."""
        self.process.kill()
        self.process.wait()

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


def environment(given: Mapping[str, str]) -> dict[str, str]:
    """Of the tests, whose HOME is blank; the packages are found from any folder."""
    root = str(Path(__file__).parents[2])
    return {**os.environ, "PYTHONPATH": root, "GRPC_ENABLE_FORK_SUPPORT": "0", **given}


def _die_with_parent() -> None:
    ctypes.CDLL(None).prctl(PARENT_DEATH_SIGNAL, signal.SIGKILL)
