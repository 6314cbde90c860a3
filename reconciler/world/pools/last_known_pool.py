"""The state of a pool on live, used as an announcement while its host cannot be asked, and in a checkout. Pure.

    function           when                                                   heartbeat       new objects go there
    last_known_pool    its host is silent, for less than the timeout          unconfirmed     no: `silence` says why
    expired_pool       the same for longer, while another host reports        expired         no
    pool_on_live       there are no reports at all (`gitvirt plan` offline)   unconfirmed     if live says that it is ready

The status of a remembered pool is not written again (pool_status.py): what live says would otherwise confirm itself.

Must never happen: a silent host's pool looks empty, so that what is on it is placed a second time.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from reconciler.world.objects.object_state import ObjectState
from reconciler.world.pools.announcement import Announcement
from reconciler.world.record import OWN
from reconciler.world.reports.heartbeat import Heartbeat
from reconciler.world.reports.status_update import READY
from schemas.model import Condition, MachinePoolStatus, VolumePoolStatus
from schemas.model.quantity import Quantity
from schemas.report import objects as report

UNKNOWN_POOLLET = ""


def expired_pool(known: ObjectState, poollet: str) -> Announcement | None:
    """The announcement of a pool whose host's heartbeat expired while another host writes its report. The pool counts as reported and
    expired, so its status becomes Unknown.
    """
    found = pool_on_live(known)
    return (
        None
        if found is None
        else replace(found, poollet=poollet, heartbeat=Heartbeat.EXPIRED, is_remembered=False)
    )


def last_known_pool(known: ObjectState, poollet: str, silence: str) -> Announcement | None:
    """The announcement from live while a poollet does not report. None for a pool that is not on live yet, or whose readiness
    was unknown already.
    """
    found = pool_on_live(known) if known.live is not None else None
    ready = known.record.condition(READY)
    if found is None or ready is None or ready.status == "Unknown":
        return None
    return replace(found, poollet=poollet, silence=silence)


def pool_on_live(known: ObjectState) -> Announcement | None:
    """The pool as live has it; None if live has no status of it, because no host ever reported it."""
    status, labels = known.record.status, dict(known.object.metadata.labels)
    match status:
        case MachinePoolStatus(state="Ready" | "Pending" | "Error" | "Offline" as state):
            machines = report.ReportedPoolStatus(
                state=state,
                conditions=_conditions(status.conditions),
                available_machine_classes=tuple(
                    report.ObjectRef(name=each.name) for each in status.available_machine_classes
                ),
                addresses=tuple(
                    report.ReportedAddress(type=each.type, address=each.address) for each in status.addresses
                ),
                capacity=_as_text(status.capacity),
                node_info=dict(status.node_info),
            )
            return _announcement(report.PoolReport(status=machines, labels=labels))
        case VolumePoolStatus(state="Available" | "Pending" | "Unavailable" as available):
            volumes = report.ReportedVolumePoolStatus(
                state=available,
                conditions=_conditions(status.conditions),
                available_volume_classes=tuple(
                    report.ObjectRef(name=each.name) for each in status.available_volume_classes
                ),
                capacity=_as_text(status.capacity),
                allocatable=_as_text(status.allocatable),
                reachable_from=status.reachable_from,
            )
            return _announcement(report.VolumePoolReport(status=volumes, labels=labels))
        case _:
            return None


def _announcement(pool: report.PoolReport | report.VolumePoolReport) -> Announcement:
    return Announcement(UNKNOWN_POOLLET, pool, Heartbeat.UNCONFIRMED, is_remembered=True)


def _conditions(conditions: Sequence[Condition]) -> tuple[report.ReportedCondition, ...]:
    return tuple(
        report.ReportedCondition(
            type=each.type,
            status=each.status,
            reason=each.reason,
            message=each.message,
            observed_generation=each.observed_generation,
            last_transition_time=each.last_transition_time or None,
        )
        for each in conditions
        if each.type not in OWN and each.type != READY
    )


def _as_text(amounts: Mapping[str, Quantity]) -> dict[str, str | int]:
    return {resource: str(amount) for resource, amount in amounts.items()}
