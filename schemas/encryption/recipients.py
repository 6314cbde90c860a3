"""Recipients as text: who can open an encrypted value. Public keys of age (`age1...`) and ssh (`ssh-ed25519 ...`), in one spelling each.

An ssh-ed25519 key is an age recipient itself, so a host needs no further key. Other ssh keys are not: age takes RSA keys too, but a
file would then depend on how old an RSA key is. Pure; the keys are checked here so that a typing mistake is found where it is made.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
from functools import lru_cache

AGE_PREFIX = "age1"
SSH_TYPE = "ssh-ed25519"
# The public key in ssh's own encoding: its type and 32 bytes, each after its length.
_SSH_START = b"\0\0\0\x0bssh-ed25519\0\0\0\x20"
_SSH_BYTES = len(_SSH_START) + 32
_LETTERS = "qpzry9x8gf2tvdw0s3jn54khce6mua7l"
_GENERATORS = (0x3B6A57B2, 0x26508E6D, 0x1EA119FA, 0x3D4233DD, 0x2A1462B3)
_AGE_LETTERS = 52 + 6  # 32 bytes in letters of five bits, and the checksum
_SSH_FIELDS = 2


@lru_cache(maxsize=65536)
def parse_recipient(text: str) -> str | None:
    """The recipient in its one spelling, without ssh's comment; None where it is none."""
    words = text.split()
    if len(words) == 1 and is_age_key(words[0]):
        return words[0]
    if len(words) >= _SSH_FIELDS and words[0] == SSH_TYPE and ssh_blob(words[1]) is not None:
        return f"{SSH_TYPE} {words[1]}"
    return None


def is_age_key(text: str) -> bool:
    """Whether it is a public key of age whose checksum is right."""
    data = text.removeprefix(AGE_PREFIX)
    if data == text or len(data) != _AGE_LETTERS or not set(data) <= set(_LETTERS):
        return False
    prefix = "age"
    values = [ord(letter) >> 5 for letter in prefix] + [0] + [ord(letter) & 31 for letter in prefix]
    return _checksum(values + [_LETTERS.index(letter) for letter in data]) == 1


def ssh_blob(text: str) -> bytes | None:
    """The bytes of an ssh-ed25519 public key, or None."""
    try:
        blob = base64.b64decode(text, validate=True)
    except binascii.Error:
        return None
    return blob if len(blob) == _SSH_BYTES and blob.startswith(_SSH_START) else None


@lru_cache(maxsize=65536)
def ssh_tag(recipient: str) -> str:
    """What an age file says of an ssh recipient: four bytes of a digest of the key. Empty for a key of age, of which a file says nothing."""
    kind, _, key = recipient.partition(" ")
    blob = ssh_blob(key) if kind == SSH_TYPE else None
    if blob is None:
        return ""
    return base64.b64encode(hashlib.sha256(blob).digest()[:4]).decode().rstrip("=")


def shorten(recipient: str) -> str:
    """For people: the end of a key tells keys apart, and the whole of it fills a line."""
    kind, _, key = recipient.partition(" ")
    return f"{kind} ...{key[-8:]}" if key else f"{kind[:8]}...{kind[-4:]}"


def _checksum(values: list[int]) -> int:
    """Bech32's; 1 where the text is whole."""
    found = 1
    for value in values:
        top = found >> 25
        found = (found & 0x1FFFFFF) << 5 ^ value
        for index, generator in enumerate(_GENERATORS):
            if top >> index & 1:
                found ^= generator
    return found
