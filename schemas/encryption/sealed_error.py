"""Why an encrypted document or value cannot be opened. Names the key and the cause, never a value."""

from __future__ import annotations

from enum import StrEnum


class SealedReason(StrEnum):
    """What the caller does next: another key, another file, or another tool."""

    NO_KEY = "no key opens it"
    TAMPERED = "it was changed after it was encrypted"
    MALFORMED = "it does not have the form of an encrypted file"
    UNSUPPORTED = "it uses what gitvirt does not read"


class SealedError(Exception):
    """`key` is where in the document, such as `stringData.password` or `sops.mac`; empty for the whole of it."""

    def __init__(self, reason: SealedReason, cause: str, key: str = "") -> None:
        super().__init__(f"{key}: {cause}" if key else cause)
        self.reason, self.cause, self.key = reason, cause, key


def report_malformed(cause: str, key: str = "") -> SealedError:
    return SealedError(SealedReason.MALFORMED, cause, key)


def report_tampered(cause: str, key: str = "") -> SealedError:
    return SealedError(SealedReason.TAMPERED, cause, key)


def report_unsupported(cause: str, key: str = "") -> SealedError:
    return SealedError(SealedReason.UNSUPPORTED, cause, key)
