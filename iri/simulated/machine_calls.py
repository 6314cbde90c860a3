"""What the calls about machines do to the host: check, let happen what is instant, commit.

Every function is called with the host entered; `now_ns` is the time it was entered at.
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
from iri.errors import FailedPrecondition, Internal, InvalidArgument, NotFound
from iri.machine import Disk, RuntimeMachine, RuntimeMachineSpec, RuntimeNetworkInterface
from iri.simulated import hotplug, machine_lifecycle, unavailable
from iri.simulated.host import SimulatedHost
from iri.simulated.host_model import NEVER_NS, LifecycleEvent
from iri.simulated.machine_lifecycle import IS_ON, MachinePhase, MachineStep, SimulatedMachine
from iri.simulated.state import usage
from iri.simulated.state.records import HostRecord, RecordChange


class GuestAction(IntEnum):
    """What can happen inside a guest; the numbers are those of the control service."""

    POWEROFF = 0
    CRASH = 1
    REBOOT = 2
    HANG = 3


def create(host: SimulatedHost, wanted: RuntimeMachine, now_ns: int) -> RuntimeMachine:
    facts, id = host.identified(RuntimeMachine, wanted.labels)
    existing = host.state.get(SimulatedMachine, id)
    if existing is not None:
        return existing.machine
    spec = replace(wanted.spec, volumes=tuple(drop_lost_fields(host, disk) for disk in wanted.spec.volumes))
    for disk in spec.volumes:
        host.state.attachments.refuse(disk, id)
    images = list_images(spec)
    unavailable.refuse_images(host, images)
    unavailable.refuse_networks(host, spec.network_interfaces)
    machine = RuntimeMachine(
        id=id, labels=wanted.labels, annotations=wanted.annotations, created_at=now_ns, spec=spec
    )
    guest = SimulatedMachine(
        machine=replace(machine, status=replace(machine.status, image_ref=images[0] if images else "")),
        resources=find_class_resources(host, spec.class_name),
        local_bytes=usage.sum_local_disks(spec.volumes, host.profile.local_disk_bytes),
        leases=host.state.networks.leases(spec.network_interfaces),
    )
    host.state.usage.refuse(host.profile.limit, None, guest)
    facts, ready_ns = host.pulled(facts, images, now_ns)
    created, told = machine_lifecycle.create(guest, now_ns, ready_ns, host.nature)
    _commit(host, created, (LifecycleEvent("Created", "Create", "the machine is defined"), *told), facts)
    return created.machine


def change(host: SimulatedHost, guest: SimulatedMachine, wanted: MachineChange, now_ns: int) -> None:
    """Records the wish and starts what follows from it. A change to what is already so starts at most the guest."""
    behaviour = host.nature.behaviour
    if isinstance(wanted, UpdateVolume) and behaviour.ignores_volume_updates:
        return
    if isinstance(wanted, AttachVolume | UpdateVolume):
        wanted = type(wanted)(drop_lost_fields(host, wanted.disk))
        host.state.attachments.refuse(wanted.disk, guest.machine.id)
    if isinstance(wanted, AttachInterface):
        unavailable.refuse_networks(host, (wanted.interface,))
    machine = _changed(host, guest.machine, wanted)
    if machine is guest.machine and not isinstance(wanted, SetPower):
        return
    if behaviour.counts_no_generations:
        machine = replace(machine, generation=0)
    after, told = _effects(host, replace(guest, machine=machine), wanted, now_ns)
    after = machine_lifecycle.refresh_status(after, host.nature)
    if after == guest:
        return
    host.state.usage.refuse(host.profile.limit, guest, after)
    _commit(host, after, told)


def _changed(host: SimulatedHost, machine: RuntimeMachine, wanted: MachineChange) -> RuntimeMachine:
    attaches = isinstance(wanted, AttachVolume | AttachInterface)
    if not (attaches and host.nature.behaviour.attaches_twice) or machine.deleted_at:
        return change_machine(machine, wanted)
    spec = machine.spec
    if isinstance(wanted, AttachVolume):
        return replace(machine, spec=replace(spec, volumes=(*spec.volumes, wanted.disk)))
    assert isinstance(wanted, AttachInterface)
    return replace(
        machine, spec=replace(spec, network_interfaces=(*spec.network_interfaces, wanted.interface))
    )


def _effects(
    host: SimulatedHost, guest: SimulatedMachine, wanted: MachineChange, now_ns: int
) -> tuple[SimulatedMachine, tuple[LifecycleEvent, ...]]:
    """The wish is in the guest's spec already; here is what becomes of it."""
    match wanted:
        case SetAnnotations():
            return guest, ()
        case SetPower():
            return machine_lifecycle.apply_power(guest, now_ns, host.nature)
        case Resize(class_name):
            return machine_lifecycle.resize(guest, find_class_resources(host, class_name)), ()
        case AttachVolume(disk):
            return _attached(host, guest, disk, now_ns), ()
        case UpdateVolume(disk):
            return _updated(host, guest, disk, now_ns), ()
        case AttachInterface(interface):
            return _attached(host, guest, interface, now_ns), ()
        case DetachVolume(name):
            return _detached(host, guest, name, True, now_ns), ()
        case DetachInterface(name):
            return _detached(host, guest, name, False, now_ns), ()
        case _:
            assert_never(wanted)


