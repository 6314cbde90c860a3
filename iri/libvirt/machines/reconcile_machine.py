"""One turn of one machine: look, compare with the wish, take the next step. What fails becomes a condition and a retry."""

from __future__ import annotations

import logging

from msgspec.structs import replace

from iri.errors import IRIError, TimedOut, Unavailable
from iri.libvirt.domain.domain_state import RunState
from iri.libvirt.domain.names import domain_name
from iri.libvirt.machines import hotplug, power, removal, resize
from iri.libvirt.machines.define import built
from iri.libvirt.machines.deps import MachineDeps
from iri.libvirt.machines.guest import Guest, StepFailure
from iri.libvirt.machines.power_settings import RETRIES, STUCK_SECONDS

log = logging.getLogger(__name__)


def tend(site: MachineDeps, id: str) -> float | None:
    """Gives the seconds until the next turn; None: when something happens. Never raises."""
    try:
        guest = site.roster.look(id)
        if guest is None:
            known = site.roster.find(id)
            if known is not None:
                removal.lost(site, known)
            return None
        if guest.record.deleted_at:
            return removal.step(site, guest)
        delay = step(site, guest)
    except (IRIError, OSError) as error:
        return failed(site, id, error)
    generation = guest.record.generation
    site.roster.update(id, lambda found: replace(found, settled=max(found.settled, generation), trouble=None))
    return delay


def step(site: MachineDeps, guest: Guest) -> float | None:
    if guest.seen.life is RunState.HELD:
        # Whatever else is asked of such a domain waits for ever.
        free(site, guest)
        return 0.0
    if guest.seen.is_passing:
        site.roster.write(guest)
        if guest.is_wanted_on:
            power.keep_on(site, guest)
        site.tell(
            guest, "DefinedAgain", "Look", "somebody has undefined the running machine", is_warning=True
        )
        return 0.0
    if not guest.is_wanted_on:
        if guest.seen.is_on:
            return power.off(site, guest)  # whatever its devices lack, which is seen to once it is off
        power.keep_off(site, guest)
    elif guest.stopping_since is not None:  # on again before it was off
        site.roster.update(guest.id, lambda found: replace(found, stopping_since=None, has_asked_agent=False))
        power.keep_on(site, guest)
    is_fresh = not guest.record.is_built
    found = built(site, guest) if is_fresh else hotplug.settled(site, guest)
    if found is not None and not is_fresh:
        found = resize.resized(site, found)
    if found is None:
        return 0.0
    if found.is_wanted_on and not found.seen.is_on:
        return power.on(site, found, is_fresh=is_fresh)
    if found.seen.life is RunState.STUCK:
        site.domains.resume(found.id)
        return STUCK_SECONDS
    return soonest(hotplug.wait_seconds(found), steady(site, found))


def free(site: MachineDeps, guest: Guest) -> None:
    try:
        power.force(site, guest, "libvirtd did not live to finish its start")
    except TimedOut as error:
        name = domain_name(guest.id, guest.record.labels)
        raise TimedOut(
            f"libvirtd did not live to finish the machine's start, and now lets nobody end it: stop libvirtd, remove {name}.xml "
            f"from its state folder (/run/libvirt/qemu), start it; docs/libvirt.md says how that is done for you ({error})"
        ) from error


def steady(site: MachineDeps, guest: Guest) -> float | None:
    """A guest that has run long enough has left its crash loop; the seconds until then."""
    if not guest.restarts or not guest.seen.is_on or guest.started_at is None:
        return None
    left = guest.started_at + site.rules.steady - site.roster.now()
    if left > 0:
        return left
    site.roster.update(guest.id, lambda found: replace(found, restarts=0))
    return None


def soonest(*delays: float | None) -> float | None:
    return min((delay for delay in delays if delay is not None), default=None)


def failed(site: MachineDeps, id: str, error: IRIError | OSError) -> float | None:
    guest = site.roster.find(id)
    if guest is None:
        return None
    before = guest.trouble
    reason = type(error).__name__ if isinstance(error, IRIError) else "HostError"
    trouble = StepFailure(reason, str(error), before.failures + 1 if before is not None else 1)
    if before is None or (before.reason, before.message) != (reason, trouble.message):
        site.tell(guest, reason, "Tend", trouble.message, is_warning=True)
    if not isinstance(error, Unavailable):
        log.warning("machine is in trouble id=%s reason=%s error=%s", id, reason, error)
    site.roster.update(id, lambda found: replace(found, trouble=trouble))
    return RETRIES.delay(trouble.failures - 1)
