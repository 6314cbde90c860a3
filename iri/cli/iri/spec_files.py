"""Spec files of `gitvirt iri`: YAML or JSON, one message per document.

Reading is strict: an unreadable file, a wrong field and a missing document are errors that name the file and the place.
A null document is skipped, so a file may begin or end with `---`.
"""

from __future__ import annotations

import argparse
from typing import TypeVar

from google.protobuf.message import Message

from iri.cli.documents import read_documents, source_name
from iri.cli.iri.messages import SpecError, parse_message
from reconciler.cli.exits import CommandError, Exit
from reconciler.cli.terminal import printable

AnyMessage = TypeVar("AnyMessage", bound=Message)


def add_file(parser: argparse.ArgumentParser, *, is_required: bool = True) -> None:
    """The option -f, named as irictl names it. Optional for `update`, whose other noun takes no file."""
    parser.add_argument(
        "-f",
        "--filename",
        required=is_required,
        metavar="FILE",
        help="YAML or JSON, one document for each object; - reads standard input",
    )


def read_messages(path: str, message_type: type[AnyMessage]) -> list[AnyMessage]:
    """One message per document. A CommandError names file, place and cure."""
    name, values = source_name(path), read_documents(path, "-f")
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
            f"{source_name(path)}: {len(others) + 1} documents where one is expected",
            "use one file per document",
            Exit.PROBLEMS,
        )
    return first
