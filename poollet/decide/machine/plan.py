"""Creates a machine, or brings one that is there to the desired state: what differs is updated, what cannot change is reported.

Theory of operation of power. `spec.power` is desired and not a command: on means on, so a guest that
powered off by itself is started again, ever more rarely if it does so again and again (retry.py). A
restart is asked for by a token in an annotation:

    token on `live`       token on the host's machine   the guest    step
    none, or the same     any                           any          power as desired
    another one           the old one                   not off      power off
    another one           the old one                   off          the token is recorded, then power as desired

A machine whose power is Off has nothing to restart: its token is recorded at once. The token is recorded on
the runtime's object, so a restart is carried out once, also when the poollet restarts in the middle.

A machine that is kept for an undo (`stop_machine`) is powered off. A volume that its claim on `live` releases is detached
once the guest is off. Nothing else is changed, least of all its local disks. Declared again, it is as desired again.

Drift is a difference although the desired state is the one that the host had reached before
(`observedRevision`). It is corrected like any change; only the event says that it was not ordered.

Must never happen: a machine is created while one of its volumes is attached to another machine.
"""

from __future__ import annotations

from dataclasses import replace as replaced

from msgspec.structs import replace

from iri.change import DetachVolume, Resize, RuntimeChange, SetAnnotations, SetPower, UpdateVolume
from iri.machine import MachineState, Power, RuntimeGuestConfig, RuntimeMachine, RuntimeMachineSpec
from poollet.decide import create_errors, dependencies, model_to_iri
from poollet.decide.actions import CreateCall, EventText, update_call
from poollet.decide.assignments import HostOrder
from poollet.decide.decision_pass import DecisionPass, created_event
from poollet.decide.dependencies import MachineDependencies
from poollet.decide.immutable_fields import why_immutable
from poollet.decide.late_creation import reject
from poollet.decide.machine import diff as machine_diff
from poollet.decide.machine.conditions import (
    attachment_conditions,
    pending_conditions,
    report_machine,
    stopped_message,
)
from poollet.decide.machine.diff import MachineDiff
from poollet.decide.machine.late_attach import with_late_attachments
from poollet.decide.machine.replaced import is_given_away, replaced_disks
from poollet.decide.machine.unchanged_cache import TrackedLookup, find_unchanged, remember_machine
from poollet.decide.memory import Entry
from poollet.decide.secrets import NotReady, admission_reasons
from poollet.report.conditions import DELETED, READY, condition, unknown_pool_condition
from poollet.report.entries import rejection_reasons, report_pending, up_to_date_conditions
from schemas import live_layout, report
from schemas.effects.field_change import HIDDEN, FieldChange
from schemas.kinds import Kind
from schemas.model import Machine
from schemas.model.charge import INSUFFICIENT_FOR_RESIZE

OWN_RUNTIMES = "gitvirt-"  # how the runtimes of gitvirt begin their names
FIRST_BOOT_FIELDS = "first-boot data (guestConfig, ignitionRef)"
OFF = frozenset((MachineState.SUSPENDED, MachineState.TERMINATED, MachineState.STOPPED))


def create_machine(order: HostOrder, machine: Machine, current: DecisionPass) -> Entry:
    """The creation, once everything that the machine needs is ready; until then it is pending, with all that
    is missing. A refusal of the runtime, or a Secret that this host has no key for, rejects the assignment, unless the machine ran here before: then
    it stays here and waits."""
    was_there = current.was_reported(order)
    needs = dependencies.resolve_machine(order, machine, current.lookups)
    if not current.ledger.is_known((Kind.MACHINE_POOL, order.pool)):
        return report_pending(order, (*pending_conditions(needs), unknown_pool_condition(order.pool)))
    in_use = machine_diff.find_volumes_in_use(needs, current.inventory.holders)
    if not was_there and (unreadable := admission_reasons(needs.not_ready)):
        return reject(order, unreadable, current)
    if in_use or not needs.is_complete:
        return report_pending(order, pending_conditions(needs, in_use))
    desired = desired_machine(order, machine, needs, current)
    event = created_event(order)
    if was_there:
        event = EventText("Recreated", "the machine was missing on the host; recreating it", True)
    result = current.plan_action(order, (CreateCall(desired),), (event,))
    refused = create_errors.group_errors(result.errors, desired)
    if refused.rejections and not was_there:
        return reject(order, rejection_reasons(refused.rejections), current)
    return report_pending(order, pending_conditions(needs, errors=refused))


