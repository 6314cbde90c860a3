"""Plans one volume: the calls that it needs next, and its entry in the report. Pure.

Must never happen: a volume that existed and is missing is created again, which would hide that its data is lost; a volume is removed while
a machine has it attached, or while that is unknown.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import assert_never

from msgspec.structs import replace

from iri.change import ExpandVolume
from iri.volume import Resources, RuntimeVolume, RuntimeVolumeSpec, VolumeState
from poollet.decide import create_errors, dependencies, model_to_iri
from poollet.decide.actions import Call, CreateCall, EventText, RemoveCall, UpdateCall
from poollet.decide.assignments import UID, Ensure, HostOrder, Retain, Skip, Withdraw
from poollet.decide.create_errors import CreateErrors
from poollet.decide.decision_pass import FINAL, DecisionPass, OrderedObject
from poollet.decide.dependencies import VolumeDependencies
from poollet.decide.inventory import Absent, Duplicates, InFlight, Present, UnconfirmedAbsent, Unknown
from poollet.decide.machine.conditions import NO_ERRORS, rejection_reasons, up_to_date_conditions
from poollet.decide.secrets import NotReady
from poollet.report import iri_to_report
from poollet.report.conditions import (
    CLASS_READY,
    LOST,
    READY,
    SECRETS_READY,
    SOURCE_READY,
    UP_TO_DATE,
    condition,
    duplicates_condition,
    sort_conditions,
    summarize_problems,
)
from schemas import report
from schemas.kinds import Key, Kind
from schemas.model import Volume, VolumeClass

RETAINED = "Retained"
KEPT = "kept: the volume already holds data, and its deletionPolicy is not Delete"


@dataclass(frozen=True)
class Holders:
    """Machines that are certainly gone, and volumes that an action under way may attach."""

    gone: frozenset[str] = frozenset()  # uids
    being_attached: Collection[Key] = ()


def plan_volume(
    ordered_object: OrderedObject,
    volume: Volume,
    shortfalls: tuple[report.ReportedReason, ...],
    holders: Holders,
    current: DecisionPass,
) -> report.VolumeReport:
    order, before = ordered_object.order, current.before(ordered_object.order, report.VolumeReport)
    if before is not None and before.phase in FINAL and not isinstance(order.intent, Withdraw):
        return before
    match ordered_object.presence:
        case Unknown():
            return replace(
                before or report.VolumeReport(order.ref.uid, order.assignment, "unknown", order.pool),
                phase="unknown",
            )
        case InFlight():
            current.keep_missing(order.ref)
            return before or report_pending(order, ())
        case UnconfirmedAbsent() as unconfirmed:
            current.remember_missing(order.ref, unconfirmed)
            return before or report_pending(order, ())
        case Duplicates(found):
            problem = duplicates_condition((one.runtime, one.object.id) for one in found)
            return with_conditions(before or report_pending(order, ()), (problem,))
        case Absent():
            current.keep_missing(order.ref)
            return plan_absent(order, volume, shortfalls, current)
        case Present(there):
            assert isinstance(there, RuntimeVolume)
            return plan_present(order, volume, there, holders, current)
        case _:
            assert_never(ordered_object.presence)


def plan_absent(
    order: HostOrder, volume: Volume, shortfalls: tuple[report.ReportedReason, ...], current: DecisionPass
) -> report.VolumeReport:
    match order.intent:
        case Withdraw():
            return report.VolumeReport(order.ref.uid, order.assignment, "gone", order.pool)
        case Skip(reason, message):
            return report_pending(order, (condition(UP_TO_DATE, False, reason, message),))
        case Retain():
            return report_lost(order, current)
        case Ensure():
            return (
                report_lost(order, current)
                if current.was_reported(order)
                else plan_missing(order, volume, shortfalls, current)
            )
        case _:
            assert_never(order.intent)


def report_lost(order: HostOrder, current: DecisionPass) -> report.VolumeReport:
    before = current.before(order, report.VolumeReport)
    status = (before.status if before is not None else None) or report.ReportedVolumeStatus()
    problem = condition(READY, False, LOST, "the volume is missing from the runtime; its data is lost")
    return report.VolumeReport(
        order.ref.uid,
        order.assignment,
        "unknown",
        order.pool,
        status=replace(status, state="Error", access=None, conditions=(problem,)),
    )


def plan_missing(
    order: HostOrder, volume: Volume, shortfalls: tuple[report.ReportedReason, ...], current: DecisionPass
) -> report.VolumeReport:
    if shortfalls:
        return report.VolumeReport(order.ref.uid, order.assignment, "rejected", order.pool, shortfalls)
    needs = dependencies.resolve_volume(order, volume, current.lookups)
    if not current.ledger.is_known((Kind.VOLUME_POOL, order.pool)):
        problem = condition(
            CLASS_READY, False, "PoolUnknown", f"the capacity of pool {order.pool} is not known yet"
        )
        return report_pending(order, (problem,))
    if not needs.is_complete:
        return report_pending(order, missing_conditions(needs))
    desired = RuntimeVolume(
        labels=model_to_iri.labels(order, current.inputs.facts.fleet), spec=desired_spec(volume, needs)
    )
    result = current.plan_action(order, (CreateCall(desired),), (EventText("Created", "created"),))
    errors = create_errors.group_errors(result.errors, desired)
    if errors.rejections:
        current.actions = [step for step in current.actions if step.ref != order.ref]
        reasons = rejection_reasons(errors.rejections)
        return report.VolumeReport(order.ref.uid, order.assignment, "rejected", order.pool, reasons)
    return report_pending(order, missing_conditions(needs, errors))


def desired_spec(volume: Volume, needs: VolumeDependencies) -> RuntimeVolumeSpec:
    assert volume.spec.volume_class_ref is not None
    assert not isinstance(needs.encryption, NotReady)
    assert not isinstance(needs.source, NotReady)
    return RuntimeVolumeSpec(
        class_name=volume.spec.volume_class_ref.name,
        resources=Resources(storage_bytes=volume.spec.storage_bytes),
        encryption=needs.encryption,
        volume_data_source=needs.source,
    )


def plan_present(
    order: HostOrder, volume: Volume, there: RuntimeVolume, holders: Holders, current: DecisionPass
) -> report.VolumeReport:
    match order.intent:
        case Withdraw() if must_keep_data(volume) and not there.deleted_at:
            return report_volume(order, there, (condition(UP_TO_DATE, False, RETAINED, KEPT),), current)
        case Withdraw(reason):
            blocked = removal_blockers(order, volume, there, holders, current)
            calls: tuple[Call, ...] = ()
            if there.deleted_at or not blocked:
                current.removing_since_ms[order.ref] = current.inputs.memory.removing_since_ms.get(
                    order.ref, current.now_ms
                )
                calls = () if there.deleted_at else (RemoveCall(RuntimeVolume, there.id),)
            found = current.plan_action(order, calls, (EventText("Removing", reason),))
            ending = condition(READY, False, "Terminating", f"removing the volume: {reason}")
            return report_volume(order, there, (ending, *up_to_date_conditions(found, blocked)), current)
        case Skip(reason, message):
            return report_volume(order, there, (condition(UP_TO_DATE, False, reason, message),), current)
        case Retain():
            return report_volume(order, there, (), current)
        case Ensure():
            calls, blockers = expand(order, volume, there, current)
            found = current.plan_action(order, calls, (EventText("Expanding", "expanding the volume"),))
            return report_volume(order, there, up_to_date_conditions(found, blockers), current)
        case _:
            assert_never(order.intent)


def removal_blockers(
    order: HostOrder, volume: Volume, there: RuntimeVolume, holders: Holders, current: DecisionPass
) -> tuple[NotReady, ...]:
    """Why the volume must not be removed now."""
    if silent := current.inventory.find_silent(current.inputs.facts.machine_runtimes):
        message = f"cannot list machines on runtime {', '.join(silent)}, so it is unknown whether the volume is attached"
        return (NotReady("HoldersUnknown", message),)
    if order.key in holders.being_attached:
        return (NotReady("Attaching", "a machine that names this volume is being changed"),)
    claim = volume.spec.claim_ref
    if claim is not None and claim.uid not in holders.gone:
        return (NotReady("Claimed", f"machine {claim.name} holds the claim to this volume"),)
    ids = sorted(find_holder_ids(order, there, current))
    return (NotReady("Attached", f"attached to {', '.join(ids)}"),) if ids else ()


def must_keep_data(volume: Volume) -> bool:
    """Whether a volume with a deletion order is kept: `live` took it for one that was never created, but it exists and may hold data."""
    match volume.spec.deletion_policy:
        case "Delete":
            return False
        case "Retain":
            return True
        case None:
            return not volume.metadata.owner_references


def find_holder_ids(order: HostOrder, there: RuntimeVolume, current: DecisionPass) -> set[str]:
    """Ids of machines that have the volume attached, by the handle that it has or had when it was last available."""
    before = current.before(order, report.VolumeReport)
    last = before.status.access if before is not None and before.status is not None else None
    handles = {there.status.access.handle if there.status.access else "", last.handle if last else ""}
    return set[str]().union(*(current.inventory.holders.get(handle, set()) for handle in handles if handle))


def expand(
    order: HostOrder, volume: Volume, there: RuntimeVolume, current: DecisionPass
) -> tuple[tuple[Call, ...], tuple[NotReady, ...]]:
    desired_bytes = volume.spec.storage_bytes
    has = there.spec.resources.storage_bytes if there.spec.resources is not None else 0
    name = volume.spec.volume_class_ref.name if volume.spec.volume_class_ref is not None else ""
    if there.deleted_at or desired_bytes == has:
        other = there.spec.class_name != name
        return (), (
            NotReady(
                "ClassDiffers",
                f"class {there.spec.class_name} -> {name}: the class of a volume cannot change",
            ),
        ) if other else ()
    if desired_bytes < has:
        return (), (NotReady("Shrinks", f"{has} -> {desired_bytes} bytes: a volume cannot shrink"),)
    declared = current.view.objects.get(Key(Kind.VOLUME_CLASS, "", name))
    if not isinstance(declared, VolumeClass) or declared.resize_policy != "ExpandOnly":
        return (), (
            NotReady(
                "NotExpandable",
                f"{has} -> {desired_bytes} bytes: VolumeClass {name} does not allow expansion (resizePolicy)",
            ),
        )
    reasons = current.resize_refusals.get(order.ref, ())
    if reasons:
        message = "; ".join(reason.message for reason in reasons)
        return (), (NotReady("InsufficientForExpansion", message),)
    return (UpdateCall(there.id, ExpandVolume(Resources(storage_bytes=desired_bytes))),), ()


def report_volume(
    order: HostOrder, there: RuntimeVolume, known: tuple[report.ReportedCondition, ...], current: DecisionPass
) -> report.VolumeReport:
    status = iri_to_report.volume_status(there, current.provider(order.runtime))
    conditions = (*known, *runtime_conditions(there, known), *iri_to_report.access_conditions(there))
    holders = find_holder_ids(order, there, current)
    uids = sorted(uid for id in holders if UID.fullmatch(uid := current.inventory.uids.get(id, "")))
    return report.VolumeReport(
        order.ref.uid,
        order.assignment,
        "present",
        order.pool,
        attached_to=tuple(uids[:64]),
        status=replace(status, conditions=sort_conditions(conditions)),
    )


def runtime_conditions(
    there: RuntimeVolume, known: tuple[report.ReportedCondition, ...]
) -> tuple[report.ReportedCondition, ...]:
    """Whether the volume is ready, and the reason that its runtime states if not."""
    reason, message = there.detail.reason[: iri_to_report.LONGEST_NAME], there.detail.message
    is_available = there.status.state is VolumeState.AVAILABLE and not there.deleted_at
    state = iri_to_report.VOLUME_STATES.get(there.status.state) or "Unknown"
    ready = condition(READY, is_available, *((state, "") if is_available else (reason or state, message)))
    found = [ready]
    if reason == create_errors.IMAGE_NOT_RESOLVABLE:
        found.append(condition(SOURCE_READY, False, reason, message))
    elif reason:
        found.append(condition(UP_TO_DATE, False, reason, message))
    types = {one.type for one in known}
    return tuple(one for one in found if one.type not in types)


def missing_conditions(
    needs: VolumeDependencies, errors: CreateErrors = NO_ERRORS
) -> tuple[report.ReportedCondition, ...]:
    """What a volume that is not created yet waits for. `errors`: why its runtime did not create it."""
    parts: list[tuple[str, list[tuple[str, str]]]] = [
        (type, [(part.reason, part.message)] if isinstance(part, NotReady) else [])
        for type, part in (
            (CLASS_READY, needs.class_problem),
            (SECRETS_READY, needs.encryption),
            (SOURCE_READY, needs.source),
        )
    ]
    parts[-1][1].extend(errors.images)
    known = tuple(summarize_problems(type, problems) for type, problems in parts)
    return (*known, summarize_problems(UP_TO_DATE, errors.others)) if errors.others else known


def report_pending(order: HostOrder, known: tuple[report.ReportedCondition, ...]) -> report.VolumeReport:
    blockers = [one for one in known if one.status == "False"]
    ready = condition(READY, False, blockers[0].reason if blockers else "Pending")
    status = report.ReportedVolumeStatus(state="Pending", conditions=sort_conditions((*known, ready)))
    return report.VolumeReport(order.ref.uid, order.assignment, "present", order.pool, status=status)


def with_conditions(
    entry: report.VolumeReport, known: tuple[report.ReportedCondition, ...]
) -> report.VolumeReport:
    status = entry.status or report.ReportedVolumeStatus()
    types = {one.type for one in known}
    rest = tuple(one for one in status.conditions if one.type not in types)
    return replace(
        entry, phase="present", status=replace(status, conditions=sort_conditions((*known, *rest)))
    )
