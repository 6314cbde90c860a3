"""The newest reports over what `live` has: people see progress as it is, though it is not worth a commit. For verbs that print; no decision.

    an object of `live`                                       is shown
    assigned, and its host reports that assignment            with the reported state, conditions, disks and addresses
    a machine that its host reports as gone                   as Terminated
    assigned, and the heartbeat of its host expired           as `live` has it: Unknown
    reported under another assignment, host, fleet or owner   as `live` has it: the report does not count
    a pool whose host reports that it is not ready            with the reported state

The same rules decide which report counts in `reconciler.world.reports.authority`. There is one thing that a verb cannot know: whether the heartbeat
is alive. The reconciler writes that. Where a fleet requires signed reports of a poollet, they are not verified here, and not used.

Must never happen: an object looks better than `live` because of a report that the reconciler would refuse.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any

import msgspec

from reconciler.query.inventory import FleetInventory, InventoryItem
from reconciler.query.newest_reports import KindReport
from reconciler.world.objects.relations import POOL_OF
from reconciler.world.record import Record, Status, condition, to_value
from reconciler.world.reports.authority import Authority
from reconciler.world.reports.object_report import ObjectReport, object_report
from reconciler.world.reports.status_update import READY, condition_of, status_from_report
from schemas.kinds import Key, Kind
from schemas.model import Condition, MachineStatus, NameRef, VolumeSnapshotStatus, VolumeStatus
from schemas.model.quantity import parse
from schemas.report.objects import ObjectRef, ReportedCondition
from schemas.settings.fleet import FleetSettings, PoolletEntry

HOST_FOLDERS = {Kind.MACHINE: "machines", Kind.VOLUME: "volumes", Kind.VOLUME_SNAPSHOT: "snapshots"}
POOL_FOLDERS = {Kind.MACHINE_POOL: "pools", Kind.VOLUME_POOL: "volumepools"}
WORSE = ("Error", "Unavailable", "Offline")
Reports = Mapping[str, KindReport]


def with_reports(
    inventory: FleetInventory, kind: Kind, reports: Reports, settings: FleetSettings, now: datetime
) -> FleetInventory:
    """The inventory with the objects of one kind as their hosts report them now."""
    counting = {
        name: each
        for name, each in reports.items()
        if each.poollet is not None
        and (each.poollet.name, each.poollet.fleet) == (name, settings.fleet.id)
        and not (settings.signatures.mode == "enforce" and signers_of(settings, name))
    }
    authority = Authority(settings, settings, reports.keys())
    items = dict(inventory.items)
    for poollet, each in counting.items():
        for path, entry in each.entries.items():
            folder, *rest = path.removesuffix(".json").split("/")
            key = Key(kind, rest[0] if len(rest) > 1 else "", rest[-1])
            item = items.get(key)
            if item is None or item.is_retained:
                continue
            if folder in POOL_FOLDERS.values():
                if authority.owns(poollet, key):
                    items[key] = show_pool(item, each, entry.status)
            elif authority.owns(poollet, Key(POOL_OF[kind], "", entry.pool)):
                items[key] = show_object(item, poollet, each, entry, now)
    return replace(inventory, items=items)


def signers_of(settings: FleetSettings, poollet: str) -> tuple[str, ...]:
    return (settings.poollets.get(poollet) or PoolletEntry()).signers


def show_object(
    item: InventoryItem, poollet: str, report: KindReport, entry: Any, now: datetime
) -> InventoryItem:
    """A machine, a volume or a snapshot by the entry of its present assignment."""
    status = getattr(item.object, "status", None)
    if not isinstance(status, MachineStatus | VolumeStatus | VolumeSnapshotStatus):
        return item
    assignment = status.assignment
    if assignment is None or (assignment.id, assignment.pool) != (entry.assignment, entry.pool):
        return item
    host = report.poollet.host_id if report.poollet is not None else ""
    ready = condition(status.conditions, READY)
    if (assignment.host and assignment.host != host) or (ready is not None and ready.reason == "PoolLost"):
        return item
    if entry.phase == "gone" and isinstance(status, MachineStatus):
        return with_status(item, end_machine(status))
    trouble = pool_trouble(report, item.key.kind, entry.pool)
    if entry.phase not in ("present", "unknown") or (not trouble and is_same(status, entry)):
        return item
    found: ObjectReport = object_report(poollet, host, entry)
    return with_status(item, status_from_report(Record(status=status), found, now, trouble))


def end_machine(status: MachineStatus) -> MachineStatus:
    """Of a machine that its host confirmed to be gone: until the reconciler writes that, `live` has it as it ran."""
    gone = {"status": "False", "reason": "Terminated", "message": "its host reports that it is gone"}
    conditions = tuple(
        msgspec.structs.replace(each, **gone) if each.type == READY else each for each in status.conditions
    )
    return msgspec.structs.replace(status, state="Terminated", conditions=conditions)


def is_same(status: MachineStatus | VolumeStatus | VolumeSnapshotStatus, entry: Any) -> bool:
    """Whether the entry says what `live` has. Asked first, since it is so of almost all objects. Of a long status it compares only what is shown."""
    seen = entry.status
    if entry.phase != "present" or seen is None or (seen.state or "") != status.state:
        return False
    known = {each.type: each for each in status.conditions}
    if any(is_other(known.get(each.type), each) for each in seen.conditions):
        return False
    if isinstance(status, VolumeStatus):
        return {name: parse(str(size)) for name, size in seen.resources.items()} == status.resources
    if not isinstance(status, MachineStatus):
        return True
    return (
        [each.state for each in seen.volumes] == [each.state for each in status.volumes]
        and [each.ips for each in seen.network_interfaces] == [each.ips for each in status.network_interfaces]
        and (seen.restart or status.restart) == status.restart
        and name_of(seen.machine_class_ref) == name_of(status.machine_class_ref)
    )


def name_of(reference: NameRef | ObjectRef | None) -> str:
    return reference.name if reference is not None else ""


def is_other(known: Condition | None, seen: ReportedCondition) -> bool:
    return known is None or (known.status, known.reason, known.message) != (
        seen.status,
        seen.reason,
        seen.message,
    )


def pool_trouble(report: KindReport, kind: Kind, pool: str) -> str:
    """The reason why the host reports the pool as not ready; empty if it is ready."""
    found = report.pools.get(f"{POOL_FOLDERS[POOL_OF[kind]]}/{pool}.json")
    conditions = found.status.conditions if found is not None else ()
    return next((each.reason for each in conditions if each.type == READY and each.status != "True"), "")


def show_pool(item: InventoryItem, report: KindReport, seen: Any) -> InventoryItem:
    """Only what is worse than on `live`: the reconciler alone says that a pool is ready, since it knows the heartbeat."""
    status: Any = getattr(item.object, "status", None)
    ready = condition(status.conditions, READY)
    host = status.host.id if status.host is not None else ""
    is_lost = ready is not None and ready.status == "Unknown"
    if seen.state not in WORSE or seen.state == status.state or is_lost or report.poollet is None:
        return item
    if host != report.poollet.host_id:
        return item
    reported = next((condition_of(each) for each in seen.conditions if each.type == READY), None)
    conditions = tuple(
        reported if reported is not None and each.type == READY and reported.status != "True" else each
        for each in status.conditions
    )
    return with_status(item, msgspec.structs.replace(status, state=seen.state, conditions=conditions))


class DocumentWithStatus(Mapping[str, Any]):
    """A document with another status. Both are made when they are asked for."""

    def __init__(self, body: Mapping[str, Any], status: Status | None) -> None:
        self._body, self._status = body, status

    def __getitem__(self, name: str) -> Any:
        return to_value(self._status) if name == "status" else self._body[name]

    def __iter__(self) -> Iterator[str]:
        return iter((*(name for name in self._body if name != "status"), "status"))

    def __len__(self) -> int:
        return len(tuple(iter(self)))


def with_status(item: InventoryItem, status: Status | None) -> InventoryItem:
    """The item with that status, in its object and in its document."""
    object = msgspec.structs.replace(item.object, status=status)
    return replace(item, object=object, body=DocumentWithStatus(item.body, status))
