"""A running guest's QEMU is rid of what a libvirtd that died in the midst of attaching has left there and forgotten.

It would hold a disk's file, or a name, against every further try, for as long as the guest runs. It is looked for only where
an attaching was cut off, or QEMU itself refused one.
"""

from __future__ import annotations

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
LEAVE_SECONDS, LEAVE_POLL_SECONDS = 3.0, 0.05  # for a guest that lets a device go at all
REFUSED = "unable to execute QEMU command"  # libvirt's words for QEMU's own refusal
CURE = "a restart of the machine ends it"


def may_have_leaked(error: FailedPrecondition | Unavailable) -> bool:
    """Whether the attaching that ended so may have left, or met, something that libvirt knows nothing of."""
    return isinstance(error, Unavailable) or REFUSED in str(error)


def suspect_leak(deps: MachineDeps, guest: Guest, alias: Alias, place: str) -> None:
    deps.store.update(
        guest.id, lambda found: replace(found, leak_suspects={**found.leak_suspects, alias: place})
    )


def repair_leaks(deps: MachineDeps, guest: Guest) -> None:
    """FailedPrecondition while something stays."""
    suspects = guest.leak_suspects
    if gone := remove_leaks(deps.monitor, guest.id, set(suspects.values())):
        message = (
            f"libvirtd did not live to finish attaching; what was left is gone: {', '.join(sorted(gone))}"
        )
        deps.record_event(guest, "Mended", "Attach", message, is_warning=True)
    deps.store.update(
        guest.id,
        lambda known: replace(
            known,
            leak_suspects={
                alias: place for alias, place in known.leak_suspects.items() if alias not in suspects
            },
        ),
    )


def remove_leaks(monitor: QemuMonitor, id: str, locations: set[str]) -> set[str]:
    """All that was found, once none of it is there any more. The guest lets a device go in its own time, and libvirt tells of
    none that it does not know; what a device uses goes after it."""
    until = time.monotonic() + LEAVE_SECONDS
    gone: set[str] = set()
    while (state := inspect_qemu(monitor, id)) is not None and (found := find_leaked(state, locations)):
        if not gone:
            log.warning("libvirt has forgotten what QEMU has id=%s found=%s", id, found)
        refusals = remove_once(monitor, id, found)
        if time.monotonic() > until:
            raise FailedPrecondition(describe_remaining(found, refusals))
        gone |= {*found.devices, *found.nics, *found.nodes}
        locations |= {node.place for node in state.nodes if node.name in found.nodes}
        time.sleep(LEAVE_POLL_SECONDS)
    return gone


def inspect_qemu(monitor: QemuMonitor, id: str) -> QemuState | None:
    """None where nobody can: if something is in the way, the attaching itself tells, in QEMU's words."""
    try:
        return monitor.observe(id)
    except (Unimplemented, FailedPrecondition) as error:
        log.warning("QEMU is not looked into id=%s error=%s", id, error)
        return None


def remove_once(monitor: QemuMonitor, id: str, found: LeakedDevices) -> list[str]:
    """One attempt at each; QEMU's refusals. What has gone by itself meanwhile is one of them, and not found the next time."""
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
    if found.devices:
        what = f"{', '.join(found.devices)}, and the guest does not let it go; it is asked again"
    else:
        what = f"a device; {'; '.join(refusals)}"
    return f"libvirtd did not live to finish attaching {what}, and {CURE}"
