"""The attach fence: which machine holds a volume. Pure.

Theory of operation
-------------------
A host attaches a volume only to the machine that its claim on `live` names, by name and uid. So two guests never write to one volume.

    claim   event                                                           claim
    none    a placed machine that stays needs the volume                    that machine; of several the one that has it attached,
                                                                            else the first by name
    M       the host of the volume reports it attached to M                 M, whatever else is true
    M       M does not exist, or is another machine of that name            none
    M       M is on no pool                                                 none
    M       M needs it no longer, and M's host reports M without it         none
    M       M needs it no longer, and M's host reports nothing about it     M

Must never happen: a claim for a second machine while the first may have the volume attached; a claim that ends because a host is silent.
"""

from __future__ import annotations

from reconciler.decide.object_edit import ObjectEdit
from reconciler.decide.references import machines_of, volumes_of
from reconciler.plan.types import Action
from reconciler.world.objects.object_state import ObjectState
from reconciler.world.view import View
from schemas.kinds import Key, Kind
from schemas.model import ClaimRef, Machine
from schemas.report.objects import ReportedMachineStatus


def update_claim(view: View, edit: ObjectEdit) -> ObjectEdit:
    """With the claim that it should have now. One that ends and the next one may be in the same tick: the holder has released the volume."""
    edit = release_claim(view, edit)
    if edit.record.claim is not None or edit.assignment is None:
        return edit
    machine = next_holder(view, edit.known)
    return edit if machine is None else grant_claim(edit, machine.key.name, machine.record.uid)


def release_claim(view: View, edit: ObjectEdit) -> ObjectEdit:
    """Without the claim of a holder that released it. A volume that is ordered gone needs that too: its host waits for it."""
    held = edit.record.claim
    reason = "" if held is None else release_reason(view, edit.known, held)
    return edit.with_record(claim=None).log_change(Action.CLAIM, reason) if reason else edit


def grant_claim(edit: ObjectEdit, machine: str, uid: str) -> ObjectEdit:
    """With the claim of that machine. Only for a volume without a claim, or with this one."""
    claim = ClaimRef(name=machine, uid=uid)
    if edit.record.claim == claim:
        return edit
    return edit.with_record(claim=claim).log_change(Action.CLAIM, f"claimed by machine {machine}")


def release_reason(view: View, volume: ObjectState, claim: ClaimRef) -> str:
    """Why the claim ends, by the table above; an empty text while the holder may have the volume attached."""
    report = view.accepted_reports(volume.key).report
    if report is not None and claim.uid in report.attached_to:
        return ""
    holder = view.objects.get(Key(Kind.MACHINE, volume.key.namespace, claim.name))
    if holder is None or holder.record.uid != claim.uid:
        return f"machine {claim.name} is gone"
    if holder.record.assignment is None:
        return f"machine {claim.name} is not assigned to a pool"
    if is_requested_by(volume.key, holder) or is_attached(view, volume, holder):
        return ""
    return f"machine {claim.name} no longer uses it"


def is_requested_by(volume: Key, machine: ObjectState) -> bool:
    """Whether an entry of the machine names or generates the volume."""
    return isinstance(machine.object, Machine) and volume in volumes_of(machine.object)


def is_attached(view: View, volume: ObjectState, machine: ObjectState) -> bool:
    """Whether the machine may have it attached, as far as its own host reports. A host that reports nothing has not released it."""
    report = view.accepted_reports(machine.key).report
    if report is None or report.phase == "unknown" or not isinstance(report.status, ReportedMachineStatus):
        return report is None or report.phase in ("present", "unknown")
    return report.phase == "present" and any(
        disk.volume_ref is not None and disk.volume_ref.name == volume.key.name
        for disk in report.status.volumes
    )


def next_holder(view: View, volume: ObjectState) -> ObjectState | None:
    """The machine that gets a free volume: of those that are placed, stay and need it the one that has it attached, else the first by name."""
    report = view.accepted_reports(volume.key).report
    attached = report.attached_to if report is not None else ()
    asking = [
        machine
        for machine in machines_of(view, volume)
        if machine.record.assignment is not None
        and machine.is_active
        and is_requested_by(volume.key, machine)
    ]
    return min(asking, key=lambda machine: (machine.record.uid not in attached, machine.key), default=None)


def claim_conflict(view: View, machine: ObjectState) -> str:
    """Why the machine cannot have one of its volumes now, or an empty text.

    Another machine holds the volume. Or no claim exists, this machine is not placed, and another one comes first: a placed one, else the first
    by name. So of several that wait, one is placed, and which one does not depend on the order of files.
    """
    if not isinstance(machine.object, Machine):
        return ""
    for key in volumes_of(machine.object):
        volume = view.objects.get(key)
        if volume is None:
            continue
        claim = volume.record.claim
        if claim is not None and claim.uid != machine.record.uid:
            return f"volume {key.name} is claimed by machine {claim.name}"
        rivals = [
            other for other in machines_of(view, volume) if other.is_active and other.key != machine.key
        ]
        placed = [other for other in rivals if other.record.assignment is not None]
        if claim is None and machine.record.assignment is None:
            first = min(
                (*placed, *(other for other in rivals if other.key < machine.key)), key=by_place, default=None
            )
            if first is not None:
                return f"machine {first.key.name} needs volume {key.name} too"
    return ""


def by_place(machine: ObjectState) -> tuple[bool, Key]:
    """Placed machines first, then by key."""
    return machine.record.assignment is None, machine.key
