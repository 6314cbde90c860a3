"""A Secret of `live` that is encrypted, with the text that it takes to open it: all documents of its file, because the MAC is over them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from schemas.manifest import Manifest
from schemas.model import Object, Secret, decode


class SealedSecret(Secret, frozen=True):
    """`documents` are those of the file in their order, and `number` is its own among them."""

    path: str = ""
    documents: tuple[Mapping[str, Any], ...] = ()
    number: int = 0


def read_objects(manifest: Manifest) -> tuple[Object, ...]:
    """The objects of a file that can be read."""
    found = tuple(decode(document.kind, document.body) for document in manifest.documents)
    if not any(isinstance(each, Secret) and each.is_encrypted for each in found):
        return found
    bodies = tuple(document.body for document in manifest.documents)
    return tuple(
        _seal(each, manifest.path, bodies, number) if isinstance(each, Secret) and each.is_encrypted else each
        for number, each in enumerate(found)
    )


def _seal(secret: Secret, path: str, bodies: tuple[Mapping[str, Any], ...], number: int) -> SealedSecret:
    fields = {name: getattr(secret, name) for name in Secret.__struct_fields__}
    return SealedSecret(**fields, path=path, documents=bodies, number=number)
