"""Creates, expands and removes a volume, and makes its entry in the report. Pure.

Must never happen: a volume is removed while a machine has it attached, or while that is unknown.
"""

from __future__ import annotations

from msgspec.structs import replace

from iri.change import ExpandVolume
from iri.volume import Resources, RuntimeVolume, RuntimeVolumeSpec, VolumeState
from poollet.decide import create_errors, dependencies, model_to_iri
from poollet.decide.actions import CreateCall, EventText, UpdateCall, update_call
from poollet.decide.assignments import UID, HostOrder
from poollet.decide.capacity_ledger import requested_bytes
from poollet.decide.create_errors import NO_ERRORS, CreateErrors
from poollet.decide.decision_pass import DecisionPass, created_event
from poollet.decide.dependencies import VolumeDependencies
from poollet.decide.immutable_fields import why_immutable
from poollet.decide.late_creation import reject
from poollet.decide.memory import Entry
from poollet.decide.secrets import NotReady, admission_reasons
from poollet.report import iri_to_report
from poollet.report.conditions import (
    CLASS_READY,
    READY,
    SECRETS_READY,
    SOURCE_READY,
    UP_TO_DATE,
    condition,
    sort_conditions,
    summarize_problems,
    unknown_pool_condition,
)
from poollet.report.entries import (
    Conditions,
    explain_state,
    new_entry,
    rejection_reasons,
    report_pending,
    up_to_date_conditions,
    without_types,
)
from schemas import report
from schemas.effects.context import EffectContext, VolumeClassPolicy
from schemas.effects.field_change import FieldChange
from schemas.kinds import Key, Kind
from schemas.model import Volume, VolumeClass
from schemas.model.quantity import units


def create_volume(order: HostOrder, volume: Volume, current: DecisionPass) -> Entry:
    """The creation, once class, key and source are ready. A refusal that is final rejects the assignment; any
    other error is retried."""
    needs = dependencies.resolve_volume(order, volume, current.lookups)
    if not current.ledger.is_known((Kind.VOLUME_POOL, order.pool)):
        return report_pending(order, (unknown_pool_condition(order.pool),))
    if not current.was_made(order) and (unreadable := admission_reasons(needs.not_ready)):
        return reject(order, unreadable, current)
    if not needs.is_complete:
        return report_pending(order, missing_conditions(needs))
    desired = RuntimeVolume(
        labels=model_to_iri.labels(order, current.inputs.facts.fleet), spec=desired_spec(volume, needs)
    )
    result = current.plan_action(order, (CreateCall(desired),), (created_event(order),))
    errors = create_errors.group_errors(result.errors, desired)
    if errors.rejections:
        return reject(order, rejection_reasons(errors.rejections), current)
    return report_pending(order, missing_conditions(needs, errors))


def desired_spec(volume: Volume, needs: VolumeDependencies) -> RuntimeVolumeSpec:
    """With complete dependencies only."""
    assert volume.spec.volume_class_ref is not None
    assert not isinstance(needs.encryption, NotReady)
    assert not isinstance(needs.source, NotReady)
    return RuntimeVolumeSpec(
        class_name=volume.spec.volume_class_ref.name,
        resources=Resources(storage_bytes=volume.spec.storage_bytes),
        encryption=needs.encryption,
        volume_data_source=needs.source,
    )


def expand_volume(order: HostOrder, volume: Volume, there: RuntimeVolume, current: DecisionPass) -> Entry:
    """Makes the volume as large as desired, and reports what about it cannot change. Its data is never
    touched."""
    step = expand(order, volume, there, current)
    calls = (step,) if isinstance(step, UpdateCall) else ()
    blocked = (step,) if isinstance(step, NotReady) else ()
    event = EventText("Expanding", f"{requested_bytes(there)} -> {volume.spec.storage_bytes} bytes")
    found = current.plan_action(order, calls, (event,))
    return report_volume(order, there, up_to_date_conditions(found, blocked), current)


