"""Runtimes that a poollet starts by itself: found running, or begun, and begun again with ever longer pauses when they end.

A runtime outlives its poollet, so that an upgrade touches no guest: the next poollet finds it at its socket. It ends with
the poollet only when that is asked for.
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
# Who ran that long did not fail at its start.
STEADY_SECONDS = 60.0
LOOK_SECONDS = 2.0
END_SECONDS = 20.0


@dataclass(frozen=True)
class RuntimeProcess:
    """A runtime of a kind that `gitvirt runtime` knows, at these addresses; the first tells whether it runs."""

    name: str
    kind: str
    addresses: tuple[str, ...]
    options: tuple[str, ...] = ()

    @property
    def command(self) -> list[str]:
        listen = [word for address in self.addresses for word in ("--listen", address)]
        return [sys.executable, "-m", "reconciler", "runtime", self.kind, *listen, *self.options]


class RuntimeProcesses:
    """`start`, and `stop` when the poollet goes; `ends` says whether the runtimes go with it."""

    def __init__(self, children: Sequence[RuntimeProcess], chance: random.Random) -> None:
        self._keepers = [_Supervisor(child, chance) for child in children]

    def start(self) -> None:
        for keeper in self._keepers:
            keeper.start()

    @property
    def own(self) -> tuple[RuntimeProcess, ...]:
        """Those that were started here."""
        return tuple(keeper.child for keeper in self._keepers if keeper.is_own)

    @property
    def found(self) -> tuple[RuntimeProcess, ...]:
        """Those that ran already: another poollet's, or one's before this."""
        return tuple(keeper.child for keeper in self._keepers if not keeper.is_own)

    def stop(self, *, ends: bool) -> None:
        for keeper in self._keepers:
            keeper.is_over.set()
        for keeper in self._keepers:
            keeper.join()
            if ends:
                keeper.end()


class _Supervisor(threading.Thread):
    def __init__(self, child: RuntimeProcess, chance: random.Random) -> None:
        super().__init__(name=f"runtime-{child.name}", daemon=True)
        self.child = child
        self.is_over = threading.Event()
        self._process: subprocess.Popen[bytes] | None = None
        self._backoff = Backoff(FIRST_PAUSE, LONGEST_PAUSE, chance=chance)
        self._since = time.monotonic()

    @property
    def is_own(self) -> bool:
        return self._process is not None

    def run(self) -> None:
        while not self.is_over.is_set():
            self.is_over.wait(self._looked())

    def end(self) -> None:
        """What this poollet has started; another one's is left."""
        if self._process is None or self._process.poll() is not None:
            return
        self._process.terminate()
        try:
            self._process.wait(END_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def _looked(self) -> float:
        """Sees to it that the runtime runs; when to look again."""
        if self._process is not None and self._process.poll() is None:
            return LOOK_SECONDS
        if self._process is not None:
            if time.monotonic() - self._since > STEADY_SECONDS:
                self._backoff.reset()
            pause = self._backoff.next()
            log.error(
                "runtime ended runtime=%s code=%s pause=%.1f",
                self.child.name,
                self._process.returncode,
                pause,
            )
            self._process = None
            return pause
        if is_served(self.child.addresses[0]):
            return LOOK_SECONDS
        # A session of its own: what ends the poollet from a terminal does not end its guests.
        self._process = subprocess.Popen(self.child.command, stdin=subprocess.DEVNULL, start_new_session=True)
        self._since = time.monotonic()
        log.info("runtime started runtime=%s pid=%d", self.child.name, self._process.pid)
        return LOOK_SECONDS


def is_served(address: str) -> bool:
    """Whether somebody answers at a unix socket or a port of this machine."""
    place = parse(address)
    try:
        match place:
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
