"""Bytes ↔ ASCII armor of age, and the private keys that open it.

The library is pyrage, which is age's implementation in Rust; it is imported when the first value is encrypted or opened, so that
programs that only ask who could open something do not load it.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Collection, Sequence
from typing import Any

from schemas.encryption.recipients import SSH_TYPE, parse_recipient
from schemas.encryption.sealed_error import SealedError, SealedReason, report_malformed, report_tampered

BEGIN, END = "-----BEGIN AGE ENCRYPTED FILE-----", "-----END AGE ENCRYPTED FILE-----"
_VERSION = b"age-encryption.org/v1\n"
_STANZA = b"-> "
_SECRET_KEY = "AGE-SECRET-KEY-1"  # how age's own private keys begin
MAX_BYTES = 4 << 20


class IdentityError(Exception):
    """A private key that cannot be used. `cure` says what to do; neither has any of the key."""

    def __init__(self, cause: str, cure: str) -> None:
        super().__init__(cause)
        self.cause, self.cure = cause, cure


class Identities:
    """Private keys. Nothing of them is in a text made of this, and pickling is refused."""

    def __init__(self, keys: Sequence[Any] = ()) -> None:
        self._keys = tuple(keys)

    def __bool__(self) -> bool:
        return bool(self._keys)

    def __add__(self, other: Identities) -> Identities:
        return Identities((*self._keys, *other._keys))

    def __repr__(self) -> str:
        return f"Identities({len(self._keys)})"

    def __reduce__(self) -> Any:
        raise TypeError("private keys are not pickled")

    def open(self, armor: str) -> bytes:
        """The bytes. Raises SealedError; its `key` is the caller's to add."""
        import pyrage

        text = armor.strip() + "\n"
        if not is_armor(text):
            raise report_malformed(f"it is not ASCII armor of age from {BEGIN} to {END}")
        if not self._keys:
            raise SealedError(SealedReason.NO_KEY, "there is no private key to open it with")
        try:
            data: bytes = pyrage.decrypt(text.encode(), list(self._keys))
        except pyrage.DecryptError as error:
            if "No matching keys" in str(error):
                raise SealedError(SealedReason.NO_KEY, "none of the private keys opens it") from None
            raise report_tampered("its age data is damaged") from None
        return data


def parse_identities(data: bytes) -> Identities:
    """The keys of a file as `age-keygen` or `ssh-keygen` writes it. Raises IdentityError."""
    import pyrage
    from pyrage import ssh, x25519

    text = data.decode("utf-8", "replace")
    try:
        if "PRIVATE KEY-----" in text:
            return Identities((ssh.Identity.from_buffer(data.rstrip() + b"\n"),))
        lines = [line.strip() for line in text.splitlines()]
        keys = [line for line in lines if line and not line.startswith("#")]
        if not keys or not all(key.startswith(_SECRET_KEY) for key in keys):
            raise IdentityError("it has no private key of age or ssh", "make one with age-keygen")
        return Identities([x25519.Identity.from_str(key) for key in keys])
    except (pyrage.IdentityError, ValueError):
        cure = "use an ssh-ed25519 key without a passphrase, or a key of age-keygen"
        raise IdentityError("its private key cannot be used", cure) from None


def public_half(data: bytes) -> tuple[str, ...]:
    """The recipients that the keys of such a file are; empty where that cannot be told without the passphrase. Raises IdentityError."""
    import pyrage
    from cryptography.exceptions import UnsupportedAlgorithm
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat, load_ssh_private_key
    from pyrage import x25519

    parse_identities(data)
    text = data.decode("utf-8", "replace")
    try:
        if "PRIVATE KEY-----" in text:
            key = load_ssh_private_key(data, None)
            if not isinstance(key, Ed25519PrivateKey):
                raise IdentityError("it is an ssh key of another type", f"use one of type {SSH_TYPE}")
            public = key.public_key().public_bytes(Encoding.OpenSSH, PublicFormat.OpenSSH)
            return (public.decode(),)
        lines = (line.strip() for line in text.splitlines())
        keys = [line for line in lines if line.startswith(_SECRET_KEY)]
        return tuple(str(x25519.Identity.from_str(key).to_public()) for key in keys)
    except (pyrage.IdentityError, ValueError, UnsupportedAlgorithm, TypeError):
        cure = "use an ssh-ed25519 key without a passphrase, or a key of age-keygen"
        raise IdentityError("its private key cannot be used", cure) from None


def seal(data: bytes, recipients: Collection[str]) -> str:
    """Armor that each of the recipients opens. ValueError for a text that is not a recipient."""
    import pyrage

    known = [parse_recipient(one) for one in recipients]
    if not known or None in known:
        raise ValueError("every recipient is a public key of age or ssh-ed25519, and there is at least one")
    keys = [
        pyrage.ssh.Recipient.from_str(one)
        if one.startswith(SSH_TYPE)
        else pyrage.x25519.Recipient.from_str(one)
        for one in known
        if one is not None
    ]
    armor: bytes = pyrage.encrypt(data, keys, armored=True)
    return armor.decode()


def is_armor(text: str) -> bool:
    """Whether it is armor of age by its first and last line."""
    stripped = text.strip()
    return stripped.startswith(f"{BEGIN}\n") and stripped.endswith(f"\n{END}") and len(text) <= MAX_BYTES


def looks_like_armor(text: str) -> bool:
    """By its first line alone: what begins so was meant to be armor, and is never used as a plain value."""
    return text.lstrip().startswith(BEGIN)


def stanza_types(armor: str) -> tuple[tuple[str, ...], ...]:
    """The words of each recipient line of the header: its type, then what it says of the key. Raises SealedError."""
    if not is_armor(armor):
        raise report_malformed(f"it is not ASCII armor of age from {BEGIN} to {END}")
    try:
        data = base64.b64decode("".join(armor.strip().splitlines()[1:-1]), validate=True)
    except (binascii.Error, ValueError):
        raise report_malformed("its armor is not base64") from None
    header, found, _ = data.partition(b"\n--- ")
    if not found or not header.startswith(_VERSION):
        raise report_malformed("it has no header of age")
    lines = [line for line in header.split(b"\n") if line.startswith(_STANZA)]
    return tuple(tuple(line.removeprefix(_STANZA).decode("ascii", "replace").split()) for line in lines)
