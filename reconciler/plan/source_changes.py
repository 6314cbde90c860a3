"""What people changed in the source, and what that does to what runs. Pure: two versions of each document in.

`gitvirt plan` prints this, so that the author of a pull request learns what is stopped, moved or destroyed, and when the rest applies. The
effects are those of `schemas.effects`, which the rules of validation, of the reconciler and of the poollet ask as well.

A machine that is gone and one that is new are a rename if the new one takes over a volume, an interface or an address of the old one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from schemas.effects.context import EffectContext
from schemas.effects.effect import Creates, Deletes, Effect, Loss, Renames, list_losses
from schemas.effects.field_change import FieldChange
from schemas.effects.removal import removal_of, rename_of
from schemas.effects.rules import compare_documents, effect_of
from schemas.kinds import Key, Kind
from schemas.model import Machine, Object, decode


@dataclass(frozen=True, slots=True)
class FieldEffect:
    """One changed field of an object, and what its change does."""

    change: FieldChange
    effect: Effect


@dataclass(frozen=True, slots=True)
class SourceChange:
    """One object that was added, changed, renamed or taken out. `whole` is the effect on the object as a whole: Creates, Deletes or
    Renames, and None for one that is changed field by field. A rename is at the new key, and the old one is not listed."""

    key: Key
    whole: Creates | Deletes | Renames | None = None
    fields: tuple[FieldEffect, ...] = ()

    @property
    def effects(self) -> tuple[Effect, ...]:
        """All of them, that on the whole object first."""
        whole = (self.whole,) if self.whole is not None else ()
        return (*whole, *(each.effect for each in self.fields))

    @property
    def losses(self) -> tuple[Loss, ...]:
        """What the change destroys, each once."""
        return tuple(dict.fromkeys(loss for effect in self.effects for loss in list_losses(effect)))


Documents: TypeAlias = Mapping[Key, Mapping[str, object]]
ContextOf: TypeAlias = Callable[[Key, Object], EffectContext]


def compare_sources(before: Documents, after: Documents, context_of: ContextOf) -> tuple[SourceChange, ...]:
    """Documents of the source as they were reconciled last, and as they are now. Sorted by key. `context_of` says what is known of an
    object, which is given as it was."""
    gone = {key: decode(key.kind, before[key]) for key in before.keys() - after.keys()}
    new = after.keys() - before.keys()
    renames = find_renames(gone, {key: after[key] for key in new})
    old_names = {key._replace(name=rename.old) for key, rename in renames.items()}
    found = []
    for key in sorted(before.keys() | after.keys()):
        if key in new:
            found.append(SourceChange(key, renames.get(key, Creates())))
        elif key in gone:
            if key not in old_names:
                found.append(SourceChange(key, removal_of(gone[key])))
        elif fields := compare_fields(key, before[key], after[key], context_of):
            found.append(SourceChange(key, fields=fields))
    return tuple(found)


def find_renames(gone: Mapping[Key, Object], new: Documents) -> dict[Key, Renames]:
    """By the new key. Each machine continues at most one other, and the first by name wins."""
    left = {key: each for key, each in sorted(gone.items()) if isinstance(each, Machine)}
    found: dict[Key, Renames] = {}
    for key in sorted(key for key in new if left and key.kind is Kind.MACHINE):
        machine = decode(key.kind, new[key])
        assert isinstance(machine, Machine), "by the kind of its key"
        for old_key, old in left.items():
            if (rename := rename_of(old, machine)) is not None:
                found[key] = rename
                del left[old_key]
                break
    return found


def compare_fields(
    key: Key, before: Mapping[str, object], after: Mapping[str, object], context_of: ContextOf
) -> tuple[FieldEffect, ...]:
    """The fields in which the two differ. The context is asked only where there are any."""
    changes = tuple(compare_documents(key.kind, before, after))
    if not changes:
        return ()
    context = context_of(key, decode(key.kind, before))
    return tuple(FieldEffect(change, effect_of(change, context)) for change in changes)
