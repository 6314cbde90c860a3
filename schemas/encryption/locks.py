"""Who can open a Secret, as far as its text says. No key is needed, and no value is opened.

SOPS names every recipient. Armor of age names ssh keys by four bytes of a digest and says nothing of keys of age: whether such a key opens it
is unknown, and what is unknown is never reported as wrong.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from schemas.encryption.age_armor import BEGIN, END, looks_like_armor, stanza_types
from schemas.encryption.recipients import AGE_PREFIX, SSH_TYPE, ssh_tag
from schemas.encryption.sops_document import METADATA, SopsMetadata, read_metadata

_BINARY = b"age-encryption.org/v1"
_LINE = 64


@dataclass(frozen=True, slots=True)
class Lock:
    """Of one Secret encrypted by SOPS, or of one value in armor. `has_unnamed`: keys of age that the text does not name."""

    recipients: frozenset[str] = frozenset()
    tags: frozenset[str] = frozenset()
    has_unnamed: bool = False
    other_keys: tuple[str, ...] = ()

    @property
    def can_open(self) -> bool:
        """Whether any key of age or ssh opens it."""
        return bool(self.recipients or self.tags or self.has_unnamed)

    def opens(self, key: str) -> bool | None:
        """Whether this recipient can open it; None where the text does not say."""
        if key in self.recipients or (self.tags and ssh_tag(key) in self.tags):
            return True
        return None if self.has_unnamed and key.startswith(AGE_PREFIX) else False

    def opens_any(self, keys: Collection[str]) -> bool | None:
        """For a host, which tries all of its keys."""
        found = {self.opens(key) for key in keys}
        return True if True in found else None if None in found else False


def read_locks(
    data: Mapping[str, str], string_data: Mapping[str, str], sops: Mapping[str, Any]
) -> tuple[Lock, ...]:
    """Of a Secret's parts; empty where nothing is encrypted in a form that gitvirt opens. Raises SealedError."""
    if sops:
        return (_of_sops(read_metadata({METADATA: sops})),)
    armors = [text for text in string_data.values() if looks_like_armor(text)]
    armors += [armor for text in data.values() if (armor := to_armor(text))]
    return tuple(_of_armor(armor) for armor in armors)


def to_armor(encoded: str) -> str:
    """The armor in a value of `data`, which is base64 of armor or of a binary file of age; empty for all other values."""
    try:
        data = base64.b64decode("".join(encoded.split()), validate=True)
    except (binascii.Error, ValueError):
        return ""
    if data.startswith(_BINARY):
        text = base64.b64encode(data).decode()
        lines = [text[at : at + _LINE] for at in range(0, len(text), _LINE)]
        return "\n".join((BEGIN, *lines, END, ""))
    found = data.decode("ascii", "replace")
    return found if looks_like_armor(found) else ""


def _of_sops(metadata: SopsMetadata) -> Lock:
    return Lock(frozenset(metadata.recipients), other_keys=metadata.other_keys)


def _of_armor(armor: str) -> Lock:
    words = stanza_types(armor)
    tags = frozenset(one[1] for one in words if one[:1] == (SSH_TYPE,) and len(one) > 1)
    return Lock(tags=tags, has_unnamed=any(one[:1] == ("X25519",) for one in words))
