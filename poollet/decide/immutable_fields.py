"""Which differences between an object on the host and its desired state no call can remove, and why. Pure.

Asks the rules of `schemas.effects`, as validation and `gitvirt plan` do: what they call impossible, or without effect, the poollet does not try.
"""

from __future__ import annotations

from schemas.effects.context import VALIDATION, EffectContext
from schemas.effects.effect import NeedsRecreation, Refused
from schemas.effects.field_change import FieldChange
from schemas.effects.rules import effect_of


def why_immutable(change: FieldChange, context: EffectContext = VALIDATION, name: str = "") -> str:
    """Why what exists cannot have the new value, and what to do; empty if it can. `name` is shown in place of the field."""
    match effect_of(change, context):
        case Refused(_, message, hint):
            return f"{message}; {hint}"
        case NeedsRecreation(why, is_volume=is_volume):
            cure = (
                "recreate the object" if is_volume else "run `gitvirt replace`, which RECREATES the machine,"
            )
            return f"{name or change.field} cannot change: {why}; {cure} to change it"
        case _:
            return ""
