"""What is destroyed together with an object: the local disks and generated volumes of a machine, the data of a volume. Pure.

removed                       destroyed                                    kept
machine                       local disks; volumes that it generated       volumes that it refers to
volume, policy Delete         its data                                     -
volume, policy Retain, none   -                                            its data, as a retained volume
volume snapshot               the snapshot                                 -
"""

from __future__ import annotations

from schemas.effects.effect import Deletes, Loss, LossKind, Renames
from schemas.model import LocalDisk, Machine, MachineVolume, Object, Volume, VolumeSnapshot
from schemas.model.compute import EphemeralVolume


def list_local_disks(machine: Machine) -> tuple[Loss, ...]:
    """What exists on the machine's host alone, and is destroyed when the machine leaves it."""
    return tuple(
        loss
        for disk in machine.spec.volumes
        if disk.local_disk
        for loss in losses_of_disk(machine.name, disk)
    )


def losses_of_disk(machine: str, disk: MachineVolume) -> tuple[Loss, ...]:
    """What is destroyed when this disk is no longer declared."""
    match disk.source:
        case LocalDisk() as local:
            return (Loss(LossKind.LOCAL_DISK, disk.name, machine, local.size_bytes),)
        case EphemeralVolume(volume_template=template) if template.spec.deletion_policy != "Retain":
            return (Loss(LossKind.VOLUME, f"{machine}-{disk.name}", size_bytes=template.spec.storage_bytes),)
        case _:
            return ()


def losses_of_machine(machine: Machine) -> tuple[Loss, ...]:
    """What is destroyed when the machine is deleted."""
    return tuple(loss for disk in machine.spec.volumes for loss in losses_of_disk(machine.name, disk))


def removal_of(object: Object, *, is_owned: bool = False) -> Deletes:
    """What the deletion of an object destroys, and what it keeps. `is_owned`: a machine's entry generated the volume.

    A volume that was never filled has no data, and none is kept; for the text that is the same."""
    match object:
        case Machine():
            return Deletes(losses_of_machine(object))
        case Volume(spec=spec):
            policy = spec.deletion_policy or ("Delete" if is_owned else "Retain")
            loss = Loss(LossKind.VOLUME, object.name, size_bytes=spec.storage_bytes)
            return Deletes((loss,)) if policy == "Delete" else Deletes(kept=(str(loss),))
        case VolumeSnapshot():
            return Deletes((Loss(LossKind.SNAPSHOT, object.name),))
        case _:
            return Deletes()


def rename_of(old: Machine, new: Machine) -> Renames | None:
    """Whether `new` continues `old` under another name: it takes over a volume or a network interface, by reference, or an address.

    The machine is deleted and created again all the same, so its local disks are destroyed."""
    if old.namespace != new.namespace or old.name == new.name:
        return None
    kept = [name for name in list_kept(old) if name in set(list_kept(new))]
    return Renames(old.name, new.name, tuple(dict.fromkeys(kept)), losses_of_machine(old)) if kept else None


def list_kept(machine: Machine) -> list[str]:
    """What a machine can hand over to another one: `volume db-data`, `interface db-nic`, `address 10.0.0.5`."""
    found = [f"volume {disk.volume_ref.name}" for disk in machine.spec.volumes if disk.volume_ref]
    for entry in machine.spec.network_interfaces:
        if entry.network_interface_ref:
            found.append(f"interface {entry.network_interface_ref.name}")
        elif entry.ephemeral:
            spec = entry.ephemeral.network_interface_template.spec
            found += [f"address {address} in network {spec.network_ref.name}" for address in spec.addresses]
    return found
