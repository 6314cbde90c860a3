"""The values of one Secret by key, whatever it is encrypted with: SOPS for the whole file, or armor of age in single values.

Of a key in both sections, `stringData` counts, as in Kubernetes.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping, Sequence
from typing import Any

from schemas.encryption.age_armor import Identities, looks_like_armor
from schemas.encryption.locks import to_armor
from schemas.encryption.sealed_error import SealedError, report_malformed
from schemas.encryption.sops_document import is_sealed, open_documents
from schemas.encryption.sops_values import START

Body = Mapping[str, Any]


def open_secret(bodies: Sequence[Body], number: int, identities: Identities) -> dict[str, bytes]:
    """`bodies` are all documents of the file, because SOPS encrypts files. Raises SealedError, with the key."""
    body = bodies[number]
    if is_sealed(body):
        sealed = [each for each in bodies if is_sealed(each)]
        opened = open_documents(sealed, identities)
        place = next(at for at, each in enumerate(sealed) if each is body)
        data = {key: plain.text for key, plain in opened.values(place, "data").items()}
        string_data = {key: plain.text for key, plain in opened.values(place, "stringData").items()}
        return {
            **{key: _decode(text, key) for key, text in data.items()},
            **{key: text.encode() for key, text in string_data.items()},
        }
    found = {key: _open_data(str(text), key, identities) for key, text in (body.get("data") or {}).items()}
    found |= {
        key: _open_text(str(text), key, identities) for key, text in (body.get("stringData") or {}).items()
    }
    return found


def _open_text(text: str, key: str, identities: Identities) -> bytes:
    if looks_like_armor(text):
        return _open(text, f"stringData.{key}", identities)
    _refuse_foreign(text, f"stringData.{key}")
    return text.encode()


def _open_data(text: str, key: str, identities: Identities) -> bytes:
    armor = to_armor(text)
    if armor:
        return _open(armor, f"data.{key}", identities)
    _refuse_foreign(text, f"data.{key}")
    return _decode(text, key)


def _open(armor: str, key: str, identities: Identities) -> bytes:
    try:
        return identities.open(armor)
    except SealedError as error:
        raise SealedError(error.reason, error.cause, key) from None


def _refuse_foreign(text: str, key: str) -> None:
    """An encrypted value without the metadata that opens it: a guest that boots with that text would run, and be wrong."""
    if text.startswith(START):
        raise report_malformed("it is encrypted by SOPS, and the file has no key `sops`", key)


def _decode(text: str, key: str) -> bytes:
    try:
        return base64.b64decode("".join(text.split()), validate=True)
    except (binascii.Error, ValueError):
        raise report_malformed("its value is not base64", f"data.{key}") from None
