"""The content of one file of a branch, as far as the world needs it: model objects and records, never whole documents.

    the file                                      docs    is_malformed   is_opaque   declares_nothing   refused
    manifests that can be read                    all     no             no          no                 -
    something breaks the format                   none    yes            see below   no                 the keys it may mean
    documents of others, text, comments, nothing  none    no             no          yes                -

`is_opaque`: an error that belongs to no object, so that any object may be declared there. Everything here follows from the
path, the bytes and the validation policy, so that the parse cache can keep it by the blob's id.

Must never happen: anything is read from other files here, or from settings beyond the policy: the cache would give an old answer.
"""

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
    """What was read of one file.

    `docs` is empty in a malformed file: it is frozen whole. `refused` are the identities that it may mean. `foreign_names` are
    the names of documents that are none of ours. `problems` are those of the format, `findings` those of single documents: a
    file with findings is used, and its faulty objects are blocked.
    """

    docs: tuple[Doc, ...] = ()
    is_malformed: bool = False
    is_opaque: bool = False
    refused: tuple[Key, ...] = ()
    foreign_names: tuple[str, ...] = ()
    problems: tuple[Problem, ...] = ()
    findings: tuple[Finding, ...] = ()

    @property
    def declares_nothing(self) -> bool:
        """Whether it can be read, and has no document of ours: it is empty, commented out, or another tool's. If it declared objects
        before, they are not deleted for that."""
        return not self.docs and not self.is_malformed

    @property
    def is_plain(self) -> bool:
        """Whether its documents are all there is to say of it. Only such files go into the parse cache."""
        return not (self.is_malformed or self.foreign_names or self.problems or self.findings)


def source_contents(path: str, data: bytes, policy: ValidationPolicy) -> Contents:
    """A file of the source: every object decoded, and checked alone. Rules between objects run later."""
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
    return Contents(foreign_names=_foreign_names(data))


def live_contents(path: str, data: bytes, wants: Wants) -> Contents:
    """A file of live: every record, and the objects that `wants` asks for. Decoding those that the source has would be for
    nothing, and is most of the time of a start. Nothing is checked: it was when it was accepted.
    """
    found = manifest.parse(path, data)
    if found.is_malformed:
        return _freeze_malformed(found, data)
    return Contents(tuple(_live_doc(document, wants) for document in found.documents))


def object_at(place: DocumentPlace, data: bytes) -> Object:
    """The object of a document that was read before."""
    found = manifest.parse(place.path, data)
    return next(decode(each.kind, each.body) for each in found.documents if each.index == place.index)


def objects_at(path: str, data: bytes) -> Mapping[int, Object]:
    """All objects of a file that was read before, by their place in it."""
    return {each.index: decode(each.kind, each.body) for each in manifest.parse(path, data).documents}


def unreadable(problem: Problem) -> Contents:
    """The contents of a path that is not a text file. It declares nothing, and objects on live from this path stay."""
    return Contents(is_malformed=True, problems=(problem,))


def _live_doc(document: Document, wants: Wants) -> Doc:
    kind, body = document.kind, document.body
    object = decode(kind, body) if wants(document.key, document.path) else None
    return Doc(document.key, DocumentPlace(document.path, document.index), object, record_of(kind, body))


def _freeze_malformed(found: Manifest, data: bytes) -> Contents:
    """A file that declares nothing, and refuses every identity that can be read in it, those of its good documents too."""
    errors = tuple(each for each in found.problems if each.severity is Severity.ERROR)
    return Contents(
        is_malformed=True,
        is_opaque=any(not each.object for each in errors),
        refused=(*found.invalid, *(each.key for each in found.documents)),
        foreign_names=_foreign_names(data) if found.foreign else (),
        problems=errors,
    )


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
