"""Every field of every schema has an effect, and every effect that takes something away says so in capitals."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, get_args

import pytest

from schemas.effects.context import VALIDATION, EffectContext
from schemas.effects.effect import (
    AppliedNow,
    AtCreation,
    AtNextBoot,
    AtNextPlacement,
    Creates,
    Deletes,
    Effect,
    Loss,
    LossKind,
    MayEvict,
    Moves,
    NeedsRecreation,
    Recorded,
    Recreates,
    Refused,
    Renames,
    SwitchesPower,
    destructive_word,
    list_losses,
)
from schemas.effects.field_change import NAMED_LISTS, FieldChange, Path
from schemas.effects.rules import effect_of
from schemas.effects.words import NAMES, describe_effect, name_effect
from schemas.kinds import Kind
from schemas.manifest.schema_file import load_schema

DISK = Loss(LossKind.LOCAL_DISK, "root", "db-1", 10 * 2**30)
DATA = Loss(LossKind.VOLUME, "db-1-data", size_bytes=2**30)
EFFECTS: list[Effect] = [
    Recorded(),
    Recorded("a note"),
    AtCreation(),
    AppliedNow(),
    AppliedNow("detached", (DISK,)),
    AppliedNow("detached", (DATA, DISK)),
    *(SwitchesPower(to) for to in ("On", "Off", "Restart")),
    AtNextPlacement(),
    MayEvict(),
    AtNextBoot(),
    AtNextBoot("db-1", is_partly_now=True),
    AtNextBoot("db-1", obstacle="its pool does not offer class huge"),
    NeedsRecreation(),
    NeedsRecreation("the first boot has read it", (DISK,)),
    Moves("home-2"),
    Moves("home-2", "home-1", (DISK,), awaits_consent=True),
    Recreates(),
    Recreates((DISK,)),
    Refused("GV408", "the image of disk root cannot change", "restore it"),
    Creates(),
    Deletes(),
    Deletes((DISK, DATA)),
    Deletes(kept=("volume data, 1Gi",)),
    Renames("a", "b", ("volume data",)),
    Renames("a", "b", ("volume data",), (DISK,)),
]
WORDS = {"DELETE": "DELETE", "DESTROY": "DESTROYS", "RECREATE": "RECREATE"}


def leaves(schema: dict[str, Any], rule: dict[str, Any], path: Path = ()) -> Iterator[Path]:
    """Every field of a schema; a list of named entries as `volumes[x]`, and a free key as `x`."""
    if "$ref" in rule:
        yield from leaves(schema, schema["$defs"][rule["$ref"].rpartition("/")[2]], path)
        return
    fields = rule.get("properties", {})
    for name, inner in fields.items():
        if path or name != "status":
            yield from leaves(schema, inner, (*path, name))
    if path and path[-1] in NAMED_LISTS and len(path) == 2 and "items" in rule:
        at = (*path[:-1], f"{path[-1]}[x]")
        yield at
        yield from leaves(schema, rule["items"], at)
        return
    if isinstance(rule.get("additionalProperties"), dict):
        yield (*path, "x")
    if path and not fields:
        yield path


@pytest.mark.parametrize("kind", list(Kind))
def test_every_field_of_every_kind_has_an_effect(kind: Kind) -> None:
    schema = load_schema(kind.schema_file)
    found = list(leaves(schema, schema))
    assert len(found) > 5
    for path in found:
        for context in (
            VALIDATION,
            EffectContext("x", "pool", users="Machine/default/x", local_disks=(DISK,)),
        ):
            for old, new in ((None, "1"), ("1", None), ("1", "2")):
                effect = effect_of(FieldChange(kind, path, old, new, {"name": "x"}, {"name": "x"}), context)
                assert describe_effect(effect)


def test_no_field_outside_of_the_schemas_has_an_effect() -> None:
    with pytest.raises(KeyError):
        effect_of(FieldChange(Kind.MACHINE, ("spec", "other"), None, 1), VALIDATION)


def test_every_effect_is_walked_here_and_has_a_name() -> None:
    assert {type(effect) for effect in EFFECTS} == set(get_args(Effect)) == NAMES.keys()
    assert len(set(map(name_effect, EFFECTS))) == len(NAMES)


@pytest.mark.parametrize("effect", EFFECTS, ids=repr)
def test_texts_name_in_capitals_what_is_taken_away(effect: Effect) -> None:
    text, word = describe_effect(effect), destructive_word(effect)
    losses = list_losses(effect)
    assert bool(word) >= bool(losses)
    assert not word or word in text
    for loss in losses:
        assert "DESTROY" in text
        assert str(loss) in text
