"""Which changes are worth a commit of their own, and the words for what is new about a status. Pure.

Theory of operation
-------------------
A commit on `live` is an audit record, and an order to the hosts. So it is made for what people committed, for decisions, and for stable outcomes.
Everything else is progress: it waits for the next such commit, which takes it along (`World.defer`). Verbs that show
the fleet read progress from the reports.

    kind            outcome                                                 progress
    any             a field or a condition that the reconciler decides      a message, a reason or the end of a reported condition
                    a reported condition begins to name a failure
                    ready again after a failure
    machine         Running; Shutdown, if it is to be off; Terminated;      Pending, Terminating; off, if it is to be on: its host starts it
                    a class that is refused, or pends no longer             again; all that is on the way to an eviction or a deletion;
                                                                            addresses, devices, revisions; a class that still waits; that its
                                                                            pool has it, and no longer the one before
    volume          Error; Available, unless its machine, which has never   Pending, sizes, and all that is on the way to a deletion. Data of a
                    run yet, is on the same host                            volume that another host attaches is never progress
    snapshot        Ready, Failed                                           Pending, size
    pool            its state; the classes that it offers, which a plan     capacity, addresses; just after the start of the process, the first
                    reads from `live`; another reason why its host does     grant of all, and that it is ready for the first time
                    not follow `live`: it names the way out
    others          a field that is not named here                          state and addresses of interfaces; what a quota counts

A failure is an outcome once for each type of condition: as long as `live` says that it fails, another error is progress. So a runtime with a
number in each error makes one commit, and not one for each try.

Must never happen: a decision waits, but for the first grant of a pool, for seconds; a fact waits that another object or another host needs from `live`, or that shows that data exists
which a guest may have written.

Limits: this compares fields of two records. It never reads a message to learn a state; `words_of` is for commit subjects alone.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import timedelta

import msgspec

from reconciler.plan.types import Action, Change
from reconciler.world.objects.relations import holder_of
from reconciler.world.record import Record, Status, own
from reconciler.world.reports.start_wait import FIRST_READY, FIRST_REPORTS
from reconciler.world.reports.status_update import READY
from reconciler.world.view import View
from schemas.kinds import Key, Kind
from schemas.model import (
    Condition,
    Machine,
    MachinePoolStatus,
    MachineStatus,
    NetworkInterfaceStatus,
    ResourceQuotaStatus,
    VolumePoolStatus,
    VolumeSnapshotStatus,
    VolumeStatus,
)
from schemas.model.charge import is_resize_refused

# What a host reports, and a quota counts. A field that is added to a status is an outcome until it is named here.
_TIMED = frozenset({"state", "last_state_transition_time"})
_PROGRESS: Mapping[type[Status], frozenset[str]] = {
    MachineStatus: frozenset(
        {
            "machine_id",
            "state",
            "observed_revision",
            "volumes",
            "network_interfaces",
            "restart",
            "machine_class_ref",
            # It comes with the end of an assignment, which is a decision, and goes with a report that a restarted reconciler has too.
            "previous_assignment",
        }
    ),
    VolumeStatus: _TIMED | {"volume_id", "access", "resources"},
    VolumeSnapshotStatus: _TIMED | {"snapshot_id", "size"},
    MachinePoolStatus: frozenset({"addresses", "capacity", "allocatable", "node_info"}),
    VolumePoolStatus: frozenset({"capacity", "allocatable", "reachable_from"}),
    NetworkInterfaceStatus: _TIMED | {"ips", "mac_address"},
    ResourceQuotaStatus: frozenset({"hard", "used"}),
}
FOLLOWS_LIVE = "FollowsLive"  # the condition in which a host says whether it applies `live`
_POOLS = (MachinePoolStatus, VolumePoolStatus)
# The change may be of what is reported alone. What is decided is compared.
_OF_STATUS = (Action.STATUS, Action.BLOCKED, Action.AWAIT_APPROVAL)
# States that last. Any other is on the way to one of these.
_OUTCOMES: Mapping[type[Status], frozenset[str]] = {
    MachineStatus: frozenset({"Running", "Shutdown", "Terminated"}),
    VolumeStatus: frozenset({"Available", "Error"}),
    VolumeSnapshotStatus: frozenset({"Ready", "Failed"}),
}
# Reasons of a condition that is not true and becomes true without anybody's help. All others name a failure.
WAITING = frozenset(
    {
        *("Stopping", "Deleted"),  # of a machine that is kept for an undo
        "Paused",  # people paused it, by a commit of their own
        *("", "Pending", "Shutdown", "Terminating", "Terminated", "Unknown", "RuntimePending", "PoolUnknown"),
        *("Attaching", "Detaching", "NotAttached", "HoldersUnknown", "Claimed", "Attached", "DeviceInUse"),
        *("VolumeMissing", "VolumeNotReady", "VolumeUnclaimed", "VolumeClaimed", "VolumeHeld"),
        *("VolumeDeleting", "VolumeNotOwned", "NetworkInterfaceMissing", "NetworkInterfaceNotOwned"),
        *("NetworkInterfaceDeleting", "NetworkMissing", "NetworkDeleting"),
        *(
            "SnapshotMissing",
            "SnapshotNotReady",
            "SecretMissing",
            "ClassMissing",
            "ClassNotOffered",
            "NoClass",
        ),
    }
)


def state_of(change: Change) -> str:
    """The state that it has come to; nothing when it did not change."""
    before, after = (str(getattr(status, "state", "")) for status in _statuses(change))
    return after if after != before else ""


def condition_of(change: Change) -> Condition | None:
    """The first condition that says something else than before. Times do not count, nor does the order or the loss of a condition."""
    before, after = (_conditions(status) for status in _statuses(change))
    known = {each.type: (each.status, each.reason, each.message) for each in before}
    news = (each for each in after if known.get(each.type) != (each.status, each.reason, each.message))
    return next(news, None)


def new_failure(change: Change) -> Condition | None:
    """The first reported condition that begins to name a failure."""
    before, after = (
        record.status if record is not None else None for record in (change.before, change.after)
    )
    types = _failing(after) - _failing(before)
    return next((each for each in _conditions(after) if each.type in types), None)


def is_ready_again(change: Change) -> bool:
    """Whether `live` says that it failed or is unknown, and its host that it is ready."""
    before, after = (
        record.status if record is not None else None for record in (change.before, change.after)
    )
    is_ready = any((each.type, each.status) == (READY, "True") for each in _conditions(after))
    return is_ready and READY in _failing(before)


def words_of(condition: Condition) -> str:
    """`VolumesPending`: volumes pending."""
    words = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", " ", condition.reason or condition.type)
    return words.lower()


def is_progress(change: Change, view: View) -> bool:
    """Whether it can wait for the next commit, by the table above."""
    before, after = change.before, change.after
    if _is_early(change, view):
        return True
    if change.action not in _OF_STATUS or before is None or after is None or change.body:
        return False
    if before.status is None or after.status is None or type(before.status) is not type(after.status):
        return False
    if _list_decisions(before) != _list_decisions(after):
        return False
    if _failing(after.status) - _failing(before.status) or is_ready_again(change):
        return False
    return not _is_outcome(change, after, view)


def _is_early(change: Change, view: View) -> bool:
    """Whether a new pool gets its first host, or that is ready, while hosts start together: one commit has them all. A machine that is placed
    there is a decision, which takes all of it along at once."""
    before, after = _statuses(change)
    if change.action not in (Action.STATUS, Action.ANNOUNCE) or not isinstance(after, _POOLS):
        return False
    if after.epoch != 1 or after.host is None:
        return False
    if getattr(before, "epoch", 0) == 0:
        return view.time_to_gather(FIRST_REPORTS) > timedelta(0)
    was_never_ready = any((each.type, each.reason) == (READY, "NotAnnounced") for each in _conditions(before))
    return was_never_ready and view.time_to_gather(FIRST_READY) > timedelta(0)


def _is_outcome(change: Change, after: Record, view: View) -> bool:
    """Of a change in which only reported fields differ."""
    status, key = after.status, change.key
    lasting = _OUTCOMES.get(type(status), frozenset()) if status is not None else frozenset()
    is_reached = state_of(change) in lasting
    match status:
        case MachineStatus():
            is_off = status.state == "Shutdown" and _is_desired_on(key, view)
            is_leaving = status.evict is not None or status.undo is not None or after.is_deleting
            return (
                _is_refused_class(change)
                or _has_other_class(change, view)
                or (is_reached and not is_off and not is_leaving)
            )
        case VolumeStatus() if after.is_deleting:
            return False
        case VolumeStatus():
            if _has_reader(change, after, view):
                return True
            return is_reached and not (status.state == "Available" and _is_for_start(key, view))
        case MachinePoolStatus() | VolumePoolStatus():
            old, new = (_conditions(each) for each in _statuses(change))
            return _why_not_followed(new) not in ("", _why_not_followed(old))
        case _:
            return is_reached and not after.is_deleting


def _why_not_followed(conditions: tuple[Condition, ...]) -> str:
    found = (each.reason for each in conditions if each.type == FOLLOWS_LIVE and each.status != "True")
    return next(found, "")


def _is_refused_class(change: Change) -> bool:
    """Whether a host begins to say that it cannot give the ordered class: from then on its pool is charged with the one that it has."""
    before, after = _statuses(change)
    if not isinstance(before, MachineStatus) or not isinstance(after, MachineStatus):
        return False
    is_news = before.machine_class_ref != after.machine_class_ref
    return is_news and after.machine_class_ref is not None and is_resize_refused(after.conditions)


def _has_other_class(change: Change, view: View) -> bool:
    """Whether `live` names a pending class that pends no longer: its pool is charged by it. After a change that was taken back it is the
    ordered one, and charged as such."""
    before, after = (getattr(status, "machine_class_ref", None) for status in _statuses(change))
    known = view.objects.get(change.key)
    spec = known.object.spec if known is not None and isinstance(known.object, Machine) else None
    return before is not None and before != after and (spec is None or before != spec.machine_class_ref)


def _is_desired_on(key: Key, view: View) -> bool:
    """Whether its host starts it again when it is off: a restart, or a guest that powered itself off."""
    known = view.objects.get(key)
    return known is not None and isinstance(known.object, Machine) and known.object.spec.power == "On"


def _has_reader(change: Change, record: Record, view: View) -> bool:
    """Whether what the host of the volume reports is taken from `live`: by the host of its machine, if that is another one; or by a snapshot,
    which is assigned once its volume is made, and needs no more of it than that."""
    volume = change.key
    before, after = (getattr(status, "volume_id", "") for status in _statuses(change))
    host = record.assignment.host if record.assignment is not None else ""
    users = [view.objects[key] for key in view.relations.users.get(volume) if key in view.objects]
    return any(
        (user.key.kind is Kind.VOLUME_SNAPSHOT and user.record.assignment is None and before != after)
        or (
            user.key.kind is Kind.MACHINE
            and user.record.assignment is not None
            and user.record.assignment.host != host
        )
        for user in users
    )


def _is_for_start(volume: Key, view: View) -> bool:
    """Whether it is for a machine that starts on the same host, so that `Running` follows. No guest has written to it before that."""
    known = view.objects.get(volume)
    holder = view.objects.get(key) if known is not None and (key := holder_of(known)) is not None else None
    status = holder.record.status if holder is not None else None
    return isinstance(status, MachineStatus) and status.state in ("", "Pending")


def _list_decisions(record: Record) -> Record:
    """Without what hosts report and quotas count."""
    status = record.status
    assert status is not None, "the caller asked"
    empty = type(status)()
    names = _PROGRESS.get(type(status), frozenset())
    bare = msgspec.structs.replace(status, **{name: getattr(empty, name) for name in names})
    if hasattr(bare, "conditions"):
        bare = msgspec.structs.replace(bare, conditions=own(bare.conditions))
    return msgspec.structs.replace(record, status=bare)


def _failing(status: Status | None) -> set[str]:
    """The types of reported conditions that name a failure."""
    ours = {each.type for each in own(_conditions(status))}
    return {
        each.type
        for each in _conditions(status)
        if each.type not in ours and each.status != "True" and each.reason not in WAITING
    }


def _conditions(status: object) -> tuple[Condition, ...]:
    found: tuple[Condition, ...] = getattr(status, "conditions", ())
    return found


def _statuses(change: Change) -> tuple[object, object]:
    """Before and after."""
    before, after = (record and record.status for record in (change.before, change.after))
    return before, after