def removal_blockers(
    order: HostOrder, volume: Volume, there: RuntimeVolume, current: DecisionPass
) -> tuple[NotReady, ...]:
    """Why the volume must not be removed now."""
    if silent := current.inventory.find_silent(current.inputs.facts.machine_runtimes):
        message = f"cannot list machines on runtime {', '.join(silent)}, so it is unknown whether the volume is attached"
        return (NotReady("HoldersUnknown", message),)
    if order.key in current.being_attached:
        return (NotReady("Attaching", "a machine that names this volume is being changed"),)
    claim = volume.spec.claim_ref
    if claim is not None and claim.uid not in current.gone:
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
    before = current.status_before(order, report.ReportedVolumeStatus)
    access = (there.status.access, before.access if before is not None else None)
    handles = {one.handle for one in access if one is not None}
    return set[str]().union(*(current.inventory.holders.get(handle, set()) for handle in handles if handle))


def expand(
    order: HostOrder, volume: Volume, there: RuntimeVolume, current: DecisionPass
) -> UpdateCall | NotReady | None:
    """The call, or why the volume cannot be as it is desired; None where nothing differs."""
    desired_bytes = volume.spec.storage_bytes
    has = requested_bytes(there)
    name = volume.spec.volume_class_ref.name if volume.spec.volume_class_ref is not None else ""
    if there.deleted_at or desired_bytes == has:
        change = FieldChange(Kind.VOLUME, ("spec", "volumeClassRef", "name"), there.spec.class_name, name)
        is_other = there.spec.class_name != name
        return NotReady("ClassDiffers", why) if is_other and (why := why_immutable(change)) else None
    declared = current.view.objects.get(Key(Kind.VOLUME_CLASS, "", name))
    policy = declared.resize_policy if isinstance(declared, VolumeClass) else "Static"
    context = EffectContext(
        volume_class=name, volume_classes={name: VolumeClassPolicy(policy, f"VolumeClass {name}")}
    )
    size = FieldChange(
        Kind.VOLUME, ("spec", "resources", "storage"), str(units(has)), str(units(desired_bytes))
    )
    if why := why_immutable(size, context):
        return NotReady("Shrinks" if desired_bytes < has else "NotExpandable", why)
    if reasons := current.resize_refusals.get(order.ref, ()):
        return NotReady("InsufficientForExpansion", "; ".join(reason.message for reason in reasons))
    return update_call(there, ExpandVolume(Resources(storage_bytes=desired_bytes)))


def report_volume(order: HostOrder, there: RuntimeVolume, known: Conditions, current: DecisionPass) -> Entry:
    """The entry of a volume that exists, with the machines that have it attached, by uid: the reconciler
    releases no claim of such a machine."""
    status = iri_to_report.volume_status(there, current.provider(order.runtime))
    explanation = current.inputs.explanations.get(order.ref)
    conditions = (
        *known,
        *runtime_conditions(there, known, explanation),
        *iri_to_report.access_conditions(there),
    )
    holders = find_holder_ids(order, there, current)
    uids = sorted(uid for id in holders if UID.fullmatch(uid := current.inventory.uids.get(id, "")))
    return replace(
        new_entry(order),
        attached_to=tuple(uids[:64]),
        status=replace(status, conditions=sort_conditions(conditions)),
    )


def runtime_conditions(
    there: RuntimeVolume, known: Conditions, explanation: EventText | None = None
) -> Conditions:
    """Whether the volume is ready, and the reason that its runtime states if not, else what its provider's events say."""
    reason, message = there.detail.reason[: iri_to_report.LONGEST_NAME], there.detail.message
    is_available = there.status.state is VolumeState.AVAILABLE and not there.deleted_at
    state = iri_to_report.VOLUME_STATES.get(there.status.state) or "Unknown"
    why = (reason or state, message) if reason or message else explain_state(state, explanation)
    found = [condition(READY, is_available, *((state, "") if is_available else why))]
    if reason:
        type = SOURCE_READY if reason == create_errors.IMAGE_NOT_RESOLVABLE else UP_TO_DATE
        found.append(condition(type, False, reason, message))
    return without_types(found, known)


def missing_conditions(needs: VolumeDependencies, errors: CreateErrors = NO_ERRORS) -> Conditions:
    """What a volume that is not created yet waits for. `errors`: why its runtime did not create it."""
    known = (
        summarize_problems(CLASS_READY, dependencies.not_ready(needs.class_problem)),
        summarize_problems(SECRETS_READY, dependencies.not_ready(needs.encryption)),
        summarize_problems(SOURCE_READY, (*dependencies.not_ready(needs.source), *errors.images)),
    )
    return (*known, summarize_problems(UP_TO_DATE, errors.others)) if errors.others else known
