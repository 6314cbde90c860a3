"""Serial consoles of guests: the socket at which QEMU serves each, for one user at a time.

libvirt's own console stream is not used: it accepts only a pty, which QEMU polls once a second, and it breaks whenever libvirtd
is restarted. QEMU's socket takes one client. A second connection would wait in its backlog without a word, so sessions are counted
here and a second user is refused at once.
"""

from __future__ import annotations

import contextlib
import socket
import struct
import threading
from collections.abc import Callable
from pathlib import Path

from iri.errors import FailedPrecondition, Unavailable

LONGEST_PATH = 107  # of a unix socket
CONNECT_SECONDS = 5  # a QEMU that hangs neither accepts nor refuses


class Consoles:
    """Thread-safe. `path` gives the socket of a machine's console."""

    def __init__(self, path: Callable[[str], Path], connect_seconds: int = CONNECT_SECONDS) -> None:
        self._path = path
        self._connect_seconds = connect_seconds
        self._open: dict[str, SocketConsole] = {}
        self._lock = threading.Lock()

    def open(self, machine_id: str) -> SocketConsole:
        """Raises FailedPrecondition while another user has the console, or when nothing serves it."""
        console = SocketConsole(
            socket.socket(socket.AF_UNIX), lambda forget: self._forget_session(machine_id, forget)
        )
        with self._lock:
            is_free = self._open.setdefault(machine_id, console) is console
        if not is_free:
            console.close()
            raise FailedPrecondition(
                f"the console of machine {machine_id} is in use; it takes one user at a time"
            )
        try:
            console.connect(self._path(machine_id), self._connect_seconds)
        except BlockingIOError:
            console.close()
            raise Unavailable(f"machine {machine_id}: QEMU does not answer at the console") from None
        except OSError as error:
            console.close()
            raise FailedPrecondition(f"machine {machine_id} has no console now: {error.strerror}") from error
        return console

    def close(self) -> None:
        """Ends all sessions, as their users would."""
        with self._lock:
            consoles = tuple(self._open.values())
        for console in consoles:
            console.close()

    def _forget_session(self, machine_id: str, console: SocketConsole) -> None:
        """From now on another user may open the machine's console."""
        with self._lock:
            if self._open.get(machine_id) is console:
                del self._open[machine_id]


class SocketConsole:
    """Implements iri.runtime.Console. One thread reads; others write and close."""

    def __init__(self, line: socket.socket, forget: Callable[[SocketConsole], None]) -> None:
        self._line = line
        self._forget_session = forget

    def connect(self, path: Path, seconds: int) -> None:
        """Raises BlockingIOError when QEMU does not accept in time. Python's own timeout would fail at once where others wait."""
        self._line.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, struct.pack("ll", seconds, 0))
        self._line.connect(str(path))
        self._line.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, struct.pack("ll", 0, 0))

    def read(self, size: int) -> bytes:
        """Blocks until the guest writes. Empty once the session has ended, on either side."""
        try:
            return self._line.recv(size)
        except OSError:  # closed, or QEMU has died
            return b""

    def write(self, data: bytes) -> None:
        """No error after the end of the session: `read` reports that."""
        with contextlib.suppress(OSError):
            self._line.sendall(data)

    def resize(self, columns: int, rows: int) -> None:
        """A serial line has no size."""

    def close(self) -> None:
        """Ends a `read` that waits in another thread. May be called again."""
        # Shut down first: a thread that waits in `read` wakes up before the descriptor can be used again.
        with contextlib.suppress(OSError):
            self._line.shutdown(socket.SHUT_RDWR)
        self._line.close()
        self._forget_session(self)

    def exit_status(self) -> int | None:
        """None: a serial line ends without a status."""
        return None
