"""Secrets and quotas: the kinds of the groups `core` and `v1`."""

from __future__ import annotations

import base64
from typing import Any, ClassVar, Literal

from schemas.encryption.age_armor import looks_like_armor
from schemas.encryption.locks import Lock, read_locks, to_armor
from schemas.kinds import Kind
from schemas.model.part import Condition, Part
from schemas.model.quantity import Quantity
from schemas.model.resource import Resource

ENCRYPTED = "ENC["


class Secret(Resource, frozen=True):
    """Its values never appear in a text made from it, such as a log or a traceback.

    `data` is base64 and `string_data` is plain text; if a key is in both, the plain text is used. An encrypted value is kept as
    it is written: only the host that needs it decrypts it (`schemas.encryption`).
    """

    KIND: ClassVar[Kind] = Kind.SECRET

    type: str = ""
    data: dict[str, str] = {}
    string_data: dict[str, str] = {}
    immutable: bool = False
    sops: dict[str, Any] = {}

    @property
    def keys(self) -> frozenset[str]:
        """The keys under data and stringData."""
        return frozenset((*self.data, *self.string_data))

    @property
    def is_encrypted(self) -> bool:
        """Whether any value is encrypted, by SOPS or as armor of age, so that it takes a key to use the Secret."""
        texts = self.string_data.values()
        return (
            bool(self.sops)
            or any(value.startswith(ENCRYPTED) for value in (*self.data.values(), *texts))
            or any(map(looks_like_armor, texts))
            or any(map(to_armor, self.data.values()))
        )

    @property
    def locks(self) -> tuple[Lock, ...]:
        """Who can open it, as far as its text says; empty where nothing is encrypted in a form that hosts open. Raises SealedError."""
        return read_locks(self.data, self.string_data, self.sops)

    def value(self, key: str) -> bytes | None:
        """The plain value, or None if the key does not exist or its value is encrypted."""
        text = self.string_data.get(key)
        if text is not None:
            return None if text.startswith(ENCRYPTED) else text.encode()
        encoded = self.data.get(key)
        if encoded is None or encoded.startswith(ENCRYPTED):
            return None
        return base64.b64decode("".join(encoded.split()))

    def __repr__(self) -> str:
        return f"Secret({self.key}, keys={sorted(self.keys)})"

    def __rich_repr__(self) -> list[tuple[str, Any]]:
        return [("key", str(self.key)), ("keys", sorted(self.keys))]


class ScopeRequirement(Part, frozen=True):
    """Restricts a quota to objects of certain classes."""

    scope_name: Literal["MachineClass", "VolumeClass", "BucketClass"]
    operator: Literal["In", "NotIn", "Exists", "DoesNotExist"]
    values: tuple[str, ...] = ()


class ScopeSelector(Part, frozen=True):
    """All requirements must match."""

    match_expressions: tuple[ScopeRequirement, ...] = ()


class ResourceQuotaSpec(Part, frozen=True):
    """The limits, and the objects that count."""

    hard: dict[str, Quantity]
    scope_selector: ScopeSelector | None = None


class ResourceQuotaStatus(Part, frozen=True):
    """Limits in effect and amounts in use."""

    hard: dict[str, Quantity] = {}
    used: dict[str, Quantity] = {}
    conditions: tuple[Condition, ...] = ()


class ResourceQuota(Resource, frozen=True):
    """How much a namespace may use."""

    KIND: ClassVar[Kind] = Kind.RESOURCE_QUOTA

    spec: ResourceQuotaSpec
    status: ResourceQuotaStatus = ResourceQuotaStatus()
