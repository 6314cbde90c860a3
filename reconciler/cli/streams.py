"""The standard streams, in whatever state the caller left them: closed, full, or of a narrow encoding.

Order: `prepare_streams` before anything is printed or opened, `flush` after the verb returned and before its exit
code counts. Without the first, a file that the verb opens could get the number of a closed standard output and be
overwritten by what is printed. Without the second, output that never arrived would end with exit code 0.
"""

from __future__ import annotations

import io
import os
import sys
from typing import TextIO

from reconciler.cli.exits import CommandError


def prepare_streams() -> None:
    """Closed streams lead nowhere, and what an encoding cannot say is written as an escape."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            # Open for as long as the process lives, so that no socket or file gets the number of a standard stream.
            setattr(sys, name, os.fdopen(os.open(os.devnull, os.O_RDWR), mode, encoding="utf-8"))
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def flush() -> None:
    """What was printed has arrived; else the interpreter would say so, in its own words, when it is too late."""
    try:
        sys.stdout.flush()
    except OSError as error:
        raise output_error(error, sys.stdout) from None


def output_error(error: OSError, stream: TextIO) -> CommandError:
    """The error to show. A closed pipe is not an error to show: it is raised again."""
    redirect_to_null(stream)
    if isinstance(error, BrokenPipeError):
        raise error
    return CommandError(
        f"cannot write the output: {error.strerror}", "free space, or redirect the output; then try again"
    )


def redirect_to_null(stream: TextIO) -> None:
    """What is left goes nowhere, so that the end of the process does not try it again."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, stream.fileno())
    os.close(nowhere)
