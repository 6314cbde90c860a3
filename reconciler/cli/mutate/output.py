"""What a verb that changes something says of it: a line for people, a value for programs, or the patch alone.

A dry run prints only the patch, so that `git apply` takes it from a pipe. Everything else that a person may want to
know goes below the line of the commit, such as the command that brings the commit into the checkout.
"""

from __future__ import annotations

import argparse
import difflib
import shlex
from collections.abc import Iterator
from dataclasses import dataclass

from reconciler.cli.fleet_repo import HEADS, FleetRepo
from reconciler.cli.output import is_value, show_value
from reconciler.cli.terminal import Terminal, TextStyle, printable
from reconciler.gitstore.worktree.checkout import update_command
from schemas.kinds import Key


@dataclass(frozen=True, slots=True)
class FileEdit:
    """New bytes of one file. `before` is None where the file is new."""

    path: str
    before: bytes | None
    after: bytes


@dataclass(frozen=True, slots=True)
class MutationResult:
    """`edit` is None where all was so already, `commit` nothing where none was made. `sentence` ends what is said of the
    object, `facts` are what a program wants of it."""

    verb: str
    key: Key
    sentence: str
    edit: FileEdit | None
    commit: str = ""
    facts: tuple[tuple[str, str], ...] = ()
    waiting: str = ""


def show(terminal: Terminal, result: MutationResult, fleet: FleetRepo, arguments: argparse.Namespace) -> None:
    """Prints the outcome in the format of `-o`. In a dry run there is an edit and no commit; without an edit all
    was so already."""
    if is_value(arguments.output):
        show_value(terminal, arguments.output, value(result, branch_of(fleet, arguments)))
    elif arguments.output == "name":
        terminal.line("/".join(part for part in (result.key.namespace, result.key.name) if part))
    elif result.edit is None:
        terminal.line(f"{describe_key(result.key)} is {result.sentence}: nothing to change")
    elif not result.commit:
        show_patch(terminal, result.edit)
    else:
        show_commit(terminal, result, fleet, arguments)


def value(result: MutationResult, branch: str) -> dict[str, object]:
    return {
        "verb": result.verb,
        "object": str(result.key),
        "changed": bool(result.commit),
        "branch": branch,
        "commit": result.commit,
        "file": "" if result.edit is None else result.edit.path,
        "patch": "" if result.edit is None else "".join(f"{line}\n" for line in patch(result.edit)),
        **dict(result.facts),
    }


def branch_of(fleet: FleetRepo, arguments: argparse.Namespace) -> str:
    return str(arguments.branch or (fleet.refs.source or "").removeprefix(HEADS))


def describe_key(key: Key) -> str:
    """`machine production/web-1`: kind in words and name, for messages and the subject of the commit."""
    words = "".join(f" {letter.lower()}" if letter.isupper() else letter for letter in key.kind.value).strip()
    return f"{words} {'/'.join(part for part in (key.namespace, key.name) if part)}"


def show_patch(terminal: Terminal, made: FileEdit) -> None:
    for line in patch(made):
        style = {"+": (TextStyle.GREEN,), "-": (TextStyle.RED,)}.get(line[0], ())
        terminal.line(terminal.paint(line, *style))


def patch(made: FileEdit) -> Iterator[str]:
    """The edit as a unified diff that `git apply` accepts, also for a new file and for a text without a last line
    end."""
    before, after = (made.before or b"").decode("utf-8", "replace"), made.after.decode("utf-8", "replace")
    old = f"a/{made.path}" if made.before is not None else "/dev/null"
    for line in difflib.unified_diff(
        before.splitlines(keepends=True), after.splitlines(keepends=True), old, f"b/{made.path}"
    ):
        yield line.rstrip("\n")
        if not line.endswith("\n"):
            yield "\\ No newline at end of file"


def show_commit(
    terminal: Terminal, result: MutationResult, fleet: FleetRepo, arguments: argparse.Namespace
) -> None:
    branch, checkout = branch_of(fleet, arguments), fleet.location.checkout
    commit = terminal.paint(result.commit[:10], TextStyle.YELLOW)
    terminal.line(f"{describe_key(result.key)} {result.sentence}: {commit} on {printable(branch)}")
    if arguments.branch:
        terminal.line("open a pull request for it; nothing happens before it is merged")
    elif checkout and (command := update_command(checkout, branch)):
        terminal.line(f"`{printable(command)}` fetches it")
    if result.waiting:
        repo = f" --repo {shlex.quote(arguments.repo)}" if arguments.repo else ""
        terminal.line(f"`gitvirt wait {printable(result.waiting + repo)}` waits for its end")
