"""Removes devices that a running QEMU still has although libvirt has forgotten them.

Theory of operation. libvirtd attaches a device to a running guest in several steps. When libvirtd is killed between them, QEMU
keeps what it was given so far and libvirt forgets it. The leaked device holds a disk's file, or a name, so every further
attempt fails for as long as the guest runs. The repair goes through these states for one device of one machine:

    state       entered by                                            next
    normal                                                            an attach fails -> suspect
    suspect     the call was cut off, or QEMU itself refused it       before the next attach: inspect QEMU -> clean or leaked
    leaked      QEMU has something of that disk that libvirt lacks    remove it: device, interface, block nodes, keys -> clean
    clean       QEMU and libvirt agree                                the attach is tried again -> normal

A guest gives a device up in its own time. After three seconds the repair raises FailedPrecondition, which is a condition of the
machine; the machine stays suspect and is tried again.

Must never happen: anything is removed that libvirt knows (libvirt is asked after QEMU, so what came meanwhile counts as known);
a block node is removed that holds no suspected disk (it may belong to a copy or a backup that a person makes); a part is removed
before the part that uses it. QEMU is inspected only on suspicion: libvirt logs each inspection as a tainted guest.
"""

from __future__ import annotations

import itertools
import logging
import time

from msgspec.structs import replace

from iri.errors import FailedPrecondition, Unavailable, Unimplemented
from iri.libvirt.connect.qemu_monitor import QemuMonitor
from iri.libvirt.domain.names import Alias
from iri.libvirt.domain.qemu_state import LeakedDevices, QemuState, find_leaked
from iri.libvirt.machines.deps import MachineDeps
from iri.libvirt.machines.guest import Guest

log = logging.getLogger(__name__)
REMOVAL_SECONDS, REMOVAL_POLL_SECONDS = 3.0, 0.05  # enough for a guest that gives devices up at all
REFUSED = "unable to execute QEMU command"  # libvirt's words for QEMU's own refusal
CURE = "restart the machine to remove it"


def may_have_leaked(error: FailedPrecondition | Unavailable) -> bool:
    """Whether an attach that failed so may have left a device in QEMU, or hit one that was left there before."""
    return isinstance(error, Unavailable) or REFUSED in str(error)


def suspect_leak(deps: MachineDeps, guest: Guest, alias: Alias, place: str) -> None:
    """`place`: the path or image of the disk's data; empty for an interface. Forgotten when the guest ends, with its QEMU."""
    deps.store.update(
        guest.id, lambda found: replace(found, leak_suspects={**found.leak_suspects, alias: place})
    )


def repair_leaks(deps: MachineDeps, guest: Guest) -> None:
    """Raises FailedPrecondition while a leaked device is still there."""
    suspects = guest.leak_suspects
    if gone := remove_leaks(deps.monitor, guest.id, set(suspects.values())):
        message = f"removed devices that a killed libvirtd had left in QEMU: {', '.join(sorted(gone))}"
        deps.warn(guest, "LeakRepaired", "Attach", message)

    def without_suspects(known: Guest) -> Guest:
        left = {alias: place for alias, place in known.leak_suspects.items() if alias not in suspects}
        return replace(known, leak_suspects=left)

    deps.store.update(guest.id, without_suspects)


def remove_leaks(monitor: QemuMonitor, id: str, locations: set[str]) -> set[str]:
    """Removes until nothing leaked is left, and returns what was removed. Polls, because libvirt reports no event for a device
    that it does not know. What a device uses can be removed only after the device."""
    until = time.monotonic() + REMOVAL_SECONDS
    gone: set[str] = set()
    refusals: list[str] = []
    for attempt in itertools.count():
        state = inspect_qemu(monitor, id)
        found = LeakedDevices() if state is None else find_leaked(state, locations)
        if state is None or not found:
            break
        if not attempt:
            log.warning("QEMU has devices that libvirt has forgotten id=%s found=%s", id, found)
        elif time.monotonic() > until:
            raise FailedPrecondition(describe_remaining(found, refusals))
        refusals = remove_once(monitor, id, found)
        gone |= {*found.devices, *found.nics, *found.nodes}
        locations |= {node.place for node in state.nodes if node.name in found.nodes}
        time.sleep(REMOVAL_POLL_SECONDS)
    return gone


def inspect_qemu(monitor: QemuMonitor, id: str) -> QemuState | None:
    """None when QEMU cannot be inspected: if a leaked device is in the way, the attach fails and says so in QEMU's words."""
    try:
        return monitor.observe(id)
    except (Unimplemented, FailedPrecondition) as error:
        log.warning("cannot inspect QEMU id=%s error=%s", id, error)
        return None


def remove_once(monitor: QemuMonitor, id: str, found: LeakedDevices) -> list[str]:
    """Tries to remove each once and returns QEMU's refusals. What is gone meanwhile is refused too, and not found the next time."""
    refusals = []
    for remove, names in (
        (monitor.unplug_device, found.devices),
        (monitor.remove_nic, [nic for nic in found.nics if nic not in found.devices]),
        (monitor.remove_node, found.nodes if not found.devices else ()),
        (monitor.remove_object, found.objects if not found.nodes else ()),
    ):
        for name in names:
            try:
                remove(id, name)
            except FailedPrecondition as error:
                refusals.append(str(error))
    return refusals


def describe_remaining(found: LeakedDevices, refusals: list[str]) -> str:
    """For people: what is left, why, and what to do about it."""
    if found.devices:
        what = f"{', '.join(found.devices)}, and the guest does not release it (asked again)"
    else:
        what = f"a device; {'; '.join(refusals)}"
    return f"libvirtd was killed while attaching {what}; {CURE}"
