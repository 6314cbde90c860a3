"""Encrypted Secrets of strangers: the reader of SOPS files and that of age armor. Whatever the text is, it opens to the values that were
encrypted or is refused with a cause; it takes no time out of proportion, and no key is in what it says."""

from __future__ import annotations

from schemas.encryption.age_armor import seal, stanza_types
from schemas.encryption.sealed_error import SealedError
from schemas.encryption.sops_document import open_documents
from schemas.encryption.sops_text import open_text, read_body
from tests.schemas.encryption.keys import ADMIN, ADMIN_PUBLIC, VALUES, golden

SEEDS = [
    *(golden(name).encode() for name in ("age", "two", "mac-only", "documents")),
    seal(b"swordfish", [ADMIN_PUBLIC]).encode(),
    b"sops: {age: [], mac: ENC[, lastmodified: x}",
    b"sops: {age: [{recipient: a, enc: b}], mac: 'ENC[AES256_GCM,data:,iv:,tag:,type:str]', lastmodified: ''}",
]
ENCRYPTED = {value for value in VALUES.values() if value}


def once(data: bytes) -> None:
    text = data.decode("utf-8", "replace")
    for read in (read_armor, read_document):
        try:
            read(text)
        except SealedError as error:
            check(error)


def read_armor(text: str) -> None:
    assert isinstance(stanza_types(text), tuple)
    assert ADMIN.open(text) == b"swordfish"


def read_document(text: str) -> None:
    opened = open_documents((read_body(text),), ADMIN)
    assert {plain.data for plain in opened.values(0, "stringData").values()} <= {*ENCRYPTED, b""}
    assert open_text(text, ADMIN).text


def check(error: SealedError) -> None:
    """It has a cause, and no value."""
    assert error.cause
    assert not any(value.decode() in str(error) for value in ENCRYPTED if len(value) > len("0.25"))
