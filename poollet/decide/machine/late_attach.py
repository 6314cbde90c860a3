"""Reports a volume as attached while an attach that was called for it may still take effect. Pure.

Theory of operation. Once a host reports a machine without a volume that `live` has released, the next machine gets the claim. An attach
that was not answered may take effect at any later time: the runtime hung, or its process was suspended. Then two guests would write to one
volume. So a volume that is not attached stays in the entry of its machine, as pending:

    the last entry has it, the manifest names it no longer, and    until
    an attach of that disk is under way                            it has ended
    one ended without an answer                                    LATE_MS later
    this run of the poollet has just begun: an earlier one may     LATE_MS after it began
    have called it

A machine that leaves the host needs none of this: the runtime attaches nothing to a machine whose assignment was ended there.

Must never happen: a released volume is reported as detached while an attach of it may be carried out.
"""

from __future__ import annotations

from msgspec.structs import replace

from iri.change import AttachVolume
from poollet.decide.actions import UpdateCall
from poollet.decide.assignments import HostOrder
from poollet.decide.decision_pass import DecisionPass
from poollet.decide.late_creation import LATE_MS
from poollet.decide.retry import Attempt, Outcome
from schemas import report


def with_late_attachments(
    order: HostOrder, entry: report.MachineReport, current: DecisionPass
) -> report.MachineReport:
    """The entry with the volumes of the last one that may still be attached; the same entry where there are none."""
    before = current.status_before(order, report.ReportedMachineStatus)
    if before is None or entry.status is None:
        return entry
    listed = {disk.volume_ref for disk in entry.status.volumes}
    late = tuple(
        disk
        for disk in before.volumes
        if disk.volume_ref is not None
        and disk.volume_ref not in listed
        and may_be_attached(order, disk, current)
    )
    if not late:
        return entry
    return replace(entry, status=replace(entry.status, volumes=(*entry.status.volumes, *late)))


def may_be_attached(order: HostOrder, disk: report.AttachedVolume, current: DecisionPass) -> bool:
    """By the table above. A disk that was listed as attached, and is not listed any more, was detached after its attach had ended."""
    until_ms = [
        one.unanswered_ms + LATE_MS
        for one in attaches(order, disk.name, current)
        if one.unanswered_ms is not None
    ]
    began_ms = current.inputs.memory.since_ms
    if disk.state == "Pending":
        until_ms.append((current.now_ms if began_ms is None else began_ms) + LATE_MS)
    ends_ms = max(until_ms, default=0)
    if current.now_ms < ends_ms:
        current.recheck_at(ends_ms)
        return True
    return any(one.outcome is Outcome.ORDERED for one in attaches(order, disk.name, current))


def attaches(order: HostOrder, name: str, current: DecisionPass) -> list[Attempt]:
    """Of the disk of that name."""
    return [
        one
        for one in current.retries_of(order.ref).attempts
        if isinstance(one.call, UpdateCall)
        and isinstance(one.call.change, AttachVolume)
        and one.call.change.disk.name == name
    ]
