"""The record that the reconciler keeps about one object on the target branch: read from a document, written as fields.

Theory of operation
-------------------
A document on `live` has two authors. People's fields are a copy of the source. The reconciler's fields are these, and they are
its only memory:

    metadata.uid                       identity, given once and never changed
    metadata.creationTimestamp         when it got its uid; empty where `live` was lost, because that moment is unknown
    metadata.deletionTimestamp         the order to delete; taken back only for a volume whose data is retained
    spec.claimRef of a volume          the machine that may attach it
    spec.machinePoolRef, volumePoolRef the pool of the assignment; without an assignment the field is a pin by people
    status                             assignment, conditions, rejections, and what hosts reported last

`record_of` reads them, `fields` writes them. `record_of` of the edited text is the record that was written, so that writing it
again changes nothing; otherwise each tick would make a commit.

Must never happen: any of these is read from a document of the source, where people could forge an assignment or an identity.

Limits: pure. Knows documents as plain values, not files, text or Git; `schemas.edit` puts the fields into the text.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, Literal, TypeAlias, cast

import msgspec

from schemas.backoff import exponential
from schemas.edit.fields import Field, Target, Value
from schemas.kinds import Kind
from schemas.model import (
    Assignment,
    ClaimRef,
    Condition,
    Evict,
    MachinePoolStatus,
    MachineStatus,
    NetworkInterfaceStatus,
    NetworkStatus,
    OwnerReference,
    Rejection,
    ResourceQuotaStatus,
    Undo,
    VolumePoolStatus,
    VolumeSnapshotStatus,
    VolumeStatus,
    decode,
)
from schemas.model.quantity import Quantity, parse

# Moments as the target branch writes them: UTC, whole seconds


def stamp(at: datetime) -> str:
    """A moment as `live` has it: in UTC, fractions of a second cut off."""
    return at.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def moment(text: str) -> datetime | None:
    """A time as live has it, in UTC. None for a text that is not a moment with a zone: the caller then has no time, and does not guess one."""
    try:
        read = datetime.fromisoformat(text)
    except ValueError:
        return None
    return read.astimezone(UTC) if read.tzinfo is not None else None


# The record of one object, and which kinds have what status


Status: TypeAlias = (
    MachineStatus
    | MachinePoolStatus
    | VolumeStatus
    | VolumePoolStatus
    | VolumeSnapshotStatus
    | NetworkStatus
    | NetworkInterfaceStatus
    | ResourceQuotaStatus
)

STATUS: dict[Kind, type[Status]] = {
    Kind.MACHINE: MachineStatus,
    Kind.MACHINE_POOL: MachinePoolStatus,
    Kind.VOLUME: VolumeStatus,
    Kind.VOLUME_POOL: VolumePoolStatus,
    Kind.VOLUME_SNAPSHOT: VolumeSnapshotStatus,
    Kind.NETWORK: NetworkStatus,
    Kind.NETWORK_INTERFACE: NetworkInterfaceStatus,
    Kind.RESOURCE_QUOTA: ResourceQuotaStatus,
}

ASSIGNABLE = frozenset({Kind.MACHINE, Kind.VOLUME})
PLACED = (
    MachineStatus,
    VolumeStatus,
)  # the same by status; a union in its place would be built at every check

ASSIGNED = (*PLACED, VolumeSnapshotStatus)  # a snapshot is not placed: it has the assignment of its volume

_EMPTY: dict[Kind, Status] = {kind: status() for kind, status in STATUS.items()}


class Record(msgspec.Struct, frozen=True, gc=False):
    """The reconciler's fields of one document, as values.

    `pool` is the one that the reconciler assigned; empty, nothing of ours binds the object, and a pin by people applies.

    `status` is None for the kinds that have none. `owners` come with the document of a generated object and are read only.
    """

    uid: str = ""
    creation_timestamp: str = ""
    deletion_timestamp: str = ""
    pool: str = ""
    claim: ClaimRef | None = None
    owners: tuple[OwnerReference, ...] = ()
    status: Status | None = None

    @property
    def is_deleting(self) -> bool:
        return self.deletion_timestamp != ""

    @property
    def assignment(self) -> Assignment | None:
        return assignment_of(self.status)

    @property
    def evict(self) -> Evict | None:
        """The order to leave its pool, if there is one."""
        return self.status.evict if isinstance(self.status, PLACED) else None

    @property
    def undo(self) -> Undo | None:
        """The order to stop a machine that left the source, and to keep it; it stays while a machine that is declared again waits."""
        return self.status.undo if isinstance(self.status, MachineStatus) else None

    def condition(self, type: str) -> Condition | None:
        return condition(getattr(self.status, "conditions", ()), type)


def is_on_a_host(record: Record) -> bool:
    """Whether `live` says that it is not placed because a report says that a host has it."""
    accepted = record.condition(ACCEPTED)
    return accepted is not None and accepted.reason in ON_A_HOST


NOTHING = Record()


def empty_status(kind: Kind) -> Status | None:
    """The status of an object about which nothing is known yet. Always the same instance, so that it is compared by identity."""
    return _EMPTY.get(kind)


def assignment_of(status: Status | None) -> Assignment | None:
    """The order that binds an object to a pool; None while it waits, and for kinds that are never placed."""
    return status.assignment if isinstance(status, ASSIGNED) else None


# Conditions: one aspect of a state each. A transition time moves only when the status does. The types of OWN are written by the
# reconciler alone; all others are what a host reports. `Ready` alone is both: the reconciler says Unknown where no report can


Truth = Literal["True", "False", "Unknown"]

SCHEDULED = "Scheduled"  # placed, or why not
ACCEPTED = "Accepted"  # the reconciler can act on what the source says, or why not: Blocked, Frozen
DELETION_HELD = "DeletionHeld"  # gone from the source, and why it is not ordered gone
OPEN_REQUEST = ("Waiting", "Fenced")  # states of a request about a host that is not decided yet
CLAIM_REFUSED = "ClaimRefused"  # a poollet says of the object what it may not say
EVICTION = "Eviction"  # why a placed machine is to leave its pool, or may not without consent
DESTROYED = (
    "Destroyed"  # people state by a commit that the host of a pool is gone with all it had: what became of it
)
HOST_MOVED = "HostMoved"  # people move a pool to another host by a commit: what became of it
ORDERS_CONFIRMED = "OrdersConfirmed"  # why a host that lost its local state has no answer yet
REPORT_UNREADABLE = "ReportUnreadable"  # the report of a pool's poollet is nothing that can be read
HOST_MISMATCH = "HostMismatch"  # another host than the one with the grant reports as the pool, or waits to
UNVERIFIED = "AbsenceUnverified"  # the reason of DELETION_HELD for an object that may still be declared
DELETED = "Deleted"  # the reason of Ready, of poollets: a machine that is kept for an undo is off
REPLACEMENT_WAITS = (
    "ReplacementWaits"  # the reason of ACCEPTED for a kept machine: another one of its name waits for its end
)
ADOPTED = "Adopted"  # the reason of Ready for a volume that was taken over, until its host reports its handle
LOST = "Lost"  # the reason of Ready for an object with data that is gone: of poollets, and of a snapshot whose host is destroyed
FROZEN = "Frozen"  # the reason of ACCEPTED for an object whose file cannot be used: it stays as it was
MULTIPLE = "ReportedByMultiplePools"
NOT_ASSIGNED = "ReportedWithoutAssignment"
DOES_NOT_FIT = "PoolDoesNotFit"
ON_ANOTHER = "OnAnotherHost"
REFUSED = "ReportedByRefusedPoollet"
# Reasons of ACCEPTED for an object that is not placed, because a report says that a host has it.
ON_A_HOST = frozenset({MULTIPLE, NOT_ASSIGNED, DOES_NOT_FIT, ON_ANOTHER, REFUSED})
OWN = frozenset(
    {
        SCHEDULED,
        ACCEPTED,
        DELETION_HELD,
        CLAIM_REFUSED,
        EVICTION,
        DESTROYED,
        HOST_MOVED,
        HOST_MISMATCH,
        ORDERS_CONFIRMED,
        REPORT_UNREADABLE,
    }
)
"""Types that the reconciler writes; all others are what a poollet reports."""

Conditions = tuple[Condition, ...]


def condition(conditions: Iterable[Condition], type: str) -> Condition | None:
    for each in conditions:
        if each.type == type:
            return each
    return None


def state_of(record: Record) -> str:
    """The state as tables show it, in one word; empty for kinds that have none. A state that cannot be observed now is Unknown."""
    state = getattr(record.status, "state", None)
    if state is None:
        return ""
    if record.is_deleting:
        return "Deleting"
    ready = record.condition("Ready")
    return "Unknown" if ready is not None and ready.status == "Unknown" else str(state) or "Pending"


def own(conditions: Iterable[Condition]) -> Conditions:
    """The conditions that the reconciler writes. A host cannot set one: `merge_conditions` drops them from what is reported."""
    return tuple(each for each in conditions if each.type in OWN)


def with_condition(conditions: Sequence[Condition], new: Condition, now: datetime) -> Conditions:
    """`new` in the place of the one of its type, or at the end. Its transition time is carried over, else its own, else now."""
    before = condition(conditions, new.type)
    timed = _with_time(new, before, now)
    if before is None:
        return (*conditions, timed)
    return tuple(timed if each.type == new.type else each for each in conditions)


def without_condition(conditions: Sequence[Condition], type: str) -> Conditions:
    return tuple(each for each in conditions if each.type != type)


def merge_conditions(kept: Sequence[Condition], reported: Iterable[Condition], now: datetime) -> Conditions:
    """Reported conditions replace those that were reported before; the reconciler's own stay. In the order of their types."""
    mine = {each.type: each for each in kept if each.type in OWN}
    theirs = {
        each.type: _with_time(each, condition(kept, each.type), now)
        for each in reported
        if each.type not in OWN
    }
    return tuple(each for _, each in sorted((mine | theirs).items()))


