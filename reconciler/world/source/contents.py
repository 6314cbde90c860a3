"""What one file of a branch holds, as far as the world needs it: model objects and records, never whole documents."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeAlias

import msgspec

from reconciler.world.objects.object_state import DocumentPlace
from reconciler.world.record import Record, record_of
from schemas import manifest
from schemas.kinds import Key, Kind, recognize_document
from schemas.manifest import Document, Manifest
from schemas.model import Object, decode
from schemas.problem import Problem, Severity
from schemas.reader import Unreadable, read
from schemas.validate import Declaration, ValidationPolicy, check_document
from schemas.validate.finding import Finding

Wants: TypeAlias = Callable[[Key, str], bool]  # whether the object of a key at a path will be needed


class Doc(msgspec.Struct, frozen=True, gc=False):
    """One document. `object` is None on live where the source's holds; `record` is None in the source."""

    key: Key
    place: DocumentPlace
    object: Object | None = None
    record: Record | None = None


class Contents(msgspec.Struct, frozen=True, gc=False):
    """`docs` is empty in a malformed file: it is frozen whole. `refused` are the identities that it may mean.

    `is_opaque`: it may hold anything. `is_strange`: it holds something, and nothing of ours. `strangers` are the names of documents that are none of ours.
    """

    docs: tuple[Doc, ...] = ()
    is_malformed: bool = False
    is_opaque: bool = False
    has_only_foreign: bool = False
    refused: tuple[Key, ...] = ()
    foreign_names: tuple[str, ...] = ()
    problems: tuple[Problem, ...] = ()
    findings: tuple[Finding, ...] = ()

    @property
    def is_plain(self) -> bool:
        return not (self.is_malformed or self.foreign_names or self.problems or self.findings)


def source_contents(path: str, data: bytes, policy: ValidationPolicy) -> Contents:
    found = manifest.parse(path, data)
    if found.is_malformed:
        return _freeze_malformed(found, data)
    docs, findings = [], []
    for document in found.documents:
        object = decode(document.kind, document.body)
        docs.append(Doc(document.key, DocumentPlace(path, document.index), object))
        entry = Declaration(path, document.index, document.key, object)
        findings += [
            each for each in check_document(entry, document.body, policy) if each.severity is Severity.ERROR
        ]
    if docs:
        foreign_names = _foreign_names(data) if found.foreign else ()
        return Contents(tuple(docs), foreign_names=foreign_names, findings=tuple(findings))
    return Contents(has_only_foreign=_is_something(data), foreign_names=_foreign_names(data))


def live_contents(path: str, data: bytes, wants: Wants) -> Contents:
    found = manifest.parse(path, data)
    if found.is_malformed:
        return _freeze_malformed(found, data)
    return Contents(tuple(_live_doc(document, wants) for document in found.documents))


def object_at(place: DocumentPlace, data: bytes) -> Object:
    """The object of a document that was read before."""
    found = manifest.parse(place.path, data)
    return next(decode(each.kind, each.body) for each in found.documents if each.index == place.index)


def objects_at(path: str, data: bytes) -> Mapping[int, Object]:
    """All of a file that was read before."""
    return {each.index: decode(each.kind, each.body) for each in manifest.parse(path, data).documents}


def unreadable(problem: Problem) -> Contents:
    """A path that is not a file with text, and declares nothing: what live has from it stays."""
    return Contents(is_malformed=True, problems=(problem,))


def _live_doc(document: Document, wants: Wants) -> Doc:
    kind, body = document.kind, document.body
    object = decode(kind, body) if wants(document.key, document.path) else None
    return Doc(document.key, DocumentPlace(document.path, document.index), object, record_of(kind, body))


def _freeze_malformed(found: Manifest, data: bytes) -> Contents:
    errors = tuple(each for each in found.problems if each.severity is Severity.ERROR)
    return Contents(
        is_malformed=True,
        is_opaque=any(not each.object for each in errors),
        refused=(*found.invalid, *(each.key for each in found.documents)),
        foreign_names=_foreign_names(data) if found.foreign else (),
        problems=errors,
    )


def _is_something(data: bytes) -> bool:
    values = read(data.decode("utf-8", "replace"))
    return isinstance(values, Unreadable) or any(value is not None for value in values)


def _foreign_names(data: bytes) -> tuple[str, ...]:
    values = read(data.decode("utf-8", "replace"))
    if isinstance(values, Unreadable):
        return ()
    return tuple(
        name
        for value in values
        if isinstance(value, dict) and not isinstance(recognize_document(value), Kind)
        if isinstance(metadata := value.get("metadata"), dict)
        and isinstance(name := metadata.get("name"), str)
    )
