"""`gitvirt secret create`: a new Secret, encrypted before it is written anywhere.

Values come from files, from standard input, from random bytes, or from the person's editor; never from arguments, which every user of the
computer can read.
"""

from __future__ import annotations

import argparse
import base64
import getpass
import os
import re
import secrets
import sys
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path, PurePosixPath

from reconciler.cli.exits import CommandError, Exit
from reconciler.cli.mutate.output import FileEdit, MutationResult, ObjectChange
from reconciler.cli.secret import files
from reconciler.cli.secret.files import NO_VALUES, SecretFiles
from reconciler.cli.secret.readable import MAX_BYTES, check_readable, edit_readable, refuse_large
from reconciler.cli.secret.sealing import describe_readers, keys_of, refuse_errors
from reconciler.cli.terminal import printable
from schemas import live_layout
from schemas.encryption.sealed_error import SealedError
from schemas.encryption.sops_text import seal_text
from schemas.encryption.value_text import scalar_text
from schemas.kinds import Key
from schemas.manifest.ignore import is_manifest
from schemas.problem import Problem
from schemas.validate.secret_readers import required_recipients

GENERATED_BYTES = 32
INDENT = 4
KEY = re.compile(r"[A-Za-z0-9._-]{1,253}")
NAME_BYTES = 255  # of a file, on the file systems of Linux


def add_arguments(parser: argparse.ArgumentParser) -> None:
    files.add_name(parser)
    option = parser.add_argument
    option(
        "--from-file",
        action="append",
        default=[],
        metavar="[KEY=]FILE",
        help="a value from a file; repeatable",
    )
    option(
        "--from-stdin",
        action="append",
        default=[],
        metavar="KEY",
        help="a value from standard input, without its last line break; at a terminal one line, which is not shown; once",
    )
    option(
        "--generate",
        action="append",
        default=[],
        metavar="KEY",
        help=f"a random value of {GENERATED_BYTES} bytes; repeatable",
    )
    option("--path", metavar="FILE", help="where to write it (default: secrets/NAMESPACE/NAME.yaml)")


def run(arguments: argparse.Namespace) -> int:
    key = files.read_key(arguments, arguments.name)
    check_readable(render(key, {"key": b"value"}), key)  # the name, before anything else is asked for
    path = check_path(arguments.path or f"secrets/{key.namespace}/{key.name}.yaml")
    values = read_values(arguments)
    if values:
        text = render(key, values)
        check_readable(text, key)
        write(arguments, key, path, text)
    else:
        edit_new(arguments, key, path)
    return Exit.OK


def write(arguments: argparse.Namespace, key: Key, path: str, text: str) -> None:
    def compute(found: SecretFiles) -> MutationResult:
        refuse_taken(found, key, path)
        describe_readers(found, key)
        made = FileEdit(path, None, seal_for_readers(found, key, text))
        refuse_errors(found, path, made.after or b"")
        return files.edit_result("create", [ObjectChange(key, "is created", path)], [made])

    files.apply(arguments, compute)


def edit_new(arguments: argparse.Namespace, key: Key, path: str) -> None:
    """In the person's editor, from a text without a value. What prevents the Secret is said before it opens."""
    with files.open_files(arguments) as found:
        keys_of(found)
        refuse_taken(found, key, path)
        files.refuse_changes(found, arguments)
    before = render(key, {"key": b"value"})

    def check(after: str) -> None:
        if after != before:
            check_readable(after, key)
            data = seal_for_readers(found, key, after)
            with files.open_files(arguments) as newest:  # the editor may have been open for hours
                refuse_errors(newest, path, data)

    def use(after: str) -> bool:
        if after != before:
            write(arguments, key, path, after)
        return after != before

    if not edit_readable(path, before, os.environ, check, use):
        cause = "nothing was written in the editor; nothing is created"
        raise CommandError(cause, "or use --generate or --from-file")


def refuse_taken(found: SecretFiles, key: Key, path: str) -> None:
    """A CommandError where the object or the file is there."""
    if (key.namespace, key.name) in found.secrets.secrets:
        raise CommandError(f"{key} exists already", f"gitvirt secret edit {key.namespace}/{key.name}")
    if not isinstance(found.source.read(path), Problem):
        raise CommandError(f"{printable(path)} exists already", "name another file with --path")


