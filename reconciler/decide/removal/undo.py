"""Undo of deletions: a machine with data that left the source is stopped and kept for a while, and comes back if it is declared again. Pure.

Theory of operation
-------------------
`limits.undo` (of the settings before and after a commit, the longer one) says how long. The order is `status.undo` on `live`: the host powers the
guest off and destroys nothing.

    the machine                                               what happens
    absent, its deletion is held (`deletion`)                 held: it runs on; one that is kept already stays so
    absent, with data, on a pool                              STOP: status.undo {until}
    absent, status.undo, before `until`                       KEEP; looked at again at `until`
    absent, status.undo, after `until` or purged              its deletion is ordered, as any other (`deletion`)
    absent, its host is destroyed, or it is ordered to leave  the same: nothing is left to keep
    declared again, an obstacle or another one's volume       it stays off: status.undo {isReturning}, `Accepted` says why
    declared again, no room on its pool or in a quota         the same
    declared again                                            status.undo ends: same uid, same assignment, same disks; it starts
    declared again, with other immutable fields               another object (`world.objects.resolve`): waits for the end of this one;
                                                              `Accepted` of this one says so (`replacement`)

While it is reported off (`View.stopped`), its pool is charged with its local disks alone, and its addresses and claims go to declared objects that
need them. A guard counts it once, when it is stopped, and then among what goes.

What is absent too and needed by a kept machine, or by an object whose deletion is held (`needed`: its class, secrets, volumes, pool, ...), waits with it: an order to
delete is never taken back, so it would take the class of a machine that comes back.

`until` is a time on `live`, so a restarted reconciler goes on with it. A rewound `live` without it begins a new wait.

Must never happen: a deletion is ordered before `until` without a purge; a machine starts whose room, volume or address another one has; a machine that is
kept is another object when it comes back.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from msgspec.structs import replace

from reconciler.decide.deletion import DeletionReview, find_purge, order_deletion, remove
from reconciler.decide.need import Blocked, DeletionPhase, Keep, Need, Remove, Return
from reconciler.decide.object_edit import ObjectEdit
from reconciler.decide.obstacles import Obstacle, first_obstacle
from reconciler.decide.outcome import block, keep
from reconciler.decide.placement.returns import ReturnRoom
from reconciler.decide.references import find_needed, interfaces_of, volumes_of
from reconciler.decide.removal.replacement import is_replaced, note_replacement
from reconciler.plan.types import Action
from reconciler.world.objects.object_state import ObjectState
from reconciler.world.record import ACCEPTED, DELETION_HELD, moment, stamp
from reconciler.world.source.source_head import is_approval_of
from reconciler.world.view import View
from schemas.effects.removal import losses_of_machine
from schemas.kinds import Key, Kind
from schemas.model import Machine, Undo
from schemas.problem import Severity


def undo_time(view: View) -> timedelta:
    """The longer of the old and the new `limits.undo`: a commit cannot shorten the wait of what it removes."""
    before, now = view.rules.before.limits, view.rules.settings.limits
    return timedelta(milliseconds=max(before.undo_milliseconds, now.undo_milliseconds))


def describe_undo_time(view: View) -> str:
    """As people wrote it: `10m`."""
    both = (view.rules.before.limits, view.rules.settings.limits)
    return max(both, key=lambda each: each.undo_milliseconds).undo


@dataclass(frozen=True, slots=True)
class KeptMachines:
    """Of one tick: the absent machines that are kept after it, and other absent objects that one of them needs, or that an object needs
    whose deletion is held, with that object."""

    until: Mapping[Key, datetime]
    needed: Mapping[Key, Key]


def find_kept(view: View, review: DeletionReview, now: datetime) -> KeptMachines:
    """Which absent machines this tick stops or keeps, and what waits with them. The cost is that of what is absent."""
    until: dict[Key, datetime] = {}
    for key in view.relations.absent:
        known, is_held = view.objects[key], key in review.why
        if key.kind is Kind.MACHINE and (known.record.undo is not None or not is_held):
            ends = kept_until(view, known, now)
            if ends is not None and (now < ends or is_held):
                until[key] = ends
    return KeptMachines(until, find_needed(view, {*until, *review.why}))


def kept_until(view: View, known: ObjectState, now: datetime) -> datetime | None:
    """When the wait of an absent machine ends; None where there is none, because nothing of it would be lost or left."""
    record, machine = known.record, known.object
    if not isinstance(machine, Machine) or record.assignment is None or record.evict is not None:
        return None
    if record.undo is None or record.undo.is_returning:
        time = undo_time(view)
        return now + time if time and losses_of_machine(machine) else None
    if is_purged(view, known):
        return now
    return moment(record.undo.until) or now + undo_time(view)


def is_purged(view: View, known: ObjectState) -> bool:
    """Whether people end this very wait by a commit."""
    digest = find_purge(view, known)
    return any(is_approval_of(each, digest) for each in view.head.confirmations)


def remove_absent(view: View, edit: ObjectEdit, review: DeletionReview, kept: KeptMachines) -> Remove:
    """The first phase of a deletion, with the wait before it. A purge is recorded although the deletion is held for another reason."""
    key = edit.known.key
    if edit.record.undo is not None and is_purged(view, edit.known):
        edit = edit.with_status(undo=Undo(until=stamp(edit.now))).log_change(Action.STATUS, "purged")
    if key in review.why:
        return order_deletion(note_replacement(view, edit, None), review)
    if user := kept.needed.get(key):
        return remove(edit.clear_condition(DELETION_HELD), DeletionPhase.UNDO, f"{user} stays, and needs it")
    ends = kept.until.get(key)
    if ends is None or edit.assignment is None:
        return order_deletion(edit.with_status(undo=None) if edit.record.undo else edit, review)
    edit = edit.clear_condition(DELETION_HELD).recheck_by(ends)
    edit = note_replacement(view, edit, ends) if is_replaced(edit.known) else edit.clear_condition(ACCEPTED)
    undo = Undo(until=stamp(ends))
    reason = f"no longer in the source; git revert brings it back until {undo.until}"
    if edit.record.undo is None or edit.record.undo.is_returning:
        edit = edit.with_status(undo=undo).log_change(Action.STOP, reason)
    return remove(edit, DeletionPhase.UNDO, reason)


def decide_return(view: View, edit: ObjectEdit) -> Need:
    """Of a kept machine that is declared again: it waits for what it needs, or for `admit_returns`."""
    found = first_obstacle(view, edit.known) or find_missing_part(view, edit.known)
    if found is not None:
        return stay_off(edit, found)
    return Return(**edit.need_fields(), now=edit.now)


def find_missing_part(view: View, known: ObjectState) -> Obstacle | None:
    """An address that another object has by now, or a volume that it does not hold yet."""
    assert isinstance(known.object, Machine), "no other kind is kept"
    for key in sorted({*view.relations.owned.get(known.key), *interfaces_of(known.object)}):
        for fault in view.faults.get(key, ()):
            if fault.severity is Severity.ERROR:
                return Obstacle(fault.code, f"{key}: {fault.message}")
    for key in volumes_of(known.object):
        volume = view.objects.get(key)
        if volume is None or volume.record.assignment is None:
            continue
        claim = volume.record.claim
        if claim is None or claim.uid != known.record.uid or claim.released:
            return Obstacle("VolumeUnclaimed", f"it does not hold volume {key.name} yet")
    return None


def stay_off(edit: ObjectEdit, why: Obstacle) -> Blocked:
    """Declared again, and not started: the order to stop stays."""
    undo = edit.record.undo
    assert undo is not None, "the caller asked"
    return block(edit.with_status(undo=replace(undo, is_returning=True)), why.reason, why.message)


def admit_returns(view: View, needs: Iterable[Need]) -> Iterator[Keep | Blocked]:
    """The machines that come back, if there is room beside all that is on their pools by now; the most important first."""
    needs = tuple(needs)
    returning = [need for need in needs if isinstance(need, Return)]
    if not returning:
        return
    room = ReturnRoom(view, [need for need in needs if not isinstance(need, Return)])
    for need in sorted(returning, key=lambda each: (-priority(view, each.key), each.key)):
        edit = ObjectEdit(view.objects[need.key], need.record, need.now, need.change_reasons, need.due)
        back = edit.with_status(undo=None, state="Pending").clear_condition(ACCEPTED)
        why = room.take(edit.known, back.record)
        if why is None:
            yield keep(back.log_change(Action.RETURN, f"declared again, on {edit.record.pool}"))
        else:
            yield stay_off(edit, why)


def priority(view: View, key: Key) -> int:
    found = view.objects[key].object
    return found.spec.priority if isinstance(found, Machine) else 0
