"""The difference between a machine on the host and its desired state: changes in their order, and parts that cannot change now.

Detach comes before attach, because a device or a name is free only then. So a disk that moves to another device does so before its old
device is given to the next disk. Nothing is detached because it is not ready: only because the manifest does not name it any more, or names
something else in its place. What keeps its device meanwhile blocks the disk that is to have that device.

    the entry names another volume, which is    the former one
    ready                                       is detached, and the new one attached
    not ready                                   stays, unless another entry or another machine is to have it (replaced.py)

Must never happen: a volume is attached to two machines at a time; a local disk is recreated, which would destroy its data; the passphrase of an
encrypted volume is replaced by one that does not open it.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from msgspec.structs import replace

from iri.change import (
    AttachInterface,
    AttachVolume,
    DetachInterface,
    DetachVolume,
    RuntimeChange,
    UpdateVolume,
)
from iri.machine import AttachmentStatus, Disk, RuntimeMachine, RuntimeNetworkInterface
from poollet.decide.dependencies import MachineDependencies
from poollet.decide.immutable_fields import why_immutable
from poollet.decide.secrets import NotReady
from schemas.effects.field_change import FieldChange
from schemas.kinds import Kind

ENCRYPTION_KEY = "encryptionKey"
FIRST_BOOT_ATTRIBUTES = frozenset({"gateway", "dns"})
Device = TypeVar("Device", Disk, RuntimeNetworkInterface)


@dataclass(frozen=True, slots=True)
class MachineDiff:
    """`blocked` are parts that stay as they are for now, and why."""

    changes: tuple[RuntimeChange, ...] = ()
    blocked: tuple[NotReady, ...] = ()


def diff_disks(
    needs: MachineDependencies,
    there: RuntimeMachine,
    holders: Mapping[str, set[str]],
    replaced: Collection[str] = (),
) -> MachineDiff:
    """`holders`: ids of machines by the handle of a volume that they have attached. `replaced`: disks that are not to stay until what their
    entries name is ready."""
    has = {disk.name: disk for disk in there.spec.volumes}
    leaving = find_leaving(there.status.volumes, has)
    detach: list[DetachVolume] = [DetachVolume(name) for name in has if name not in needs.disks]
    attach: list[AttachVolume | UpdateVolume] = []
    blocked: list[NotReady] = []
    for name, desired in needs.disks.items():
        if isinstance(desired, NotReady):
            if name in replaced and name in has:
                detach.append(DetachVolume(name))
            continue  # any other disk that is attached stays attached
        found = has.get(name)
        if found is None:
            others = find_holders(desired, holders) - {there.id}
            if name in leaving:
                blocked.append(NotReady("Detaching", f"volume {name} is still being detached"))
            elif others:
                blocked.append(NotReady("VolumeHeld", f"volume {name} is still attached to {min(others)}"))
            else:
                attach.append(AttachVolume(desired))
        elif identity(found) != identity(desired):  # the manifest names another volume in its place
            detach.append(DetachVolume(name))
        elif fault := check_local_disk(found, desired):
            blocked.append(fault)
        else:
            kept, faults = keep_encryption(found, desired)
            blocked += faults
            attach += [UpdateVolume(kept)] if differs(found, kept) else []
    leaves = {change.name for change in detach}
    devices = {disk.device: name for name, disk in has.items() if disk.device and name not in leaves}
    ordered, waiting = order_by_device(attach, devices)
    blocked += [device_taken(disk, devices, needs) for disk in waiting]
    return MachineDiff((*detach, *ordered), tuple(blocked))


def order_by_device(
    changes: Sequence[AttachVolume | UpdateVolume], devices: dict[str, str]
) -> tuple[list[RuntimeChange], list[Disk]]:
    """The changes in an order in which each device is free when a disk gets it, and the disks whose device does not become free.
    `devices`: names of disks by their device; afterwards, as the changes leave them."""
    ordered: list[RuntimeChange] = []
    rest = list(changes)
    while change := next((one for one in rest if is_free(one.disk, devices)), None):
        disk = change.disk
        rest.remove(change)
        ordered.append(change)
        for device in [device for device, name in devices.items() if name == disk.name]:
            del devices[device]
        if disk.device:
            devices[disk.device] = disk.name
    return ordered, [change.disk for change in rest]


def is_free(disk: Disk, devices: Mapping[str, str]) -> bool:
    """A disk without a device shares none."""
    return not disk.device or devices.get(disk.device, disk.name) == disk.name


def device_taken(disk: Disk, devices: Mapping[str, str], needs: MachineDependencies) -> NotReady:
    """With what the other disk waits for itself, if it does."""
    other = devices[disk.device]
    message = f"volume {disk.name} waits for device {disk.device}, which volume {other} has"
    why = needs.disks.get(other)
    return NotReady("DeviceInUse", f"{message}: {why.message}" if isinstance(why, NotReady) else message)


def diff_interfaces(needs: MachineDependencies, there: RuntimeMachine) -> MachineDiff:
    """Interfaces are never changed in place: the IRI has no call for that."""
    has = {interface.name: interface for interface in there.spec.network_interfaces}
    leaving = find_leaving(there.status.network_interfaces, has)
    detach: list[RuntimeChange] = [DetachInterface(name) for name in has if name not in needs.interfaces]
    attach: list[RuntimeChange] = []
    blocked: list[NotReady] = []
    for name, desired in needs.interfaces.items():
        if isinstance(desired, NotReady):
            continue
        found = has.get(name)
        if found is not None and is_other_interface(found, desired):
            detach.append(DetachInterface(name))
        elif found is None and name in leaving:
            blocked.append(NotReady("Detaching", f"network interface {name} is still being detached"))
        elif found is None:
            attach.append(AttachInterface(desired))
    return MachineDiff((*detach, *attach), tuple(blocked))


def is_other_interface(found: RuntimeNetworkInterface, desired: RuntimeNetworkInterface) -> bool:
    """Whether the interface has to be detached and attached again. Not for what only a first boot reads: a guest would lose its
    connection for nothing."""
    if found == desired:
        return False
    kept = {name: found.attributes[name] for name in FIRST_BOOT_ATTRIBUTES & found.attributes.keys()}
    rest = {name: text for name, text in desired.attributes.items() if name not in FIRST_BOOT_ATTRIBUTES}
    return found != replace(desired, attributes=rest | kept)


def find_leaving(status: tuple[AttachmentStatus, ...], has: Mapping[str, Device]) -> set[str]:
    return {entry.name for entry in status} - has.keys()


def find_volumes_in_use(needs: MachineDependencies, holders: Mapping[str, set[str]]) -> tuple[NotReady, ...]:
    """Volumes of a machine that is not created yet, and that another machine still has attached."""
    return tuple(
        NotReady("VolumeHeld", f"volume {name} is still attached to {min(others)}")
        for name, desired in needs.disks.items()
        if not isinstance(desired, NotReady) and (others := find_holders(desired, holders))
    )


def find_holders(disk: Disk, holders: Mapping[str, set[str]]) -> set[str]:
    """Machines that have this disk's volume attached; a local disk has no other holder."""
    return holders.get(disk.connection.handle, set()) if disk.connection is not None else set()


