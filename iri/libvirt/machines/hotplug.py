"""Devices of a machine that has been built: what is wished goes in, what is not goes out, what has grown grows.

A domain has two configurations, that of the running guest and that of its next boot; both are brought to the wish. Out of
a running guest a device goes when the guest lets it, and only then is anything of it given up.
"""

from __future__ import annotations

import contextlib
from typing import assert_never

from msgspec.structs import replace

from iri.errors import FailedPrecondition, NotFound, Unavailable
from iri.libvirt.device_sources import BlockSource, FileSource, RbdSource
from iri.libvirt.domain.devices import disk_element, nic_element
from iri.libvirt.domain.domain_state import Hardware
from iri.libvirt.domain.names import Alias, DeviceKind, target_of
from iri.libvirt.machines import qemu_leak_repair
from iri.libvirt.machines.deps import MachineDeps
from iri.libvirt.machines.guest import Guest
from iri.libvirt.machines.power_settings import UNPLUG_SECONDS
from iri.libvirt.xml import Element
from iri.machine import Disk, RuntimeNetworkInterface


def settled(site: MachineDeps, guest: Guest) -> Guest | None:
    """After this look; None when the machine went away."""
    leaving = guest.seen.aliases - guest.wanted.keys()
    for alias in sorted(leaving):
        take_out(site, guest, alias)
    found = site.roster.look(guest.id) if leaving else guest
    if found is None:
        return None
    if found.suspects and found.seen.live is not None:
        qemu_leak_repair.mend(site, found)
    missing = [
        (alias, device)
        for alias, device in found.wanted.items()
        if is_missing(found, alias) and not is_name_held(found, alias)
    ]
    for alias, device in missing:
        put_in(site, found, alias, device)
        found = site.roster.look(guest.id)
        if found is None:
            return None
    release(site, found)
    grow(site, found)
    return site.roster.find(guest.id)


def wait_seconds(guest: Guest) -> float | None:
    """Until a guest that holds on to a device is asked again."""
    return UNPLUG_SECONDS if guest.seen.aliases - guest.wanted.keys() else None


def layers(guest: Guest) -> tuple[tuple[bool, Hardware], ...]:
    """Whether it is the running one, and what it has."""
    live = guest.seen.live
    return ((True, live), (False, guest.seen.next)) if live is not None else ((False, guest.seen.next),)


def is_missing(guest: Guest, alias: Alias) -> bool:
    return any(alias not in hardware.aliases for _, hardware in layers(guest))


def is_name_held(guest: Guest, alias: Alias) -> bool:
    """By another device of that name, which has to go first."""
    return any(
        (other.kind, other.name) == (alias.kind, alias.name) and other != alias
        for other in guest.seen.aliases
    )


def take_out(site: MachineDeps, guest: Guest, alias: Alias) -> None:
    # The next boot's first: a guest that ends while it is asked comes back without the device.
    if alias in guest.seen.next.aliases:
        with contextlib.suppress(NotFound):
            site.domains.detach(guest.id, str(alias), is_live=False)
    if guest.seen.live is None or alias not in guest.seen.live.aliases:
        return
    now = site.roster.now()
    if now - guest.asked.get(alias, float("-inf")) < UNPLUG_SECONDS:
        return
    site.roster.update(guest.id, lambda found: replace(found, asked={**found.asked, alias: now}))
    with contextlib.suppress(NotFound, FailedPrecondition):  # it is on its way already
        site.domains.detach(guest.id, str(alias), is_live=True)


def put_in(site: MachineDeps, guest: Guest, alias: Alias, device: Disk | RuntimeNetworkInterface) -> None:
    made, place = plugged(site, guest, alias, device)
    for is_live, hardware in layers(guest):
        if alias not in hardware.aliases:
            try:
                site.domains.attach(guest.id, made, is_live=is_live)
            except (FailedPrecondition, Unavailable) as error:
                if is_live and qemu_leak_repair.is_suspicious(error):
                    qemu_leak_repair.suspect(site, guest, alias, place)
                raise
    what, action = named(alias)
    site.tell(guest, f"Attach{action}Succeeded", f"Attach{action}", f"{what} {device.name} is attached")


def plugged(
    site: MachineDeps, guest: Guest, alias: Alias, device: Disk | RuntimeNetworkInterface
) -> tuple[Element, str]:
    """Also where its data is, as QEMU calls that."""
    match device:
        case Disk():
            taken = frozenset().union(*(hardware.targets for _, hardware in layers(guest)))
            # A disk that is there in one configuration has the same target in the other.
            held = [hardware.disks[alias] for _, hardware in layers(guest) if alias in hardware.disks]
            target = held[0] if held else target_of(device.device, taken)
            prepared = site.parts.disks.prepare(guest.id, device)
            source = prepared.source
            return disk_element(alias, device.device, target, source), place_of(source.where)
        case RuntimeNetworkInterface():
            return nic_element(alias, site.parts.interfaces.connect(guest.id, device)), ""


def place_of(where: FileSource | BlockSource | RbdSource) -> str:
    match where:
        case FileSource(path=path) | BlockSource(path=path):
            return path
        case RbdSource(image=image):
            return image
        case _:
            assert_never(where)


def release(site: MachineDeps, guest: Guest) -> None:
    """Gives up what the guest has let go of, unless something else of that name has taken its place."""
    if not guest.gone:
        return
    names = {(alias.kind, alias.name) for alias in guest.wanted}
    for alias in sorted(guest.gone):
        if alias.kind == DeviceKind.DISK.value and (alias.kind, alias.name) not in names:
            site.parts.disks.release(guest.id, alias.name)
        what, action = named(alias)
        site.tell(guest, f"Detach{action}Succeeded", f"Detach{action}", f"{what} {alias.name} is detached")
    if any(alias.kind == DeviceKind.NIC.value for alias in guest.gone):
        site.parts.interfaces.prune(site.wanted_interfaces)
    site.parts.disks.let_go()
    done = guest.gone
    site.roster.update(guest.id, lambda found: replace(found, gone=found.gone - done))


def grow(site: MachineDeps, guest: Guest) -> None:
    """The guest is shown the size its volume has by now."""
    live = guest.seen.live
    for alias, device in guest.wanted.items():
        size = (
            device.connection.effective_storage_bytes if isinstance(device, Disk) and device.connection else 0
        )
        if live is None or alias not in live.disks or size <= guest.grown.get(alias, 0):
            continue
        target = live.disks[alias]
        if site.domains.disk_bytes(guest.id, target) < size:
            site.domains.grow_disk(guest.id, target, size)
            site.tell(guest, "VolumeGrown", "UpdateVolume", f"the guest sees volume {device.name} grown")
        keep_size(site, guest.id, alias, size)


def keep_size(site: MachineDeps, id: str, alias: Alias, size: int) -> None:
    site.roster.update(id, lambda found: replace(found, grown={**found.grown, alias: size}))


def named(alias: Alias) -> tuple[str, str]:
    return (
        ("volume", "Volume")
        if alias.kind == DeviceKind.DISK.value
        else ("network interface", "NetworkInterface")
    )
