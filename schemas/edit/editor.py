"""`edit`: fields of a manifest set in its text, so that no other byte changes and nothing else changes its meaning.

Three means, cheapest first: a splice where a scan over lines says, a splice where a parser's marks say, a round trip of
the one document. Whatever comes out is read back, and counts only when it is the wanted value and nothing else; what
no means brings about safely is refused.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from schemas.edit import line_finder, parser_finder, refusals
from schemas.edit.document_spans import document_spans
from schemas.edit.fields import Body, Changes
from schemas.edit.layout import Finder, InsertionPoint
from schemas.edit.outcome import Edited, EditRefused, Means, Outcome
from schemas.edit.refusals import RefusalReason
from schemas.edit.round_trip import round_trip
from schemas.edit.scalars import UnwritableError
from schemas.edit.splice import splice
from schemas.edit.steps import AddEntry, NotAMap, PutEntry, Step, plan_steps
from schemas.edit.style import TextStyle, has_break, line_ending
from schemas.edit.verification import is_same_value, read_body
from schemas.reader import Unreadable


class DocumentText(NamedTuple):
    """One document's text, and what it has from the file around it."""

    text: str
    eol: str
    is_followed: bool

    def reads_as(self, new: str, wanted: Body) -> bool:
        body = read_body(new, self.is_followed)
        return isinstance(body, dict) and is_same_value(body, wanted)


class EditedText(NamedTuple):
    text: str
    means: Means


def edit(data: bytes, document_index: int, changes: Changes, *, path: str = "") -> Outcome:
    """`data` with the fields of one document as asked; the same bytes when they are so already.

    Documents are counted from 0, as the reader does. `path` only names the file in a Problem.
    """
    return edit_all(data, {document_index: changes}, path=path)


def edit_all(data: bytes, changes: Mapping[int, Changes], *, path: str = "") -> Outcome:
    """The same for several documents of one file: all of them, or a refusal and none."""
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        return EditRefused(refusals.refuse_encoding(error, path))
    spans = document_spans(text)
    whole, means = text, Means.UNTOUCHED
    # From the last to the first, so that the places of those still to come stay.
    for index in sorted(changes, reverse=True):
        if not 0 <= index < len(spans):
            missing = refusals.refuse_index(index, len(spans))
            return EditRefused(refusals.to_problem(missing, path, text, index, len(text)))
        start, end = spans[index]
        own = text[start:end]
        source = DocumentText(own, line_ending(own if has_break(own) else text), index + 1 < len(spans))
        written = _written(source, changes[index])
        if isinstance(written, RefusalReason):
            return EditRefused(refusals.to_problem(written, path, text, index, start))
        if written.means is not Means.UNTOUCHED:
            whole = whole[:start] + written.text + whole[end:]
            means = max(means, written.means)
    return Edited(data if means is Means.UNTOUCHED else whole.encode(), means)


def _written(source: DocumentText, changes: Changes) -> EditedText | RefusalReason:
    text = source.text
    body = read_body(text, source.is_followed)
    if isinstance(body, Unreadable):
        return refusals.refuse_unreadable(body)
    planned = plan_steps(body, changes)
    if isinstance(planned, NotAMap):
        return refusals.refuse_place(planned.path, planned.target)
    if not planned.steps:
        return EditedText(text, Means.UNTOUCHED)
    hand = TextStyle(text, source.eol)
    try:
        for new in _spliced(text, planned.steps, line_finder, hand):
            if source.reads_as(new, planned.wanted):
                return EditedText(new, Means.LINES)
        for written in _careful(text, planned.steps, _overriding(text, body, changes), hand):
            if source.reads_as(written.text, planned.wanted):
                return written
    except UnwritableError as reason:
        return _blame(source, changes) or refusals.refuse_value(str(reason), changes)
    return _blame(source, changes) or refusals.refuse_shared(changes, text)


def _spliced(text: str, planned: tuple[Step, ...], finder: Finder, hand: TextStyle) -> Iterator[str]:
    """Texts that may be the wanted one, the likeliest first."""
    adds = any(isinstance(step, AddEntry) for step in planned)
    for brink in InsertionPoint if adds else (InsertionPoint.LAST, InsertionPoint.END):
        new: str | None = text
        for step in planned:
            if new is not None:
                new = splice(new, step, finder, hand, brink)
        if new is not None:
            yield new


def _careful(
    text: str, planned: tuple[Step, ...], overriding: tuple[Step, ...], hand: TextStyle
) -> Iterator[EditedText]:
    """The same, by dearer means."""
    for taken in (planned, overriding) if overriding else (planned,):
        for new in _spliced(text, taken, parser_finder, hand):
            yield EditedText(new, Means.MARKS)
    rewritten = round_trip(text, planned, hand)
    if rewritten is not None:
        yield EditedText(rewritten, Means.ROUND_TRIP)


def _overriding(text: str, body: Body, changes: Changes) -> tuple[Step, ...]:
    """Maps not changed inside but written anew: where an alias stood, and beside a merge, which a map's own entries
    win over."""
    whole = plan_steps(body, changes, is_whole=True) if "*" in text else None
    if whole is None or isinstance(whole, NotAMap):
        return ()
    return tuple(
        AddEntry(*step)
        if isinstance(step, PutEntry) and parser_finder.entry_at(text, step.path) is None
        else step
        for step in whole.steps
    )


def _blame(source: DocumentText, changes: Changes) -> RefusalReason | None:
    """The refusal of the first of several fields that is refused when asked for alone."""
    if len(changes) > 1:
        for target, value in changes.items():
            alone = _written(source, {target: value})
            if isinstance(alone, RefusalReason):
                return alone
    return None
