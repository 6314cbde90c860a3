"""Volumes and network interfaces on their way into or out of a machine. Pure.

Theory of operation. Spec says which devices a machine is to have; a status entry says ATTACHED exactly while the guest
has the device. Between the two, each device that moves is a PendingDevice with the time at which it arrives:

    event                         pending device         status entry
    attach                        is_attach, due later   PENDING
    its time comes                dropped                ATTACHED, with the host's handle
    detach                        not is_attach, due     stays ATTACHED until then
    its time comes                dropped                removed
    attach again while leaving    due after the detach   PENDING at once
    the guest hangs               detach: NEVER_NS       stays ATTACHED
    the power goes off            detaches finish now    removed; attaches keep their time

At most one PendingDevice exists per name and kind of device. Must never happen: an entry is removed while a running
guest still has the device, because another machine may then get the same volume.
"""

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
from iri.simulated.host_model import NEVER_NS, HostModel, ObjectEvent

Device = Disk | RuntimeNetworkInterface


class PendingDevice(msgspec.Struct, frozen=True, gc=False):
    """One device of one machine that is being attached or detached."""

    name: str
    is_disk: bool
    is_attach: bool
    due_ns: int
    handle: str = ""  # of a device that is being attached


Pending = tuple[PendingDevice, ...]


def attach_all(machine: RuntimeMachine, now_ns: int, model: HostModel) -> Pending:
    """Every device of a new machine's spec, on its way in."""
    devices: Iterable[Device] = (*machine.spec.volumes, *machine.spec.network_interfaces)
    return tuple(start_attach(machine, device, now_ns, model) for device in devices)


def mark_all_pending(machine: RuntimeMachine) -> RuntimeMachine:
    """The machine with a PENDING status entry for each device of its spec."""
    volumes = tuple(AttachmentStatus(name=disk.name) for disk in machine.spec.volumes)
    interfaces = tuple(AttachmentStatus(name=nic.name) for nic in machine.spec.network_interfaces)
    return replace(machine, status=replace(machine.status, volumes=volumes, network_interfaces=interfaces))


def start_attach(machine: RuntimeMachine, device: Device, from_ns: int, model: HostModel) -> PendingDevice:
    """When the device arrives, and with which handle."""
    due_ns = model.after(from_ns, model.times.attach, "attach", machine.id, device.name, machine.generation)
    handle = device_handle(machine, device, model)
    return PendingDevice(device.name, isinstance(device, Disk), True, due_ns, handle)


def device_handle(machine: RuntimeMachine, device: Device, model: HostModel) -> str:
    """The host's own name of the device. The same handle means the same volume behind it."""
    if isinstance(device, RuntimeNetworkInterface):
        return f"tap{model.random.hex(5, 'tap', machine.id, device.name)}"
    if device.connection is not None:
        return device.connection.handle
    return f"local-{machine.id}-{device.name}"


def attach(
    machine: RuntimeMachine, pending: Pending, device: Device, now_ns: int, model: HostModel
) -> tuple[RuntimeMachine, Pending]:
    """Starts to attach the device, after a device of the same name that is still leaving has left."""
    is_disk = isinstance(device, Disk)
    rest = tuple(one for one in pending if (one.name, one.is_disk) != (device.name, is_disk))
    leaving = [
        one.due_ns for one in pending if one not in rest and not one.is_attach and one.due_ns < NEVER_NS
    ]
    started = start_attach(machine, device, max([now_ns, *leaving]), model)
    status = _put_entry(machine.status, is_disk, AttachmentStatus(name=device.name))
    return replace(machine, status=status), (*rest, started)


def detach(pending: Pending, name: str, is_disk: bool, due_ns: int) -> Pending:
    """Starts to detach; an attach of that name that has not finished is given up."""
    rest = tuple(one for one in pending if (one.name, one.is_disk) != (name, is_disk))
    return (*rest, PendingDevice(name, is_disk, False, due_ns))


def finish_due(
    machine: RuntimeMachine, pending: Pending, at_ns: int
) -> tuple[RuntimeMachine, Pending, tuple[ObjectEvent, ...]]:
    """What is due by then has arrived: the machine with it, the devices still pending, the events."""
    due = [one for one in pending if one.due_ns <= at_ns]
    if not due:
        return machine, pending, ()
    status = machine.status
    for one in due:
        status = _finish(status, one)
    rest = tuple(one for one in pending if one.due_ns > at_ns)
    return replace(machine, status=status), rest, tuple(map(_describe, due))


def finish_detaches(machine: RuntimeMachine, pending: Pending) -> RuntimeMachine:
    """Without power no guest holds a device: whatever was leaving has left."""
    status = machine.status
    for one in pending:
        if not one.is_attach:
            status = _finish(status, one)
    return replace(machine, status=status)


def keep_attaches(pending: Pending) -> Pending:
    """What is left to do after `finish_detaches`."""
    return tuple(one for one in pending if one.is_attach)


def delay_attaches(pending: Pending, from_ns: int) -> Pending:
    """As `keep_attaches`, for a host that is away until then."""
    return tuple(replace(one, due_ns=max(one.due_ns, from_ns)) for one in keep_attaches(pending))


def block_detaches(pending: Pending) -> Pending:
    """A guest that hangs releases no device."""
    return tuple(one if one.is_attach else replace(one, due_ns=NEVER_NS) for one in pending)


def _finish(status: RuntimeMachineStatus, one: PendingDevice) -> RuntimeMachineStatus:
    """The status once the device has arrived, or has left."""
    if one.is_attach:
        entry = AttachmentStatus(name=one.name, handle=one.handle, state=AttachmentState.ATTACHED)
        return _put_entry(status, one.is_disk, entry)
    if one.is_disk:
        return replace(status, volumes=_drop_entry(status.volumes, one.name))
    return replace(status, network_interfaces=_drop_entry(status.network_interfaces, one.name))


def _drop_entry(entries: tuple[AttachmentStatus, ...], name: str) -> tuple[AttachmentStatus, ...]:
    return tuple(entry for entry in entries if entry.name != name)


def _put_entry(status: RuntimeMachineStatus, is_disk: bool, entry: AttachmentStatus) -> RuntimeMachineStatus:
    """The status with the entry, in the place of one with its name where there is one."""
    entries = {old.name: old for old in (status.volumes if is_disk else status.network_interfaces)}
    entries[entry.name] = entry
    changed = tuple(entries.values())
    return replace(status, volumes=changed) if is_disk else replace(status, network_interfaces=changed)


def _describe(one: PendingDevice) -> ObjectEvent:
    """The event of a device that has arrived or left, in the words of the libvirt runtime."""
    what, action = ("volume", "Volume") if one.is_disk else ("network interface", "NetworkInterface")
    verb = "Attach" if one.is_attach else "Detach"
    return ObjectEvent(
        f"{verb}{action}Succeeded", f"{verb}{action}", f"{what} {one.name} is {verb.lower()}ed"
    )
