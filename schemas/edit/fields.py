"""The closed list of fields that gitvirt may write into people's manifests, and the path of each. Nothing else is written.

A person's spec belongs to the person. The reconciler writes into it what Kubernetes' conventions keep there: the pool
of an object and the claim of a volume, beside identity and deletion in `metadata`. `power`, `unschedulable` and `taints` are written
by verbs that a person calls, and so are settings of who may connect. All else that gitvirt knows about an object is in `status`, which belongs to it as a whole.

To add a field: a member of `Field`, in the position where a new entry should be inserted.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum

Value = None | bool | int | float | str | list["Value"] | dict[str, "Value"]
Body = dict[str, Value]
Path = tuple[str, ...]


class Field(Enum):
    """In the order in which one edit inserts several new fields."""

    UID = ("metadata", "uid")
    CREATION_TIMESTAMP = ("metadata", "creationTimestamp")
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

    __hash__ = object.__hash__  # members are singletons, and Enum's own hash runs in Python


@dataclass(frozen=True, slots=True)
class Annotation:
    """One annotation."""

    key: str

    @property
    def path(self) -> Path:
        return ("metadata", "annotations", self.key)

    def __str__(self) -> str:
        return f"metadata.annotations[{self.key}]"


@dataclass(frozen=True, slots=True)
class Setting:
    """One setting of a fleet, in gitvirt.yaml: who may connect, which people propose with a verb. Other settings are people's alone."""

    path: Path

    def __post_init__(self) -> None:
        assert self.path[0] in WRITTEN_SETTINGS, self.path

    def __str__(self) -> str:
        return ".".join(self.path)


WRITTEN_SETTINGS = ("link", "poollets", "clients")
Target = Field | Annotation | Setting
Changes = Mapping[Target, Value]
"""The desired value of each field. None removes the field."""

# Mappings that are removed together with their last entry, so that setting and removing an annotation leaves no trace.
PRUNED_WHEN_EMPTY: frozenset[Path] = frozenset({("metadata", "annotations")})

_RANK = {field: rank for rank, field in enumerate(Field)}


def insertion_order(target: Target) -> tuple[int, str]:
    """Annotations come first, then fields in their declared order, so that equal edits give equal bytes."""
    match target:
        case Field():
            return (_RANK[target], "")
        case Annotation(key):
            return (-1, key)
        case Setting(path):
            return (WRITTEN_SETTINGS.index(path[0]), str(path))
