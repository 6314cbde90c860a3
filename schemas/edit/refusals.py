"""Why an edit was not made, as a Problem. Line and column are computed only for refused edits."""

from __future__ import annotations

from dataclasses import dataclass

from schemas.edit import parser_finder
from schemas.edit.fields import Changes, Path, Target
from schemas.edit.round_trip import LARGEST
from schemas.problem import Problem, Violation, json_pointer
from schemas.reader import Unreadable
from schemas.reader.positions import UNKNOWN, Positions
from schemas.reader.value import position_at


@dataclass(frozen=True, slots=True)
class RefusalReason:
    """Why one document cannot be edited; `path` is the node that prevents it."""

    code: str
    message: str
    hint: str
    path: Path = ()
    place: tuple[int, int] = (0, 0)
    """Line and column in the document, if there is no `path`."""


def refuse_encoding(error: UnicodeDecodeError, file: str) -> Problem:
    """The Problem of a file that is not UTF-8, with the position of the first bad byte."""
    line = error.object.count(b"\n", 0, error.start) + 1
    column = error.start - error.object.rfind(b"\n", 0, error.start)
    found = Violation("", "GV701", "the file is not UTF-8", "save the file as UTF-8")
    return found.locate(file, (line, column))


def refuse_index(index: int, count: int) -> RefusalReason:
    """GV701: the document to edit does not exist in this file."""
    message = f"the file has {count} documents and no document {index + 1}"
    return RefusalReason("GV701", message, "run the command again: the file has changed")


def refuse_unreadable(reason: Unreadable) -> RefusalReason:
    """GV701: the document cannot be read."""
    message = f"the document cannot be edited: {reason.message}"
    hint = reason.hint or "run gitvirt validate"
    return RefusalReason("GV701", message, hint, (), (reason.line, reason.column))


def refuse_place(path: Path, target: Target) -> RefusalReason:
    """GV702: the parent of a field is not a mapping."""
    where = ".".join(path) or "the document"
    hint = f"make {where} a mapping, or remove it"
    return RefusalReason("GV702", f"{where} is not a mapping, so {target} cannot be set", hint, path)


def refuse_value(reason: str, changes: Changes) -> RefusalReason:
    """GV705: the value has no text in this format."""
    hint = "change the value; the file is correct"
    return RefusalReason("GV705", f"{_list_fields(changes)} cannot be written: {reason}", hint)


def refuse_shared(changes: Changes, text: str) -> RefusalReason:
    """The refusal of an edit that would also change something else: which YAML construct is the reason.

    Called when every candidate read back as another body. The body alone does not tell why, so the fields are searched for
    an anchor, an alias or a merge; without one, the size of the text is the reason, because it kept the round trip away.
    """
    fields = _list_fields(changes)
    for target in changes:
        culprit = parser_finder.find_shared_node(text, target.path)
        if culprit is not None and culprit.is_merge:
            message = f"{fields} comes from a mapping that is merged here (<<)"
            return RefusalReason("GV704", message, "write the merged fields out", culprit.path)
        if culprit is not None:
            where = ".".join(culprit.path)
            message = (
                f"an anchor and an alias share {where}, so setting {fields} would also change the other place"
            )
            return RefusalReason("GV703", message, "write the fields out in both places", culprit.path)
    if len(text) > LARGEST:
        message = f"lines and braces of this large document do not show the position of {fields}"
        return RefusalReason("GV706", message, "split the file, or write the document in plain block style")
    message = f"{fields} cannot be set without changing something else"
    hint = "write the document in plain block style, without anchors and tags"
    return RefusalReason("GV703", message, hint, next(iter(changes)).path)


def _list_fields(changes: Changes) -> str:
    """The names of the fields, for a message."""
    return ", ".join(map(str, changes))


def to_problem(refusal: RefusalReason, file: str, text: str, document: int, start: int) -> Problem:
    """The refusal as a Problem of the whole file, in which the document begins at `start`."""
    pointer = json_pointer(refusal.path)
    before = text[:start].removeprefix("\ufeff")
    line, column = position_at(before, len(before))
    if pointer:
        place = Positions(text).key(document, pointer)
        line, column = place if place != UNKNOWN else (line, column)
    elif refusal.place != (0, 0):
        line, column = line + refusal.place[0] - 1, refusal.place[1]  # a document begins with its line
    return Violation(pointer, refusal.code, refusal.message, refusal.hint).locate(file, (line, column))
