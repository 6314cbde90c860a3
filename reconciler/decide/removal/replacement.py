"""Another machine of the name of one that is kept for an undo: it waits for the end of the kept one, whose disks are then destroyed. Pure.

The declaration differs in a field that cannot change, so it is another object (`world.objects.resolve`). People who declare it must learn what
waits, for what, until when, what is DESTROYED then, and which command ends the wait. The condition `Accepted` `False` `ReplacementWaits` of the kept
machine says it, so that every verb shows the same; `gitvirt plan` says it from the same values.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

from reconciler.decide.object_edit import ObjectEdit
from reconciler.plan.types import Action
from reconciler.world.objects.object_state import ObjectState, Origin
from reconciler.world.objects.resolve import find_fixed_differences, in_source
from reconciler.world.record import ACCEPTED, REPLACEMENT_WAITS, stamp
from reconciler.world.view import View
from schemas.effects.removal import losses_of_machine
from schemas.effects.words import describe_losses
from schemas.model import Machine


def is_replaced(known: ObjectState) -> bool:
    """Whether it is kept for an undo, and another machine of its name is declared."""
    is_kept = known.record.undo is not None and not known.record.is_deleting
    return is_kept and known.origin is Origin.LEAVING and known.source is not None


def list_differences(view: View, known: ObjectState) -> Iterator[str]:
    """Why the declared machine is another one than the kept one: `the size of local disk root cannot change: 5Gi -> 8Gi`."""
    declared = in_source(known.key, view.source, None)
    if declared is not None and declared.object is not None and known.live is not None:
        for each in find_fixed_differences(known.live, known.object, declared.object):
            yield each.message


def note_replacement(view: View, edit: ObjectEdit, ends: datetime | None) -> ObjectEdit:
    """With the condition, or without it where no other machine waits. `ends` is None where the deletion is held, with no time to name."""
    known, before = edit.known, edit.condition(ACCEPTED)
    if not is_replaced(known):
        is_over = before is not None and before.reason == REPLACEMENT_WAITS
        return edit.clear_condition(ACCEPTED) if is_over else edit
    message = describe_replacement(view, known, ends)
    edit = edit.set_condition(ACCEPTED, "False", REPLACEMENT_WAITS, message)
    is_news = before is None or before.reason != REPLACEMENT_WAITS
    return edit.log_change(Action.BLOCKED, message) if is_news else edit


def describe_replacement(view: View, known: ObjectState, ends: datetime | None) -> str:
    """All that people must know, in one line."""
    name = f"{known.key.namespace}/{known.key.name}"
    assert isinstance(known.object, Machine), "no other kind is kept"
    losses = describe_losses(losses_of_machine(known.object))
    when = f"at {stamp(ends)}" if ends is not None else "once its deletion is no longer held"
    why = "; ".join(list_differences(view, known))
    return (
        f"deleted: DELETE {when}{f' {losses}' if losses else ''}; another machine of this name is declared and waits for that ({why}); "
        f"`gitvirt purge {name}` ends the wait, the old declaration brings this one back"
    )
