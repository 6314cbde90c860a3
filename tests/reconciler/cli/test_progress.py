"""The counter: on a terminal, after a while, now and then, and gone when it is over."""

from __future__ import annotations

import io

from reconciler.cli.progress import Progress
from reconciler.cli.terminal import Terminal


class Screen(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_counts_on_a_terminal_once_it_takes_long() -> None:
    screen = Screen()
    progress = Progress(Terminal(screen, {"TERM": "xterm"}), "checked", now=100.0)
    for done, now in ((500, 100.1), (1_000, 100.6), (1_500, 100.65), (2_000, 101.0)):
        progress(done, 20_000, now)
    assert screen.getvalue() == "\rchecked 1,000 of 20,000 files\rchecked 2,000 of 20,000 files"
    progress.close()
    assert screen.getvalue().endswith("\r\x1b[K")


def test_is_silent_off_a_terminal() -> None:
    stream = io.StringIO()
    progress = Progress(Terminal(stream, {"TERM": "xterm"}), "checked", now=0.0)
    progress(1, 2, 10.0)
    progress.close()
    assert stream.getvalue() == ""


def test_leaves_no_trace_of_short_work() -> None:
    screen = Screen()
    progress = Progress(Terminal(screen, {"TERM": "xterm"}), "checked", now=0.0)
    progress(1, 1, 0.2)
    progress.close()
    assert screen.getvalue() == ""
