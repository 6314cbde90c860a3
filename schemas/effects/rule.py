"""The types of the tables of rules, which map a field of a kind to an Effect."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from schemas.effects.context import EffectContext
from schemas.effects.effect import Effect
from schemas.effects.field_change import FieldChange, Path

Rule: TypeAlias = Effect | Callable[[FieldChange, EffectContext], Effect]
Rules: TypeAlias = dict[Path, Rule]
