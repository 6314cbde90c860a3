"""Starts and stops guests. A stop is requested by the power button, then by the guest agent, and forced after the stop timeout.

    since the order to stop   step
    0                         the power button is pressed
    every `press` seconds     pressed again: a press before the guest listens is lost
    1/3 of the stop timeout   the guest's agent is asked too, where it is connected
    the whole stop timeout    the guest is forced off

After a boot of the host this runtime starts the guests, and libvirt none: whether a guest may start is for `live` to say (held_starts).

Must never happen: libvirt's autostart is on.
"""

from __future__ import annotations

import contextlib

from msgspec.structs import replace

from iri.errors import FailedPrecondition, IRIError
from iri.libvirt.machines.define import connect_interfaces, prepare_disks, write_seed
from iri.libvirt.machines.deps import MachineDeps
from iri.libvirt.machines.guest import ENDED, GUEST_POWER_OFF, Guest
from iri.libvirt.machines.log_files import keep_previous
from iri.libvirt.machines.power_settings import PowerSettings

AGENT_SHARE = 1 / 3  # of the stop timeout, until the agent is asked too


def start_when_due(deps: MachineDeps, guest: Guest, *, is_fresh: bool) -> float | None:
    """Starts the guest when it is due. Returns the seconds until then, or until the guest counts as steady.

    `is_fresh`: its devices have just been prepared.
    """
    if guest.record.is_halted or guest.record.is_held:
        return None
    is_restart = guest.reason in ENDED
    if is_restart and guest.reason == GUEST_POWER_OFF and deps.power_settings.guest_poweroff == "stay":
        deps.store.edit_record(guest.id, lambda record: replace(record, is_halted=True))
        return None
    if is_restart:
        restarts, wait = next_restart(guest, deps.power_settings, deps.store.now())
        if wait > 0:
            return wait
        deps.store.update(guest.id, lambda found: replace(found, restarts=restarts + 1))
    if not is_fresh:
        prepare_disks(deps, guest)
        connect_interfaces(deps, guest)
        write_seed(deps, guest)
    start(deps, guest)
    return deps.power_settings.steady


def next_restart(guest: Guest, rules: PowerSettings, now: float) -> tuple[int, float]:
    """Returns the restarts in a row so far, and the seconds until the next one. A guest that ended before this process started
    is started at once: its delays are not recorded."""
    if guest.ended_at is None:
        return guest.restarts, 0.0
    was_steady = guest.started_at is not None and guest.ended_at - guest.started_at >= rules.steady
    restarts = 0 if was_steady else guest.restarts
    return restarts, guest.ended_at + rules.restarts.delay(restarts) - now


def start(deps: MachineDeps, guest: Guest) -> None:
    """The boot is counted before it begins, so a crash in between shows one boot too many, never one too few."""
    deps.store.edit_record(guest.id, lambda record: replace(record, boots=record.boots + 1))
    with deps.starts:
        try:
            keep_previous(deps.folder(guest.id))
        except OSError as error:  # the guest matters more than what it wrote
            deps.warn(
                guest, "LogNotKept", "Start", f"the log of the start before is not kept: {error.strerror}"
            )
        deps.domains.start(guest.id)
    if deps.store.observe(guest.id) is not None:
        deps.record_event(guest, "Started", "Start", "the machine is running")


def disable_autostart(deps: MachineDeps, guest: Guest) -> None:
    """Raises when libvirt refuses: a machine is listed as off only once this has succeeded."""
    if guest.is_autostart_off:
        return
    deps.domains.set_autostart(guest.id, is_on=False)
    deps.store.update(guest.id, lambda found: replace(found, is_autostart_off=True))


def stop_step(deps: MachineDeps, guest: Guest) -> float:
    """Takes one step towards off. Returns the seconds until the next."""
    rules = deps.power_settings
    now = deps.store.now()
    is_first = guest.stopping_since is None
    since = now if guest.stopping_since is None else guest.stopping_since
    if is_first:
        deps.store.update(guest.id, lambda found: replace(found, stopping_since=now))
        deps.record_event(guest, "Stopping", "Stop", f"the guest has {rules.stop_timeout:g}s to power off")
    if now - since >= rules.stop_timeout:
        force_off(deps, guest, f"the guest did not power off within {rules.stop_timeout:g}s")
        return rules.press
    if (
        guest.observed.has_agent
        and not guest.has_requested_agent
        and now - since >= rules.stop_timeout * AGENT_SHARE
    ):
        deps.store.update(guest.id, lambda found: replace(found, has_requested_agent=True))
        deps.record_event(
            guest, "AskingAgent", "Stop", "the power button had no effect; asking the guest agent"
        )
        with contextlib.suppress(IRIError):  # the guest is forced off in the end
            deps.domains.ask_agent_to_power_off(guest.id)
    elif is_first or guest.pressed_at is None or now - guest.pressed_at >= rules.press:
        deps.store.update(guest.id, lambda found: replace(found, pressed_at=now))
        with contextlib.suppress(FailedPrecondition):  # the guest ended meanwhile
            deps.domains.press_power_button(guest.id)
    return max(0.01, min(rules.press, since + rules.stop_timeout - now))


def force_off(deps: MachineDeps, guest: Guest, why: str) -> None:
    """As if the power were cut; the reason goes into the event, because the guest may lose data. No error when it is off already."""
    deps.warn(guest, "ForcedOff", "Stop", f"the machine was switched off: {why}")
    with contextlib.suppress(FailedPrecondition):  # the guest ended meanwhile
        deps.domains.force_off(guest.id)
    deps.store.observe(guest.id)
