"""The machine half of the runtime: calls record wishes, threads make them real, events and looks tell what is."""

from __future__ import annotations

import contextlib
import logging
import shutil
import threading
import uuid
from collections.abc import Iterable, Mapping, Sequence

from msgspec.structs import replace

from iri.change import (
    AttachInterface,
    AttachVolume,
    MachineChange,
    Resize,
    SetPower,
    UpdateVolume,
    change_machine,
)
from iri.errors import FailedPrecondition, InvalidArgument, IRIError, TimedOut, Unavailable
from iri.identity import derive_id
from iri.libvirt.connect.link import LibvirtLink
from iri.libvirt.domain.domain_state import RunState
from iri.libvirt.domain.record import MachineRecord, wish
from iri.libvirt.machines import define
from iri.libvirt.machines.address_poller import AddressPoller
from iri.libvirt.machines.deps import MachineDeps
from iri.libvirt.machines.event_watcher import EventWatcher
from iri.libvirt.machines.gc import GarbageCollector, drop_keys
from iri.libvirt.machines.guest import Guest, unwanted
from iri.libvirt.machines.reconcile_machine import tend
from iri.machine import Disk, MachineDetail, Power, RuntimeMachine, RuntimeMachineStatus
from iri.workqueue import WorkQueue

log = logging.getLogger(__name__)
THREADS = 8
LOOK_SECONDS = 30.0  # between looks at a machine of which nothing has been heard


