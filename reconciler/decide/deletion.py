"""Deletion: an order in two phases, guarded. Pure.

Theory of operation
-------------------
An object that is absent (on `live`, and cleanly gone from the source or from its owner) is deleted in two commits:

    phase     condition                                                  effect
    HOLD      held, see below                                            condition DeletionHeld; nothing else changes
    RETAIN    a volume that holds data, and whose policy keeps it        its document moves to `.gitvirt/retained/`, still charged
    UNDO      a machine with data, or what one needs (`undo`)            its host stops it; nothing is ordered before the undo time is over
    ORDER     none of these                                              metadata.deletionTimestamp: hosts remove it
    WAIT      ordered, and its pool has not reported that it is gone,    none
              or others still use it
    DROP      ordered, gone, and no longer used                          its document is removed

What holds a deletion, in the order in which it is looked for:

    (contested)              several hosts have it since `live` was lost, or a refused report names it (outcome.settle_leaving)
    AbsenceUnverified        a file that may declare it cannot be read, or its pool may have created it unseen
    Paused                   it, or the machine that it belongs to, is paused
    InUse                    an object that stays refers to it, or one whose deletion is held for a reason of these
    DeletionLimitExceeded    all of a kind; half of three or more; more than limits.delete allows; all machines of a group. Only an approval
                             ends it, or its document when that is back. `live` records it: objects that are added later make the share
                             smaller, and raised limits allow more, and neither is an agreement to this removal

Limits are counted over all that is absent at once, those already ordered or kept for an undo included, by the stricter of the old and the new settings: a commit cannot raise
the limit that it breaks. An approval counts for a removal before it, and not for a later one of the same objects, nor in a recovery of `live`: a
restored `live` that has them again, under the same uids, asks again. Objects that go with their owner are not counted again. One digest approves all that exceeds the limits.

Must never happen: an order because of a file that was not read cleanly; a document dropped while its host may still have the object;
data of a volume removed without `deletionPolicy: Delete`; more deleted than the approved digest covers.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

from reconciler.decide.need import DeletionPhase, Remove
from reconciler.decide.object_edit import ObjectEdit
from reconciler.decide.pool_requests import judge_requests
from reconciler.decide.references import blocking_users, find_needed, list_users, owner_of
from reconciler.decide.removal.deletion_limit import DeletionCounts, stricter, why_over_limit
from reconciler.decide.volume_claim import release_claim
from reconciler.gitstore.approval import (
    HoldKind,
    approval_digest,
    approval_trailer,
    approve_command,
    is_approval_of,
    purge_digest,
)
from reconciler.plan.types import Action
from reconciler.world.changes import Confirm, Confirmation
from reconciler.world.objects.object_state import ObjectState, Origin
from reconciler.world.objects.relations import POOL_OF
from reconciler.world.record import ACCEPTED, DELETION_HELD, UNVERIFIED, Status, stamp
from reconciler.world.view import View
from schemas import live_layout
from schemas.kinds import Key, Kind
from schemas.model import Volume, VolumeStatus
from schemas.settings.fleet import DeleteLimit

Group = tuple[str, str, str]  # namespace, key and value of a label
Contested = Mapping[Key, tuple[str, str]]  # why each waits, as a word and as a message
NOT_CONTESTED: Contested = {}
KEEPS = "its deletion policy keeps the data"
IN_USE = "InUse"  # another one, which ends when the last user is gone
OVER_LIMIT = "DeletionLimitExceeded"  # the reason of DELETION_HELD that an approval ends


@dataclass(frozen=True, slots=True)
class DeletionReview:
    """Of all that is absent at once. What is not in `why` may be ordered gone in this tick.

    `why` has the reason, as a word and as a message. `held` groups by kind what exceeds the limits, and `trailer` is the one line that
    approves all of it. `idle` are approvals that match nothing here; they are answered, never kept for later.
    """

    why: Mapping[Key, tuple[str, str]]
    held: tuple[tuple[Kind, str, tuple[Key, ...]], ...] = ()
    trailer: str = ""
    idle: tuple[Confirmation, ...] = ()


def is_paused(known: ObjectState) -> bool:
    """Whether people asked that nothing is done to it. An order that was given before waits too."""
    return known.object.metadata.annotations.get(live_layout.PAUSED) == "true"


def review_deletions(view: View, contested: Contested = NOT_CONTESTED) -> DeletionReview:
    """Judges all that is absent at once, because the limits count all of it. `contested` is what waits until people say which host has it.

    What is held for a reason of its own counts too, but no approval is asked for it. The order matters: only what no other
    reason holds is in the digest, so that an approval never covers what may still be declared.
    """
    why: dict[Key, tuple[str, str]] = {}
    free: dict[Kind, list[ObjectState]] = defaultdict(list)
    counted: dict[Kind, int] = defaultdict(int)
    for key in sorted(view.relations.absent):
        known = view.objects[key]
        if follows_its_owner(view, known) or is_announced(view, key):
            continue  # whose own going was counted; a pool that only changes who says that it is there
        counted[key.kind] += not is_kept(known)
        if reason := contested.get(key) or hold_reason(view, known):
            why[key] = reason
        elif not is_kept(known):  # which passed the limits when it was stopped
            free[key.kind].append(known)
    for key, user in find_needed(view, why).items():
        # No approval is asked for what cannot go yet: it would be used up, and asked for again.
        if view.objects[key] in free[key.kind]:
            free[key.kind].remove(view.objects[key])
            why[key] = IN_USE, f"still used by {user}, whose deletion is held"
    held = tuple(kinds_over_limit(view, free, counted))
    keys = [key for _, _, keys in held for key in keys]
    subjects = [approval_subject(view.objects[key]) for key in keys]
    digest = approval_digest(view.rules.settings.fleet.id, HoldKind.DELETION, subjects) if keys else ""
    purges = [find_purge(view, view.objects[key]) for key in view.relations.kept]
    given = [
        each
        for each in view.head.confirmations
        if each.about is Confirm.APPROVAL and not any(is_approval_of(each.value, purge) for purge in purges)
    ]
    idle = tuple(each for each in given if not approves(view, each, digest, keys))
    if not keys or len(idle) < len(given):
        return DeletionReview(why, idle=idle)
    trailer, command = approval_trailer(digest), approve_command(digest)
    why |= {
        key: (OVER_LIMIT, f"{reason}; to approve: {trailer}, or run `{command}`")
        for _, reason, keys in held
        for key in keys
    }
    return DeletionReview(why, held, trailer, idle)


def approves(view: View, given: Confirmation, digest: str, keys: Collection[Key]) -> bool:
    """Whether it approves this deletion, and not an earlier one of the same objects that a restored `live` brought back: none of them
    was declared or removed after it, and `live` is not being recovered."""
    is_older = given.later is None or not given.later.isdisjoint(keys)
    return is_approval_of(given.value, digest) and not is_older and not view.is_live_lost


def hold_reason(view: View, known: ObjectState) -> tuple[str, str] | None:
    """Why this deletion is held whatever people approve: reason and message of the first hold of the table above, without the limits."""
    if why_unverified := view.why_unverified(known.key):
        return UNVERIFIED, why_unverified
    if is_paused(known):
        put_back = f"put its document back without the annotation {live_layout.PAUSED}"
        return "Paused", f"it is paused; {put_back}, and remove it again once `live` has it so"
    owner = view.objects.get(key) if (key := owner_of(known)) is not None else None
    if owner is not None and is_paused(owner):
        name = f"{owner.key.namespace}/{owner.key.name}"
        return "Paused", f"its machine {owner.key.name} is paused; `gitvirt resume {name}` ends that"
    if may_hold_data(view, known):
        return (
            UNVERIFIED,
            f"pool {known.record.pool} is unreachable and may have created the volume; the deletion waits until the pool reports it, because data may exist",
        )
    staying = tuple(each for each in blocking_users(view, known) if each.is_active)
    if staying:
        return IN_USE, f"still used by {list_users(staying)}"
    return None


def may_hold_data(view: View, known: ObjectState) -> bool:
    """Whether the pool may have made the volume since its last report.

    Such a volume would be retained once it is known to be made (see `is_retained`). An order to delete it, on the strength of an old report,
    would destroy data. A destroyed host is the exception: nothing is left of what it made.
    """
    volume, record = known.object, known.record
    if not isinstance(volume, Volume) or volume.spec.deletion_policy is not None or record.assignment is None:
        return False
    if record.owners or known.origin is Origin.GENERATED or was_made(record.status):
        return False
    pool = view.volume_pools.get(record.pool)
    if pool is not None and not pool.is_lost:
        return False
    return Key(Kind.VOLUME_POOL, "", record.pool) not in judge_requests(view).cleared_pools


def kinds_over_limit(
    view: View, free: Mapping[Kind, list[ObjectState]], counted: Mapping[Kind, int]
) -> Iterable[tuple[Kind, str, tuple[Key, ...]]]:
    """Kinds of which too much would be deleted, with the reason and the keys that await approval.

    `free` has what nothing else holds; `counted` has all that is absent. Either all of a kind is over the limit or nothing of it:
    an order for some of it would be a choice that no person made.
    """
    before = view.rules.before
    limit = stricter(before.limits.delete, view.rules.settings.limits.delete)
    for kind in sorted(free):
        kept = sum(
            key.kind is kind and is_kept(view.objects[key])
            for key in view.relations.kept & view.relations.absent
        )
        losses = DeletionCounts(
            view.relations.live_counts[kind], len(view.relations.leaving[kind]) + kept, counted[kind]
        )
        if reason := why_over_limit(losses, limit):
            yield kind, reason, tuple(known.key for known in free[kind])
            continue
        named: set[Key] = set()
        if kind is Kind.MACHINE and limit.groups:
            for group in lost_groups(view, free[kind], limit):
                named |= {*group[2]}
                yield group
        if waiting := tuple(
            each.key for each in free[kind] if awaits_approval(each) and each.key not in named
        ):
            reason = f"the removal of {len(waiting)} exceeded the limit; objects that were added since do not end the wait"
            yield kind, reason, waiting


def awaits_approval(known: ObjectState) -> bool:
    """Whether `live` says that its deletion exceeded a limit. Kinds without a status hold no data, and have no such record."""
    held = known.record.condition(DELETION_HELD)
    return held is not None and held.status == "True" and held.reason == OVER_LIMIT


def is_kept(known: ObjectState) -> bool:
    """Whether it was stopped for an undo, and counted then. One that was declared again meanwhile counts again."""
    undo = known.record.undo
    return undo is not None and not undo.is_returning


def lost_groups(
    view: View, absent: Iterable[ObjectState], limit: DeleteLimit
) -> Iterable[tuple[Kind, str, tuple[Key, ...]]]:
    """Groups of machines of which none would stay. Each of its machines counts that is on `live`, also one that is going already."""
    lost: dict[Group, list[Key]] = defaultdict(list)
    for known in absent:
        for group in groups_of(known, limit):
            lost[group].append(known.key)
    if not lost:
        return
    staying = {
        group
        for known in view.objects.values()
        if known.key.kind is Kind.MACHINE and known.is_active and known.live is not None
        for group in groups_of(known, limit)
    }
    held: set[Key] = set()
    for group in sorted(lost.keys() - staying):
        keys = tuple(key for key in lost[group] if key not in held)
        held |= {*keys}
        namespace, label, value = group
        reason = f"all machines with the label {label}: {value} in namespace {namespace} would be deleted"
        if keys:
            yield Kind.MACHINE, reason, keys


def groups_of(known: ObjectState, limit: DeleteLimit) -> Iterable[Group]:
    """The groups of `limits.delete.groups` that a machine belongs to."""
    labels = known.object.metadata.labels
    return [(known.key.namespace, label, labels[label]) for label in limit.groups if label in labels]


def find_purge(view: View, known: ObjectState) -> str:
    """The digest of the commit that ends the wait of this machine."""
    undo = known.record.undo
    until = undo.until if undo is not None else ""
    return purge_digest(view.rules.settings.fleet.id, known.record.uid, until)


def approval_subject(known: ObjectState) -> str:
    """What represents the object in the digest: its uid, or its key for a kind without uids.

    A uid belongs to one life of an object, so an approval never applies to a successor of the same name.
    """
    return known.record.uid or str(known.key)


def follows_its_owner(view: View, known: ObjectState) -> bool:
    """Whether it is a generated object whose owner is ordered gone, or no longer exists. It is not counted: its owner was."""
    owner = owner_of(known)
    if owner is None:
        return False
    found = view.objects.get(owner)
    return found is None or found.record.is_deleting


def is_announced(view: View, key: Key) -> bool:
    """A pool that its poollet announces is there without being declared, where the fleet is open to that. One that may still be declared
    is held like all else: an announcement must not lift its cordon."""
    if key.kind not in (Kind.MACHINE_POOL, Kind.VOLUME_POOL) or view.rules.settings.pools != "open":
        return False
    state = view.find_pool(key)
    return state is not None and state.announced is not None and not view.why_unverified(key)


def order_deletion(edit: ObjectEdit, review: DeletionReview) -> Remove:
    """The first phase: hold, retain or order an object that is absent. No host does anything before the order is on `live`."""
    known = edit.known
    held = review.why.get(known.key)
    if held is not None:
        reason, message = held
        edit = edit.set_condition(DELETION_HELD, "True", reason, message).log_change(
            Action.AWAIT_APPROVAL, message
        )
        return remove(edit, DeletionPhase.HOLD, message)
    edit = edit.clear_condition(DELETION_HELD, ACCEPTED)
    if is_retained(edit):
        return remove(edit.log_change(Action.RETAIN, KEEPS), DeletionPhase.RETAIN, KEEPS)
    owner = owner_of(known)
    reason = "no longer in the source" if owner is None else f"no longer an entry of machine {owner.name}"
    edit = edit.with_record(deletion_timestamp=stamp(edit.now)).log_change(Action.MARK_DELETED, reason)
    return remove(edit, DeletionPhase.ORDER, reason)


def finish_deletion(view: View, edit: ObjectEdit) -> Remove:
    """The second phase: an ordered deletion waits, ends, or turns out to be that of a volume with data.

    A claim that ended is released here too: the host detaches the volume before it deletes it.
    """
    if reason := waiting_for(view, edit):
        if is_retained(edit) and not is_paused(edit.known):
            # Its deletion was ordered before its runtime was known to have created it, and its host kept it.
            edit, reason = release_claim(view, edit).with_record(deletion_timestamp=""), KEEPS
            return remove(edit.log_change(Action.RETAIN, reason), DeletionPhase.RETAIN, reason)
        return remove(release_claim(view, edit), DeletionPhase.WAIT, reason)
    before, reason = edit.known.record.assignment, "it was not assigned to a pool"
    if before is not None:
        is_released = edit.assignment is None
        reason = f"the host of pool {before.pool} is destroyed" if is_released else ended_reason(view, edit)
    if edit.known.key.kind not in POOL_OF:
        reason = "no longer used"
    return remove(edit.log_change(Action.REMOVE, reason), DeletionPhase.DROP, reason)


def ended_reason(view: View, edit: ObjectEdit) -> str:
    """What its host reported, which ends the wait."""
    report = view.accepted_reports(edit.known.key).report
    if report is not None and report.phase == "rejected":
        return "its host rejected it, and never created it"
    return "confirmed by its host"


def waiting_for(view: View, edit: ObjectEdit) -> str:
    """What an ordered deletion still waits for, or an empty text when its document may go.

    Only a report of the present assignment ends the wait: `gone`, or `rejected`, with which it was never created. A report
    that is absent, or a pool that is lost, ends nothing.
    """
    known, report = edit.known, view.accepted_reports(edit.known.key).report
    if is_paused(known):
        return "it is paused"
    if edit.assignment is not None and (report is None or report.phase != "gone"):
        if report is not None and report.phase == "rejected" and report.assignment == edit.assignment.id:
            return ""
        return f"waiting for pool {edit.record.pool} to report that it is gone"
    # Its owner that has the entry again gets another one once this one is gone.
    others = tuple(each for each in blocking_users(view, known) if each.key != owner_of(known))
    if others and known.key.kind not in (Kind.MACHINE, Kind.VOLUME):
        return f"still used by {list_users(others)}"
    return ""


def is_retained(edit: ObjectEdit) -> bool:
    """Whether the data of a volume stays after its deletion.

    deletionPolicy   the data
    Delete           goes
    Retain           stays, made or not
    none             stays once it was made, except that of a volume that a machine's entry generated

    A volume on no pool has no data. Everything that is not a volume goes.
    """
    known, volume = edit.known, edit.known.object
    if not isinstance(volume, Volume) or edit.assignment is None:
        return False
    match volume.spec.deletion_policy:
        case "Delete":
            return False
        case "Retain":
            return True
        case None:
            # The edit has what was reported since live was written.
            made = was_made(edit.record.status)
            return known.origin is not Origin.GENERATED and not known.record.owners and made


def was_made(status: Status | None) -> bool:
    """Once its runtime created it, a guest may have written to it."""
    return isinstance(status, VolumeStatus) and bool(
        status.volume_id or status.state in ("Available", "Error")
    )


def remove(edit: ObjectEdit, step: DeletionPhase, reason: str) -> Remove:
    """The need for this phase. `reason` is for people."""
    return Remove(**edit.need_fields(), phase=step, reason=reason)
