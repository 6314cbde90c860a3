"""How a changed field is said in a plan: both values, and when that applies. Pure."""

from __future__ import annotations

from dataclasses import replace

from reconciler.cli.plans.outline import FieldLine
from reconciler.plan.source_changes import FieldEffect
from schemas.effects import words
from schemas.effects.effect import (
    AppliedNow,
    AtNextBoot,
    Effect,
    Moves,
    NeedsRecreation,
    Recreates,
    SwitchesPower,
    destructive_word,
)


def field_line(each: FieldEffect) -> FieldLine:
    """With a text that is the same for equal machines: what is destroyed is said once for the entry."""
    change = each.change
    plain = [segment for segment in change.path if "[" not in segment]
    old, new = words.describe_values(change.old, change.new)
    pointer = "/" + "/".join(plain if len(plain) == len(change.path) else plain[:1])
    return FieldLine(
        change.field,
        old,
        new,
        words.describe_effect(generalize(each.effect)),
        pointer,
        destructive_word(each.effect) != "" or isinstance(each.effect, SwitchesPower),
    )


def generalize(effect: Effect) -> Effect:
    """Without names of the machine and its disks."""
    match effect:
        case AtNextBoot():
            return replace(effect, machine="")
        case NeedsRecreation():
            return replace(effect, losses=(), machine="")
        case AppliedNow() | Moves() | Recreates():
            return replace(effect, losses=())
        case _:
            return effect


def is_waiting(effect: Effect) -> bool:
    """Whether it destroys nothing yet: people have not accepted that."""
    return isinstance(effect, Moves) and effect.awaits_consent
