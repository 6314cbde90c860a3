"""The values of a Secret: from the operator's file on the host, else from the repository: decrypted, or plain if the fleet allows that."""

from __future__ import annotations

import binascii
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from poollet.decide.decision import PoolletFacts, UnreadableSecret
from poollet.decide.inventory import Inventory
from poollet.sync.live_view import Lookup
from schemas import report
from schemas.kinds import Key, Kind
from schemas.live_layout import MAX_TEXT
from schemas.model import Secret

NOT_READABLE = "SecretNotReadable"


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


@dataclass(frozen=True)
class Lookups:
    """Where secrets and the other dependencies of an object are looked up."""

    objects: Lookup
    inventory: Inventory
    facts: PoolletFacts


def read_secret(namespace: str, name: str, lookups: Lookups) -> SecretValues | NotReady:
    """The host's file wins over `live`, so that an operator can override a value and keep it out of Git."""
    title = f"Secret {namespace}/{name}"
    own = lookups.facts.secrets.get(namespace, name)
    if own is not None:
        return SecretValues(own)
    secret = lookups.objects.get(Key(Kind.SECRET, namespace, name))
    if not isinstance(secret, Secret):
        message = f"{title} exists neither on live nor in this host's secrets file"
        return NotReady("SecretMissing", message)
    if secret.is_encrypted:
        opened = lookups.facts.secrets.opener.open(secret)
        if isinstance(opened, UnreadableSecret):
            return NotReady(opened.reason, f"{title} cannot be opened: {opened.message}")
        return SecretValues(opened)
    if not lookups.facts.plain_secrets:
        message = f"{title} holds plain text, but gitvirt.yaml says secrets.plain: deny"
        return NotReady("SecretPlain", message)
    try:
        found = {key: secret.value(key) for key in secret.keys}
    except (binascii.Error, ValueError):
        return NotReady("SecretMalformed", f"{title} has a value that is not valid base64")
    return SecretValues({key: value for key, value in found.items() if value is not None})


def admission_reasons(not_ready: Iterable[NotReady]) -> tuple[report.ReportedReason, ...]:
    """Why this host cannot take a new object at all: Secrets that none of its keys opens. Another host may have the key, so the assignment
    is rejected; what else is not ready comes about here, and is waited for. The scheduler asks the same by gitvirt.yaml
    (`SecretNotReadable`), which may name another key than this host has."""
    found = dict.fromkeys(each.message for each in not_ready if each.reason == NOT_READABLE)
    return tuple(report.ReportedReason(code=NOT_READABLE, message=message[:MAX_TEXT]) for message in found)


def read_secret_key(namespace: str, name: str, key: str, lookups: Lookups) -> bytes | NotReady:
    """One value of a secret; a key that it lacks is a reason of its own."""
    found = read_secret(namespace, name, lookups)
    if isinstance(found, NotReady):
        return found
    if key not in found.by_key:
        return NotReady("SecretKeyMissing", f"Secret {namespace}/{name} has no key {key}")
    return found.by_key[key]
