"""The entries of machines that are kept for an undo and declared again. Pure.

the declaration                             the entry
is the same machine, and there is room      RETURN: the same uid and disks; fields that differ count when it starts
the same, without room, volume, address     RETURN, held: it is no longer deleted, and comes back stopped
differs in a field that cannot change       RECREATE: waits until the kept machine is deleted, which DESTROYS its disks
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from reconciler.cli.plans.field_lines import field_line, is_waiting
from reconciler.cli.plans.outline import Entry, PlanSection, Standing
from reconciler.decide.removal.replacement import list_differences
from reconciler.plan.source_changes import FieldEffect
from reconciler.plan.types import Action, Change
from reconciler.world.objects.object_state import ObjectState
from reconciler.world.view import View
from schemas.effects.effect import list_losses
from schemas.effects.removal import losses_of_machine
from schemas.model import Machine


def describe_return(
    entry: Entry, known: ObjectState, change: Change | None, fields: Sequence[FieldEffect]
) -> Entry:
    """Of the same machine. A disk that it is declared without now is DESTROYED."""
    assert isinstance(known.object, Machine), "no other kind is kept"
    effects = [each.effect for each in fields if not is_waiting(each.effect)]
    lost = tuple(dict.fromkeys(loss for effect in effects for loss in list_losses(effect)))
    starts = "starts again" if known.object.spec.power == "On" else "stays off, as declared"
    fact = f"the same machine, with its disks: it was kept for an undo, and {starts}"
    is_blocked = change is not None and change.action is Action.BLOCKED
    if change is not None and is_blocked:
        fact = (
            f"the same machine, with its disks: no longer deleted, but it comes back STOPPED: {change.reason}"
        )
    return replace(
        entry,
        section=PlanSection.RETURN,
        standing=Standing.HELD if is_blocked else Standing.PLANNED,
        pool=known.record.pool,
        fields=tuple(field_line(each) for each in fields),
        facts=(fact,),
        losses=lost,
        until=end_of(known),
    )


def describe_replacement(view: View, entry: Entry, known: ObjectState) -> Entry:
    """Of another machine of that name: what waits, for what, until when, what is DESTROYED then, and what ends the wait."""
    assert isinstance(known.object, Machine), "no other kind is kept"
    name, until = f"{known.key.namespace}/{known.key.name}", end_of(known)
    why = "; ".join(list_differences(view, known))
    return replace(
        entry,
        section=PlanSection.RECREATE,
        pool=known.record.pool,
        facts=(
            f"another machine of this name: {why}",
            f"it waits until {until} for the end of the deleted one, which is kept for an undo",
            f"`gitvirt purge {name}` ends the wait; the old declaration brings the deleted one back",
        ),
        losses=losses_of_machine(known.object),
        is_new=True,
        until=until,
    )


def end_of(known: ObjectState) -> str:
    """When the undo time is over, as `live` has it."""
    return known.record.undo.until if known.record.undo is not None else ""
