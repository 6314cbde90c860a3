"""Where a Secret's values come from: the operator's file on the host, else the repository where plain ones are allowed."""

from __future__ import annotations

import binascii
from collections.abc import Mapping
from dataclasses import dataclass

from poollet.decide.host_facts import HostFacts
from poollet.sync.live_view import Lookup
from schemas.kinds import Key, Kind
from schemas.model import Secret


@dataclass(frozen=True, slots=True)
class NotReady:
    """Why something cannot be had yet: a reason in CamelCase and the same for people."""

    reason: str
    message: str


@dataclass(frozen=True)
class SecretValues:
    """They stay out of every text made of them."""

    by_key: Mapping[str, bytes]

    def __repr__(self) -> str:
        return f"Values({sorted(self.by_key)})"


def read_secret(namespace: str, name: str, objects: Lookup, facts: HostFacts) -> SecretValues | NotReady:
    """All values of the Secret."""
    own = facts.secrets.get(namespace, name)
    if own is not None:
        return SecretValues(own)
    secret = objects.get(Key(Kind.SECRET, namespace, name))
    if not isinstance(secret, Secret):
        return NotReady("SecretMissing", f"there is no Secret {namespace}/{name}, on this host neither")
    if secret.is_encrypted:
        return NotReady(
            "SecretEncrypted",
            f"Secret {namespace}/{name} is encrypted; put its values into this host's secrets file",
        )
    if not facts.plain_secrets:
        return NotReady(
            "SecretPlain", f"Secret {namespace}/{name} is in plain text, which gitvirt.yaml denies"
        )
    try:
        found = {key: secret.value(key) for key in secret.keys}
    except (binascii.Error, ValueError):
        return NotReady("SecretMalformed", f"a value of Secret {namespace}/{name} is not base64")
    return SecretValues({key: value for key, value in found.items() if value is not None})


def read_secret_key(
    namespace: str, name: str, key: str, objects: Lookup, facts: HostFacts
) -> bytes | NotReady:
    found = read_secret(namespace, name, objects, facts)
    if isinstance(found, NotReady):
        return found
    if key not in found.by_key:
        return NotReady("SecretKeyMissing", f"Secret {namespace}/{name} has no key {key}")
    return found.by_key[key]
