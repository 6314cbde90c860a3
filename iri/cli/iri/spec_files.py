"""Spec files of `gitvirt iri`: YAML or JSON, one message per document.

Reading is strict: an unreadable file, a wrong field and a missing document are errors that name the file and the place.
A null document is skipped, so a file may begin or end with `---`.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TypeVar

from google.protobuf.message import Message

from iri.cli.iri.messages import SpecError, parse_message
from reconciler.cli.exits import CommandError, Exit
from reconciler.cli.terminal import printable
from schemas.reader import read
from schemas.reader.value import Unreadable

AnyMessage = TypeVar("AnyMessage", bound=Message)

LARGEST_FILE_BYTES = 64 << 20
STDIN = "-"


def read_messages(path: str, message_type: type[AnyMessage]) -> list[AnyMessage]:
    """One message per document. A CommandError names file, place and cure."""
    name = "standard input" if path == STDIN else path
    values = read(_text(path, name))
    if isinstance(values, Unreadable):
        place = f"{name}:{values.line}:{values.column}" if values.line else name
        raise CommandError(f"{place}: {printable(values.message)}", printable(values.hint), Exit.PROBLEMS)
    try:
        found = [parse_message(value, message_type) for value in values if value is not None]
    except SpecError as error:
        raise CommandError(f"{name}: {printable(str(error))}", printable(error.hint), Exit.PROBLEMS) from None
    if not found:
        raise CommandError(f"{name}: the file has no document", "see the examples in --help", Exit.PROBLEMS)
    return found


def read_message(path: str, message_type: type[AnyMessage]) -> AnyMessage:
    """The message of a file with a single document."""
    first, *others = read_messages(path, message_type)
    if others:
        raise CommandError(
            f"{path}: {len(others) + 1} documents where one is expected",
            "use one file per document",
            Exit.PROBLEMS,
        )
    return first


def _text(path: str, name: str) -> str:
    """At most LARGEST_FILE_BYTES, as UTF-8."""
    try:
        if path == STDIN:
            data = sys.stdin.buffer.read(LARGEST_FILE_BYTES + 1)
        else:
            with Path(path).open("rb") as file:
                data = file.read(LARGEST_FILE_BYTES + 1)
    except OSError as error:
        raise CommandError(
            f"{printable(name)}: {error.strerror}",
            "-f must name a readable file, or - for standard input",
        ) from None
    if len(data) > LARGEST_FILE_BYTES:
        raise CommandError(f"{name}: larger than {LARGEST_FILE_BYTES >> 20} MiB", "split it", Exit.PROBLEMS)
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise CommandError(
            f"{name}: byte {error.start} is not UTF-8", "save it as UTF-8", Exit.PROBLEMS
        ) from None
