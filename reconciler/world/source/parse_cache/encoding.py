"""The contents of a file as bytes, and back: only of plain files, whose documents are all there is to say of them.

Exact: what comes back is what went in, amounts with the notation they were written in. Secrets are never among it, so that their
values lie nowhere but in Git. Owns the form alone; where the bytes lie, and whether they can be relied on, is not known here.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from functools import lru_cache, reduce
from operator import or_
from typing import Any

import msgspec

from reconciler.world.objects.object_state import DocumentPlace
from reconciler.world.record import STATUS, Record, assignment_of, empty_status
from reconciler.world.source.contents import Contents, Doc
from schemas.kinds import Key, Kind
from schemas.model import TYPES, ClaimRef, OwnerReference
from schemas.model.quantity import Notation, Quantity

_LETTERS = {Notation.DECIMAL: "d", Notation.BINARY: "b", Notation.EXPONENT: "e"}
_NOTATIONS = {letter: notation for notation, letter in _LETTERS.items()}


def _keep(kind: Kind) -> type[msgspec.Struct]:
    """One document of a kind. `names` are namespace and name, where no object says them; `record` is empty in the source."""
    status: Any = STATUS.get(kind, type(None))
    record: Any = tuple[str, str, str, ClaimRef | None, tuple[OwnerReference, ...], status | None]
    object: Any = TYPES[kind]
    fields = [
        ("index", int),
        ("names", tuple[str, str] | None),
        ("object", object | None),
        ("record", record | None),
    ]
    return msgspec.defstruct(f"Kept{kind}", fields, tag=kind.value, array_like=True, frozen=True, gc=False)


_KEPT: Mapping[Kind, Any] = {kind: _keep(kind) for kind in Kind if kind is not Kind.SECRET}
_KIND_OF = {kept: kind for kind, kept in _KEPT.items()}


def encode(contents: Contents) -> bytes | None:
    """None for contents that cannot be encoded: files that are not plain, Secrets, and numbers that MessagePack cannot hold."""
    if not contents.docs or not contents.is_plain:
        return None
    kept = []
    for doc in contents.docs:
        kind, object, record = doc.key.kind, doc.object, doc.record
        if kind not in _KEPT or (object is not None and object.key != doc.key):
            return None
        names = (doc.key.namespace, doc.key.name) if object is None else None
        kept.append(_KEPT[kind](doc.place.index, names, object, _parts(kind, record)))
    try:
        return _ENCODER.encode(kept)
    except (
        OverflowError,
        ValueError,
    ):  # a number or a text that JSON Schema lets pass and MessagePack does not
        return None


def decode(path: str, data: bytes) -> Contents | None:
    """What a file at this path holds, by what `encode` made of it. None for other data: the file is then parsed again."""
    try:
        return Contents(tuple([_doc(path, each) for each in _DECODER.decode(data)]))
    except (msgspec.MsgspecError, ValueError):
        return None


def _parts(kind: Kind, record: Record | None) -> tuple[Any, ...] | None:
    if record is None:
        return None
    status = None if record.status is empty_status(kind) else record.status
    return (
        record.uid,
        record.creation_timestamp,
        record.deletion_timestamp,
        record.claim,
        record.owners,
        status,
    )


def _doc(path: str, kept: Any) -> Doc:
    kind, object = _KIND_OF[type(kept)], kept.object
    key = Key(kind, *kept.names) if object is None else object.key
    return Doc(key, DocumentPlace(path, kept.index), object, _record(kind, kept.record))


def _record(kind: Kind, parts: tuple[Any, ...] | None) -> Record | None:
    if parts is None:
        return None
    uid, created, deleted, claim, owners, status = parts
    if status is None:
        return Record(uid, created, deleted, "", claim, owners, empty_status(kind))
    assignment = assignment_of(status)
    return Record(uid, created, deleted, assignment.pool if assignment else "", claim, owners, status)


def to_text(value: object) -> str:
    """Amounts and fractions as text, for an encoder of msgspec; `of_text` reads them."""
    if isinstance(value, Quantity):
        return f"{_LETTERS[value.notation]}{value.nano}"
    if isinstance(value, Fraction):
        return str(value)
    raise TypeError(f"{type(value).__name__} has no form in bytes")


def of_text(needed: type, text: object) -> object:
    """What `to_text` wrote, for a decoder of msgspec."""
    if needed is Quantity and isinstance(text, str):
        return _quantity(text)
    if needed is Fraction and isinstance(text, str):
        return Fraction(text)
    raise ValueError(f"there is no {needed.__name__} in it")


@lru_cache(maxsize=4096)
def _quantity(text: str) -> Quantity:
    notation = _NOTATIONS.get(text[:1])
    if notation is None:
        raise ValueError("an amount of no notation")
    return Quantity(int(text[1:]), notation)


_ENCODER = msgspec.msgpack.Encoder(enc_hook=to_text)
# Made here, since two threads that make one at once crash the process.
_ANY: Any = reduce(or_, _KEPT.values())
_DECODER: msgspec.msgpack.Decoder[list[Any]] = msgspec.msgpack.Decoder(list[_ANY], dec_hook=of_text)
