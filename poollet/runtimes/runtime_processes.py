"""Runtime processes that a poollet starts by itself, and starts again with growing pauses when they end.

Theory of operation. One supervisor thread for each runtime looks every CHECK_SECONDS:

    its own process runs                      nothing
    its own process ended                     wait a pause that grows, unless it ran for STEADY_SECONDS; then look again
    none of its own, the socket answers       nothing: the runtime is adopted
    none of its own, no answer                start one, in a session of its own

A runtime outlives its poollet, so that an upgrade of the poollet touches no guest: the next poollet adopts
the runtime at its socket. The runtime ends with its poollet only if `stop(ends=True)` says so, and an
adopted one never does.

Must never happen: a second runtime is started beside one that answers at the socket.
"""

from __future__ import annotations

import logging
import random
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass

from iri.address import TcpAddress, UnixAddress, parse
from schemas.backoff import Backoff

log = logging.getLogger(__name__)

FIRST_PAUSE, LONGEST_PAUSE = 0.5, 60.0
# A process that ran this long did not fail at its start.
STEADY_SECONDS = 60.0
CHECK_SECONDS = 2.0
END_SECONDS = 20.0
STANDARD_ERROR = 2  # where its log goes


@dataclass(frozen=True)
class RuntimeProcess:
    """A runtime of a kind that `gitvirt runtime` can start, at these addresses; the first address tells whether it runs."""

    name: str
    kind: str
    addresses: tuple[str, ...]
    options: tuple[str, ...] = ()

    @property
    def command(self) -> list[str]:
        """The command line: this Python and this installation, so that both have one version."""
        listen = [word for address in self.addresses for word in ("--listen", address)]
        return [sys.executable, "-m", "reconciler", "runtime", self.kind, *listen, *self.options]


class RuntimeProcesses:
    """One supervisor thread for each runtime."""

    def __init__(self, processes: Sequence[RuntimeProcess], chance: random.Random) -> None:
        self._supervisors = [_Supervisor(process, chance) for process in processes]

    def start(self) -> None:
        for supervisor in self._supervisors:
            supervisor.start()

    @property
    def own_processes(self) -> tuple[RuntimeProcess, ...]:
        """Started by this poollet."""
        return tuple(supervisor.runtime for supervisor in self._supervisors if supervisor.has_started)

    @property
    def adopted_processes(self) -> tuple[RuntimeProcess, ...]:
        """Running before this poollet started."""
        return tuple(supervisor.runtime for supervisor in self._supervisors if not supervisor.has_started)

    def stop(self, *, ends: bool) -> None:
        """Ends the supervisors, and with `ends` the processes that they started."""
        for supervisor in self._supervisors:
            supervisor.is_stopping.set()
        for supervisor in self._supervisors:
            if supervisor.ident is not None:  # a host that leaves starts none
                supervisor.join()
            if ends:
                supervisor.end()


class _Supervisor(threading.Thread):
    def __init__(self, process: RuntimeProcess, chance: random.Random) -> None:
        super().__init__(name=f"runtime-{process.name}", daemon=True)
        self.runtime = process
        self.is_stopping = threading.Event()
        self._process: subprocess.Popen[bytes] | None = None
        self._backoff = Backoff(FIRST_PAUSE, LONGEST_PAUSE, chance=chance)
        self._since = time.monotonic()

    @property
    def has_started(self) -> bool:
        return self._process is not None

    def run(self) -> None:
        while not self.is_stopping.is_set():
            self.is_stopping.wait(self._supervise())

    def end(self) -> None:
        """Only a process that this poollet has started; an adopted one is left."""
        if self._process is None or self._process.poll() is not None:
            return
        self._process.terminate()
        try:
            self._process.wait(END_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def _supervise(self) -> float:
        """Starts the runtime unless it runs; when to check again."""
        if self._process is not None and self._process.poll() is None:
            return CHECK_SECONDS
        if self._process is not None:
            if time.monotonic() - self._since > STEADY_SECONDS:
                self._backoff.reset()
            pause = self._backoff.next()
            log.error(
                "runtime ended runtime=%s code=%s pause=%.1f",
                self.runtime.name,
                self._process.returncode,
                pause,
            )
            self._process = None
            return pause
        if is_served(self.runtime.addresses[0]):
            return CHECK_SECONDS
        # In a session of its own, so that Ctrl-C in a terminal ends the poollet and no guest. It outlives the poollet: who reads what that
        # prints waits for the poollet alone.
        self._process = subprocess.Popen(
            self.runtime.command, stdin=subprocess.DEVNULL, stdout=STANDARD_ERROR, start_new_session=True
        )
        self._since = time.monotonic()
        log.info("runtime started runtime=%s pid=%d", self.runtime.name, self._process.pid)
        return CHECK_SECONDS


def is_served(address: str) -> bool:
    """Whether a server answers at this unix socket or port."""
    parsed = parse(address)
    try:
        match parsed:
            case UnixAddress(path):
                with socket.socket(socket.AF_UNIX) as one:
                    one.settimeout(1.0)
                    one.connect(str(path))
            case TcpAddress(host, port):
                with socket.create_connection((host, port), 1.0):
                    pass
        return True
    except OSError:
        return False
