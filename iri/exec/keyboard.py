"""The input of a console session: a person's terminal, a pipe or a file.

A terminal is raw while a session lasts, so that every key but Ctrl-] reaches the guest, Ctrl-C too. Its settings, the
signal handlers and the wakeup descriptor are restored whatever happens.
"""

from __future__ import annotations

import os
import select
import signal
import termios
import tty
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import FrameType

from iri.exec.pty_console import window_size

ESCAPE = 0x1D  # Ctrl-]
END_OF_INPUT = b"\x04"  # Ctrl-D
CHUNK_BYTES = 4096
DEFAULT_WINDOW = (80, 24)


class Keyboard:
    """One source of input, and what interrupts waiting for it: a resized window, a signal to leave, `wake`."""

    def __init__(self, descriptor: int) -> None:
        self.descriptor = descriptor
        self.is_terminal = os.isatty(descriptor)
        self.is_resized = False
        self.is_leaving = False
        self.is_interrupted = False  # by a SIGINT from outside; a typed Ctrl-C belongs to the guest
        self._wake_reader = self._wake_writer = -1

    def wake(self) -> None:
        """From any thread or signal: `wait` returns."""
        with suppress(OSError):  # the pipe is full of wakes, or no session is on
            os.write(self._wake_writer, b"x")

    def wait(self, timeout_seconds: float | None, with_input: bool = True) -> bool:
        """Whether there is input, or its end; False when woken, or when the time is over."""
        poll = select.poll()
        if with_input:
            poll.register(self.descriptor, select.POLLIN)
        poll.register(self._wake_reader, select.POLLIN)
        ready = dict(poll.poll(None if timeout_seconds is None else timeout_seconds * 1000))
        if self._wake_reader in ready:
            os.read(self._wake_reader, CHUNK_BYTES)
            return False
        return bool(ready)

    def read(self) -> bytes:
        """Empty at the end of input, and when the terminal was closed."""
        try:
            return os.read(self.descriptor, CHUNK_BYTES)
        except OSError:
            return b""

    def window(self) -> tuple[int, int]:
        """Columns and rows; a default where the terminal does not know them."""
        if not self.is_terminal:
            return DEFAULT_WINDOW
        columns, rows = window_size(self.descriptor)
        return (columns, rows) if columns and rows else DEFAULT_WINDOW

    @contextmanager
    def raw(self) -> Iterator[None]:
        """For the time of a session: a raw terminal, and signals as flags. Only in the main thread."""
        self._wake_reader, self._wake_writer = os.pipe()
        os.set_blocking(self._wake_writer, False)
        # The kernel may deliver a signal to another thread than this one; the descriptor wakes this one then.
        previous_wakeup = signal.set_wakeup_fd(self._wake_writer, warn_on_full_buffer=False)
        previous = {
            number: signal.signal(number, self._on_signal)
            for number in (signal.SIGWINCH, signal.SIGTERM, signal.SIGHUP, signal.SIGINT)
        }
        # By default the process ends when the other side closes first, and leaves the terminal raw.
        previous[signal.SIGPIPE] = signal.signal(signal.SIGPIPE, signal.SIG_IGN)
        saved = termios.tcgetattr(self.descriptor) if self.is_terminal else None
        try:
            if saved is not None:
                tty.setraw(self.descriptor, termios.TCSADRAIN)
            yield
        finally:
            if saved is not None:
                termios.tcsetattr(self.descriptor, termios.TCSADRAIN, saved)
            for number, action in previous.items():
                signal.signal(number, action)
            signal.set_wakeup_fd(previous_wakeup)
            os.close(self._wake_reader)
            os.close(self._wake_writer)
            self._wake_reader = self._wake_writer = -1

    def _on_signal(self, number: int, _frame: FrameType | None) -> None:
        """Only sets flags: the session's thread acts on them."""
        if number == signal.SIGWINCH:
            self.is_resized = True
        else:
            self.is_leaving = True
            self.is_interrupted |= number == signal.SIGINT
        self.wake()