def check_path(text: str) -> str:
    """A manifest within the repository."""
    path = PurePosixPath(text)
    if (
        path.is_absolute()
        or ".." in path.parts
        or not is_manifest(text)
        or text.startswith(live_layout.FOLDER)
    ):
        cause = f"{printable(text)} is not the path of a manifest in the repository"
        raise CommandError(
            cause, "name a file as secrets/shop/database.yaml, from the top of the repository", Exit.USAGE
        )
    if any(len(part.encode()) > NAME_BYTES for part in path.parts):
        cause = f"a part of the path is longer than {NAME_BYTES} bytes, which no file may be called"
        raise CommandError(cause, "name a shorter file with --path", Exit.USAGE)
    return str(path)


def seal_for_readers(found: SecretFiles, key: Key, text: str) -> bytes:
    """For those who have to read it. A CommandError for a text that cannot be encrypted."""
    use = found.secrets.use((key.namespace, key.name))
    try:
        return seal_text(text, required_recipients(use, keys_of(found)), datetime.now(UTC)).encode()
    except SealedError as error:
        raise CommandError(f"{key} cannot be encrypted: {error}", "correct the text") from None


def read_values(arguments: argparse.Namespace) -> dict[str, bytes]:
    found: dict[str, bytes] = {}
    for text in arguments.from_file:
        name, equals, path = text.partition("=")
        name, path = (name, path) if equals else (Path(text).name, text)
        refuse_key(found, name, "--from-file")
        add(found, name, read_file(Path(path), f"the file of {name}" if equals else printable(path)))
    if len(arguments.from_stdin) > 1:
        cause = "standard input is one value, and --from-stdin is given twice"
        raise CommandError(cause, "use --from-file for the others", Exit.USAGE)
    for name in arguments.generate:
        refuse_key(found, name, "--generate")
        add(found, name, secrets.token_urlsafe(GENERATED_BYTES).encode())
    for name in arguments.from_stdin:  # the last, so that no person types a value for a call that is refused
        refuse_key(found, name, "--from-stdin")
        add(found, name, read_stdin(name))
    return found


def refuse_key(found: Mapping[str, bytes], name: str, option: str) -> None:
    """A CommandError for what cannot be a key. The word is not repeated: it may be a value."""
    if not KEY.fullmatch(name):
        cause = f"{option} has a word that is not the name of a key; {NO_VALUES}"
        raise CommandError(cause, "name a key of letters, digits, -, _ and .", Exit.USAGE)
    if name in found:
        raise CommandError(f"the key {name} is given twice", "give each key once", Exit.USAGE)


def add(found: dict[str, bytes], name: str, value: bytes) -> None:
    if not value:
        cause = f"the value of {name} is empty; nothing was created"
        raise CommandError(cause, "look whether the file, or the command before the pipe, has the value")
    refuse_large(name, len(value))
    found[name] = value


def read_stdin(name: str) -> bytes:
    """What a person types is not shown. Else all of it."""
    if sys.stdin.isatty():
        try:
            return getpass.getpass(f"value of {name}, which is not shown: ", sys.stderr).encode()
        except EOFError:
            return b""
        except UnicodeError:
            cause = f"the value of {name} is not text in the encoding of the terminal"
            raise CommandError(cause, "use --from-file") from None
    data = sys.stdin.buffer.read(MAX_BYTES + 1)
    return data.removesuffix(b"\n").removesuffix(b"\r")


def read_file(path: Path, shown: str) -> bytes:
    """`shown` is not the path where a key is before it: people write a value there."""
    try:
        with path.open("rb") as file:
            return file.read(MAX_BYTES + 1)
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else "no file can be called so"
        raise CommandError(f"cannot read {shown}: {why}", f"name a file that exists; {NO_VALUES}") from None


def render(key: Key, values: dict[str, bytes]) -> str:
    """Text where it is text, else base64."""
    texts, binary = {}, {}
    for name, value in values.items():
        try:
            texts[name] = value.decode()
        except UnicodeDecodeError:
            binary[name] = base64.b64encode(value).decode()
    lines = [
        "apiVersion: v1",
        "kind: Secret",
        "metadata:",
        f"    name: {key.name}",
        f"    namespace: {key.namespace}",
    ]
    for section, found in (("stringData", texts), ("data", binary)):
        if found:
            lines.append(f"{section}:")
            lines += [f'    "{name}": {scalar_text(value, "str", INDENT)}' for name, value in found.items()]
    return "\n".join(lines) + "\n"
