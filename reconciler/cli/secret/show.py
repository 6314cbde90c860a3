"""`gitvirt secret show`: the values of one Secret, with a private key of the person who asks.

With a key of the Secret, its value alone and byte for byte, for a pipe.
"""

from __future__ import annotations

import argparse
import base64
import sys
from collections.abc import Mapping

from reconciler.cli.exits import CommandError, Exit
from reconciler.cli.output import is_value, show_value
from reconciler.cli.secret import files
from reconciler.cli.secret.private_keys import read_keys
from reconciler.cli.secret.sealing import describe
from reconciler.cli.terminal import out, printable
from schemas.encryption.open_secret import open_secret
from schemas.encryption.sealed_error import SealedError
from schemas.model import Secret
from schemas.reader import Unreadable, read


def add_arguments(parser: argparse.ArgumentParser) -> None:
    files.add_name(parser)
    parser.add_argument("secret_key", nargs="?", metavar="KEY", help="print the value of this key alone")


def run(arguments: argparse.Namespace) -> int:
    key, identities = files.read_key(arguments, arguments.name), read_keys(arguments)
    with files.open_files(arguments) as found:
        entry = found.find(key)
        assert isinstance(entry.object, Secret)
        documents = read(found.text(entry.path))
        assert not isinstance(documents, Unreadable), "it was read before"
        bodies = [body if isinstance(body, dict) else {} for body in documents]
        try:
            values = open_secret(bodies, entry.document, identities)  # type: ignore[arg-type]
        except SealedError as error:
            raise describe(entry.path, error) from None
    show(arguments, values)
    return Exit.OK


def show(arguments: argparse.Namespace, values: Mapping[str, bytes]) -> None:
    """One value as it is; all as YAML, those that are not text in base64."""
    if arguments.secret_key:
        if arguments.secret_key not in values:
            names = ", ".join(map(printable, sorted(values))) or "none"
            raise CommandError(f"it has no key {printable(arguments.secret_key)}", f"its keys are: {names}")
        out().stream.flush()
        sys.stdout.buffer.write(values[arguments.secret_key])
        sys.stdout.buffer.flush()
        return
    output = arguments.output if is_value(arguments.output) else "yaml"
    show_value(out(), output, {name: render_value(value) for name, value in values.items()})


def render_value(value: bytes) -> str:
    try:
        return value.decode()
    except UnicodeDecodeError:
        return base64.b64encode(value).decode()
