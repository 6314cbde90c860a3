"""What calls about machines do to the host: check, compute the next record, commit it.

Every function is called with the host locked; `now_ns` is the time at which it was locked. Refusals come before the
commit, in this order: volumes of other machines, images and networks, the rules of iri.change, class, room on the host. A
call that is refused has changed nothing.

What a call begins ends later, on the host's clock, in `machine_lifecycle` (power) and `hotplug` (devices). A call that asks for
what the record says already writes nothing, with one exception: power On for a guest that ended starts it again.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import IntEnum
from typing import assert_never

from msgspec.structs import replace

from iri.change import (
    AttachInterface,
    AttachVolume,
    DetachInterface,
    DetachVolume,
    MachineChange,
    Resize,
    SetAnnotations,
    SetPower,
    UpdateVolume,
    change_machine,
)
from iri.errors import FailedPrecondition
from iri.machine import HOST_BOOTED, Disk, RuntimeMachine, RuntimeMachineSpec, RuntimeNetworkInterface
from iri.simulated import hotplug, machine_lifecycle, unavailable
from iri.simulated.host import SimulatedHost
from iri.simulated.host_model import NEVER_NS, ObjectEvent
from iri.simulated.machine_lifecycle import IS_ON, MachinePhase, MachineStep, SimulatedMachine
from iri.simulated.state import usage
from iri.simulated.state.records import HostRecord


class GuestAction(IntEnum):
    """An event inside a guest. The numbers are those of the control service."""

    POWEROFF = 0
    CRASH = 1
    REBOOT = 2
    HANG = 3


def create(host: SimulatedHost, desired: RuntimeMachine, now_ns: int) -> RuntimeMachine:
    """The machine with its id; the existing one, unchanged, when its uid label exists already."""
    host_record, machine = host.identify(desired, now_ns)
    existing = host.state.get(SimulatedMachine, machine.id)
    if existing is not None:
        return existing.machine
    host.ended.refuse(desired.labels)
    spec = replace(desired.spec, volumes=tuple(drop_lost_fields(host, disk) for disk in desired.spec.volumes))
    for disk in spec.volumes:
        host.state.attachments.require_free(disk, machine.id)
    images = list_images(spec)
    unavailable.refuse_images(host, images)
    unavailable.refuse_networks(host, spec.network_interfaces)
    status = replace(machine.status, image_ref=images[0] if images else "")
    guest = SimulatedMachine(
        machine=replace(machine, spec=spec, status=status),
        resources=find_class_resources(host, spec.class_name),
        local_bytes=usage.sum_local_disks(spec.volumes, host.profile.local_disk_bytes),
        leases=host.state.networks.pick_leases(machine.id, spec.network_interfaces),
    )
    host.state.usage.require_room(host.profile.limit, None, guest)
    host_record, ready_ns = host.pull_images(host_record, images, now_ns)
    created, events = machine_lifecycle.create(guest, now_ns, ready_ns, host.model)
    _commit(host, created, (ObjectEvent("Created", "Create", "the machine is defined"), *events), host_record)
    return created.machine


def change(host: SimulatedHost, guest: SimulatedMachine, desired: MachineChange, now_ns: int) -> None:
    """Changes spec and starts what follows. A change that changes nothing can at most start a guest that ended."""
    quirks = host.model.quirks
    if isinstance(desired, UpdateVolume) and quirks.ignores_volume_updates:
        return
    if isinstance(desired, AttachVolume):
        host.ended.refuse(guest.machine.labels)
    if isinstance(desired, AttachVolume | UpdateVolume):
        desired = type(desired)(drop_lost_fields(host, desired.disk))
        host.state.attachments.require_free(desired.disk, guest.machine.id)
    if isinstance(desired, AttachInterface):
        unavailable.refuse_networks(host, (desired.interface,))
    machine = _apply_change(host, guest.machine, desired)
    if machine is guest.machine and not isinstance(desired, SetPower):
        return
    if quirks.has_no_generations:
        machine = replace(machine, generation=0)
    after, events = _start_effects(host, replace(guest, machine=machine), desired, now_ns)
    after = machine_lifecycle.refresh_status(after, host.model)
    if after == guest:
        return
    host.state.usage.require_room(host.profile.limit, guest, after)
    _commit(host, after, events)


def _apply_change(host: SimulatedHost, machine: RuntimeMachine, desired: MachineChange) -> RuntimeMachine:
    """The machine as the change leaves it; the same object when nothing changes. By the rules that both runtimes share
    (`iri.change.change_machine`), whose errors pass through, unless the quirk `attaches_twice` imitates a provider without them.

    Changes no record: `change` has checked volumes and networks before, and commits the result.
    """
    attaches = isinstance(desired, AttachVolume | AttachInterface)
    if not (attaches and host.model.quirks.attaches_twice) or machine.deleted_at:
        return change_machine(machine, desired)
    spec = machine.spec
    if isinstance(desired, AttachVolume):
        return replace(machine, spec=replace(spec, volumes=(*spec.volumes, desired.disk)))
    assert isinstance(desired, AttachInterface)
    return replace(
        machine, spec=replace(spec, network_interfaces=(*spec.network_interfaces, desired.interface))
    )


def _start_effects(
    host: SimulatedHost, guest: SimulatedMachine, desired: MachineChange, now_ns: int
) -> tuple[SimulatedMachine, tuple[ObjectEvent, ...]]:
    """Spec has the change already; here its effects on guest and devices begin."""
    match desired:
        case SetAnnotations():
            return guest, ()
        case SetPower():
            return machine_lifecycle.apply_power(guest, now_ns, host.model)
        case Resize(class_name):
            return machine_lifecycle.resize(guest, find_class_resources(host, class_name)), ()
        case AttachVolume(disk):
            return _attach(host, guest, disk, now_ns), ()
        case UpdateVolume(disk):
            return _update_disk(host, guest, disk, now_ns), ()
        case AttachInterface(interface):
            return _attach(host, guest, interface, now_ns), ()
        case DetachVolume(name):
            return _detach(host, guest, name, True, now_ns), ()
        case DetachInterface(name):
            return _detach(host, guest, name, False, now_ns), ()
        case _:
            assert_never(desired)


def _attach(
    host: SimulatedHost, guest: SimulatedMachine, device: Disk | RuntimeNetworkInterface, now_ns: int
) -> SimulatedMachine:
    """An interface gets its address at once, a disk its share of local storage."""
    machine, pending = hotplug.attach(guest.machine, guest.pending_devices, device, now_ns, host.model)
    leases = guest.leases
    if isinstance(device, RuntimeNetworkInterface):
        leases = (*leases, *host.state.networks.pick_leases(guest.machine.id, (device,)))
    local_bytes = usage.sum_local_disks(machine.spec.volumes, host.profile.local_disk_bytes)
    return replace(guest, machine=machine, pending_devices=pending, leases=leases, local_bytes=local_bytes)


def _detach(
    host: SimulatedHost, guest: SimulatedMachine, name: str, is_disk: bool, now_ns: int
) -> SimulatedMachine:
    """A running guest takes a while to release a device; a guest that hangs never does."""
    due_ns = now_ns
    if guest.phase in IS_ON:
        duration = host.model.times.detach
        due_ns = host.model.after(
            now_ns, duration, "detach", guest.machine.id, name, guest.machine.generation
        )
    pending = hotplug.detach(guest.pending_devices, name, is_disk, NEVER_NS if guest.is_hung else due_ns)
    leases = guest.leases if is_disk else tuple(lease for lease in guest.leases if lease[0] != name)
    machine, pending, _ = hotplug.finish_due(guest.machine, pending, now_ns)
    local_bytes = usage.sum_local_disks(machine.spec.volumes, host.profile.local_disk_bytes)
    return replace(guest, machine=machine, pending_devices=pending, leases=leases, local_bytes=local_bytes)


def _update_disk(host: SimulatedHost, guest: SimulatedMachine, disk: Disk, now_ns: int) -> SimulatedMachine:
    """The same volume with another size or key stays attached; another volume replaces it."""
    attached = {entry.name: entry.handle for entry in guest.machine.status.volumes}
    if hotplug.device_handle(guest.machine, disk, host.model) == attached.get(disk.name):
        return guest
    return _attach(host, guest, disk, now_ns)


def remove(host: SimulatedHost, guest: SimulatedMachine, now_ns: int) -> None:
    """Orders the removal; a second order changes nothing."""
    after, events = machine_lifecycle.remove(guest, now_ns, host.model)
    if after is not guest:
        _commit(host, after, events)


def act(host: SimulatedHost, guest: SimulatedMachine, action: GuestAction, now_ns: int) -> None:
    """Something happens inside the guest. FailedPrecondition when no guest runs."""
    if guest.phase is not MachinePhase.RUNNING:
        raise FailedPrecondition(f"no guest runs on machine {guest.machine.id}")
    _commit(host, *_apply_action(host, guest, action, now_ns))


def _apply_action(
    host: SimulatedHost, guest: SimulatedMachine, action: GuestAction, now_ns: int
) -> MachineStep:
    """The next record for each action."""
    match action:
        case GuestAction.POWEROFF:
            return machine_lifecycle.power_off_from_inside(guest, now_ns, host.model)
        case GuestAction.CRASH:
            return machine_lifecycle.crash(guest, now_ns, host.model)
        case GuestAction.REBOOT:
            return machine_lifecycle.reboot_from_inside(guest)
        case GuestAction.HANG:
            return machine_lifecycle.hang(guest)


def restart_host(host: SimulatedHost, down_ns: int, now_ns: int, *, is_crash: bool = False) -> None:
    """The host is down for so long, and every guest with it. Events tell a crash from a restart."""
    up_ns = now_ns + down_ns
    holds = host.record.holds_starts
    restarted = [
        machine_lifecycle.restart_with_host(guest, up_ns, host.model, is_held=holds)
        for guest in host.state.list_records(SimulatedMachine).values()
    ]
    host.commit(*restarted, host_record=replace(host.record, down_until_ns=up_ns))
    reason, message = (
        ("HostCrashed", "the host crashed") if is_crash else ("HostRestarted", "the host restarted")
    )
    for guest in list(host.state.list_records(SimulatedMachine).values()):
        if guest.phase in IS_ON or guest.machine.detail.reason == HOST_BOOTED:
            host.add_events(guest.machine, (ObjectEvent(reason, "Run", message, is_warning=is_crash),))


def release_starts(host: SimulatedHost, now_ns: int) -> None:
    """Boots the machines that the last boot of the host left off."""
    for guest in list(host.state.list_records(SimulatedMachine).values()):
        if guest.phase is MachinePhase.ENDED and guest.machine.detail.reason == HOST_BOOTED:
            _commit(host, *machine_lifecycle.apply_power(guest, now_ns, host.model))


def find_class_resources(host: SimulatedHost, name: str) -> Mapping[str, int]:
    """They are recorded with the machine: another set of classes changes no machine that exists."""
    return host.find_class("machine", host.classes.machines, name).resources


def list_images(spec: RuntimeMachineSpec) -> tuple[str, ...]:
    """The images of all local disks, the boot disk's first."""
    disks = (disk.local_disk for disk in spec.volumes)
    return tuple(disk.image.image for disk in disks if disk is not None and disk.image is not None)


def drop_lost_fields(host: SimulatedHost, disk: Disk) -> Disk:
    """The disk as it was sent; some providers lose a field."""
    if disk.connection is None or not host.model.quirks.drops_effective_size:
        return disk
    return replace(disk, connection=replace(disk.connection, effective_storage_bytes=0))


def _commit(
    host: SimulatedHost,
    guest: SimulatedMachine,
    events: tuple[ObjectEvent, ...],
    host_record: HostRecord | None = None,
) -> None:
    """The record first, then its events: an event never reports what is not on disk."""
    host.commit(guest, host_record=host_record)
    host.add_events(guest.machine, events)
