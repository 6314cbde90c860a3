"""The effects that a change can have: a closed union of values. What each destroys is a field of it, never only a text."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Literal, TypeAlias

from schemas.model.quantity import units


class LossKind(StrEnum):
    """What kind of data is destroyed. The value is the noun that people read."""

    LOCAL_DISK = "local disk"
    VOLUME = "volume"
    SNAPSHOT = "snapshot"


@dataclass(frozen=True, slots=True, order=True)
class Loss:
    """Data that a change destroys: `local disk root of db-1, 10Gi`. `owner` is the machine of a local disk, and empty otherwise."""

    kind: LossKind
    name: str
    owner: str = ""
    size_bytes: int = 0

    def __str__(self) -> str:
        owner = f" of {self.owner}" if self.owner else ""
        size = f", {self.size}" if self.size_bytes else ""
        return f"{self.kind.value} {self.name}{owner}{size}"

    @property
    def size(self) -> str:
        """As people write it: 10Gi."""
        return str(units(self.size_bytes))


@dataclass(frozen=True, slots=True)
class Recorded:
    """Nothing that runs changes. `note` says what the field is used for from now on."""

    note: str = ""


@dataclass(frozen=True, slots=True)
class AtCreation:
    """Nothing was created from the object yet, so every field still counts."""


@dataclass(frozen=True, slots=True)
class AppliedNow:
    """Applied to what runs, without a restart. `note` says what the guest sees of it; `losses` what is destroyed."""

    note: str = ""
    losses: tuple[Loss, ...] = ()


@dataclass(frozen=True, slots=True)
class SwitchesPower:
    """The guest is stopped, started or restarted now."""

    to: Literal["On", "Off", "Restart"]


@dataclass(frozen=True, slots=True)
class AtNextPlacement:
    """Counts when a pool is chosen next; what is placed stays where it is."""


@dataclass(frozen=True, slots=True)
class MayEvict:
    """Machines that do not tolerate a taint of their pool have to leave it. A plan lists each of them, with what it loses."""


@dataclass(frozen=True, slots=True)
class AtNextBoot:
    """The guest runs on unchanged. `is_partly_now`: as far as the running guest allows, it is applied at once. `obstacle` is why even a
    boot does not apply it now."""

    machine: str = ""
    is_partly_now: bool = False
    obstacle: str = ""


@dataclass(frozen=True, slots=True)
class NeedsRecreation:
    """No effect on what exists: only an object that is created again has it, which destroys `losses`. `machine`: the name for `gitvirt
    replace`; empty where it is not known."""

    why: str = ""
    losses: tuple[Loss, ...] = ()
    is_volume: bool = False
    machine: str = ""


@dataclass(frozen=True, slots=True)
class Moves:
    """The machine stops on one pool and starts on another one. An empty `source` is the pool that it is on, if that is another one.
    `losses` cannot move along, and are destroyed. `awaits_consent`: it stays until people accept that it leaves data behind.
    `obstacle` is why the pool cannot take it now: until then it stays."""

    target: str
    source: str = ""
    losses: tuple[Loss, ...] = ()
    awaits_consent: bool = False
    obstacle: str = ""


@dataclass(frozen=True, slots=True)
class Recreates:
    """The machine is deleted on its host and created again, there or on another pool, with the same uid, volumes and addresses."""

    losses: tuple[Loss, ...] = ()


@dataclass(frozen=True, slots=True)
class Refused:
    """Validation has this error, and the reconciler keeps the last good content of the file. Nothing is destroyed."""

    code: str
    message: str
    hint: str


@dataclass(frozen=True, slots=True)
class Creates:
    """An object that is new."""


@dataclass(frozen=True, slots=True)
class Deletes:
    """An object that is removed. `kept` names the data that stays by its policy."""

    losses: tuple[Loss, ...] = ()
    kept: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Renames:
    """A machine is deleted and created again under another name: `kept` (volumes, addresses) go with it, `losses` are destroyed."""

    old: str
    new: str
    kept: tuple[str, ...] = ()
    losses: tuple[Loss, ...] = ()


Effect: TypeAlias = (
    Recorded
    | AtCreation
    | AppliedNow
    | SwitchesPower
    | AtNextPlacement
    | MayEvict
    | AtNextBoot
    | NeedsRecreation
    | Moves
    | Recreates
    | Refused
    | Creates
    | Deletes
    | Renames
)


def list_losses(effect: Effect) -> tuple[Loss, ...]:
    """What is destroyed once the effect has come true. Of a NeedsRecreation nothing: the change alone destroys nothing."""
    match effect:
        case AppliedNow() | Moves() | Recreates() | Deletes() | Renames():
            return effect.losses
        case _:
            return ()


def destructive_word(effect: Effect) -> Literal["DELETE", "DESTROY", "RECREATE", ""]:
    """The word that every text about this effect has. Empty for an effect that takes nothing away."""
    match effect:
        case Deletes():
            return "DELETE"
        case Renames() | NeedsRecreation() | Recreates():
            return "RECREATE"
        case AppliedNow() | Moves() if effect.losses:
            return "DESTROY"
        case _:
            return ""
