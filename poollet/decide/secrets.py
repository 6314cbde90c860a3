"""The values of a Secret: from the operator's file on the host, else from the repository if the fleet allows plain values there."""

from __future__ import annotations

import binascii
from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from poollet.decide.decision import PoolletFacts
from poollet.sync.live_view import Lookup
from schemas.kinds import Key, Kind
from schemas.model import Secret


class NotReady(NamedTuple):
    """Why a dependency cannot be used yet: a reason in CamelCase, and a message for people."""

    reason: str
    message: str


@dataclass(frozen=True)
class SecretValues:
    """By key. Values never appear in a text made of this."""

    by_key: Mapping[str, bytes]

    def __repr__(self) -> str:
        return f"Values({sorted(self.by_key)})"


def read_secret(namespace: str, name: str, objects: Lookup, facts: PoolletFacts) -> SecretValues | NotReady:
    """The host's file wins over `live`, so that an operator can override a value and keep it out of Git."""
    own = facts.secrets.get(namespace, name)
    if own is not None:
        return SecretValues(own)
    secret = objects.get(Key(Kind.SECRET, namespace, name))
    if not isinstance(secret, Secret):
        return NotReady(
            "SecretMissing",
            f"Secret {namespace}/{name} exists neither on live nor in this host's secrets file",
        )
    if secret.is_encrypted:
        return NotReady(
            "SecretEncrypted",
            f"Secret {namespace}/{name} is encrypted; put its values into this host's secrets file",
        )
    if not facts.plain_secrets:
        return NotReady(
            "SecretPlain",
            f"Secret {namespace}/{name} holds plain text, but gitvirt.yaml says secrets.plain: deny",
        )
    try:
        found = {key: secret.value(key) for key in secret.keys}
    except (binascii.Error, ValueError):
        return NotReady("SecretMalformed", f"Secret {namespace}/{name} has a value that is not valid base64")
    return SecretValues({key: value for key, value in found.items() if value is not None})


def read_secret_key(
    namespace: str, name: str, key: str, objects: Lookup, facts: PoolletFacts
) -> bytes | NotReady:
    found = read_secret(namespace, name, objects, facts)
    if isinstance(found, NotReady):
        return found
    if key not in found.by_key:
        return NotReady("SecretKeyMissing", f"Secret {namespace}/{name} has no key {key}")
    return found.by_key[key]