class Machines:
    """Thread-safe. Started once, closed once."""

    def __init__(self, site: MachineDeps, link: LibvirtLink) -> None:
        self._site = site
        self._link = link
        self._queue = WorkQueue(self._tend, THREADS, "libvirt-machines")
        self._watching = EventWatcher(site, self._queue.wake)
        self._addresses = AddressPoller(site)
        self._sweeping = GarbageCollector(site, self._queue.wake)
        self._claiming = threading.RLock()
        link.listen(self._watching.put)
        link.on_connected(self._reconnected)

    def start(self) -> None:
        """The link is open. Finds all machines and goes on where it stands with each."""
        self._site.roster.recover()
        for id, reason in self._site.roster.unreadable.items():
            log.error("machine is left alone id=%s error=%s", id, reason)
        self._sweep()
        self._queue.start()
        self._watching.start()
        self._addresses.start()
        self._sweeping.start()
        for id in self._site.roster.ids():
            self._queue.wake(id)

    def close(self) -> None:
        """Machines go on; nobody tends them."""
        self._sweeping.close()
        self._addresses.close()
        self._watching.close()
        self._queue.close()

    def all(self) -> Mapping[str, RuntimeMachine]:
        return self._site.roster.machines

    def create(self, wanted: RuntimeMachine) -> RuntimeMachine:
        id = derive_id(RuntimeMachine, wanted.labels) or str(uuid.uuid4())
        with self._site.roster.one(id), self._claim(wanted.spec.volumes):
            existing = self._site.roster.machines.get(id)
            if existing is not None:
                return existing
            self._site.roster.refuse_unreadable(id)
            resources = dict(self._resources(wanted.spec.class_name))
            record = MachineRecord(
                labels=dict(wanted.labels),
                annotations=dict(wanted.annotations),
                created_at=self._site.roster.now_ns(),
                spec=wanted.spec,
                resources=resources,
            )
            machine = replace(wish(record, id), status=RuntimeMachineStatus(), detail=MachineDetail())
            self._refuse(machine)
            record = self._site.roster.sealed_away(id, record)
            self._site.domains.define(define.recorded(self._site, id, record))
            made = self._site.roster.add(Guest(id=id, record=record))
        self._site.journal.event(made, "Created", "Create", "the machine is recorded")
        self._queue.wake(id)
        return made

    def change(self, id: str, change: MachineChange) -> None:
        roster = self._site.roster
        with roster.one(id), self._claim(disks_of(change)):
            guest = roster.get(id)
            machine = wish(guest.record, id)
            after = change_machine(machine, change)
            self._refuse_change(machine, change)
            resources = guest.record.resources
            if isinstance(change, Resize):
                resources = dict(self._resources(change.class_name))
            is_on_again = isinstance(change, SetPower) and change.power is Power.ON

            def changed(record: MachineRecord) -> MachineRecord:
                return replace(
                    record,
                    spec=after.spec,
                    annotations=after.annotations,
                    generation=after.generation,
                    resources=resources,
                    is_halted=record.is_halted and not is_on_again,
                )

            roster.edit(id, changed)
            roster.update(id, lambda found: unwanted(found, guest.wanted.keys()))
            if is_on_again and not guest.seen.is_on:
                roster.update(id, lambda found: replace(found, reason="", restarts=0))
        self._queue.wake(id)

    def remove(self, id: str) -> None:
        guest = self._site.roster.get(id)
        if guest.record.deleted_at:
            return
        if (
            guest.seen.life is RunState.HELD
            and guest.trouble is not None
            and guest.trouble.reason == TimedOut.__name__
        ):
            raise Unavailable(
                guest.trouble.message
            )  # libvirt would let us wait for half a minute, to no avail
        now_ns = self._site.roster.now_ns()

        def deleted(record: MachineRecord) -> MachineRecord:
            return replace(record, deleted_at=record.deleted_at or now_ns)

        try:
            self._site.roster.edit(id, deleted)
        except TimedOut:
            # Its QEMU answers nobody any more, and libvirt lets nobody at a domain that it waits for.
            self._site.domains.force_off(id)
            self._site.roster.edit(id, deleted)
        self._site.tell(guest, "Removing", "Remove", "the machine is being removed")
        self._queue.wake(id)

    def get(self, id: str) -> Guest:
        return self._site.roster.get(id)

    def _resources(self, class_name: str) -> Mapping[str, int]:
        resources = self._site.parts.classes.machine_class(class_name).resources
        if resources.get("memory", 0) <= 0:
            raise InvalidArgument(f"machine class {class_name} says nothing of memory")
        return resources

    def _refuse(self, machine: RuntimeMachine) -> None:
        for disk in machine.spec.volumes:
            self._refuse_disk(machine.id, disk)
        for interface in machine.spec.network_interfaces:
            self._site.parts.interfaces.plan(machine.id, interface)
            self._site.parts.interfaces.require(machine.id, interface)
        self._site.parts.seeds.refuse(machine)

    def _refuse_change(self, machine: RuntimeMachine, change: MachineChange) -> None:
        match change:
            case AttachVolume(disk) | UpdateVolume(disk):
                self._refuse_disk(machine.id, disk)
            case AttachInterface(interface):
                self._site.parts.interfaces.plan(machine.id, interface)
                self._site.parts.interfaces.require(machine.id, interface)
            case _:
                pass

    def _claim(self, disks: Iterable[Disk]) -> contextlib.AbstractContextManager[object]:
        """Until it is recorded who has these volumes, nobody else is looked at who wants one."""
        has_volume = any(disk.connection is not None for disk in disks)
        return self._claiming if has_volume else contextlib.nullcontext()

    def _refuse_disk(self, machine_id: str, disk: Disk) -> None:
        self._site.parts.disks.refuse(machine_id, disk)
        held = volume_of(disk)
        if held is None:
            return
        for guest in self._site.roster.guests():
            if guest.id != machine_id and held in map(volume_of, guest.record.spec.volumes):
                raise FailedPrecondition(f"volume {disk.name} is attached to machine {guest.id}")

    def _tend(self, id: str) -> float | None:
        delay = tend(self._site, id)
        if self._site.roster.find(id) is None:
            return None
        self._addresses.expect(id)
        return LOOK_SECONDS if delay is None else min(delay, LOOK_SECONDS)

    def _reconnected(self) -> None:
        """Events were lost, and libvirtd tells of no guest that it has not spoken to since."""
        with contextlib.suppress(IRIError):
            self._site.roster.recover()
        for id in self._site.roster.ids():
            with contextlib.suppress(IRIError):
                self._site.roster.look(id)
            self._queue.wake(id)
        for guest in self._site.roster.guests():
            if guest.seen.is_on:
                with contextlib.suppress(IRIError):
                    self._site.domains.speak(guest.id)
                    self._site.roster.look(guest.id)
                self._queue.wake(guest.id)

    def _sweep(self) -> None:
        """What a process that was killed has left of machines that are gone. One that cannot be read is not gone."""
        ids = self._site.roster.ids() | self._site.roster.unreadable.keys()
        attached: dict[str, Sequence[Disk] | None] = dict.fromkeys(ids)
        attached |= {guest.id: guest.record.spec.volumes for guest in self._site.roster.guests()}
        self._site.parts.disks.sweep(attached)
        self._site.parts.interfaces.prune(self._site.wanted_interfaces)
        drop_keys(self._site)
        self._site.folders.machines.mkdir(mode=0o711, parents=True, exist_ok=True)
        for folder in self._site.folders.machines.iterdir():
            if folder.name not in ids:
                shutil.rmtree(folder, ignore_errors=True)


def volume_of(disk: Disk) -> tuple[str, str] | None:
    """What says that two disks are the same volume. A handle is the poollet's word, where it lies is the storage's."""
    connection = disk.connection
    if connection is None:
        return None
    where = connection.attributes.get("image") or connection.attributes.get("path") or connection.handle
    return (connection.driver, where) if where else None


def disks_of(change: MachineChange) -> tuple[Disk, ...]:
    match change:
        case AttachVolume(disk) | UpdateVolume(disk):
            return (disk,)
        case _:
            return ()
