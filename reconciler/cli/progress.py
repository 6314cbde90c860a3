"""A counter on the terminal for work that takes long enough to wonder; nothing anywhere else.

It writes to standard error only if that is a terminal, and removes its line at the end, so neither a log nor a pipe
ever has it. Used by
`validate` and `audit verify`.
"""

from __future__ import annotations

import time

from reconciler.cli.terminal import Terminal

PATIENCE_SECONDS = 0.5  # what takes less needs no counter
STEP_SECONDS = 0.1


class Progress:
    """Call it with what is done, of how much. `close` leaves the line as it was."""

    def __init__(
        self, terminal: Terminal, verb: str, now: float | None = None, *, what: str = "files"
    ) -> None:
        self.terminal = terminal
        self.verb = verb
        self.what = what
        self.next = (time.monotonic() if now is None else now) + PATIENCE_SECONDS
        self.is_shown = False

    def __call__(self, done: int, total: int, now: float | None = None) -> None:
        now = time.monotonic() if now is None else now
        if self.terminal.is_interactive and now >= self.next:
            self.next = now + STEP_SECONDS
            self.is_shown = True
            self.terminal.stream.write(f"\r{self.verb} {done:,} of {total:,} {self.what}")
            self.terminal.stream.flush()

    def close(self) -> None:
        if self.is_shown:
            self.terminal.stream.write("\r\x1b[K")
            self.terminal.stream.flush()
            self.is_shown = False
