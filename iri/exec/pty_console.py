"""A console made of a pty. Two threads use it: one blocks in `read`, the other writes, resizes and closes.

`close` must end a blocked `read`, and must never close a descriptor under a thread that polls it: the kernel hands out
the number again at once, and the thread would then read from a stranger's file. So `close` only marks the console and
wakes the others through a pipe; whoever leaves last closes the descriptors.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import select
import struct
import termios
import threading
from collections.abc import Callable, Iterator


class PtyConsole:
    """Implements iri.runtime.Console. Owns the master side of a pty; `exit_status` returns the status once it ended."""

    def __init__(self, master: int, exit_status: Callable[[], int | None]) -> None:
        self._master = master
        self._exit_status = exit_status
        self._wake_reader, self._wake_writer = os.pipe()
        self._lock = threading.Lock()
        self._users = 0
        self._is_closed = False
        os.set_blocking(master, False)

    def read(self, size: int) -> bytes:
        """Blocks until there is output; empty when the console was closed or its program has ended."""
        with self._in_use() as is_open:
            while is_open and self._await(select.POLLIN):
                try:
                    return os.read(self._master, size)
                except BlockingIOError:
                    continue
                except OSError:  # EIO: no process has the slave side open any more
                    break
        return b""

    def write(self, data: bytes) -> None:
        """Blocks while the pty is full; drops the rest when the console was closed or its program has ended."""
        rest = memoryview(data)
        with self._in_use() as is_open:
            while rest and is_open and self._await(select.POLLOUT):
                try:
                    rest = rest[os.write(self._master, rest) :]
                except BlockingIOError:
                    continue
                except OSError:
                    return

    def resize(self, columns: int, rows: int) -> None:
        """The kernel tells the program behind the pty. Without effect once the console is closed."""
        with self._in_use() as is_open, contextlib.suppress(OSError):
            if is_open:
                set_window_size(self._master, columns, rows)

    def close(self) -> None:
        """Wakes every blocked call. May be called again, and from any thread."""
        with self._lock:
            if self._is_closed:
                return
            self._is_closed = True
            os.write(self._wake_writer, b"x")
            self._free_if_unused()

    def exit_status(self) -> int | None:
        return self._exit_status()

    def _await(self, event: int) -> bool:
        """Waits until the pty is ready. False once the console is closed."""
        poll = select.poll()
        poll.register(self._master, event)
        poll.register(self._wake_reader, select.POLLIN)
        return self._wake_reader not in dict(poll.poll())

    @contextlib.contextmanager
    def _in_use(self) -> Iterator[bool]:
        """Counts the threads inside; yields whether the console is open."""
        with self._lock:
            self._users += 1
            is_open = not self._is_closed
        try:
            yield is_open
        finally:
            with self._lock:
                self._users -= 1
                if self._is_closed:
                    self._free_if_unused()

    def _free_if_unused(self) -> None:
        """With the lock held."""
        if self._users == 0 and self._master >= 0:
            for descriptor in (self._master, self._wake_reader, self._wake_writer):
                os.close(descriptor)
            self._master = -1


def set_window_size(descriptor: int, columns: int, rows: int) -> None:
    fcntl.ioctl(descriptor, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))


def window_size(descriptor: int) -> tuple[int, int]:
    """Columns and rows."""
    rows, columns, _, _ = struct.unpack("HHHH", fcntl.ioctl(descriptor, termios.TIOCGWINSZ, b"\0" * 8))
    return columns, rows
