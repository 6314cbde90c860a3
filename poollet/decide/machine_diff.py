"""What a machine that is there lacks to be as wished: the changes in their order, and what cannot be changed for now.

Detach before attach, because a device or a name is free only then. Nothing is ever detached because it is not ready:
only because the manifest does not name it any more, or names another in its place.
"""

from __future__ import annotations

from collections.abc import Mapping
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
from iri.machine import AttachmentStatus, Disk, RuntimeMachine, RuntimeNetworkInterface, VolumeConnection
from poollet.decide.dependencies import MachineDependencies
from poollet.decide.secrets import NotReady

Device = TypeVar("Device", Disk, RuntimeNetworkInterface)


@dataclass(frozen=True, slots=True)
class MachineDiff:
    """`blocked` are parts that are left as they are, and why."""

    changes: tuple[RuntimeChange, ...] = ()
    blocked: tuple[NotReady, ...] = ()


def diff_disks(
    needs: MachineDependencies, there: RuntimeMachine, holders: Mapping[str, set[str]]
) -> MachineDiff:
    """`holders`: ids of machines by the handle of what they hold; a volume goes into one machine at a time."""
    has = {disk.name: disk for disk in there.spec.volumes}
    leaving = find_leaving(there.status.volumes, has)
    detach: list[RuntimeChange] = [DetachVolume(name) for name in has if name not in needs.disks]
    attach: list[RuntimeChange] = []
    blocked: list[NotReady] = []
    for name, wanted in needs.disks.items():
        if isinstance(wanted, NotReady):
            continue  # Not ready is no reason to touch what is there.
        found = has.get(name)
        if found is None:
            others = find_holders(wanted, holders) - {there.id}
            if name in leaving:
                blocked.append(NotReady("Detaching", f"volume {name} is still being detached"))
            elif others:
                blocked.append(NotReady("VolumeHeld", f"volume {name} is still attached to {min(others)}"))
            else:
                attach.append(AttachVolume(wanted))
        elif is_other_volume(found, wanted):
            detach.append(DetachVolume(name))
        elif fault := check_local_disk(found, wanted):
            blocked.append(fault)
        elif differs(found, wanted):
            attach.append(UpdateVolume(wanted))
    return MachineDiff((*detach, *attach), tuple(blocked))


def diff_interfaces(needs: MachineDependencies, there: RuntimeMachine) -> MachineDiff:
    """An interface is never changed in place: the interface to the runtime has no call for that."""
    has = {interface.name: interface for interface in there.spec.network_interfaces}
    leaving = find_leaving(there.status.network_interfaces, has)
    detach: list[RuntimeChange] = [DetachInterface(name) for name in has if name not in needs.interfaces]
    attach: list[RuntimeChange] = []
    blocked: list[NotReady] = []
    for name, wanted in needs.interfaces.items():
        if isinstance(wanted, NotReady):
            continue
        found = has.get(name)
        if found is not None and found != wanted:
            detach.append(DetachInterface(name))
        elif found is None and name in leaving:
            blocked.append(NotReady("Detaching", f"network interface {name} is still being detached"))
        elif found is None:
            attach.append(AttachInterface(wanted))
    return MachineDiff((*detach, *attach), tuple(blocked))


def find_leaving(status: tuple[AttachmentStatus, ...], has: Mapping[str, Device]) -> set[str]:
    return {entry.name for entry in status} - has.keys()


def find_volumes_in_use(needs: MachineDependencies, holders: Mapping[str, set[str]]) -> tuple[NotReady, ...]:
    """Volumes of a machine that is not made yet, and that another machine still has."""
    return tuple(
        NotReady("VolumeHeld", f"volume {name} is still attached to {min(others)}")
        for name, wanted in needs.disks.items()
        if not isinstance(wanted, NotReady) and (others := find_holders(wanted, holders))
    )


def find_holders(disk: Disk, holders: Mapping[str, set[str]]) -> set[str]:
    return holders.get(disk.connection.handle, set()) if disk.connection is not None else set()


def is_other_volume(found: Disk, wanted: Disk) -> bool:
    """Another volume in the place of this one."""
    if (found.connection is None) != (wanted.connection is None):
        return True
    if found.connection is None or wanted.connection is None:
        return False
    return identity(found.connection) != identity(wanted.connection)


def identity(connection: VolumeConnection) -> tuple[str, str]:
    return connection.driver, connection.handle


def check_local_disk(found: Disk, wanted: Disk) -> NotReady | None:
    """A disk of the host's own is made once: making it anew would throw away what is on it."""
    if found.local_disk is None or found.local_disk == wanted.local_disk:
        return None
    return NotReady(
        "LocalDiskDiffers", f"local disk {found.name} stays as it was made; its size or image differs"
    )


def differs(found: Disk, wanted: Disk) -> bool:
    """Providers may drop the effective size, and one that does would be told again for ever."""
    if found.connection is None or wanted.connection is None:
        return found.device != wanted.device and found.local_disk is None
    if found.device != wanted.device:
        return True
    silent = found.connection.effective_storage_bytes == 0
    compared = replace(wanted.connection, effective_storage_bytes=0) if silent else wanted.connection
    return found.connection != compared
