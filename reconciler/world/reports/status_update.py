"""Reports into status: observed facts come from the report; orders and the reconciler's conditions stay as live has them. Pure.

What no host reports stays as it was: silence is unknown, not absent.

Only reports that `accept_reports` let through come here; nothing is checked again. Times of transitions are set here, when a
state is another than before: a host repeats its state in each report, and must not move the time by that.

Must never happen: a report changes an assignment, a rejection, an identity or one of the reconciler's own conditions.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import TypeVar

import msgspec

from reconciler.world.record import ASSIGNED, LOST, Record, Status, merge_conditions, stamp
from reconciler.world.reports.object_report import ObjectReport
from schemas.model import (
    Condition,
    MachineNetworkInterfaceStatus,
    MachineStatus,
    MachineVolumeStatus,
    NameRef,
    NetworkInterfaceStatus,
    VolumeAccess,
    VolumeSnapshotStatus,
    VolumeStatus,
)
from schemas.model.quantity import Quantity, QuantityError, parse
from schemas.report import objects as report

S = TypeVar(
    "S",
    MachineVolumeStatus,
    MachineNetworkInterfaceStatus,
    VolumeStatus,
    VolumeSnapshotStatus,
    NetworkInterfaceStatus,
)
replace = msgspec.structs.replace
READY = "Ready"
UNREACHABLE = "RuntimeUnreachable"  # as the poollet reports it of a pool


def status_from_report(
    record: Record, reported: ObjectReport | None, now: datetime, trouble: str = ""
) -> Status | None:
    """The status of a machine, a volume or a snapshot; that of the record if nothing new is reported.

    `trouble` is the reason why the pool is not ready, as its host reports it. An object that its host cannot observe keeps the last state, and
    the condition Ready is Unknown: that state may not be the present one.
    """
    status = record.status
    if reported is None:
        return status
    if reported.status is not None:
        status = _reported_status(status, reported, now)
    if not is_unobserved(reported, trouble):
        return status
    return _with_ready_unknown(record, status, reported, now, trouble)


def is_unobserved(reported: ObjectReport, trouble: str) -> bool:
    """Whether the host has the object and cannot tell its present state. A host that states that data is lost knows the state.

    While the runtime does not answer, the report has the last list that it gave: that says what was.
    """
    if reported.phase != "unknown" and (reported.phase != "present" or trouble != UNREACHABLE):
        return False
    if reported.status is None:
        return trouble != ""
    ready = next((each for each in reported.status.conditions if each.type == READY), None)
    return ready is None or ready.reason != LOST


def _with_ready_unknown(
    record: Record, status: Status | None, reported: ObjectReport, now: datetime, trouble: str
) -> Status | None:
    """The status with Ready=Unknown, since the moment at which `record` got that condition, if it has it."""
    before = record.status
    if not isinstance(status, ASSIGNED) or not isinstance(before, ASSIGNED):
        return status
    cause = f"pool {reported.pool} reports {trouble}" if trouble else "its order cannot be read"
    message = f"poollet {reported.poollet} cannot observe it: {cause}"
    unknown = Condition(type=READY, status="Unknown", reason=trouble or "NotObserved", message=message)
    others = (each for each in status.conditions if each.type != READY)
    return replace(status, conditions=merge_conditions(before.conditions, (*others, unknown), now))


def _reported_status(status: Status | None, reported: ObjectReport, now: datetime) -> Status | None:
    match status, reported.status:
        case MachineStatus(), report.ReportedMachineStatus():
            return _machine(status, reported.status, now)
        case VolumeStatus(), report.ReportedVolumeStatus():
            return _volume(status, reported.status, now)
        case VolumeSnapshotStatus(), report.ReportedSnapshotStatus():
            return _snapshot(status, reported.status, now)
        case _:
            return status


def interface_status_from_report(
    status: NetworkInterfaceStatus, seen: MachineNetworkInterfaceStatus | None, now: datetime
) -> NetworkInterfaceStatus:
    """The status of an interface, as its machine's pool observes it. Without a machine, nothing is observed."""
    if seen is None:
        return replace(_set_state(status, "", now), ips=(), mac_address="")
    state = "Available" if seen.state == "Attached" else "Pending"
    return replace(_set_state(status, state, now), ips=seen.ips, mac_address=seen.mac_address)


