"""Changes to an object's wish, as data, and what each makes of a spec. Pure: whoever keeps the objects calls `applied`
under its own lock, records the result and makes it real later. So every runtime refuses the same things alike.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar, assert_never

import msgspec
from msgspec.structs import replace

from iri.errors import AlreadyExists, FailedPrecondition, NotFound
from iri.machine import Disk, Power, RuntimeMachine, RuntimeNetworkInterface
from iri.volume import Resources, RuntimeVolume


class SetAnnotations(msgspec.Struct, frozen=True):
    """All of them; those not named are gone."""

    annotations: Mapping[str, str]


class SetPower(msgspec.Struct, frozen=True):
    power: Power


class Resize(msgspec.Struct, frozen=True):
    class_name: str


class AttachVolume(msgspec.Struct, frozen=True):
    disk: Disk


class DetachVolume(msgspec.Struct, frozen=True):
    name: str


class UpdateVolume(msgspec.Struct, frozen=True):
    """Replaces device and connection of the disk that has this name already."""

    disk: Disk


class AttachInterface(msgspec.Struct, frozen=True):
    interface: RuntimeNetworkInterface


class DetachInterface(msgspec.Struct, frozen=True):
    name: str


class ExpandVolume(msgspec.Struct, frozen=True):
    resources: Resources


MachineChange = (
    SetAnnotations
    | SetPower
    | Resize
    | AttachVolume
    | DetachVolume
    | UpdateVolume
    | AttachInterface
    | DetachInterface
)
RuntimeChange = MachineChange | ExpandVolume

Device = TypeVar("Device", Disk, RuntimeNetworkInterface)


def change_machine(machine: RuntimeMachine, change: MachineChange) -> RuntimeMachine:
    """The machine with the change in its wish; the same object when there is nothing to change."""
    if machine.deleted_at:
        raise FailedPrecondition(f"machine {machine.id} is being deleted")
    if isinstance(change, SetAnnotations):
        return replace(machine, annotations=dict(change.annotations))
    spec = machine.spec
    match change:
        case SetPower(power):
            spec = replace(spec, power=power)
        case Resize(class_name):
            spec = replace(spec, class_name=class_name)
        case AttachVolume(disk):
            spec = replace(spec, volumes=add_disk(spec.volumes, disk))
        case DetachVolume(name):
            spec = replace(spec, volumes=remove_device(spec.volumes, name, "volume"))
        case UpdateVolume(disk):
            spec = replace(spec, volumes=replace_disk(spec.volumes, disk))
        case AttachInterface(interface):
            spec = replace(spec, network_interfaces=add_interface(spec.network_interfaces, interface))
        case DetachInterface(name):
            rest = remove_device(spec.network_interfaces, name, "network interface")
            spec = replace(spec, network_interfaces=rest)
        case _:
            assert_never(change)
    if spec == machine.spec:
        return machine
    return replace(machine, spec=spec, generation=machine.generation + 1)


def expand_volume(volume: RuntimeVolume, change: ExpandVolume) -> RuntimeVolume:
    if volume.deleted_at:
        raise FailedPrecondition(f"volume {volume.id} is being deleted")
    has = volume.spec.resources.storage_bytes if volume.spec.resources else 0
    wants = change.resources.storage_bytes
    if wants < has:
        raise FailedPrecondition(f"volume {volume.id} has {has} bytes and cannot shrink to {wants}")
    if wants == has:
        return volume
    spec = replace(volume.spec, resources=change.resources)
    return replace(volume, spec=spec, generation=volume.generation + 1)


def add_disk(disks: tuple[Disk, ...], disk: Disk) -> tuple[Disk, ...]:
    for other in disks:
        if other.name == disk.name:
            raise AlreadyExists(f"volume {disk.name} is attached already")
        refuse_shared_device(disk, other)
    return (*disks, disk)


def replace_disk(disks: tuple[Disk, ...], disk: Disk) -> tuple[Disk, ...]:
    if all(other.name != disk.name for other in disks):
        raise NotFound(f"volume {disk.name} is not attached")
    for other in disks:
        if other.name != disk.name:
            refuse_shared_device(disk, other)
    return tuple(disk if other.name == disk.name else other for other in disks)


def refuse_shared_device(disk: Disk, other: Disk) -> None:
    if disk.device and other.device == disk.device:
        raise FailedPrecondition(f"device {disk.device} is taken by volume {other.name}")


def add_interface(
    interfaces: tuple[RuntimeNetworkInterface, ...], interface: RuntimeNetworkInterface
) -> tuple[RuntimeNetworkInterface, ...]:
    if any(other.name == interface.name for other in interfaces):
        raise AlreadyExists(f"network interface {interface.name} is attached already")
    return (*interfaces, interface)


def remove_device(devices: tuple[Device, ...], name: str, what: str) -> tuple[Device, ...]:
    rest = tuple(device for device in devices if device.name != name)
    if len(rest) == len(devices):
        raise NotFound(f"{what} {name} is not attached")
    return rest
