"""One value of a SOPS document ↔ `ENC[AES256_GCM,data:...,iv:...,tag:...,type:...]`.

The additional data of a value is its path (`stringData:password:`), so that a value moved to another key does not open. Decoding is
strict: base64 has one spelling, so no byte of the text can be changed without being noticed.
"""

from __future__ import annotations

import base64
import binascii
import re
from dataclasses import dataclass
from decimal import Decimal

from schemas.encryption.sealed_error import report_malformed, report_tampered, report_unsupported

Scalar = str | int | float | bool
KEY_BYTES, NONCE_BYTES, TAG_BYTES = 32, 32, 16
START = "ENC["
_FORM = re.compile(
    r"ENC\[AES256_GCM,data:([A-Za-z0-9+/=]*),iv:([A-Za-z0-9+/=]+),tag:([A-Za-z0-9+/=]+),type:([a-z]+)\]"
)
TYPES = ("str", "int", "float", "bool", "bytes", "comment")


@dataclass(frozen=True, repr=False)
class Plain:
    """A value as it was before, in the bytes that are encrypted and part of the MAC."""

    data: bytes
    type: str = "str"

    @property
    def text(self) -> str:
        """As it is written in YAML. SealedError for bytes that are not text."""
        try:
            found = self.data.decode()
        except UnicodeDecodeError:
            raise report_unsupported("the value is not text") from None
        return found.lower() if self.type == "bool" else found


def open_value(written: str, key: bytes, path: str) -> Plain:
    """The value. An empty one is not encrypted by SOPS. Raises SealedError without naming the path."""
    if written == "":
        return Plain(b"")
    from cryptography.exceptions import InvalidTag
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

    match = _FORM.fullmatch(written)
    if match is None:
        raise report_malformed("the value is not encrypted")
    data, nonce, tag = (_decode(part) for part in match.group(1, 2, 3))
    if len(nonce) != NONCE_BYTES or len(tag) != TAG_BYTES or match[4] not in TYPES:
        raise report_malformed("the value is not encrypted in a form that SOPS writes")
    try:
        return Plain(AESGCM(key).decrypt(nonce, data + tag, path.encode()), match[4])
    except InvalidTag:
        raise report_tampered("the value was changed, or moved from another key") from None


def seal_value(plain: Plain, key: bytes, path: str, nonce: bytes) -> str:
    """The same nonce gives the same text, so that a value which did not change has the text that it had."""
    if not plain.data:
        return ""
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

    sealed = AESGCM(key).encrypt(nonce, plain.data, path.encode())
    data, tag = sealed[:-TAG_BYTES], sealed[-TAG_BYTES:]
    parts = f"data:{_encode(data)},iv:{_encode(nonce)},tag:{_encode(tag)},type:{plain.type}"
    return f"{START}AES256_GCM,{parts}]"


def nonce_of(written: str) -> bytes:
    """The nonce of a sealed value; empty where there is none."""
    match = _FORM.fullmatch(written)
    return _decode(match[2]) if match is not None else b""


def plain_of(value: Scalar) -> Plain:
    """A value of a document in SOPS' bytes: numbers in decimal notation, and booleans with a capital."""
    match value:
        case bool():
            return Plain(b"True" if value else b"False", "bool")
        case int():
            return Plain(str(value).encode(), "int")
        case float():
            exact = format(Decimal(repr(value)), "f")
            return Plain((exact.rstrip("0").rstrip(".") if "." in exact else exact).encode(), "float")
        case str():
            return Plain(value.encode())


def _decode(text: str) -> bytes:
    """Only the one spelling that SOPS writes: the last letter has no bits to spare."""
    try:
        data = base64.b64decode(text, validate=True)
    except binascii.Error:
        raise report_malformed("the value is not base64") from None
    if _encode(data) != text:
        raise report_tampered("the value is not the base64 that SOPS writes")
    return data


def _encode(data: bytes) -> str:
    return base64.b64encode(data).decode()