def change_machine(
    order: HostOrder, machine: Machine, there: RuntimeMachine, current: DecisionPass
) -> report.MachineReport:
    """The changes of a machine that exists, and its entry. `observedRevision` moves on once nothing differs
    any more and the runtime has observed the last change."""
    known = find_unchanged(order, there, current)
    if known is not None:
        current.plan_action(order, ())
        current.unchanged[order.ref] = known
        return known.entry
    tracked = TrackedLookup(current.view.objects)
    needs = dependencies.resolve_machine(order, machine, replaced(current.lookups, objects=tracked))
    diff = diff_machine(order, machine, there, needs, current)
    changes = () if there.deleted_at else diff.changes
    needed = tuple(update_call(there, change) for change in changes)
    digest = desired_digest(machine, needs)
    before = current.status_before(order, report.ReportedMachineStatus)
    last_digest = before.observed_revision if before is not None else ""
    is_drift = last_digest != "" and last_digest == digest
    found = current.plan_action(order, needed, change_events(changes, is_drift=is_drift))
    is_converged = not (needed or diff.blocked) and there.status.observed_generation >= there.generation
    conditions = (*attachment_conditions(needs, there), *up_to_date_conditions(found, diff.blocked))
    entry = report_machine(order, machine, there, conditions, current, needs)
    assert entry.status is not None
    observed_digest = digest if is_converged and digest else last_digest
    entry = replace(entry, status=replace(entry.status, observed_revision=observed_digest))
    after = with_late_attachments(order, entry, current)
    if is_converged and digest and after is entry:
        remember_machine(order, machine, there, entry, tracked, current)
    return after


def stop_machine(
    order: HostOrder, machine: Machine, there: RuntimeMachine, until: str, current: DecisionPass
) -> report.MachineReport:
    """Powers off a machine that is kept for an undo. Without `observedRevision`, so that a start after an undo does not count as drift."""
    is_off = there.status.state in OFF and there.spec.power is Power.OFF
    changes: list[RuntimeChange] = [DetachVolume(name) for name in released_disks(machine, there, current)]
    if not is_off:
        changes = [SetPower(Power.OFF)]
    needed = () if there.deleted_at else tuple(update_call(there, change) for change in changes)
    message = stopped_message(until)
    found = current.plan_action(order, needed, (EventText("Stopped", message),))
    known = (
        condition(READY, False, DELETED if is_off else "Stopping", message),
        *up_to_date_conditions(found),
    )
    entry = report_machine(order, machine, there, known, current)
    assert entry.status is not None
    attached = {disk.name for disk in there.spec.volumes} | {disk.name for disk in there.status.volumes}
    volumes = tuple(disk for disk in entry.status.volumes if disk.name in attached)
    entry = replace(entry, status=replace(entry.status, observed_revision="", volumes=volumes))
    return with_late_attachments(order, entry, current)


def released_disks(machine: Machine, there: RuntimeMachine, current: DecisionPass) -> list[str]:
    """Attached volumes that another machine needs, or has already: their claim on `live` is released, or is another machine's."""
    attached = {disk.name for disk in there.spec.volumes if disk.connection is not None}
    found = []
    for entry in machine.spec.volumes:
        key = machine.volume_key(entry)
        if key is not None and entry.name in attached and is_given_away(key, machine, current):
            found.append(entry.name)
    return found


def diff_machine(
    order: HostOrder,
    machine: Machine,
    there: RuntimeMachine,
    needs: MachineDependencies,
    current: DecisionPass,
) -> MachineDiff:
    """All changes in the order of their calls: power comes last, so that a guest starts with its devices."""
    replaced = replaced_disks(machine, there, current)
    disks = machine_diff.diff_disks(needs, there, current.inventory.holders, replaced)
    interfaces = machine_diff.diff_interfaces(needs, there)
    token = restart_token(machine, there)
    resize, resize_problems = resize_changes(order, machine, there, needs, current)
    changes: list[RuntimeChange] = [
        *annotation_changes(machine, there, needs, token),
        *disks.changes,
        *interfaces.changes,
        *resize,
        *power_changes(machine, there, is_restarting=is_restarting(machine, token)),
    ]
    is_ours = current.provider(order.runtime).startswith(OWN_RUNTIMES)
    problems = immutable_field_problems(machine, there, needs, lists_first_boot=is_ours)
    return MachineDiff(tuple(changes), (*disks.blocked, *interfaces.blocked, *resize_problems, *problems))


def desired_machine(
    order: HostOrder, machine: Machine, needs: MachineDependencies, current: DecisionPass
) -> RuntimeMachine:
    """With complete dependencies. A new machine has nothing to restart, so its restart token counts as carried out."""
    token = machine.metadata.annotations.get(live_layout.RESTART, "")
    return RuntimeMachine(
        labels=model_to_iri.labels(order, current.inputs.facts.fleet),
        annotations=model_to_iri.machine_annotations(machine, needs.mapping, token),
        spec=desired_spec(machine, needs),
    )


def desired_spec(machine: Machine, needs: MachineDependencies) -> RuntimeMachineSpec:
    """Without the parts that are not ready."""
    return RuntimeMachineSpec(
        power=model_to_iri.power(machine),
        class_name=machine.spec.machine_class_ref.name,
        ignition_data=needs.ignition if isinstance(needs.ignition, bytes) else b"",
        volumes=tuple(disk for disk in needs.disks.values() if not isinstance(disk, NotReady)),
        network_interfaces=tuple(nic for nic in needs.interfaces.values() if not isinstance(nic, NotReady)),
        guest_config=RuntimeGuestConfig(hostname=machine.hostname),
    )


