"""Machines that wait because a volume of theirs may be placed nowhere. Pure.

A machine is placed together with its volumes that have no pool yet. Each of these has a need of its own: one that is blocked, such as a volume
that another host has (`OnAnotherHost`), or that is paused, gets no pool with its machine either.

Must never happen: a machine brings a volume to a second host.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime

from reconciler.decide.deletion import is_paused
from reconciler.decide.need import Blocked, Need, Place
from reconciler.decide.object_edit import ObjectEdit
from reconciler.decide.outcome import block
from reconciler.decide.references import volumes_of
from reconciler.world.record import ACCEPTED
from reconciler.world.view import View
from schemas.kinds import Key, Kind
from schemas.model import Machine, Volume

VOLUME_BLOCKED = "VolumeBlocked"


def block_machines(view: View, needs: Mapping[Key, Need], now: datetime) -> Iterator[Blocked]:
    """Instead of placements. `needs` has those of all volumes of a machine that is decided."""
    for key, need in needs.items():
        machine = view.objects[key].object if isinstance(need, Place) and key.kind is Kind.MACHINE else None
        if not isinstance(machine, Machine):
            continue
        whys = (_why_blocked(view, each, needs.get(each)) for each in volumes_of(machine))
        if why := next(filter(None, whys), ""):
            edit = ObjectEdit(view.objects[key], need.record, now, need.change_reasons, need.due)
            yield block(edit, VOLUME_BLOCKED, why)


def _why_blocked(view: View, key: Key, need: Need | None) -> str:
    """Why this volume may not be placed with its machine; empty if it may, has its pool, or does not exist yet."""
    known = view.objects.get(key)
    if known is None or need is None or need.record.pool:
        return ""
    is_from_outside = isinstance(known.object, Volume) and known.object.spec.volume_class_ref is None
    if is_paused(known) and not is_from_outside:
        return f"volume {key.name} is paused and has no pool yet; `gitvirt resume volume {key.namespace}/{key.name}` ends that"
    if not isinstance(need, Blocked):
        return ""
    accepted = need.record.condition(ACCEPTED)
    return f"volume {key.name} waits: {accepted.message if accepted is not None else need.reason}"
