"""Reads the YAML and JSON files of `gitvirt runtime` and `gitvirt iri`: a file in -> the plain value of each document.

Reading is strict. Every fault is a CommandError that names the file, the place and the cure; a message never quotes a
value, because settings and spec files contain passwords.
"""

from __future__ import annotations

import sys
from contextlib import nullcontext
from pathlib import Path

from reconciler.cli.exits import CommandError, Exit
from reconciler.cli.terminal import printable
from schemas.reader import Unreadable, read

LARGEST_FILE_BYTES = 64 << 20
STDIN = "-"


def read_documents(path: str, option: str) -> list[object]:
    """The values of a file, or of standard input for `-`. `option` is what named the file, for messages."""
    name = source_name(path)
    values = read(_read_text(path, name, option))
    if isinstance(values, Unreadable):
        place = f"{name}:{values.line}:{values.column}" if values.line else name
        raise CommandError(f"{place}: {printable(values.message)}", printable(values.hint), Exit.PROBLEMS)
    return list(values)


def source_name(path: str) -> str:
    """For messages."""
    return "standard input" if path == STDIN else printable(path)


def _read_text(path: str, name: str, option: str) -> str:
    """The text of a file that a person named for a verb, or of standard input. CommandError where it cannot be read, is larger than
    LARGEST_FILE_BYTES or not UTF-8. `option` is what named it, `name` how messages call it."""
    try:
        with nullcontext(sys.stdin.buffer) if path == STDIN else Path(path).open("rb") as file:
            data = file.read(LARGEST_FILE_BYTES + 1)
    except OSError as error:
        raise CommandError(
            f"{name}: {error.strerror}", f"{option} must name a readable file, or - for standard input"
        ) from None
    if len(data) > LARGEST_FILE_BYTES:
        raise CommandError(f"{name}: larger than {LARGEST_FILE_BYTES >> 20} MiB", "split it", Exit.PROBLEMS)
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        cause = f"{name}: byte {error.start} is not UTF-8"
        raise CommandError(cause, "save it as UTF-8", Exit.PROBLEMS) from None
