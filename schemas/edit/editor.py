"""`edit`: set fields of a manifest in its text, so that no other byte changes and no other value changes.

Theory of operation. The rule: an edit inserts, replaces or removes the text of the given fields; comments, order, quotes
and line endings of all other text stay byte for byte. Finding a field in a person's YAML can go wrong, so no result is
trusted: every candidate is read back, and counts only if its value is exactly the desired one (`verification`).

    step                         module                        if it fails
    1. split the file            document_spans                refused: no such document (GV701)
    2. read the document         verification.read_body        refused: unreadable, or not a mapping (GV701)
    3. plan steps                steps.plan_steps              refused: the parent is not a mapping (GV702)
    4. splice by lines           line_finder, splice           next
    5. splice by parser marks    parser_finder, splice         next
    6. rewrite the document      round_trip (up to 64 KiB)     next
    7. refuse                    refusals                      anchors and aliases (GV703), merges (GV704), values without
                                                               a text (GV705), large documents (GV706)

Each of 4 and 5 tries several insertion points (`layout.InsertionPoint`), likeliest first. Step 5 also tries to replace a
whole mapping, because a mapping's own entries override those of an alias or a merge. Each candidate is read back, and
the first good one is the result. Only step 6 may change the layout of other lines of the document, never their meaning.

Why the order is so: it is that of the cost. Nearly every document is in plain block style or JSON, and step 4 needs no
parser to find its fields; reading the result back then costs more than the edit. A finder may therefore be simple and
sometimes wrong. What protects people's files is the verification alone, so a new finder needs no proof of its own.

What makes verification sufficient: the desired body is computed from the old body and the steps, never from the text
(`steps.EditPlan`). A splice that hit a neighbor, swallowed a line or changed the type of a value reads back as another
body. Comments are the one thing that it cannot see; the finders' offsets and the tests keep those.

Must never happen: a written file that was not read back; an edit of a file in which only some of the requested documents
changed (`edit_all` makes all edits or none); a change of a field that is not in `fields`; an anchor's other users changed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import IntEnum
from typing import NamedTuple

from schemas.edit import line_finder, parser_finder, refusals
from schemas.edit.document_spans import document_spans
from schemas.edit.fields import Body, Changes
from schemas.edit.layout import Finder, InsertionPoint
from schemas.edit.refusals import RefusalReason
from schemas.edit.round_trip import round_trip
from schemas.edit.scalars import UnwritableError
from schemas.edit.splice import splice
from schemas.edit.steps import AddEntry, NotAMap, PutEntry, Step, plan_steps
from schemas.edit.style import YamlStyle, has_break, line_ending
from schemas.edit.verification import is_same_value, read_body
from schemas.problem import Problem
from schemas.reader import Unreadable


class Means(IntEnum):
    """How the edit was made, cheapest first. Benchmarks and tests count these; nothing decides by them."""

    UNTOUCHED = 0
    LINES = 1
    MARKS = 2
    ROUND_TRIP = 3


@dataclass(frozen=True, slots=True)
class Edited:
    """The new bytes of the whole file; the same object if nothing had to change.

    A caller may compare with `is`: an edit that sets what is already written costs no new blob and no commit.
    """

    data: bytes
    means: Means = Means.UNTOUCHED


@dataclass(frozen=True, slots=True)
class EditRefused:
    """The reason as a Problem. The file stays unchanged.

    No retry helps: a person has to change the text first. The reconciler leaves the objects of such a file as they are.
    """

    problem: Problem


Outcome = Edited | EditRefused


class DocumentText(NamedTuple):
    """One document's text, and what the surrounding file decides: line ending, and whether a document follows."""

    text: str
    eol: str
    is_followed: bool

    def reads_as(self, new: str, desired: Body) -> bool:
        """Whether the new text reads back with exactly the desired value."""
        body = read_body(new, self.is_followed)
        return isinstance(body, dict) and is_same_value(body, desired)


class EditedText(NamedTuple):
    """The new text of one document, and how it was made."""

    text: str
    means: Means


def edit(data: bytes, document_index: int, changes: Changes, *, path: str = "") -> Outcome:
    """`data` with the fields of one document changed; the same bytes if the fields already have these values.

    Documents count from 0, as in the reader. `path` only names the file in a Problem.
    """
    return edit_all(data, {document_index: changes}, path=path)


