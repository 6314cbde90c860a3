"""Devices of a machine on their way in or out. Pure: a status entry says ATTACHED exactly while the device is there."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec
from msgspec.structs import replace

from iri.machine import (
    AttachmentState,
    AttachmentStatus,
    Disk,
    RuntimeMachine,
    RuntimeMachineStatus,
    RuntimeNetworkInterface,
)
from iri.simulated.host_model import NEVER_NS, HostModel, LifecycleEvent

Device = Disk | RuntimeNetworkInterface


class PendingDevice(msgspec.Struct, frozen=True, gc=False):
    name: str
    is_disk: bool
    is_attach: bool
    due_ns: int
    handle: str = ""  # of the device that goes in


def attach_all(machine: RuntimeMachine, now_ns: int, nature: HostModel) -> tuple[PendingDevice, ...]:
    devices: Iterable[Device] = (*machine.spec.volumes, *machine.spec.network_interfaces)
    return tuple(start_attach(machine, device, now_ns, nature) for device in devices)


def mark_all_pending(machine: RuntimeMachine) -> RuntimeMachine:
    """With a status entry for each device, none of them there yet."""
    volumes = tuple(AttachmentStatus(name=disk.name) for disk in machine.spec.volumes)
    interfaces = tuple(AttachmentStatus(name=nic.name) for nic in machine.spec.network_interfaces)
    return replace(machine, status=replace(machine.status, volumes=volumes, network_interfaces=interfaces))


def start_attach(machine: RuntimeMachine, device: Device, from_ns: int, nature: HostModel) -> PendingDevice:
    due_ns = nature.after(from_ns, nature.times.attach, "attach", machine.id, device.name, machine.generation)
    return PendingDevice(
        device.name, isinstance(device, Disk), True, due_ns, device_handle(machine, device, nature)
    )


def device_handle(machine: RuntimeMachine, device: Device, nature: HostModel) -> str:
    """The host's own name of the device."""
    if isinstance(device, RuntimeNetworkInterface):
        return f"tap{nature.chance.hex(5, 'tap', machine.id, device.name)}"
    if device.connection is not None:
        return device.connection.handle
    return f"local-{machine.id}-{device.name}"


def mark_pending(status: RuntimeMachineStatus, name: str, is_disk: bool) -> RuntimeMachineStatus:
    """With an entry that waits for its device, in the place of one of that name."""
    entries = status.volumes if is_disk else status.network_interfaces
    entry = AttachmentStatus(name=name)
    if any(other.name == name for other in entries):
        return _with(status, is_disk, tuple(entry if other.name == name else other for other in entries))
    return _with(status, is_disk, (*entries, entry))


def attach(
    machine: RuntimeMachine, plugs: tuple[PendingDevice, ...], device: Device, now_ns: int, nature: HostModel
) -> tuple[RuntimeMachine, tuple[PendingDevice, ...]]:
    """The device goes in, after one of its name that is still on its way out."""
    is_disk = isinstance(device, Disk)
    rest = tuple(plug for plug in plugs if (plug.name, plug.is_disk) != (device.name, is_disk))
    leaving = [
        plug.due_ns for plug in plugs if plug not in rest and not plug.is_attach and plug.due_ns < NEVER_NS
    ]
    plug = start_attach(machine, device, max([now_ns, *leaving]), nature)
    machine = replace(machine, status=mark_pending(machine.status, device.name, is_disk))
    return machine, (*rest, plug)


def detach(
    plugs: tuple[PendingDevice, ...], name: str, is_disk: bool, due_ns: int
) -> tuple[PendingDevice, ...]:
    rest = tuple(plug for plug in plugs if (plug.name, plug.is_disk) != (name, is_disk))
    return (*rest, PendingDevice(name, is_disk, False, due_ns))


def finish_due(
    machine: RuntimeMachine, plugs: tuple[PendingDevice, ...], at_ns: int
) -> tuple[RuntimeMachine, tuple[PendingDevice, ...], tuple[LifecycleEvent, ...]]:
    """What has arrived by then: the machine with it, what is still on its way, what is told."""
    due = [plug for plug in plugs if plug.due_ns <= at_ns]
    if not due:
        return machine, plugs, ()
    status = machine.status
    for plug in due:
        status = _arrived(status, plug)
    rest = tuple(plug for plug in plugs if plug.due_ns > at_ns)
    return replace(machine, status=status), rest, tuple(map(_told, due))


def finish_detaches(machine: RuntimeMachine, plugs: tuple[PendingDevice, ...]) -> RuntimeMachine:
    """Without power, whatever was on its way out is out."""
    status = machine.status
    for plug in plugs:
        if not plug.is_attach:
            status = _arrived(status, plug)
    return replace(machine, status=status)


def keep_attaches(plugs: tuple[PendingDevice, ...]) -> tuple[PendingDevice, ...]:
    return tuple(plug for plug in plugs if plug.is_attach)


def delay_attaches(plugs: tuple[PendingDevice, ...], from_ns: int) -> tuple[PendingDevice, ...]:
    return tuple(replace(plug, due_ns=max(plug.due_ns, from_ns)) for plug in keep_attaches(plugs))


def block_detaches(plugs: tuple[PendingDevice, ...]) -> tuple[PendingDevice, ...]:
    """A guest that does not answer lets no device go."""
    return tuple(plug if plug.is_attach else replace(plug, due_ns=NEVER_NS) for plug in plugs)


def _arrived(status: RuntimeMachineStatus, plug: PendingDevice) -> RuntimeMachineStatus:
    entries = status.volumes if plug.is_disk else status.network_interfaces
    if not plug.is_attach:
        return _with(status, plug.is_disk, tuple(entry for entry in entries if entry.name != plug.name))
    entry = AttachmentStatus(name=plug.name, handle=plug.handle, state=AttachmentState.ATTACHED)
    return _with(status, plug.is_disk, tuple(entry if old.name == plug.name else old for old in entries))


def _with(
    status: RuntimeMachineStatus, is_disk: bool, entries: tuple[AttachmentStatus, ...]
) -> RuntimeMachineStatus:
    return replace(status, volumes=entries) if is_disk else replace(status, network_interfaces=entries)


def _told(plug: PendingDevice) -> LifecycleEvent:
    what, action = ("volume", "Volume") if plug.is_disk else ("network interface", "NetworkInterface")
    verb = "Attach" if plug.is_attach else "Detach"
    return LifecycleEvent(
        f"{verb}{action}Succeeded", f"{verb}{action}", f"{what} {plug.name} is {verb.lower()}ed"
    )