def _attached(
    host: SimulatedHost, guest: SimulatedMachine, device: Disk | RuntimeNetworkInterface, now_ns: int
) -> SimulatedMachine:
    machine, moving = hotplug.attach(guest.machine, guest.plugs, device, now_ns, host.nature)
    leases = guest.leases
    if isinstance(device, RuntimeNetworkInterface):
        leases = (*leases, *host.state.networks.leases((device,)))
    local_bytes = usage.sum_local_disks(machine.spec.volumes, host.profile.local_disk_bytes)
    return replace(guest, machine=machine, plugs=moving, leases=leases, local_bytes=local_bytes)


def _detached(
    host: SimulatedHost, guest: SimulatedMachine, name: str, is_disk: bool, now_ns: int
) -> SimulatedMachine:
    """Out of a guest that runs it takes a while, and one that hangs lets nothing go."""
    due_ns = now_ns
    if guest.phase in IS_ON:
        span = host.nature.times.detach
        due_ns = host.nature.after(now_ns, span, "detach", guest.machine.id, name, guest.machine.generation)
    moving = hotplug.detach(guest.plugs, name, is_disk, NEVER_NS if guest.is_hung else due_ns)
    leases = guest.leases if is_disk else tuple(lease for lease in guest.leases if lease[0] != name)
    machine, moving, _ = hotplug.finish_due(guest.machine, moving, now_ns)
    local_bytes = usage.sum_local_disks(machine.spec.volumes, host.profile.local_disk_bytes)
    return replace(guest, machine=machine, plugs=moving, leases=leases, local_bytes=local_bytes)


def _updated(host: SimulatedHost, guest: SimulatedMachine, disk: Disk, now_ns: int) -> SimulatedMachine:
    """The same volume with another size or key stays plugged; another volume takes its place."""
    there = {entry.name: entry.handle for entry in guest.machine.status.volumes}
    if hotplug.device_handle(guest.machine, disk, host.nature) == there.get(disk.name):
        return guest
    return _attached(host, guest, disk, now_ns)


def remove(host: SimulatedHost, guest: SimulatedMachine, now_ns: int) -> None:
    after, told = machine_lifecycle.remove(guest, now_ns, host.nature)
    if after is not guest:
        _commit(host, after, told)


def act(host: SimulatedHost, guest: SimulatedMachine, action: GuestAction, now_ns: int) -> None:
    """Something happens in the guest, by nobody's order. FailedPrecondition when nothing runs there."""
    if guest.phase is not MachinePhase.RUNNING:
        raise FailedPrecondition(f"machine {guest.machine.id} has no guest running")
    _commit(host, *_acted(host, guest, action, now_ns))


def _acted(host: SimulatedHost, guest: SimulatedMachine, action: GuestAction, now_ns: int) -> MachineStep:
    match action:
        case GuestAction.POWEROFF:
            return machine_lifecycle.power_off_from_inside(guest, now_ns, host.nature)
        case GuestAction.CRASH:
            return machine_lifecycle.crash(guest, now_ns, host.nature)
        case GuestAction.REBOOT:
            return machine_lifecycle.reboot_from_inside(guest)
        case GuestAction.HANG:
            return machine_lifecycle.hang(guest)


def restart_host(host: SimulatedHost, down_ns: int, now_ns: int, *, is_crash: bool = False) -> None:
    """The host goes away for so long, with everything that runs on it; after a crash, it says so."""
    up_ns = now_ns + down_ns
    puts = [
        RecordChange(SimulatedMachine, id, machine_lifecycle.restart_with_host(guest, up_ns, host.nature))
        for id, guest in host.state.all(SimulatedMachine).items()
    ]
    host.commit(*puts, facts=replace(host.facts, down_until_ns=up_ns))
    reason, message = (
        ("HostCrashed", "the host crashed") if is_crash else ("HostRestarted", "the host restarted")
    )
    for guest in list(host.state.all(SimulatedMachine).values()):
        if guest.phase in IS_ON:
            host.tell(guest.machine, (LifecycleEvent(reason, "Run", message, is_warning=is_crash),))


def find_machine(host: SimulatedHost, id: str) -> SimulatedMachine:
    guest = host.state.get(SimulatedMachine, id)
    if guest is not None:
        return guest
    error = Internal if host.nature.behaviour.says_internal_for_unknown_ids else NotFound
    raise error(f"there is no machine {id}")


def find_class_resources(host: SimulatedHost, name: str) -> Mapping[str, int]:
    for offered in host.classes.machines:
        if offered.name == name:
            return offered.resources
    error = Internal if host.nature.behaviour.says_internal_for_unknown_classes else InvalidArgument
    known = ", ".join(offered.name for offered in host.classes.machines) or "none"
    raise error(f"there is no machine class {name!r} here; there are: {known}")


def list_images(spec: RuntimeMachineSpec) -> tuple[str, ...]:
    disks = (disk.local_disk for disk in spec.volumes)
    return tuple(disk.image.image for disk in disks if disk is not None and disk.image is not None)


def drop_lost_fields(host: SimulatedHost, disk: Disk) -> Disk:
    """As it was sent; some providers lose a field."""
    if disk.connection is None or not host.nature.behaviour.drops_effective_size:
        return disk
    return replace(disk, connection=replace(disk.connection, effective_storage_bytes=0))


def _commit(
    host: SimulatedHost,
    guest: SimulatedMachine,
    told: tuple[LifecycleEvent, ...],
    facts: HostRecord | None = None,
) -> None:
    host.commit(RecordChange(SimulatedMachine, guest.machine.id, guest), facts=facts)
    host.tell(guest.machine, told)
