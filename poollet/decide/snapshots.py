"""Creates a snapshot of a volume, and makes its entry in the report. Pure."""

from __future__ import annotations

from msgspec.structs import replace

from iri.volume import RuntimeSnapshot, RuntimeVolume, SnapshotSpec, SnapshotState, VolumeState
from poollet.decide import model_to_iri
from poollet.decide.actions import CreateCall, Ref
from poollet.decide.assignments import HostOrder
from poollet.decide.decision_pass import DecisionPass, created_event
from poollet.decide.memory import Entry
from poollet.decide.secrets import NotReady
from poollet.report import iri_to_report
from poollet.report.conditions import READY, SOURCE_READY, condition, sort_conditions, summarize_problems
from poollet.report.entries import (
    Conditions,
    explain_state,
    new_entry,
    report_pending,
    up_to_date_conditions,
    without_types,
)
from schemas.kinds import Key, Kind
from schemas.model import Volume, VolumeSnapshot


def create_snapshot(order: HostOrder, snapshot: VolumeSnapshot, current: DecisionPass) -> Entry:
    """The creation, once the volume is available on the same runtime: the data is copied there. Until then it
    is pending."""
    source = find_source(order, snapshot, current)
    if isinstance(source, NotReady):
        return report_pending(order, (summarize_problems(SOURCE_READY, [source]),))
    desired = RuntimeSnapshot(
        labels=model_to_iri.labels(order, current.inputs.facts.fleet), spec=SnapshotSpec(volume_id=source)
    )
    found = current.plan_action(order, (CreateCall(desired),), (created_event(order),))
    return report_pending(order, up_to_date_conditions(found))


def find_source(order: HostOrder, snapshot: VolumeSnapshot, current: DecisionPass) -> str | NotReady:
    """The runtime's id of the snapshot's volume."""
    name = snapshot.spec.volume_ref.name
    volume = current.view.objects.get(Key(Kind.VOLUME, snapshot.namespace, name))
    if not isinstance(volume, Volume):
        return NotReady("VolumeMissing", f"Volume {name} does not exist on live")
    there = current.inventory.at(Ref(RuntimeVolume, volume.metadata.uid), order.runtime)
    if (
        not isinstance(there, RuntimeVolume)
        or there.status.state is not VolumeState.AVAILABLE
        or there.deleted_at
    ):
        return NotReady("VolumeNotReady", f"Volume {name} is not available yet")
    return there.id


def report_snapshot(
    order: HostOrder, there: RuntimeSnapshot, known: Conditions, current: DecisionPass
) -> Entry:
    """The entry of a snapshot that exists; `known` takes precedence over what its runtime states."""
    status = iri_to_report.snapshot_status(there, current.provider(order.runtime))
    is_ready = there.status.state is SnapshotState.READY and not there.deleted_at
    explanation = None if is_ready else current.inputs.explanations.get(order.ref)
    ready = condition(READY, is_ready, *explain_state(status.state or "Unknown", explanation))
    conditions = sort_conditions((*known, *without_types((ready,), known)))
    return replace(new_entry(order), status=replace(status, conditions=conditions))
