"""Switching machines on and off: asked politely first, by button and then by agent, and forced after the grace."""

from __future__ import annotations

import contextlib

from msgspec.structs import replace

from iri.errors import FailedPrecondition, IRIError
from iri.libvirt.machines.define import ready_disks, ready_interfaces
from iri.libvirt.machines.deps import MachineDeps
from iri.libvirt.machines.guest import ENDED, GUEST_POWER_OFF, Guest
from iri.libvirt.machines.power_settings import PowerSettings

AGENT_SHARE = 1 / 3  # of the grace, until the agent is asked too


def on(site: MachineDeps, guest: Guest, *, is_fresh: bool) -> float | None:
    """Starts it when its time has come. Gives the seconds until then, or until it counts as steady.

    `is_fresh`: its devices have been made ready just now.
    """
    if guest.record.is_halted:
        return None
    is_restart = guest.reason in ENDED
    if is_restart and guest.reason == GUEST_POWER_OFF and site.rules.guest_poweroff == "stay":
        site.roster.edit(guest.id, lambda record: replace(record, is_halted=True))
        keep_off(site, guest)
        return None
    if is_restart:
        restarts, wait = next_restart(guest, site.rules, site.roster.now())
        if wait > 0:
            return wait
        site.roster.update(guest.id, lambda found: replace(found, restarts=restarts + 1))
    if not is_fresh:
        ready_disks(site, guest)
        ready_interfaces(site, guest)
    start(site, guest)
    return site.rules.steady


def next_restart(guest: Guest, rules: PowerSettings, now: float) -> tuple[int, float]:
    """The restarts in a row so far, and the seconds until the next one. Nothing to wait for when another process saw the guest
    end: its delays are not written down."""
    if guest.ended_at is None:
        return guest.restarts, 0.0
    was_steady = guest.started_at is not None and guest.ended_at - guest.started_at >= rules.steady
    restarts = 0 if was_steady else guest.restarts
    return restarts, guest.ended_at + rules.restarts.delay(restarts) - now


def start(site: MachineDeps, guest: Guest) -> None:
    site.roster.edit(guest.id, lambda record: replace(record, boots=record.boots + 1))
    with site.starts:
        keep_on(site, guest)
        site.domains.start(guest.id)
    if site.roster.look(guest.id) is not None:
        site.tell(guest, "Started", "Start", "the machine is running")


def keep_on(site: MachineDeps, guest: Guest) -> None:
    """Also when its host starts anew, before anybody asks for it."""
    site.roster.update(guest.id, lambda found: replace(found, is_kept_off=False))
    site.domains.set_autostart(guest.id, is_on=True)


def keep_off(site: MachineDeps, guest: Guest) -> None:
    if guest.is_kept_off:
        return
    site.domains.set_autostart(guest.id, is_on=False)
    site.roster.update(guest.id, lambda found: replace(found, is_kept_off=True))


def off(site: MachineDeps, guest: Guest) -> float:
    """One step towards off. Gives the seconds until the next."""
    rules = site.rules
    now = site.roster.now()
    is_first = guest.stopping_since is None
    since = now if guest.stopping_since is None else guest.stopping_since
    if is_first:
        keep_off(site, guest)
        site.roster.update(guest.id, lambda found: replace(found, stopping_since=now))
        site.tell(guest, "Stopping", "Stop", f"the guest has {rules.grace:g} s to power off")
    if now - since >= rules.grace:
        force(site, guest, f"it did not power off within {rules.grace:g} s")
        return rules.press
    if guest.seen.has_agent and not guest.has_asked_agent and now - since >= rules.grace * AGENT_SHARE:
        site.roster.update(guest.id, lambda found: replace(found, has_asked_agent=True))
        site.tell(guest, "AskingAgent", "Stop", "the power button did nothing: the guest's agent is asked")
        with contextlib.suppress(IRIError):  # then it is forced in the end
            site.domains.ask_agent_to_power_off(guest.id)
    elif is_first or guest.pressed_at is None or now - guest.pressed_at >= rules.press:
        site.roster.update(guest.id, lambda found: replace(found, pressed_at=now))
        with contextlib.suppress(FailedPrecondition):  # off meanwhile
            site.domains.press_power_button(guest.id)
    return max(0.01, min(rules.press, since + rules.grace - now))


def force(site: MachineDeps, guest: Guest, why: str) -> None:
    site.tell(guest, "ForcedOff", "Stop", f"the machine was switched off: {why}", is_warning=True)
    with contextlib.suppress(FailedPrecondition):  # off meanwhile
        site.domains.force_off(guest.id)
    site.roster.look(guest.id)
