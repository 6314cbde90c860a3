"""Effects as people read them, in plans, pull requests, problems and commit messages. Nothing reads a text back.

Every text about something that is deleted, destroyed or created again has the word of `destructive_word` in it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import assert_never

from schemas.effects.effect import (
    AppliedNow,
    AtCreation,
    AtNextBoot,
    AtNextPlacement,
    Creates,
    Deletes,
    Effect,
    Loss,
    MayEvict,
    Moves,
    NeedsRecreation,
    Recorded,
    Recreates,
    Refused,
    Renames,
    SwitchesPower,
)
from schemas.effects.field_change import FieldChange, Value

NONE = "none"
LONGEST_VALUE = 60
POWER = {
    "On": "starts the machine now",
    "Off": "STOPS the machine now",
    "Restart": "RESTARTS the machine now",
}


def describe_change(change: FieldChange) -> str:
    """`spec.machineClassRef.name: small -> large`"""
    old, new = describe_values(change.old, change.new)
    return f"{change.field}: {old} -> {new}"


NAMES: dict[type[Effect], str] = {
    Recorded: "recorded",
    AtCreation: "creation",
    AppliedNow: "now",
    SwitchesPower: "power",
    AtNextPlacement: "next placement",
    MayEvict: "may evict",
    AtNextBoot: "next boot",
    NeedsRecreation: "recreate",
    Moves: "move",
    Recreates: "replace",
    Refused: "refused",
    Creates: "add",
    Deletes: "delete",
    Renames: "rename",
}


def name_effect(effect: Effect) -> str:
    """A word for programs."""
    return NAMES[type(effect)]


def describe_value(value: Value) -> str:
    """A value on one line, as in YAML's flow style, cut after 60 characters."""
    text = format_value(value)
    return text if len(text) <= LONGEST_VALUE else f"{text[: LONGEST_VALUE - 3]}..."


def describe_values(old: Value, new: Value) -> tuple[str, str]:
    """Both on one line, so that they differ in what is shown: of lists only the items that differ, of long texts their ends."""
    found = describe_value(old), describe_value(new)
    if old == new or found[0] != found[1]:
        return found
    if isinstance(old, list | tuple) and isinstance(new, list | tuple):
        return _describe_items(old, new), _describe_items(new, old)
    return _ends_of(format_value(old)), _ends_of(format_value(new))


def _describe_items(items: Sequence[Value], others: Sequence[Value]) -> str:
    """Those that only one of both has; of equal ones their number."""
    own = [_ends_of(format_value(each)) for each in items if each not in others]
    equal = len(items) - len(own)
    return f"[{', '.join([f'{equal} as before'] * bool(equal) + own)}]"


def _ends_of(text: str) -> str:
    half = LONGEST_VALUE // 2
    return text if len(text) <= LONGEST_VALUE else f"{text[: half - 3]}...{text[-half:]}"


def format_value(value: Value) -> str:
    match value:
        case None:
            return NONE
        case bool():
            return "true" if value else "false"
        case str():
            return value.replace("\n", "\\n") or '""'
        case Mapping():
            inner = ", ".join(f"{key}: {format_value(each)}" for key, each in value.items())
            return f"{{{inner}}}"
        case Sequence():
            return f"[{', '.join(map(format_value, value))}]"
        case _:
            return str(value)


def describe_losses(losses: Iterable[Loss]) -> str:
    """`DESTROYS local disk root of db-1, 10Gi`. Empty where nothing is destroyed."""
    listed = "; ".join(map(str, losses))
    return f"DESTROYS {listed}" if listed else ""


def describe_undo(undo: str) -> str:
    """When the data of a deletion that can be undone goes: `10m after the merge; git revert until then brings it back`."""
    return f"{undo} after the merge; git revert until then brings it back"


def describe_effect(effect: Effect) -> str:
    """When and how a change applies, and what it destroys."""
    match effect:
        case Recorded(note):
            return f"recorded{'; ' + note if note else ''}"
        case AtCreation():
            return "applies when it is created"
        case AppliedNow(note, losses):
            return join_parts("now, without a restart", note, describe_losses(losses))
        case SwitchesPower(to):
            return POWER[to]
        case AtNextPlacement():
            return "at the next placement; nothing that runs is moved"
        case MayEvict():
            return "machines that do not tolerate a taint of their pool are evicted; each is listed"
        case AtNextBoot(obstacle=obstacle) if obstacle:
            return f"stays until that is over: {obstacle}"
        case AtNextBoot(machine, is_partly_now):
            partly = "as far as the runtime can now, the rest " if is_partly_now else ""
            return f"{partly}at the next boot (run `gitvirt restart{' ' + machine if machine else ''}`)"
        case NeedsRecreation() | Moves() | Refused():
            return describe_obstacle(effect)
        case Recreates(losses):
            return join_parts(
                "RECREATED now: stops, is deleted on its host and created again", describe_losses(losses)
            )
        case Creates() | Deletes() | Renames():
            return describe_life(effect)
        case _:
            assert_never(effect)


def describe_obstacle(effect: NeedsRecreation | Moves | Refused) -> str:
    """What a machine or volume that exists cannot have where it is."""
    match effect:
        case NeedsRecreation(why, losses, is_volume, machine):
            destroyed = f"which {describe_losses(losses)}" if losses else ""
            replace = f"`gitvirt replace{' ' + machine if machine else ''}` RECREATES it"
            cure = "delete and RECREATE it" if is_volume else replace
            return join_parts(f"no effect on what exists: {cure}", destroyed, why, sign=", ")
        case Moves():
            return describe_move(effect)
        case Refused(_, message, hint):
            return f"not possible: {message}; {hint}"


def describe_life(effect: Creates | Deletes | Renames) -> str:
    """Of an object as a whole."""
    match effect:
        case Creates():
            return "created"
        case Deletes(losses, kept):
            keeps = f"keeps {'; '.join(kept)}" if kept else ""
            return join_parts("DELETE", describe_losses(losses), keeps)
        case Renames(old, new, kept, losses):
            keeps = f"keeps {', '.join(kept)}" if kept else ""
            named = f"renamed {old} -> {new}: RECREATED under the new name"
            return join_parts(named, keeps, describe_losses(losses))


def describe_move(move: Moves) -> str:
    """`moves the machine: STOPS on home-1, starts on home-2; DESTROYS ...`"""
    if move.source:
        text = f"moves the machine: STOPS on {move.source}, starts on {move.target}"
    else:
        text = f"if it is on another pool, moves the machine: STOPS there, starts on {move.target}"
    waits = "waits until you accept that (`onPoolLost: Replace`)" if move.awaits_consent else ""
    obstacle = f"stays until that is over: {move.obstacle}" if move.obstacle else ""
    return join_parts(text, describe_losses(move.losses), waits, obstacle)


def join_parts(*parts: str, sign: str = "; ") -> str:
    return sign.join(part for part in parts if part)
