"""Brings the devices of a built machine to its record: unplugs, plugs and grows them.

Theory of operation. A domain has two configurations: that of the running guest and that of its next boot. Both are brought to the
record. A device is known by its alias, which has the attachment's name and a fingerprint of what is attached; so a volume that was
exchanged under the same name is another device.

    record    next boot   running guest   step
    has it    lacks it    any             prepare it, attach it to the next boot's configuration
    has it    any         lacks it        prepare it, attach it to the running guest
    lacks it  has it      any             detach it from the next boot's configuration, at once
    lacks it  any         has it          ask the guest to release it; ask again every 5 s
    lacks it  lacks it    lacks it        remove what was prepared for it (local disk, secrets, network)
    has it    has it      has it          tell the guest when its volume has grown

Must never happen: what was prepared for a device is removed while either configuration has the device; a new device takes a
name while an old device of that name is still attached; a failed attach is tried again without a look for a leak in QEMU.
"""

from __future__ import annotations

import contextlib
from typing import Literal

from msgspec.structs import replace

from iri.errors import FailedPrecondition, NotFound, Unavailable
from iri.libvirt.device_sources import FileSource
from iri.libvirt.domain.devices import disk_element, nic_element
from iri.libvirt.domain.domain_state import Hardware
from iri.libvirt.domain.names import Alias, DeviceKind, choose_target
from iri.libvirt.machines import qemu_leak_repair
from iri.libvirt.machines.deps import MachineDeps
from iri.libvirt.machines.guest import Guest
from iri.libvirt.machines.power_settings import UNPLUG_SECONDS
from iri.libvirt.xml import Element
from iri.machine import Disk, RuntimeNetworkInterface


def reconcile_devices(deps: MachineDeps, guest: Guest) -> Guest | None:
    """Returns the guest after the last observation, or None when the machine went away."""
    # Unplug first: a new device of the same name has to wait until the old one is gone.
    leaving = guest.observed.aliases - guest.desired_devices.keys()
    for alias in sorted(leaving):
        unplug(deps, guest, alias)
    found = deps.store.observe(guest.id) if leaving else guest
    if found is None:
        return None
    if found.leak_suspects and found.observed.live is not None:
        qemu_leak_repair.repair_leaks(deps, found)
    missing = [
        (alias, device)
        for alias, device in found.desired_devices.items()
        if is_missing(found, alias) and not is_name_taken(found, alias)
    ]
    for alias, device in missing:
        plug(deps, found, alias, device)
        found = deps.store.observe(guest.id)
        if found is None:
            return None
    release_detached(deps, found)
    show_grown_disks(deps, found)
    return deps.store.find(guest.id)


def wait_seconds(guest: Guest) -> float | None:
    """Until a guest that has not released a device is asked again."""
    return UNPLUG_SECONDS if guest.observed.aliases - guest.desired_devices.keys() else None


def configurations(guest: Guest) -> tuple[tuple[bool, Hardware], ...]:
    """Both configurations: whether it is the running one, and its hardware."""
    live, next_boot = guest.observed.live, guest.observed.next_boot
    return ((True, live), (False, next_boot)) if live is not None else ((False, next_boot),)


def is_missing(guest: Guest, alias: Alias) -> bool:
    """From either configuration."""
    return any(alias not in hardware.aliases for _, hardware in configurations(guest))


def is_name_taken(guest: Guest, alias: Alias) -> bool:
    """Whether another device of that name has to be detached first."""
    return any(
        (other.kind, other.name) == (alias.kind, alias.name) and other != alias
        for other in guest.observed.aliases
    )


def unplug(deps: MachineDeps, guest: Guest, alias: Alias) -> None:
    """Asks the guest at most every UNPLUG_SECONDS: each request interrupts it."""
    # The next boot's configuration first: a guest that ends meanwhile starts without the device.
    if alias in guest.observed.next_boot.aliases:
        with contextlib.suppress(NotFound):
            deps.domains.detach(guest.id, str(alias), is_live=False)
    if guest.observed.live is None or alias not in guest.observed.live.aliases:
        return
    now = deps.store.now()
    if now - guest.unplug_requested_at.get(alias, float("-inf")) < UNPLUG_SECONDS:
        return
    deps.store.update(
        guest.id, lambda found: replace(found, unplug_requested_at={**found.unplug_requested_at, alias: now})
    )
    with contextlib.suppress(NotFound, FailedPrecondition):  # the guest is releasing it already
        deps.domains.detach(guest.id, str(alias), is_live=True)


