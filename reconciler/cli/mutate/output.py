"""What a verb that changes something says of it: a line for people, a value for programs, or the patch alone.

A dry run prints only the patch, so that `git apply` takes it from a pipe. Everything else that a person may want to
know goes below the line of the commit, such as the command that brings the commit into the checkout.
"""

from __future__ import annotations

import argparse
import difflib
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from reconciler.cli.fleet_repo import HEADS, FleetRepo
from reconciler.cli.objects.nouns import plural
from reconciler.cli.output import is_value, show_value
from reconciler.cli.terminal import Terminal, TextStyle, printable
from reconciler.gitstore.worktree.checkout import update_command
from schemas.kinds import Key

SUBJECT_LENGTH = 72
DESTRUCTIVE = {"delete": "DELETE", "replace": "RECREATE"}  # verbs, and the word for them in a subject
DESTROYS = "DESTROYS"
HELD = "is removed from its file, and its deletion waits for that"


@dataclass(frozen=True, slots=True)
class FileEdit:
    """New bytes of one file. `before` is None where the file is new, `after` where it is removed."""

    path: str
    before: bytes | None
    after: bytes | None
    removed: tuple[int, ...] = ()  # documents of it that are removed, by their index


@dataclass(frozen=True, slots=True)
class ObjectChange:
    """What became of one object. `path` is the file that changes, empty where all was so already; `sentence` ends
    what is said of the object. `hold` says why the reconciler does not act on it at once, and what ends that."""

    key: Key
    sentence: str
    path: str
    hold: str = ""


@dataclass(frozen=True, slots=True)
class MutationResult:
    """`edits` is empty where all was so already, `commit` where none was made. `facts` are what a program wants of it."""

    verb: str
    objects: tuple[ObjectChange, ...]
    edits: tuple[FileEdit, ...]
    commit: str = ""
    facts: tuple[tuple[str, str], ...] = ()
    waiting: tuple[tuple[str, tuple[Key, ...]], ...] = ()  # what `gitvirt wait` is given, and the objects
    losses: tuple[str, ...] = ()  # data that it destroys

    def with_holds(self, holds: Mapping[Key, str]) -> MutationResult:
        """The same, with what the reconciler will hold."""
        objects = (replace(each, hold=holds.get(each.key, "")) for each in self.objects)
        return replace(self, objects=tuple(objects))

    @property
    def changed_keys(self) -> list[Key]:
        return [each.key for each in self.objects if each.path]


def show(terminal: Terminal, result: MutationResult, fleet: FleetRepo, arguments: argparse.Namespace) -> None:
    """Prints the outcome in the format of `-o`. In a dry run there are edits and no commit; without edits all was so
    already. A program gets one value for one object, and a list for several."""
    if is_value(arguments.output):
        values = [value(result, each, branch_of(fleet, arguments)) for each in result.objects]
        show_value(terminal, arguments.output, values[0] if len(values) == 1 else values)
    elif arguments.output == "name":
        for each in result.objects:
            terminal.line(str(each.key))
    elif result.edits and not result.commit:
        for edit in result.edits:
            show_patch(terminal, edit)
    else:
        show_commit(terminal, result, fleet, arguments)


def value(result: MutationResult, made: ObjectChange, branch: str) -> dict[str, object]:
    edits = [edit for edit in result.edits if edit.path == made.path]
    return {
        "verb": result.verb,
        "object": str(made.key),
        "changed": bool(result.commit and made.path),
        "branch": branch,
        "commit": result.commit if made.path else "",
        "file": made.path,
        "patch": "".join(f"{line}\n" for edit in edits for line in patch(edit)),
        **({"held": made.hold} if made.hold else {}),
        **dict(result.facts),
    }


def write_message(result: MutationResult, text: str = "") -> str:
    """The commit's message: that of the person, or one with the objects in the subject where they fit, else in the body."""
    if text:
        return add_destruction(text, result)
    names = [str(key) for key in result.changed_keys]
    verb = DESTRUCTIVE.get(result.verb, result.verb)
    count = len(result.losses)
    end = f": DESTROYS {count} disk{'s' if count > 1 else ''}" if count else ""
    subject = f"{verb} {', '.join(names)}{end}"
    lines = list_destroyed(result)
    if len(subject) > SUBJECT_LENGTH:
        kinds = {key.kind for key in result.changed_keys}
        what = plural(kinds.pop()) if len(kinds) == 1 else "objects"
        subject = f"{verb} {len(names)} {what}{end}"
        lines = [*(f"- {name}" for name in names), *lines]
    return "\n".join((subject, "", *lines)) if lines else subject


def add_destruction(text: str, result: MutationResult) -> str:
    """A person's message, with DELETE or DESTROYS in its subject where that is what happens, and each loss in its body."""
    subject, _, body = text.partition("\n")
    word = DESTRUCTIVE.get(result.verb, DESTROYS if result.losses else "")
    if word and word not in subject:
        subject = f"{word}: {subject}"
    missing = [line for line in list_destroyed(result) if line not in body]
    body = "\n".join(part for part in (body.strip("\n"), *missing) if part)
    return f"{subject}\n\n{body}" if body else subject


def list_destroyed(result: MutationResult) -> list[str]:
    return [f"- {DESTROYS} {loss}" for loss in result.losses]


def branch_of(fleet: FleetRepo, arguments: argparse.Namespace) -> str:
    return str(arguments.branch or (fleet.refs.source or "").removeprefix(HEADS))


def show_patch(terminal: Terminal, made: FileEdit) -> None:
    for line in patch(made):
        style = {"+": (TextStyle.GREEN,), "-": (TextStyle.RED,)}.get(line[0], ())
        terminal.line(terminal.paint(line, *style))


def patch(made: FileEdit) -> Iterator[str]:
    """The edit as a unified diff that `git apply` accepts, also for a new file and for a text without a last line
    end."""
    before, after = (each.decode("utf-8", "replace") for each in (made.before or b"", made.after or b""))
    old = f"a/{made.path}" if made.before is not None else "/dev/null"
    new = f"b/{made.path}" if made.after is not None else "/dev/null"
    if made.after is None:
        # Without this line, and with nothing but the removal, `git apply` would leave an empty file.
        yield f"diff --git a/{made.path} b/{made.path}"
        yield "deleted file mode 100644"
    for line in difflib.unified_diff(
        before.splitlines(keepends=True), after.splitlines(keepends=True), old, new
    ):
        yield line.rstrip("\n")
        if not line.endswith("\n"):
            yield "\\ No newline at end of file"


def show_commit(
    terminal: Terminal, result: MutationResult, fleet: FleetRepo, arguments: argparse.Namespace
) -> None:
    """One line for each object, and below what to do next."""
    branch, checkout = branch_of(fleet, arguments), fleet.location.checkout
    commit = terminal.paint(result.commit[:10], TextStyle.YELLOW)
    for each in result.objects:
        name = printable(str(each.key))
        if each.path:
            sentence = HELD if each.hold else each.sentence
            terminal.line(f"{name} {sentence}: {commit} on {printable(branch)}")
        else:
            terminal.line(f"{name} is {each.sentence}: nothing to change")
    if not result.edits:
        return
    if arguments.branch:
        terminal.line("open a pull request for it; nothing happens before it is merged")
    elif checkout and (command := update_command(checkout, branch)):
        terminal.line(f"`{printable(command)}` fetches it")
    for condition, keys in result.waiting:
        names = " ".join(map(str, keys))
        repo = f" --repo {shlex.quote(arguments.repo)}" if arguments.repo else ""
        terminal.line(f"`gitvirt wait {printable(f'{names} {condition}{repo}')}` waits until that is done")