def identity(disk: Disk) -> tuple[str, str] | None:
    """What tells one volume from another; None of a local disk."""
    return (disk.connection.driver, disk.connection.handle) if disk.connection is not None else None


def check_local_disk(found: Disk, desired: Disk) -> NotReady | None:
    """A local disk is created once: recreating it would destroy its data."""
    if found.local_disk is None or desired.local_disk is None or found.local_disk == desired.local_disk:
        return None
    entry = {"name": found.name}
    at = ("spec", f"volumes[{found.name}]", "localDisk")
    was, now = found.local_disk, desired.local_disk
    images = tuple(disk.image.image if disk.image else None for disk in (was, now))
    sizes = FieldChange(Kind.MACHINE, (*at, "sizeLimit"), was.size_bytes, now.size_bytes, entry, entry)
    image = FieldChange(Kind.MACHINE, (*at, "image"), images[0], images[1], entry, entry)
    for change in (sizes, image):
        if change.old != change.new and (why := why_immutable(change)):
            return NotReady("LocalDiskDiffers", why)
    return None


def keep_encryption(found: Disk, desired: Disk) -> tuple[Disk, tuple[NotReady, ...]]:
    """With the encryption data that the volume is attached with, and why that of the Secret is not used. The passphrase was set when the volume
    was created: a later value does not open it, and its guest would not start again. Other keys of the Secret are not of the volume."""
    has, wanted = found.connection, desired.connection
    if has is None or wanted is None or not has.encryption_data:
        return desired, ()
    kept = replace(desired, connection=replace(wanted, encryption_data=has.encryption_data))
    if has.encryption_data.get(ENCRYPTION_KEY) == wanted.encryption_data.get(ENCRYPTION_KEY):
        return kept, ()
    message = (
        f"volume {found.name} keeps the passphrase that it is attached with: {ENCRYPTION_KEY} in its Secret is another one now, which does not "
        "change the volume; restore the former value, or, if it was the wrong one, detach the volume and attach it again"
    )
    return kept, (NotReady("EncryptionKeyDiffers", message),)


def differs(found: Disk, desired: Disk) -> bool:
    """A provider may drop the effective size; then the size is not compared, or the disk would be updated for ever."""
    if found.connection is None or desired.connection is None:
        return found.device != desired.device and found.local_disk is None
    if found.device != desired.device:
        return True
    drops_size = found.connection.effective_storage_bytes == 0
    compared = replace(desired.connection, effective_storage_bytes=0) if drops_size else desired.connection
    return found.connection != compared
