"""A Secret of `live` that is encrypted, with the text that it takes to open it: all documents of its file, those of other
tools too, because the MAC is over them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from schemas.manifest import Manifest
from schemas.model import Object, Secret, decode
from schemas.reader import Unreadable, read


class SealedSecret(Secret, frozen=True):
    """`documents` are those of the file in their order, and `number` is its own among them."""

    path: str = ""
    documents: tuple[Mapping[str, Any], ...] = ()
    number: int = 0


def read_objects(manifest: Manifest, data: bytes) -> tuple[Object, ...]:
    """The objects of a file that can be read, and its bytes."""
    found = tuple(decode(document.kind, document.body) for document in manifest.documents)
    if not any(isinstance(each, Secret) and each.is_encrypted for each in found):
        return found
    values = read(data.decode("utf-8", "replace"))
    assert not isinstance(values, Unreadable), "it was read before"
    bodies = tuple(cast("dict[str, Any]", value) if isinstance(value, dict) else {} for value in values)
    return tuple(
        _seal(each, manifest.path, bodies, document.index)
        if isinstance(each, Secret) and each.is_encrypted
        else each
        for document, each in zip(manifest.documents, found, strict=True)
    )


def _seal(secret: Secret, path: str, bodies: tuple[Mapping[str, Any], ...], number: int) -> SealedSecret:
    fields = {name: getattr(secret, name) for name in Secret.__struct_fields__}
    return SealedSecret(**fields, path=path, documents=bodies, number=number)
