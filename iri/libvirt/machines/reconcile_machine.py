"""One reconciliation of one machine: observe the domain, compare it with the record, take the next step.

Theory of operation. The record in the domain's metadata says what is desired; libvirt shows what is observed. Each call of
`reconcile_machine` takes at most one step that changes power and returns when to call again. It never remembers a plan: after
a crash of anything, observing again yields the next step. The first row that applies decides:

    observed                            desired    step
    the domain is gone                  any        forget the machine; its data stays unless deletion was ordered
    any                                 deleted    stop the guest, delete its data and files, undefine the domain last
    start that libvirtd never finished  any        force the guest off
    running, undefined by a person      any        define the domain again from the record
    any                                 any        disable autostart, where it is on
    on                                  off        press the power button; ask the agent; force off after the stop timeout
    off                                 off        bring the devices to the record
    recorded, never built               any        prepare disks, interfaces and seed; define the domain with devices
    devices or class differ             any        unplug, plug, grow disks, resize
    off                                 on         start, or wait: for the delay of a guest that ended by itself, or, after a boot of the
                                                   host, for its order
    stopped by an I/O error             on         resume
    on                                  on         nothing; forget earlier restarts after a steady run

An error becomes the machine's failure (condition Ready=False with the error as its reason) and a retry after a growing delay.

Must never happen: a guest is started while its record says off, or by libvirt's autostart; data is deleted without an ordered deletion; two threads reconcile one machine (the work queue guarantees
that); an error of libvirt or of the host leaves this module.

What a step may rely on: the work queue runs one reconciliation of a machine at a time, while calls may change its record at any moment. So a
step reads the record again under the machine's lock before it writes a document that was made from it (`define`, `resize`), and
a call that changes a record wakes the machine afterwards. A step that worked on an older record is followed by another one.
"""

from __future__ import annotations

import logging

from msgspec.structs import replace

from iri.errors import IRIError, TimedOut, Unavailable
from iri.libvirt.domain.domain_state import RunState
from iri.libvirt.domain.names import domain_name
from iri.libvirt.machines import hotplug, power, removal, resize
from iri.libvirt.machines.define import define_with_devices
from iri.libvirt.machines.deps import MachineDeps
from iri.libvirt.machines.guest import Guest, StepFailure
from iri.libvirt.machines.power_settings import RESUME_SECONDS, RETRIES

log = logging.getLogger(__name__)


def reconcile_machine(deps: MachineDeps, id: str) -> float | None:
    """Returns the seconds until the next reconciliation, or None to wait for a wake. Raises nothing."""
    try:
        guest = deps.store.observe(id)
        if guest is None:
            known = deps.store.find(id)
            if known is not None:
                removal.handle_undefined(deps, known)
            return None
        if guest.record.deleted_at:
            return removal.remove_step(deps, guest)
        delay = take_step(deps, guest)
    except (IRIError, OSError) as error:
        return record_failure(deps, id, error)

    def mark_reconciled(found: Guest) -> Guest:
        generation = max(found.observed_generation, guest.record.generation)
        return replace(found, observed_generation=generation, failure=None)

    deps.store.update(id, mark_reconciled)
    return delay


def take_step(deps: MachineDeps, guest: Guest) -> float | None:
    """The rows of the table above, in its order."""
    if guest.observed.run_state is RunState.UNFINISHED_START:
        # libvirt never answers any other call about such a domain.
        end_unfinished_start(deps, guest)
        return 0.0
    if guest.observed.is_transient:
        deps.store.rewrite_record(guest)
        message = "the running domain was undefined; defined it again"
        deps.warn(guest, "DomainRedefined", "Observe", message)
        return 0.0
    power.disable_autostart(deps, guest)
    if guest.record.is_held and guest.observed.is_on:
        deps.store.edit_record(guest.id, lambda record: replace(record, is_held=False))
    if not guest.is_desired_on:
        if guest.observed.is_on:
            return power.stop_step(deps, guest)  # its devices are reconciled once it is off
    elif guest.stopping_since is not None:  # power On was ordered again before the guest was off
        deps.store.update(
            guest.id, lambda found: replace(found, stopping_since=None, has_requested_agent=False)
        )
    is_fresh = not guest.record.is_built
    found = define_with_devices(deps, guest) if is_fresh else hotplug.reconcile_devices(deps, guest)
    if found is not None and not is_fresh:
        found = resize.resize_machine(deps, found)
    if found is None:
        return 0.0
    if found.is_desired_on and not found.observed.is_on:
        return power.start_when_due(deps, found, is_fresh=is_fresh)
    if found.observed.run_state is RunState.IO_ERROR:
        deps.domains.resume(found.id)
        return RESUME_SECONDS
    return soonest(hotplug.wait_seconds(found), forget_restarts_when_steady(deps, found))


def end_unfinished_start(deps: MachineDeps, guest: Guest) -> None:
    """Raises TimedOut, with the cure, when libvirt cannot end the domain."""
    try:
        power.force_off(deps, guest, "libvirtd was killed while starting it")
    except TimedOut as error:
        name = domain_name(guest.id, guest.record.labels)
        raise TimedOut(
            f"libvirtd was killed while starting this machine and now refuses to stop it: stop libvirtd, remove {name}.xml from its "
            f"state folder (/run/libvirt/qemu), start libvirtd; docs/libvirt.md has a drop-in that does so ({error})"
        ) from error


def forget_restarts_when_steady(deps: MachineDeps, guest: Guest) -> float | None:
    """Resets the count of restarts after a steady run. Returns the seconds until then."""
    if not guest.restarts or not guest.observed.is_on or guest.started_at is None:
        return None
    left = guest.started_at + deps.power_settings.steady - deps.store.now()
    if left > 0:
        return left
    deps.store.update(guest.id, lambda found: replace(found, restarts=0))
    return None


def soonest(*delays: float | None) -> float | None:
    """None when nothing is waited for."""
    return min((delay for delay in delays if delay is not None), default=None)


def record_failure(deps: MachineDeps, id: str, error: IRIError | OSError) -> float | None:
    """An event only when the failure is a new one; each attempt would flood the journal. While libvirt is away nothing is logged
    for each machine: the link says it once."""
    guest = deps.store.find(id)
    if guest is None:
        return None
    before = guest.failure
    reason = type(error).__name__ if isinstance(error, IRIError) else "HostError"
    failure = StepFailure(reason, str(error), before.failures + 1 if before is not None else 1)
    if before is None or (before.reason, before.message) != (reason, failure.message):
        deps.warn(guest, reason, "Reconcile", failure.message)
    if not isinstance(error, Unavailable):
        log.warning("machine cannot be reconciled id=%s reason=%s error=%s", id, reason, error)
    deps.store.update(id, lambda found: replace(found, failure=failure))
    return RETRIES.delay(failure.failures - 1)