def _with_time(new: Condition, before: Condition | None, now: datetime) -> Condition:
    is_same = before is not None and before.status == new.status
    time = before.last_transition_time if before is not None and is_same else new.last_transition_time
    return msgspec.structs.replace(new, last_transition_time=time or stamp(now))


# How long a pool that refused an object is left alone: twice as long each time, from seconds to minutes


FIRST_SECONDS, LONGEST_SECONDS = 10, 600


def retry_at(rejection: Rejection) -> datetime | None:
    """When the pool may be tried again. None for a rejection without a time: it holds nothing back."""
    at = moment(rejection.time)
    if at is None:
        return None
    return at + timedelta(seconds=exponential(FIRST_SECONDS, LONGEST_SECONDS, rejection.count - 1))


def active_rejections(rejections: Iterable[Rejection], now: datetime) -> tuple[Rejection, ...]:
    """The rejections that exclude their pool now. The others stay on record for their count, which makes the next wait longer."""
    return tuple(each for each in rejections if (end := retry_at(each)) is not None and now < end)


# From a document of the target branch to its record, and from a record to the fields of the document that hold it


_POOL_REF = {Kind.MACHINE: Field.MACHINE_POOL_REF, Kind.VOLUME: Field.VOLUME_POOL_REF}


def record_of(kind: Kind, body: Mapping[str, Any]) -> Record:
    """`body` fits the schema of its kind, and is on the target branch: in the source, none of this means anything."""
    metadata = body["metadata"]
    status = _status(kind, body)
    assignment = assignment_of(status)
    spec = body.get("spec") or {}
    claim = spec.get("claimRef") if kind is Kind.VOLUME else None
    owners = metadata.get("ownerReferences")
    return Record(
        uid=metadata.get("uid") or "",
        creation_timestamp=metadata.get("creationTimestamp") or "",
        deletion_timestamp=metadata.get("deletionTimestamp") or "",
        pool=assignment.pool if assignment else "",
        claim=msgspec.convert(claim, ClaimRef) if claim else None,
        owners=msgspec.convert(owners, tuple[OwnerReference, ...]) if owners else (),
        status=status,
    )