def desired_digest(machine: Machine, needs: MachineDependencies) -> str:
    """Empty while a dependency is not ready."""
    if not needs.is_complete:
        return ""
    token = machine.metadata.annotations.get(live_layout.RESTART, "")
    return model_to_iri.spec_digest(
        desired_spec(machine, needs), model_to_iri.machine_annotations(machine, needs.mapping, token)
    )


def restart_token(machine: Machine, there: RuntimeMachine) -> str:
    """The restart token to record as carried out: the requested one once the machine is off, else the last one."""
    requested = machine.metadata.annotations.get(live_layout.RESTART, "")
    done = there.annotations.get(live_layout.RESTART, "")
    if not requested or requested == done:
        return requested or done
    is_off = there.status.state in OFF
    return requested if is_off or machine.spec.power == "Off" else done


def is_restarting(machine: Machine, token: str) -> bool:
    """Whether a restart is requested that is not recorded as carried out."""
    requested = machine.metadata.annotations.get(live_layout.RESTART, "")
    return requested != "" and requested != token


def annotation_changes(
    machine: Machine, there: RuntimeMachine, needs: MachineDependencies, token: str
) -> list[RuntimeChange]:
    """The runtime replaces annotations as a whole, so foreign ones are sent along. While interfaces are not ready only a restart is
    recorded: without the record it would be repeated again and again."""
    if any(isinstance(found, NotReady) for found in needs.interfaces.values()):
        noted = dict(there.annotations) | ({live_layout.RESTART: token} if token else {})
        return [] if noted == there.annotations else [SetAnnotations(noted)]
    desired = model_to_iri.machine_annotations(machine, needs.mapping, token)
    own = desired.keys() | model_to_iri.OWN_ANNOTATIONS
    rest = {key: value for key, value in there.annotations.items() if key not in own}
    annotations = rest | desired
    return [] if annotations == there.annotations else [SetAnnotations(annotations)]


def resize_changes(
    order: HostOrder,
    machine: Machine,
    there: RuntimeMachine,
    needs: MachineDependencies,
    current: DecisionPass,
) -> tuple[list[RuntimeChange], tuple[NotReady, ...]]:
    """Another class, if it is offered and the pool has room. When the guest sees it is up to the runtime."""
    name = machine.spec.machine_class_ref.name
    if there.spec.class_name == name:
        return [], ()
    if needs.class_problem is not None:
        return [], (needs.class_problem,)
    reasons = current.resize_refusals.get(order.ref, ())
    if reasons:
        message = "; ".join(reason.message for reason in reasons)
        return [], (NotReady(INSUFFICIENT_FOR_RESIZE, f"class {name} does not fit: {message}"),)
    return [Resize(name)], ()


def power_changes(machine: Machine, there: RuntimeMachine, *, is_restarting: bool) -> list[RuntimeChange]:
    """A guest that powered itself off is started again. A restart is off first, and on once the machine is off."""
    desired = model_to_iri.power(machine)
    if is_restarting and there.status.state not in OFF:
        desired = Power.OFF
    is_off = there.status.state in OFF
    if desired is Power.ON:
        return [SetPower(Power.ON)] if is_off or there.spec.power is not Power.ON else []
    is_running = there.status.state is MachineState.RUNNING
    return [SetPower(Power.OFF)] if is_running or there.spec.power is not Power.OFF else []


def immutable_field_problems(
    machine: Machine, there: RuntimeMachine, needs: MachineDependencies, *, lists_first_boot: bool = False
) -> tuple[NotReady, ...]:
    """Fields that the guest reads at first boot, and that cannot change afterwards. Boot data is secret: no text has it.

    `lists_first_boot`: the runtime lists the data as it was sent. Of any other runtime, none may mean that it does not list it."""
    result = []
    hostname = there.spec.guest_config.hostname if there.spec.guest_config is not None else ""
    name = FieldChange(Kind.MACHINE, ("spec", "guestConfig", "hostname"), hostname, machine.hostname)
    if hostname and hostname != machine.hostname and (why := why_immutable(name)):
        result.append(NotReady("HostnameDiffers", why))
    ignition = there.spec.ignition_data
    boot = FieldChange(Kind.MACHINE, ("spec", "ignitionRef"), HIDDEN, HIDDEN)
    is_listed = bool(ignition) or lists_first_boot
    is_other = is_listed and isinstance(needs.ignition, bytes) and ignition != needs.ignition
    if is_other and (why := why_immutable(boot, name=FIRST_BOOT_FIELDS)):
        result.append(NotReady("FirstBootDataDiffers", why))
    return tuple(result)


def change_events(changes: tuple[RuntimeChange, ...], *, is_drift: bool) -> tuple[EventText, ...]:
    """A disk that differs is not drift: its volume may have grown."""
    if not changes:
        return ()
    names = ", ".join(type(change).__name__ for change in changes)
    if is_drift and not all(isinstance(change, UpdateVolume) for change in changes):
        return (EventText("DriftCorrected", f"the machine on the host differed from live: {names}", True),)
    return (EventText("Changed", names),)
