"""The readable text of a Secret in a person's editor: in a folder on tmpfs, of this account alone. It goes when the
text is used, and when a signal ends the verb (`removal`); a text that cannot be used stays there, so that no typing is lost.

Must never happen: the text on a disk; a text with mistakes becomes a Secret that hosts cannot read.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TypeVar

from iri.memory_mounts import is_in_memory
from reconciler.cli.exits import CommandError, Exit
from reconciler.cli.mutate.editor import OpenedText
from reconciler.cli.secret.removal import open_removable
from reconciler.cli.terminal import err, printable
from reconciler.gitstore.errors import RepoError
from schemas import manifest
from schemas.kinds import Key, Kind
from schemas.problem import Severity

T = TypeVar("T")
MAX_BYTES = 1 << 20


def edit_readable(
    name: str,
    text: str,
    environment: Mapping[str, str],
    check: Callable[[str], None],
    use: Callable[[str], T],
) -> T:
    """What `use` returns for what the editor left, once `check` accepts it. On a terminal the editor opens again after a mistake; a text that
    cannot be used stays on tmpfs, and the CommandError names it."""
    folder = memory_folder(environment)
    with open_removable(lambda: OpenedText(name, text.encode(), environment, folder)) as opened:
        err().line(
            f"the readable text is in {printable(str(opened.file.parent))}, on tmpfs, until this command ends"
        )
        while True:
            data = opened.open()
            try:
                after = decode(data)
                check(after)
            except (CommandError, RepoError) as error:
                if wants_again(as_command_error(error)):
                    continue
                raise keep(opened, as_command_error(error)) from None
            try:
                return use(after)
            except (CommandError, RepoError) as error:
                raise keep(opened, as_command_error(error)) from None


def as_command_error(error: CommandError | RepoError) -> CommandError:
    """Of both kinds, so that no typing is lost when the remote is away."""
    return error if isinstance(error, CommandError) else CommandError(error.cause, error.cure)


def wants_again(error: CommandError) -> bool:
    """Asks a person at a terminal."""
    if not sys.stdin.isatty():
        return False
    terminal = err()
    terminal.line(f"{error.cause}; {error.cure}")
    terminal.stream.write("open the editor again? Type yes: ")
    terminal.stream.flush()
    return sys.stdin.readline().strip() == "yes"


def keep(opened: OpenedText, error: CommandError) -> CommandError:
    """The same error, and where the text is. It is in memory alone, so that a restart removes it."""
    where = f"your readable text is in {opened.keep()}, on tmpfs: delete it when you are done"
    return CommandError(error.cause, f"{error.cure}; {where}", error.exit_code)


def decode(data: bytes) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError:
        cause = "what the editor wrote is not UTF-8; nothing was changed"
        raise CommandError(cause, "save it as UTF-8", Exit.PROBLEMS) from None


def memory_folder(environment: Mapping[str, str]) -> Path:
    """A folder on tmpfs that may be written."""
    for text in (environment.get("XDG_RUNTIME_DIR"), "/dev/shm", "/run"):  # noqa: S108 - on Linux it is tmpfs, and that is checked
        if text and is_in_memory(Path(text)) and os.access(text, os.W_OK):
            return Path(text)
    cause = "there is no tmpfs for the readable text: neither XDG_RUNTIME_DIR nor /dev/shm"
    raise CommandError(
        cause, "create it with --from-file, --from-stdin or --generate, or use sops", Exit.USAGE
    )


def check_readable(text: str, key: Key) -> None:
    """A CommandError for a text that is not this one Secret. No value is quoted."""
    found = manifest.parse("the Secret", text.encode())
    errors = [problem for problem in found.problems if problem.severity is Severity.ERROR]
    if errors:
        first = errors[0]
        where = f"line {first.line}: " if first.line else ""
        raise CommandError(
            f"{where}{first.message}; nothing was changed", first.hint or "correct it", Exit.PROBLEMS
        )
    keys = [document.key for document in found.documents]
    if keys != [key] or found.documents[0].kind is not Kind.SECRET or found.foreign:
        shown = ", ".join(printable(str(each)) for each in keys) or "nothing"
        raise CommandError(
            f"the text declares {shown} and not {key} alone; nothing was changed",
            "edit it again",
            Exit.PROBLEMS,
        )
    body = found.documents[0].body
    for name, text in (body.get("data") or {}).items():
        refuse_large(name, len("".join(text.split())) * 3 // 4)
    for name, text in (body.get("stringData") or {}).items():
        refuse_large(name, len(text.encode()))


def refuse_large(name: str, size: int) -> None:
    """A CommandError for a value that would weigh on each clone for ever."""
    if size > MAX_BYTES:
        raise CommandError(
            f"the value of {printable(name)} is larger than 1 MiB", "keep it outside of the repository"
        )
