"""Shows a long text through the person's pager on a terminal; elsewhere prints it. Only `gitvirt help TOPIC` uses
it.

PAGER is a command line of the person and is run without a shell. An empty PAGER, `cat`, or a program that is not
installed means no pager.
"""

from __future__ import annotations

import os
import shlex
import shutil
import signal
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress

from reconciler.cli.terminal import Terminal

# Nothing stays paged that fits on the screen, colors are shown, and the text remains there.
LESS = "FRX"


def show(terminal: Terminal, lines: Iterable[str], environment: Mapping[str, str] | None = None) -> None:
    """Prints the lines, through the pager if standard output is a terminal. What was printed before is flushed
    first, so that the order stays."""
    environment = os.environ if environment is None else environment
    command = pager(environment) if terminal.is_interactive else None
    if command is None:
        for line in lines:
            terminal.line(line)
        return
    terminal.stream.flush()
    pipe_through(command, "".join(f"{line}\n" for line in lines), environment)


def pager(environment: Mapping[str, str]) -> Sequence[str] | None:
    """None if there is none, or if PAGER is empty."""
    try:
        words = shlex.split(environment.get("PAGER", "less"))
    except ValueError:
        return None
    return words if words and words[0] != "cat" and shutil.which(words[0]) else None


def pipe_through(command: Sequence[str], text: str, environment: Mapping[str, str]) -> None:
    """Runs the pager to its end. Ctrl-C is the pager's while it runs: it must not end gitvirt below it and leave
    the terminal in the pager's mode."""
    environment = {"LESS": LESS, **environment}
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, env=environment, text=True, encoding="utf-8"
    ) as process:
        before = signal.signal(signal.SIGINT, signal.SIG_IGN)
        try:
            with suppress(BrokenPipeError):  # it was left before its end
                process.communicate(text)
        finally:
            signal.signal(signal.SIGINT, before)
