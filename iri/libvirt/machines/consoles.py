"""Guests' serial consoles: the socket that QEMU serves each at, for one person at a time.

libvirt's own console stream is not used: it takes nothing but a pty here, which QEMU looks at once a second, and it breaks
whenever libvirtd is restarted.
"""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Callable
from pathlib import Path

from iri.errors import FailedPrecondition

LONGEST_PATH = 107  # of a unix socket


class Consoles:
    def __init__(self, path: Callable[[str], Path]) -> None:
        self._path = path
        self._open: dict[str, SocketConsole] = {}
        self._lock = threading.Lock()

    def open(self, machine_id: str) -> SocketConsole:
        """FailedPrecondition while somebody else is at it, or nothing serves it."""
        with self._lock:
            if machine_id in self._open:
                raise FailedPrecondition(
                    f"somebody is at the console of machine {machine_id} already; it takes one at a time"
                )
            line = socket.socket(socket.AF_UNIX)
            try:
                line.connect(str(self._path(machine_id)))
            except OSError as error:
                line.close()
                raise FailedPrecondition(
                    f"machine {machine_id} has no console at present: {error.strerror}"
                ) from error
            console = SocketConsole(line, lambda: self._left(machine_id))
            self._open[machine_id] = console
            return console

    def close(self) -> None:
        with self._lock:
            consoles = tuple(self._open.values())
        for console in consoles:
            console.close()

    def _left(self, machine_id: str) -> None:
        with self._lock:
            self._open.pop(machine_id, None)


class SocketConsole:
    """Implements iri.runtime.Console. One thread reads; others write and close."""

    def __init__(self, line: socket.socket, left: Callable[[], None]) -> None:
        self._line = line
        self._left = left

    def read(self, size: int) -> bytes:
        try:
            return self._line.recv(size)
        except OSError:  # closed, or QEMU has died
            return b""

    def write(self, data: bytes) -> None:
        with contextlib.suppress(OSError):
            self._line.sendall(data)

    def resize(self, columns: int, rows: int) -> None:
        """A serial line has no size."""

    def close(self) -> None:
        # Shut down first: who waits in `read` wakes up, and nobody else gets the descriptor meanwhile.
        with contextlib.suppress(OSError):
            self._line.shutdown(socket.SHUT_RDWR)
        self._line.close()
        self._left()

    def exit_status(self) -> int | None:
        return None