def edit_all(data: bytes, changes: Mapping[int, Changes], *, path: str = "") -> Outcome:
    """The same for several documents of one file: all edits are made, or none and a refusal is returned.

    All or none, because the documents of a file are often decided on together: half of a decision on `live` would be a state
    that no plan contains. One refused document therefore keeps its neighbors from being written, too.
    """
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        return EditRefused(refusals.refuse_encoding(error, path))
    spans = document_spans(text)
    whole, means = text, Means.UNTOUCHED
    # From the last document to the first, so that the offsets of the remaining ones stay valid.
    for index in sorted(changes, reverse=True):
        if not 0 <= index < len(spans):
            missing = refusals.refuse_index(index, len(spans))
            return EditRefused(refusals.to_problem(missing, path, text, index, len(text)))
        start, end = spans[index]
        own = text[start:end]
        # A document of one line shows no line ending, so the file's own decides.
        source = DocumentText(own, line_ending(own if has_break(own) else text), index + 1 < len(spans))
        written = _edit_document(source, changes[index])
        if isinstance(written, RefusalReason):
            return EditRefused(refusals.to_problem(written, path, text, index, start))
        if written.means is not Means.UNTOUCHED:
            whole = whole[:start] + written.text + whole[end:]
            means = max(means, written.means)
    return Edited(data if means is Means.UNTOUCHED else whole.encode(), means)


def _edit_document(source: DocumentText, changes: Changes) -> EditedText | RefusalReason:
    """Steps 2 to 7 of the theory of operation, for one document."""
    text = source.text
    body = read_body(text, source.is_followed)
    if isinstance(body, Unreadable):
        return refusals.refuse_unreadable(body)
    planned = plan_steps(body, changes)
    if isinstance(planned, NotAMap):
        return refusals.refuse_place(planned.path, planned.target)
    if not planned.steps:
        return EditedText(text, Means.UNTOUCHED)
    style = YamlStyle(text, source.eol)
    try:
        for new in _splice_all(text, planned.steps, line_finder, style):
            if source.reads_as(new, planned.desired):
                return EditedText(new, Means.LINES)
        for written in _expensive_candidates(
            text, planned.steps, _replace_mappings(text, body, changes), style
        ):
            if source.reads_as(written.text, planned.desired):
                return written
    except UnwritableError as reason:
        # No later means could write this value either: what is missing is a text for it, not its position.
        return _refuse_one_field(source, changes) or refusals.refuse_value(str(reason), changes)
    return _refuse_one_field(source, changes) or refusals.refuse_shared(changes, text)


def _splice_all(text: str, planned: tuple[Step, ...], finder: Finder, style: YamlStyle) -> Iterator[str]:
    """Candidates for the new text, the likeliest first.

    Each step looks its position up again in the text that the previous step left: offsets are valid for one text only.
    Without a step that adds an entry, `START` could differ from `END` in nothing, so it is not tried.
    """
    adds = any(isinstance(step, AddEntry) for step in planned)
    for point in InsertionPoint if adds else (InsertionPoint.LAST, InsertionPoint.END):
        new: str | None = text
        for step in planned:
            if new is not None:
                new = splice(new, step, finder, style, point)
        if new is not None:
            yield new


def _expensive_candidates(
    text: str, planned: tuple[Step, ...], overriding: tuple[Step, ...], style: YamlStyle
) -> Iterator[EditedText]:
    """More candidates, by more expensive means: parser marks for the planned steps, then for whole mappings, then a rewrite.

    A generator, so that a candidate costs nothing once an earlier one was read back as the desired body.
    """
    for taken in (planned, overriding) if overriding else (planned,):
        for new in _splice_all(text, taken, parser_finder, style):
            yield EditedText(new, Means.MARKS)
    rewritten = round_trip(text, planned, style)
    if rewritten is not None:
        yield EditedText(rewritten, Means.ROUND_TRIP)


def _replace_mappings(text: str, body: Body, changes: Changes) -> tuple[Step, ...]:
    """Steps that replace whole mappings instead of entries: in place of an alias, and beside a merge, because a mapping's
    own entries override merged ones."""
    whole = plan_steps(body, changes, is_whole=True) if "*" in text else None
    if whole is None or isinstance(whole, NotAMap):
        return ()
    return tuple(
        AddEntry(*step)
        if isinstance(step, PutEntry) and parser_finder.entry_at(text, step.path) is None
        else step
        for step in whole.steps
    )


def _refuse_one_field(source: DocumentText, changes: Changes) -> RefusalReason | None:
    """The refusal of the first of several fields that is also refused alone, so that the message names one field."""
    if len(changes) > 1:
        for target, value in changes.items():
            alone = _edit_document(source, {target: value})
            if isinstance(alone, RefusalReason):
                return alone
    return None
