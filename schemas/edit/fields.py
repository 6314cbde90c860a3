"""What may be edited: a closed set of fields, and where each stands in a manifest. Nothing else is ever written into
a person's text, so this module is the whole list."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum

Value = None | bool | int | float | str | list["Value"] | dict[str, "Value"]
Body = dict[str, Value]
Path = tuple[str, ...]


class Field(Enum):
    """In the order in which new ones are inserted when one edit brings several."""

    UID = ("metadata", "uid")
    DELETION_TIMESTAMP = ("metadata", "deletionTimestamp")
    POWER = ("spec", "power")
    UNSCHEDULABLE = ("spec", "unschedulable")
    TAINTS = ("spec", "taints")
    MACHINE_POOL_REF = ("spec", "machinePoolRef")
    VOLUME_POOL_REF = ("spec", "volumePoolRef")
    CLAIM_REF = ("spec", "claimRef")
    STATUS = ("status",)

    def __init__(self, *path: str) -> None:
        self.path: Path = path

    def __str__(self) -> str:
        return ".".join(self.path)

    __hash__ = object.__hash__  # each is one object; Enum's hashes its name, in Python


@dataclass(frozen=True, slots=True)
class Label:
    key: str

    @property
    def path(self) -> Path:
        return ("metadata", "labels", self.key)

    def __str__(self) -> str:
        return f"metadata.labels[{self.key}]"


@dataclass(frozen=True, slots=True)
class Annotation:
    key: str

    @property
    def path(self) -> Path:
        return ("metadata", "annotations", self.key)

    def __str__(self) -> str:
        return f"metadata.annotations[{self.key}]"


Target = Field | Label | Annotation
Changes = Mapping[Target, Value]
"""What each field shall be; None: it shall not be there."""

# Maps that mean nothing when empty: the last entry takes them along, so that setting and unsetting leaves no trace.
PRUNED_WHEN_EMPTY: frozenset[Path] = frozenset({("metadata", "labels"), ("metadata", "annotations")})

_RANK = {field: rank for rank, field in enumerate(Field)}


def insertion_order(target: Target) -> tuple[int, str]:
    if isinstance(target, Field):
        return (_RANK[target], "")
    return (-2 if isinstance(target, Label) else -1, target.key)
