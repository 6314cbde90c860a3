"""The attach fence: which machine holds a volume. Pure.

Theory of operation
-------------------
A host attaches a volume only to the machine that its claim on `live` names, by uid and by the id of its assignment. So two guests never write
to one volume, and what a former host of the machine attaches late is refused.

    claim         event                                                           claim
    none          a placed machine that stays needs the volume                    that machine; of several the first by name
    none          its host took it over, and has not said its handle yet          none: a machine may have it attached by that handle
    none          hosts report it attached to a machine (`live` was lost)         that machine, also where it needs it no longer; none, if
                                                                                  that machine is unknown or `live` is still lost. An
                                                                                  orphan is such a machine
    M             `live` was rewound, and it is attached to others alone          none
    M             the host of the volume reports it attached to M                 M, whatever else is true
    M             M does not exist, or is another machine of that name            none
    M             M is on no pool                                                 none; by the commit that withdraws it, where no pool
                                                                                  takes M and no host reports it attached (`compose`)
    M             M is under another assignment, and needs it                     M under that assignment
    M             M is under another assignment, and needs it no longer           none
    M             M needs it no longer                                            M, released: no host attaches it from now on
    M, released   M needs it again                                                M
    M, released   M's host reports M without it, and has applied a later          none
                  commit of `live` than the release was decided on
    M, kept for   M is reported off, and another machine needs the volume         M, released
    an undo
    M, released   M's host reports nothing about it, or applied no later commit   M, released

The release is written by the commit that removes the entry from the machine on `live`. A report that was made before says nothing about what
the host attached since, however late it lands; so the report has to name a later commit of `live` (handover.py).

Must never happen: a claim for a second machine while the first may have the volume attached, or may still attach it; a claim that ends
because a host is silent.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from typing import NamedTuple

from msgspec.structs import replace

from reconciler.decide.object_edit import ObjectEdit
from reconciler.decide.references import machines_of, volumes_of
from reconciler.decide.waiting_hosts import may_hold, removal
from reconciler.plan.types import Action
from reconciler.world.objects.object_state import ObjectState
from reconciler.world.record import ADOPTED
from reconciler.world.reports.object_report import ObjectReport
from reconciler.world.view import View
from schemas.kinds import Key, Kind
from schemas.model import ClaimRef, Machine, VolumeStatus
from schemas.report.objects import AttachedVolume, HeldObject, Orphan, ReportedMachineStatus

RECHECK = timedelta(
    seconds=5
)  # how soon a released claim is looked at again: the report may change in nothing but the commit of live


def update_claim(view: View, edit: ObjectEdit) -> ObjectEdit:
    """With the claim that it should have now. One that ends and the next one may be in the same tick: the holder has lost the volume before."""
    edit = release_claim(view, edit)
    if edit.record.claim is not None or edit.assignment is None:
        return edit
    machine = next_holder(view, edit)
    if machine is not None:
        return grant_claim(edit, claim_of(machine))
    # Nothing else looks at the volume again when an orphan that has it is gone.
    is_awaited = any(list_unordered(view, edit.known, handle_of(edit)))
    return edit.recheck_by(edit.now + RECHECK) if is_awaited else edit


def drop_rewound_claim(view: View, edit: ObjectEdit) -> ObjectEdit:
    """Without a claim that a rewound `live` has for one machine, while hosts report the volume attached to another one alone. It comes before
    all other rules: the tick after the recovery no longer knows that the claim is older than what is attached."""
    held = edit.record.claim
    if held is None or not view.is_live_lost:
        return edit
    attached = attached_uids(view, edit)
    if not attached or held.uid in attached:
        return edit
    reason = f"live was rewound, and it is not machine {held.name} that has it attached"
    return edit.with_record(claim=None).log_change(Action.CLAIM, reason)


def release_claim(view: View, edit: ObjectEdit) -> ObjectEdit:
    """With what becomes of the claim that it has: it ends, is released, or names another assignment of its holder. A volume that is ordered
    gone needs that too: its host waits for it."""
    held, volume = edit.record.claim, edit.known
    if held is None:
        return edit
    if reason := release_reason(view, volume, held):
        return edit.with_record(claim=None).log_change(Action.CLAIM, reason)
    holder = view.objects.get(Key(Kind.MACHINE, volume.key.namespace, held.name))
    if holder is None or holder.record.uid != held.uid or holder.record.assignment is None:
        return edit  # its own host reports it attached
    if keeps_volume(view, volume, holder):
        return edit if is_reported_attached(view, volume, held) else grant_claim(edit, claim_of(holder))
    if not held.released:
        edit = edit.with_record(claim=replace(held, released=view.live_commit or ""))
        edit = edit.log_change(Action.CLAIM, f"machine {held.name} no longer uses it")
    return edit.recheck_by(edit.now + RECHECK)


def grant_claim(edit: ObjectEdit, claim: ClaimRef) -> ObjectEdit:
    """With that claim. Only for a volume without a claim, or with one of that machine."""
    if edit.record.claim == claim:
        return edit
    return edit.with_record(claim=claim).log_change(Action.CLAIM, f"claimed by machine {claim.name}")


def claim_of(machine: ObjectState) -> ClaimRef:
    """Of a placed machine, under its present assignment."""
    assignment = machine.record.assignment
    id = assignment.id if assignment is not None else ""
    return ClaimRef(name=machine.key.name, uid=machine.record.uid, assignment=id)


def release_reason(view: View, volume: ObjectState, claim: ClaimRef) -> str:
    """Why the claim ends, by the table above; an empty text while the holder may have the volume attached, or may still attach it."""
    if is_reported_attached(view, volume, claim):
        return ""
    holder = view.objects.get(Key(Kind.MACHINE, volume.key.namespace, claim.name))
    if holder is None or holder.record.uid != claim.uid:
        return f"machine {claim.name} is gone"
    assignment = holder.record.assignment
    if assignment is None:
        return f"machine {claim.name} is not assigned to a pool"
    if keeps_volume(view, volume, holder):
        return ""
    if claim.assignment not in ("", assignment.id):
        return f"machine {claim.name} left the pool on which it used it"
    if not claim.released or is_attached(view, volume, holder):
        return ""
    report = view.accepted_reports(holder.key).report
    if report is None or not view.has_applied(report.poollet, claim.released):
        return ""
    return f"machine {claim.name} has released it"


def is_reported_attached(view: View, volume: ObjectState, claim: ClaimRef) -> bool:
    """Whether the host of the volume reports it attached to the holder."""
    report = view.accepted_reports(volume.key).report
    return report is not None and claim.uid in report.attached_to


def is_requested_by(volume: Key, machine: ObjectState) -> bool:
    """Whether an entry of the machine names or generates the volume."""
    return isinstance(machine.object, Machine) and volume in volumes_of(machine.object)


def keeps_volume(view: View, volume: ObjectState, holder: ObjectState) -> bool:
    """Whether the holder still needs it. A machine that is kept for an undo gives it to another one once it is reported off."""
    if not is_requested_by(volume.key, holder):
        return False
    if holder.is_active or holder.key not in view.stopped:
        return True
    others = (each for each in machines_of(view, volume) if each.key != holder.key)
    return not any(each.is_active and is_requested_by(volume.key, each) for each in others)


def is_attached(view: View, volume: ObjectState, machine: ObjectState) -> bool:
    """Whether the machine may have it attached, as far as its own host reports. A host that reports nothing has not released it."""
    report = view.accepted_reports(machine.key).report
    if report is None or report.phase == "unknown" or not isinstance(report.status, ReportedMachineStatus):
        return report is None or report.phase in ("present", "unknown")
    return report.phase == "present" and any(
        may_be_volume(disk, volume, machine) for disk in report.status.volumes
    )


def may_be_volume(disk: AttachedVolume, volume: ObjectState, machine: ObjectState) -> bool:
    """Whether a disk that a machine is reported with is the volume, or may be it: what the machine does not name any longer, and
    still attached, may be reported with its handle alone. An entry that names another volume by now has the former one until that
    one is ready, and a poollet of an earlier version reports it with the new name: so the handle comes first."""
    handle = handle_of(volume)
    if handle and disk.handle == handle:
        return True
    if disk.volume_ref is not None:
        return disk.volume_ref.name == volume.key.name
    entries = machine.object.spec.volumes if isinstance(machine.object, Machine) else ()
    return disk.handle == "" and disk.name not in (entry.name for entry in entries)


def attached_uids(view: View, edit: ObjectEdit) -> frozenset[str]:
    """The machines that hosts report with this volume attached, by uid: the volume's own host, which knows those beside it, and the hosts
    of all machines in its namespace."""
    volume, handle = edit.known.key, handle_of(edit)
    report = view.accepted_reports(volume).report
    found = set(report.attached_to) if report is not None else set()
    for key in view.reports.attachment_index.machines(volume, *([handle] if handle else [])):
        accepted = view.accepted_reports(key)
        for each in (accepted.report, *accepted.claims) if key.namespace == volume.namespace else ():
            if each is not None and each.is_there and has_volume(each, volume.name, handle):
                found.add(each.uid)
    return frozenset(found | {unordered.uid for unordered in list_unordered(view, edit.known, handle)})


class Unordered(NamedTuple):
    """A machine without an order on `live`: an orphan, or one on a host that waits without the grant."""

    uid: str  # or its id, where it has none
    where: str
    name: str
    poollet: str  # that says so


def list_unordered(view: View, volume: ObjectState, handle: str) -> Iterator[Unordered]:
    """Those that hosts report with this volume."""
    reports = view.reports
    for name in reports.orphan_index.speakers(handle) if handle else ():
        report = reports.by_poollet[name]
        for orphan in report.orphans:
            if is_near(orphan, volume, handle) and view.is_granted(report, orphan):
                where = f"an orphan on pool {orphan.pool} of poollet {name}"
                yield Unordered(orphan.uid or orphan.id, where, f"{orphan.namespace}/{orphan.name}", name)
    for name in reports.candidate_index.speakers(handle) if handle else ():
        report = reports.by_poollet[name]
        waiting = report.candidate
        if waiting is None or not may_hold(view, waiting, report):
            continue
        for each in waiting.objects:
            if is_near(each, volume, handle):
                where = f"a machine on host {waiting.host_id}, which waits for the pools of poollet {name}"
                yield Unordered(each.uid or "unknown", where, f"{each.namespace}/{each.name}", name)


def is_near(found: Orphan | HeldObject, volume: ObjectState, handle: str) -> bool:
    is_machine = found.kind == Kind.MACHINE.value and found.namespace == volume.key.namespace
    return is_machine and handle in found.handles


def handle_of(edit: ObjectEdit | ObjectState) -> str:
    """The handle by which hosts attach it; empty before its host has reported one."""
    status = edit.record.status
    return status.access.handle if isinstance(status, VolumeStatus) and status.access is not None else ""


def is_handle_awaited(edit: ObjectEdit) -> bool:
    """Whether it was taken over from an orphan, and its host has not reported since by which handle it is attached. A machine of another
    host may have it, and is known by that handle alone."""
    ready = edit.condition("Ready")
    return handle_of(edit) == "" and ready is not None and ready.reason == ADOPTED


def has_volume(report: ObjectReport, name: str, handle: str) -> bool:
    """Whether a machine is reported with that volume: by its handle, and by its name where that is not known."""
    return isinstance(report.status, ReportedMachineStatus) and any(
        disk.handle == handle if handle else disk.handle != "" and names_volume(disk, name)
        for disk in report.status.volumes
    )


def names_volume(disk: AttachedVolume, name: str) -> bool:
    return disk.volume_ref is not None and disk.volume_ref.name == name


def next_holder(view: View, edit: ObjectEdit) -> ObjectState | None:
    """The machine that gets a free volume: the first by name of those that are placed, stay and need it.

    After `live` was lost a machine may have it attached without a claim. Then that machine gets the claim, whether it needs the volume or
    not, and gives it back as any other: another machine that got it meanwhile would be a second writer. While `live` is not written
    again, and where the machine that has it is unknown, no machine gets it.
    """
    if is_handle_awaited(edit):
        return None
    attached = attached_uids(view, edit)
    asking = [
        machine
        for machine in machines_of(view, edit.known)
        if machine.record.assignment is not None
        and machine.is_active
        and is_requested_by(edit.known.key, machine)
    ]
    if not attached:
        return min(asking, key=lambda machine: machine.key, default=None)
    if view.is_live_lost:
        return None
    holding = {
        machine.key: machine
        for machine in (*asking, *machines_named(view, edit))
        if machine.record.uid in attached and machine.record.assignment is not None
    }
    first = {machine.key for machine in asking}
    return min(holding.values(), key=lambda machine: (machine.key not in first, machine.key), default=None)


def machines_named(view: View, edit: ObjectEdit) -> Iterator[ObjectState]:
    """Machines that refer to the volume, or are reported with it."""
    yield from machines_of(view, edit.known)
    keys = view.reports.attachment_index.machines(edit.known.key, handle_of(edit))
    yield from (view.objects[key] for key in keys if key in view.objects)


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
        if claim is None and (held := describe_orphan(view, machine, volume)):
            return held
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


def describe_orphan(view: View, machine: ObjectState, volume: ObjectState) -> str:
    """The orphan that keeps the volume from this machine, with what people can do; an empty text if there is none."""
    for found in list_unordered(view, volume, handle_of(volume)):
        if found.uid != machine.record.uid:
            named = f"{found.name}, uid {found.uid}"
            return (
                f"volume {volume.key.name} is attached to {found.where} ({named}); it is free once that machine is removed; if that host "
                f"cannot be trusted, remove its key and its report: {removal(view, found.poollet)}"
            )
    return ""


def by_place(machine: ObjectState) -> tuple[bool, Key]:
    """Placed machines first, then by key."""
    return machine.record.assignment is None, machine.key
