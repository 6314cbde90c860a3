"""A server process: started in its own group, waited for, and stopped by that group's number only."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

READY_SECONDS = 60.0


@contextlib.contextmanager
def running(
    arguments: Sequence[str | Path],
    is_ready: Callable[[], bool],
    log: Path,
    environment: Mapping[str, str] | None = None,
) -> Iterator[int]:
    """Yields its pid once it is ready. It must stay in the foreground."""
    with log.open("ab") as sink:
        process = subprocess.Popen(
            [str(argument) for argument in arguments],
            env=dict(environment if environment is not None else bare()),
            stdin=subprocess.DEVNULL,
            stdout=sink,
            stderr=sink,
            start_new_session=True,
        )
    try:
        until = time.monotonic() + READY_SECONDS
        while not is_ready():
            assert process.poll() is None, f"{arguments[0]} ended: {log.read_text(errors='replace')}"
            assert time.monotonic() < until, f"{arguments[0]} is not ready: {log.read_text(errors='replace')}"
            time.sleep(0.01)
        yield process.pid
    finally:
        _stop(process)


def _stop(process: subprocess.Popen[bytes]) -> None:
    """The leader stays a zombie until the last signal is sent, so its number cannot be anybody else's."""
    if process.returncode is not None:
        return
    for number in (signal.SIGTERM, signal.SIGKILL):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, number)
        until = time.monotonic() + 2
        while time.monotonic() < until:
            if os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT):
                break
            time.sleep(0.01)
    process.wait()


def bare() -> dict[str, str]:
    """A server's environment: nothing of whoever runs the tests."""
    return {"PATH": os.environ["PATH"] + ":/usr/sbin:/usr/bin:/bin", "HOME": "/nonexistent", "LC_ALL": "C"}


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def answers(port: int) -> bool:
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=1):
            return True
    except OSError:
        return False