def _machine(before: MachineStatus, seen: report.ReportedMachineStatus, now: datetime) -> MachineStatus:
    return replace(
        before,
        machine_id=seen.machine_id,
        previous_assignment=before.previous_assignment if not seen.machine_id else None,
        state=seen.state or "",
        observed_revision=seen.observed_revision,
        conditions=merge_conditions(before.conditions, map(condition_of, seen.conditions), now),
        volumes=tuple(_disk(each, before.volumes, now) for each in seen.volumes),
        network_interfaces=tuple(
            _card(each, before.network_interfaces, now) for each in seen.network_interfaces
        ),
        restart=seen.restart or before.restart,
        machine_class_ref=NameRef(name=seen.machine_class_ref.name) if seen.machine_class_ref else None,
    )


def _disk(
    seen: report.AttachedVolume, before: tuple[MachineVolumeStatus, ...], now: datetime
) -> MachineVolumeStatus:
    was = next((each for each in before if each.name == seen.name), MachineVolumeStatus(name=seen.name))
    reference = NameRef(name=seen.volume_ref.name) if seen.volume_ref else None
    return replace(_set_state(was, seen.state, now), handle=seen.handle, volume_ref=reference)


def _card(
    seen: report.AttachedInterface, before: tuple[MachineNetworkInterfaceStatus, ...], now: datetime
) -> MachineNetworkInterfaceStatus:
    was = next(
        (each for each in before if each.name == seen.name), MachineNetworkInterfaceStatus(name=seen.name)
    )
    reference = NameRef(name=seen.network_interface_ref.name) if seen.network_interface_ref else None
    return replace(
        _set_state(was, seen.state, now),
        handle=seen.handle,
        ips=seen.ips,
        mac_address=seen.mac_address or "",
        network_interface_ref=reference,
    )


def _volume(before: VolumeStatus, seen: report.ReportedVolumeStatus, now: datetime) -> VolumeStatus:
    access = seen.access
    return replace(
        _set_state(before, seen.state or "", now),
        volume_id=seen.volume_id,
        access=VolumeAccess(
            driver=access.driver, handle=access.handle, volume_attributes=dict(access.volume_attributes)
        )
        if access
        else None,
        resources=amounts(seen.resources),
        conditions=merge_conditions(before.conditions, map(condition_of, seen.conditions), now),
    )


def _snapshot(
    before: VolumeSnapshotStatus, seen: report.ReportedSnapshotStatus, now: datetime
) -> VolumeSnapshotStatus:
    return replace(
        _set_state(before, seen.state or "", now),
        snapshot_id=seen.snapshot_id,
        size=None if seen.size is None else amounts({"size": seen.size}).get("size"),
        conditions=merge_conditions(before.conditions, map(condition_of, seen.conditions), now),
    )


def _set_state(before: S, state: str, now: datetime) -> S:
    """The time moves with the state; a state that is not known has none."""
    if before.state == state:
        return before
    return replace(before, state=state, last_state_transition_time=stamp(now) if state else "")


def condition_of(seen: report.ReportedCondition) -> Condition:
    """A reported condition in the form that live has. Types of the reconciler are sorted out when conditions are merged."""
    return Condition(
        type=seen.type,
        status=seen.status,
        reason=seen.reason,
        message=seen.message,
        observed_generation=seen.observed_generation,
        last_transition_time=seen.last_transition_time or "",
    )


def amounts(written: Mapping[str, str | int]) -> dict[str, Quantity]:
    """Amounts as the host writes them. One that cannot be read is left out, so it counts as nothing that the host has."""
    found = {}
    for resource, value in written.items():
        try:
            found[resource] = parse(value)
        except QuantityError:
            continue
    return found
