"""A terminal for tests: a process on a real pty, with typed input, read until a text appears."""

from __future__ import annotations

import os
import pty
import select
import subprocess
import termios
import time
from collections.abc import Mapping, Sequence

from iri.exec.pty_console import set_window_size

PATIENCE_SECONDS = 60.0


class Screen:
    def __init__(self, command: Sequence[str], environment: Mapping[str, str] | None = None) -> None:
        self.master, slave = pty.openpty()
        set_window_size(self.master, 80, 24)
        self.saved = termios.tcgetattr(slave)
        self.slave = slave  # held open, so that its settings can be looked at once the process is gone
        # The program opens its terminal itself, as the leader of a new session: that makes it the controlling one.
        self.process = subprocess.Popen(
            ["/bin/sh", "-c", 'exec 0<>"$1" 1>&0 2>&0; shift; exec "$@"', "sh", os.ttyname(slave), *command],
            stdin=slave,
            stdout=slave,
            stderr=slave,
            start_new_session=True,
            env=environment,
        )
        self.seen = b""

    def type(self, keys: bytes) -> None:
        os.write(self.master, keys)

    def expect(self, wanted: bytes) -> bytes:
        """The output up to and with `wanted`, which is then dropped."""
        deadline = time.monotonic() + PATIENCE_SECONDS
        while wanted not in self.seen:
            left = deadline - time.monotonic()
            if left <= 0 or not select.select([self.master], [], [], left)[0]:
                raise AssertionError(f"{wanted!r} did not appear after {self.seen!r}")
            self.seen += os.read(self.master, 65536)
        before, _, self.seen = self.seen.partition(wanted)
        return before + wanted

    def resize(self, columns: int, rows: int) -> None:
        set_window_size(self.master, columns, rows)

    def is_raw(self) -> bool:
        return not termios.tcgetattr(self.slave)[3] & (termios.ICANON | termios.ECHO)

    def is_restored(self) -> bool:
        return termios.tcgetattr(self.slave) == self.saved

    def end(self) -> int:
        """The exit status of the process."""
        return self.process.wait(PATIENCE_SECONDS)

    def close(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        os.close(self.master)
        os.close(self.slave)
