"""What all objects have: the written apiVersion, metadata, and the key that identifies them.

The key is kind, namespace and name. Neither the path of a file nor the apiVersion is part of it, and the uid is not either:
the uid tells apart two objects that had the same key one after the other.
"""

from __future__ import annotations

from typing import ClassVar

import msgspec

from schemas.kinds import Key, Kind
from schemas.model import defaults
from schemas.model.part import Metadata, Part


class Resource(Part, frozen=True):
    """Frozen, schema-valid, defaults applied."""

    KIND: ClassVar[Kind]

    api_version: str
    metadata: Metadata

    def __post_init__(self) -> None:
        if self.KIND.is_namespaced and not self.metadata.namespace:
            filled = msgspec.structs.replace(self.metadata, namespace=defaults.NAMESPACE)
            msgspec.structs.force_setattr(self, "metadata", filled)

    @property
    def key(self) -> Key:
        """Identity: kind, namespace and name."""
        return Key(self.KIND, self.metadata.namespace, self.metadata.name)

    @property
    def name(self) -> str:
        """Unique within kind and namespace."""
        return self.metadata.name

    @property
    def namespace(self) -> str:
        """Empty for cluster-wide kinds."""
        return self.metadata.namespace