def plug(deps: MachineDeps, guest: Guest, alias: Alias, device: Disk | RuntimeNetworkInterface) -> None:
    """Raises what the attach raised, after noting that QEMU may have kept something."""
    # Prepared before either configuration has it, so a failure leaves the domain as it was.
    made, place = device_element(deps, guest, alias, device)
    for is_live, hardware in configurations(guest):
        if alias not in hardware.aliases:
            try:
                deps.domains.attach(guest.id, made, is_live=is_live)
            except (FailedPrecondition, Unavailable) as error:
                if is_live and qemu_leak_repair.may_have_leaked(error):
                    qemu_leak_repair.suspect_leak(deps, guest, alias, place)
                raise
    record_success(deps, guest, alias, "Attach")


def device_element(
    deps: MachineDeps, guest: Guest, alias: Alias, device: Disk | RuntimeNetworkInterface
) -> tuple[Element, str]:
    """The element to attach, and where its data is, as QEMU names that."""
    match device:
        case Disk():
            taken = frozenset().union(*(hardware.targets for _, hardware in configurations(guest)))
            # A disk has the same target in both configurations.
            held = [hardware.disks[alias] for _, hardware in configurations(guest) if alias in hardware.disks]
            target = held[0] if held else choose_target(device.device, taken)
            source = deps.disks.prepare(guest.id, device).source
            where = source.where
            place = where.path if isinstance(where, FileSource) else where.image
            return disk_element(alias, device.device, target, source), place
        case RuntimeNetworkInterface():
            return nic_element(alias, deps.interfaces.connect(guest.id, device)), ""


def release_detached(deps: MachineDeps, guest: Guest) -> None:
    """Removes what was prepared for detached devices, unless a new device of that name has taken their place."""
    if not guest.detached:
        return
    names = {(alias.kind, alias.name) for alias in guest.desired_devices}
    for alias in sorted(guest.detached):
        if alias.kind == DeviceKind.DISK.value and (alias.kind, alias.name) not in names:
            deps.disks.release(guest.id, alias.name)
        record_success(deps, guest, alias, "Detach")
    if any(alias.kind == DeviceKind.NIC.value for alias in guest.detached):
        deps.interfaces.prune(deps.desired_interfaces)
    deps.disks.wake_waiting()
    done = guest.detached
    deps.store.update(guest.id, lambda found: replace(found, detached=found.detached - done))


def show_grown_disks(deps: MachineDeps, guest: Guest) -> None:
    """Tells the guest the present size of its volumes."""
    live = guest.observed.live
    for alias, device in guest.desired_devices.items():
        size = (
            device.connection.effective_storage_bytes if isinstance(device, Disk) and device.connection else 0
        )
        if live is None or alias not in live.disks or size <= guest.shown_sizes.get(alias, 0):
            continue
        target = live.disks[alias]
        if deps.domains.disk_bytes(guest.id, target) < size:
            deps.domains.grow_disk(guest.id, target, size)
            deps.record_event(
                guest, "VolumeGrown", "UpdateVolume", f"the guest sees the new size of volume {device.name}"
            )
        remember_size(deps, guest.id, alias, size)


def remember_size(deps: MachineDeps, id: str, alias: Alias, size: int) -> None:
    """So that QEMU is not asked for the size at each reconciliation."""
    deps.store.update(id, lambda found: replace(found, shown_sizes={**found.shown_sizes, alias: size}))


def record_success(deps: MachineDeps, guest: Guest, alias: Alias, verb: Literal["Attach", "Detach"]) -> None:
    """One event for each device, once both configurations have it, or neither."""
    is_disk = alias.kind == DeviceKind.DISK.value
    what, kind = ("volume", "Volume") if is_disk else ("network interface", "NetworkInterface")
    message = f"{what} {alias.name} is {verb.lower()}ed"
    deps.record_event(guest, f"{verb}{kind}Succeeded", f"{verb}{kind}", message)
