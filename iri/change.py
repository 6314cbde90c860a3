"""Changes to an object's spec, as data, and the rules for applying each. Pure.

Theory of operation. A caller never sends a whole new spec: it sends one change. A runtime applies it under its own lock
with `change_machine` or `expand_volume`, records the result durably, answers, and makes it real later:

    RuntimeChange in -> change_machine / expand_volume -> the object with the new spec, or an IRIError

    rule                                              error when broken
    the object is not being deleted                   FailedPrecondition
    a device to attach has a new name                 AlreadyExists
    a device to detach or update exists               NotFound
    no two disks have the same device name            FailedPrecondition
    a volume does not shrink                          FailedPrecondition
    nothing would change                              none: the identical object comes back

`generation` grows by one with every change of spec, never with annotations: a caller compares it with
`observed_generation` to know whether its change has taken effect. Because all runtimes use these functions, all refuse
the same changes with the same errors.
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
    """Replaces all annotations; those that are not named are removed."""

    annotations: Mapping[str, str]


class SetPower(msgspec.Struct, frozen=True):
    """Setting the power to On again also starts a guest that powered itself off."""

    power: Power


class Resize(msgspec.Struct, frozen=True):
    """Another class. A running machine gets it at its next boot."""

    class_name: str


class AttachVolume(msgspec.Struct, frozen=True):
    """Adds a disk; a running guest gets it while it runs."""

    disk: Disk


class DetachVolume(msgspec.Struct, frozen=True):
    """Removes the disk of that attachment name. Its status entry stays until the guest has released it."""

    name: str


class UpdateVolume(msgspec.Struct, frozen=True):
    """Replaces device and connection of the disk with this attachment name."""

    disk: Disk


class AttachInterface(msgspec.Struct, frozen=True):
    """Adds a network interface; a running guest gets it while it runs."""

    interface: RuntimeNetworkInterface


class DetachInterface(msgspec.Struct, frozen=True):
    """Removes the network interface of that name, as DetachVolume does a disk."""

    name: str


class ExpandVolume(msgspec.Struct, frozen=True):
    """The new size of the volume in all."""

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
    """The machine with the change in its spec; the identical object when spec has it already."""
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
    """The volume with the new size in its spec; the identical object when it has that size already."""
    if volume.deleted_at:
        raise FailedPrecondition(f"volume {volume.id} is being deleted")
    old_bytes = volume.spec.desired_bytes
    new_bytes = change.resources.storage_bytes
    if new_bytes < old_bytes:
        raise FailedPrecondition(f"volume {volume.id} has {old_bytes} bytes and cannot shrink to {new_bytes}")
    if new_bytes == old_bytes:
        return volume
    spec = replace(volume.spec, resources=change.resources)
    return replace(volume, spec=spec, generation=volume.generation + 1)


def add_disk(disks: tuple[Disk, ...], disk: Disk) -> tuple[Disk, ...]:
    """AlreadyExists for a name in use, FailedPrecondition for a device in use."""
    for other in disks:
        if other.name == disk.name:
            raise AlreadyExists(f"volume {disk.name} is attached already")
        refuse_shared_device(disk, other)
    return (*disks, disk)


def replace_disk(disks: tuple[Disk, ...], disk: Disk) -> tuple[Disk, ...]:
    """NotFound without a disk of that name; it keeps its position."""
    if all(other.name != disk.name for other in disks):
        raise NotFound(f"volume {disk.name} is not attached")
    for other in disks:
        if other.name != disk.name:
            refuse_shared_device(disk, other)
    return tuple(disk if other.name == disk.name else other for other in disks)


def refuse_shared_device(disk: Disk, other: Disk) -> None:
    """Two disks of a machine cannot have one device name. A disk without a name shares nothing."""
    if disk.device and other.device == disk.device:
        raise FailedPrecondition(f"volume {other.name} has device {disk.device} already")


def add_interface(
    interfaces: tuple[RuntimeNetworkInterface, ...], interface: RuntimeNetworkInterface
) -> tuple[RuntimeNetworkInterface, ...]:
    """AlreadyExists for a name in use."""
    if any(other.name == interface.name for other in interfaces):
        raise AlreadyExists(f"network interface {interface.name} is attached already")
    return (*interfaces, interface)


def remove_device(devices: tuple[Device, ...], name: str, what: str) -> tuple[Device, ...]:
    """NotFound without a device of that name; `what` names its kind in the message."""
    rest = tuple(device for device in devices if device.name != name)
    if len(rest) == len(devices):
        raise NotFound(f"{what} {name} is not attached")
    return rest
