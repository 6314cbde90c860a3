"""One turn of one machine: look, compare with the wish, take the next step. What fails becomes a condition and a retry."""

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
from iri.libvirt.machines.power_settings import RETRIES, STUCK_SECONDS

log = logging.getLogger(__name__)


def reconcile_machine(deps: MachineDeps, id: str) -> float | None:
    """Gives the seconds until the next turn; None: when something happens. Never raises."""
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
    generation = guest.record.generation
    deps.store.update(
        id,
        lambda found: replace(
            found, observed_generation=max(found.observed_generation, generation), failure=None
        ),
    )
    return delay


def take_step(deps: MachineDeps, guest: Guest) -> float | None:
    if guest.observed.run_state is RunState.UNFINISHED_START:
        # Whatever else is asked of such a domain waits for ever.
        end_unfinished_start(deps, guest)
        return 0.0
    if guest.observed.is_transient:
        deps.store.rewrite_record(guest)
        if guest.is_desired_on:
            power.enable_autostart(deps, guest)
        deps.record_event(
            guest, "DefinedAgain", "Look", "somebody has undefined the running machine", is_warning=True
        )
        return 0.0
    if not guest.is_desired_on:
        if guest.observed.is_on:
            return power.stop_step(deps, guest)  # whatever its devices lack, which is seen to once it is off
        power.disable_autostart(deps, guest)
    elif guest.stopping_since is not None:  # on again before it was off
        deps.store.update(guest.id, lambda found: replace(found, stopping_since=None, has_asked_agent=False))
        power.enable_autostart(deps, guest)
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
        return STUCK_SECONDS
    return soonest(hotplug.wait_seconds(found), forget_restarts_when_steady(deps, found))


def end_unfinished_start(deps: MachineDeps, guest: Guest) -> None:
    try:
        power.force_off(deps, guest, "libvirtd did not live to finish its start")
    except TimedOut as error:
        name = domain_name(guest.id, guest.record.labels)
        raise TimedOut(
            f"libvirtd did not live to finish the machine's start, and now lets nobody end it: stop libvirtd, remove {name}.xml "
            f"from its state folder (/run/libvirt/qemu), start it; docs/libvirt.md says how that is done for you ({error})"
        ) from error


def forget_restarts_when_steady(deps: MachineDeps, guest: Guest) -> float | None:
    """A guest that has run long enough has left its crash loop; the seconds until then."""
    if not guest.restarts or not guest.observed.is_on or guest.started_at is None:
        return None
    left = guest.started_at + deps.power_settings.steady - deps.store.now()
    if left > 0:
        return left
    deps.store.update(guest.id, lambda found: replace(found, restarts=0))
    return None


def soonest(*delays: float | None) -> float | None:
    return min((delay for delay in delays if delay is not None), default=None)


def record_failure(deps: MachineDeps, id: str, error: IRIError | OSError) -> float | None:
    guest = deps.store.find(id)
    if guest is None:
        return None
    before = guest.failure
    reason = type(error).__name__ if isinstance(error, IRIError) else "HostError"
    failure = StepFailure(reason, str(error), before.failures + 1 if before is not None else 1)
    if before is None or (before.reason, before.message) != (reason, failure.message):
        deps.record_event(guest, reason, "Tend", failure.message, is_warning=True)
    if not isinstance(error, Unavailable):
        log.warning("machine is in trouble id=%s reason=%s error=%s", id, reason, error)
    deps.store.update(id, lambda found: replace(found, failure=failure))
    return RETRIES.delay(failure.failures - 1)
