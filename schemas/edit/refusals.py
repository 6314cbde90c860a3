"""Why an edit was not made, as a Problem. Only refused edits pay for finding the place."""

from __future__ import annotations

from dataclasses import dataclass

from schemas.edit import parser_finder
from schemas.edit.fields import Changes, Path, Target
from schemas.edit.round_trip import LARGEST
from schemas.problem import Problem
from schemas.reader import Unreadable
from schemas.reader.positions import UNKNOWN, Positions


@dataclass(frozen=True, slots=True)
class RefusalReason:
    """What is wrong with one document; `path` is the node of it that is in the way."""

    code: str
    message: str
    hint: str
    path: Path = ()
    place: tuple[int, int] = (0, 0)
    """Line and column in the document, where `path` does not say."""


def refuse_encoding(error: UnicodeDecodeError, file: str) -> Problem:
    line = error.object.count(b"\n", 0, error.start) + 1
    column = error.start - error.object.rfind(b"\n", 0, error.start)
    hint = "save the file as UTF-8"
    return Problem(
        file=file, line=line, column=column, code="GV701", message="the file is not UTF-8", hint=hint
    )


def refuse_index(index: int, count: int) -> RefusalReason:
    message = f"the file has no document {index + 1}, it has {count}"
    return RefusalReason("GV701", message, "read the file again: it is not the one that was read before")


def refuse_unreadable(reason: Unreadable) -> RefusalReason:
    message, hint = (
        f"the document cannot be edited: {reason.message}",
        reason.hint or "gitvirt validate says more",
    )
    return RefusalReason("GV701", message, hint, (), (reason.line, reason.column))


def refuse_place(path: Path, target: Target) -> RefusalReason:
    where = ".".join(path) or "the document"
    hint = f"make {where} a map, or remove it"
    return RefusalReason("GV702", f"{where} is no map, so {target} cannot be set", hint, path)


def refuse_value(reason: str, changes: Changes) -> RefusalReason:
    hint = "the value has to change, not the file"
    return RefusalReason("GV705", f"{_named(changes)} cannot be written: {reason}", hint)


def refuse_size(changes: Changes) -> RefusalReason:
    message = f"the lines and braces of this large document do not show where {_named(changes)} stands"
    return RefusalReason("GV706", message, "split the file, or write the document in plain block style")


def refuse_shared(changes: Changes, text: str) -> RefusalReason:
    """The edit would change something else too, or cannot be had: what of the YAML is to blame."""
    wanted = _named(changes)
    for target in changes:
        culprit = parser_finder.find_shared_node(text, target.path)
        if culprit is not None and culprit.is_merge:
            message = f"{wanted} comes from a map that is merged here (<<)"
            return RefusalReason("GV704", message, "write the merged fields out", culprit.path)
        if culprit is not None:
            where = ".".join(culprit.path)
            message = f"an anchor and an alias share {where}, so setting {wanted} would change more than that"
            return RefusalReason("GV703", message, "write the fields out in both places", culprit.path)
    if len(text) > LARGEST:
        return refuse_size(changes)
    message = f"{wanted} cannot be set without changing something else"
    hint = "write the document in plain block style, without anchors and tags"
    return RefusalReason("GV703", message, hint, next(iter(changes)).path)


def _named(changes: Changes) -> str:
    return ", ".join(map(str, changes))


def to_problem(refusal: RefusalReason, file: str, text: str, document: int, start: int) -> Problem:
    """The refusal as a finding in the whole text, where the document begins at `start`."""
    pointer = "".join("/" + key.replace("~", "~0").replace("/", "~1") for key in refusal.path)
    before = text[:start].replace("\r\n", "\n").replace("\r", "\n").removeprefix("\ufeff")
    line, column = before.count("\n") + 1, len(before) - before.rfind("\n")
    if pointer:
        place = Positions(text).key(document, pointer)
        line, column = place if place != UNKNOWN else (line, column)
    elif refusal.place != (0, 0):
        line, column = line + refusal.place[0] - 1, refusal.place[1]  # a document begins with its line
    return Problem(
        file=file,
        line=line,
        column=column,
        code=refusal.code,
        pointer=pointer,
        message=refusal.message,
        hint=refusal.hint,
    )
