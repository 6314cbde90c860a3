"""One file into documents: which documents of ours it contains, and what is wrong with it, with line and column.

Pure: a path and its bytes in, a Manifest out. Any content becomes a finding, never an exception. Rules between objects are
in `validate`; the reconciler decides what a malformed file means for the objects that it declared before.

    a document is                                   result
    of our kinds and valid                          a Document
    of our kinds and invalid                        problems, and its identity if that can be read
    nearly of our kinds (a misspelled kind)         an error, GV220: it was meant for gitvirt
    an object without apiVersion and kind           the same
    of an unknown kind in one of our API groups     the same: gitvirt would skip it, and its object would look deleted
    of a kind that only IronCore has (a Bucket)     a warning, GV222: gitvirt does nothing about it
    of other kinds, or no object at all             a notice, GV221: other tools may have files in the repo, too
    a List of our objects                           an error, GV113: items of a list cannot be edited one by one
    empty (two `---` in a row)                      nothing; a file of these alone is a notice, GV115

Deletion protection begins here. An object is deleted when no document declares it any more, so reading must not confuse
"absent" with "not understood". That is why a misspelled kind is an error instead of another tool's document, why the
identities of invalid documents are kept (`Manifest.invalid`), and why a file counts as a whole.

Must never happen: a malformed file that is read in part. One bad document makes the whole file malformed, because the
objects of its other documents could otherwise change or disappear by a typing mistake.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, cast

import msgspec

from schemas.kinds import DEFAULT_NAMESPACE, Foreign, Key, Kind, NearMiss, recognize, recognize_document
from schemas.manifest.schema_check import violations
from schemas.problem import Problem, Severity, Violation
from schemas.reader import BYTE_ORDER_MARK, Unreadable, Value, read
from schemas.reader.positions import Positions
from schemas.reader.value import position_at

MAX_BYTES = 4 * 1024 * 1024  # about 8,000 objects; callers check the size before they read the file

_BINARY = re.compile(rb"[\x00-\x08\x0e-\x1a\x1c-\x1f]")
_BLANK = ("this file declares nothing", "write documents into it, or remove the file", Severity.NOTICE)
_SAMPLE = 4096  # bytes at the start of a file that show its encoding
_MARKS_OF_OTHERS = ((b"\xff\xfe\0\0", "UTF-32"), (b"\0\0\xfe\xff", "UTF-32"), (b"\xff\xfe", "UTF-16"), (b"\xfe\xff", "UTF-16"))  # fmt: skip
_EVERY_OTHER_BYTE_NUL = re.compile(rb"(?:[\t\n\r -~]\0){2}|(?:\0[\t\n\r -~]){2}")


class Document(msgspec.Struct, frozen=True):
    """One object as written, valid by the schema of its kind. `index` counts the documents of its file from 0."""

    path: str
    index: int
    kind: Kind
    key: Key
    api_version: str
    body: dict[str, Any]


class Manifest(msgspec.Struct, frozen=True):
    """The content of one file. One error makes all of it malformed: such a file is frozen as a whole.

    `documents` and `invalid` together are all identities that the file declares as far as that can be read. `foreign` counts
    documents of other tools, which keep the file from being taken for an emptied one.
    """

    path: str
    documents: tuple[Document, ...] = ()
    problems: tuple[Problem, ...] = ()
    is_malformed: bool = False
    foreign: int = 0
    # Identities of invalid documents, which are not among `documents`, where they can be read.
    invalid: tuple[Key, ...] = ()


def parse(path: str, data: bytes) -> Manifest:
    """The manifest of a file. `path` only names the file in problems.

    The same bytes always give the same result. Positions cost more than reading, so they are computed for files with
    problems or with several documents only.
    """
    text = _text(path, data)
    if isinstance(text, Problem):
        return Manifest(path, problems=(text,), is_malformed=True)
    values = read(text)
    if isinstance(values, Unreadable):
        return Manifest(path, problems=(values.locate(path),), is_malformed=True)
    if not any(values):
        return Manifest(path, problems=(Violation("", "GV115", *_BLANK).locate(path),))
    if len(values) == 1:
        # Most files have one document without a problem.
        document = _document(path, 0, values[0])
        if document is not None:
            return Manifest(path, (document,))
    return _documents_and_problems(path, text, values)


def is_blank(text: str) -> bool:
    """Whether there is no value in a text: it is empty, or has only comments, separators and empty collections."""
    values = read(text)
    return not isinstance(values, Unreadable) and not any(values)


def too_large(path: str, size: int) -> Problem | None:
    """The problem of a file of this size, so that the caller does not read it; None if the size is allowed."""
    if size <= MAX_BYTES:
        return None
    message = f"the file has {size:,} bytes; a manifest has at most {MAX_BYTES:,}"
    return Violation("", "GV108", message, "split it, or name it in .gitvirtignore").locate(path)


def _document(path: str, index: int, body: Value) -> Document | None:
    """The document if it is one of ours without a violation, else None."""
    if not isinstance(body, dict):
        return None
    fields = cast("dict[str, Any]", body)
    kind = recognize(fields.get("apiVersion"), fields.get("kind"))
    if not isinstance(kind, Kind) or violations(kind, body):
        return None
    metadata = fields["metadata"]
    namespace = metadata.get("namespace", DEFAULT_NAMESPACE) if kind.is_namespaced else ""
    return Document(path, index, kind, Key(kind, namespace, metadata["name"]), fields["apiVersion"], fields)


def _documents_and_problems(path: str, text: str, values: tuple[Value, ...]) -> Manifest:
    """The same for a file with several documents or with problems, whose positions are then computed."""
    marks = Positions(text)
    documents: list[Document] = []
    problems: list[Problem] = []
    invalid: list[Key] = []
    foreign = 0
    for index, body in enumerate(values):
        document = _document(path, index, body)
        if document is not None:
            documents.append(document)
            continue
        found = tuple(_problems(path, index, body, marks, is_only=len(values) == 1))
        problems += found
        foreign += any(problem.code in ("GV221", "GV222") for problem in found)
        key = _identity(body)
        if key is not None:
            invalid.append(key)
    is_malformed = any(problem.severity is Severity.ERROR for problem in problems)
    return Manifest(path, tuple(documents), tuple(problems), is_malformed, foreign, tuple(invalid))


def _problems(path: str, index: int, body: Value, marks: Positions, *, is_only: bool) -> Iterator[Problem]:
    """Every problem of one document, with its position."""
    if body is None:
        return
    listed = _list_violation(body)
    if listed is not None:
        yield _problem(path, index, listed, marks)
        return
    match recognize_document(body):
        case Kind() as kind:
            key = _identity(body)
            for violation in violations(kind, body):
                yield _problem(path, index, violation, marks, "" if key is None else str(key))
        case NearMiss(field, message, hint):
            yield _problem(path, index, Violation(f"/{field}", "GV220", message, hint), marks)
        case Foreign(reason, is_of_ironcore=is_of_ironcore):
            # The position of a file's only document is the file itself, which costs no second reading.
            place = (0, 0) if is_only else marks.position(index, "")
            hint = "name the path in .gitvirtignore to silence this"
            code, severity = ("GV222", Severity.WARNING) if is_of_ironcore else ("GV221", Severity.NOTICE)
            yield Violation("", code, f"skipped: {reason}", hint, severity).locate(path, place)


def _list_violation(body: Value) -> Violation | None:
    """The violation of a List of our objects, as kubectl prints it. Its items are not documents, so gitvirt cannot edit them."""
    if not isinstance(body, dict):
        return None
    kind, items = body.get("kind"), body.get("items")
    if not isinstance(kind, str) or not kind.endswith("List") or not isinstance(items, list):
        return None
    is_ours = isinstance(recognize(body.get("apiVersion"), kind.removesuffix("List")), Kind)
    if is_ours or any(isinstance(recognize_document(item), Kind | NearMiss) for item in items):
        hint = "write each item as its own document, with --- between them; `gitvirt import -f FILE` does it"
        return Violation("/items", "GV113", f"gitvirt does not read objects in a {kind}", hint)
    return None


def _identity(body: Value) -> Key | None:
    """The identity of a document that may be invalid, or None if it cannot be read."""
    kind = recognize_document(body)
    if not isinstance(kind, Kind) or not isinstance(body, dict):
        return None
    metadata = body.get("metadata")
    if not isinstance(metadata, dict):
        return None
    name, namespace = metadata.get("name"), metadata.get("namespace", DEFAULT_NAMESPACE)
    if not isinstance(name, str) or not isinstance(namespace, str) or not name:
        return None
    return Key(kind, namespace if kind.is_namespaced else "", name)


def _problem(path: str, index: int, violation: Violation, marks: Positions, key: str = "") -> Problem:
    """A Violation with line and column."""
    # For an unknown field point at the name, for everything else at the value.
    place = marks.key if violation.code == "GV201" else marks.position
    return violation.locate(path, place(index, violation.pointer), key)


def _text(path: str, data: bytes) -> str | Problem:
    """The text of a file, or why it is not UTF-8 text."""
    large = too_large(path, len(data))
    if large is not None:
        return large
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        return _undecodable(path, data, error.start)
    if "\0" in text:
        return _undecodable(path, data, data.index(b"\0"))
    return text


def _undecodable(path: str, data: bytes, offset: int) -> Problem:
    """Why a file is not UTF-8: UTF-16 (byte order mark or NULs), binary (control characters) or an older encoding.

    A guess, for the message alone: whatever the reason, the file is malformed.
    """
    start = data[:_SAMPLE]
    encoding = next((name for mark, name in _MARKS_OF_OTHERS if data.startswith(mark)), None)
    if encoding is None and _EVERY_OTHER_BYTE_NUL.match(start):
        encoding = "UTF-16"
    if encoding is not None:
        return Violation("", "GV106", f"the file is {encoding}", "save it as UTF-8").locate(path, (1, 1))
    if _BINARY.search(start) is not None or b"\0" in data:
        hint = "name it in .gitvirtignore, or give it another name"
        return Violation("", "GV107", "the file is binary", hint).locate(path)
    before = data[:offset].decode().removeprefix(BYTE_ORDER_MARK)
    found = Violation("", "GV106", f"the byte 0x{data[offset]:02X} is not UTF-8", "save the file as UTF-8")
    return found.locate(path, position_at(before, len(before)))