def _status(kind: Kind, body: Mapping[str, Any]) -> Status | None:
    """Converts the status directly, which is fast. If that fails, the whole document is decoded."""
    written = body.get("status")
    if not written or kind not in STATUS:
        return empty_status(kind)
    try:
        return msgspec.convert(written, STATUS[kind], strict=False, dec_hook=_of_text)
    except msgspec.ValidationError:
        # What few documents have, and only where others than the reconciler wrote them: 1e300 for a whole number.
        found: Status = getattr(decode(kind, body), "status")  # noqa: B009 - the kinds that have one
        return found


def _of_text(needed: type, value: object) -> Any:
    if needed is Quantity:
        return parse(value)
    raise TypeError(f"a status has no way to read a {needed.__name__}")


def fields(kind: Kind, record: Record, base: Record = NOTHING) -> dict[Target, Value]:
    """Every field that the reconciler owns in a document of `kind`; None removes it from the text.

    `base` is the record of the text that will be edited, when that is a text of the target branch: a pool reference there
    is the reconciler's own and goes with the assignment. One in a text of the source is a pin and stays.
    """
    desired: dict[Target, Value] = {
        Field.UID: record.uid or None,
        Field.CREATION_TIMESTAMP: record.creation_timestamp or None,
        Field.DELETION_TIMESTAMP: record.deletion_timestamp or None,
        Field.STATUS: to_value(record.status),
    }
    reference = _POOL_REF.get(kind)
    if reference is not None and (record.pool or base.pool):
        desired[reference] = {"name": record.pool} if record.pool else None
    if kind is Kind.VOLUME:
        claim = record.claim
        desired[Field.CLAIM_REF] = None if claim is None else cast("Value", _plain(claim))
    return desired


def to_value(status: Status | None) -> Value:
    """An empty status is not written: it means the same as no status."""
    return cast("Value", _plain(status)) or None if status is not None else None


def _plain(value: object) -> Any:
    return msgspec.json.decode(msgspec.json.encode(value, enc_hook=str))  # which makes tuples lists
