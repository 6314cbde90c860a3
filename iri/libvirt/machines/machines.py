"""The calls about machines. A call checks the request, writes it into the domain's metadata and returns; threads of the work queue
reconcile the machine later. Events and observations tell what has become of it.

    woken by                                                   then
    a call that changed the record                             the machine is reconciled at once
    an event of libvirt (`event_watcher`)                      it is observed, then reconciled
    its own last reconciliation                                after the delay that it returned, at most OBSERVE_SECONDS
    a reconnect to libvirtd                                    all machines are observed and reconciled: events were lost
    the garbage collection, when it has found a new domain     the machine is added and reconciled

Locks, in the order in which they are taken: the machine's own (`store.lock`), so that two calls about one machine follow each other;
then the one over volumes, so that two machines cannot get one volume.

Must never happen: a call returns success before the record is in libvirt; a refused request leaves anything behind; one volume is
in the records of two machines.

Limits: no call waits for a guest, for an image or for a pool that is away; only for libvirt, and for another call with volumes.
"""

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
from iri.identity import derive_id, require_assignment
from iri.libvirt.connect.link import LibvirtLink
from iri.libvirt.domain.document import render_domain
from iri.libvirt.domain.domain_state import RunState
from iri.libvirt.domain.record import MachineRecord, desired_machine
from iri.libvirt.ended_file import EndedFile
from iri.libvirt.machines import gc
from iri.libvirt.machines.address_poller import AddressPoller
from iri.libvirt.machines.define import domain_plan
from iri.libvirt.machines.deps import MachineDeps
from iri.libvirt.machines.event_watcher import EventWatcher
from iri.libvirt.machines.guest import Guest, drop_undesired
from iri.libvirt.machines.held_starts import HeldStarts
from iri.libvirt.machines.reconcile_machine import reconcile_machine
from iri.machine import Disk, MachineDetail, Power, RuntimeMachine, RuntimeMachineStatus
from iri.workqueue import WorkQueue

log = logging.getLogger(__name__)
THREADS = 8
OBSERVE_SECONDS = 30.0  # between observations of a machine without events


class Machines:
    """Thread-safe. Started once, closed once."""

    def __init__(
        self, deps: MachineDeps, link: LibvirtLink, ended: EndedFile, held_starts: HeldStarts
    ) -> None:
        self._deps = deps
        self._ended, self._held_starts = ended, held_starts
        self._link = link
        self._queue = WorkQueue(self._reconcile, THREADS, "libvirt-machines")
        self._watcher = EventWatcher(deps, self._queue.wake)
        self._address_poller = AddressPoller(deps)
        self._gc = WorkQueue[str](lambda _: gc.collect_garbage(deps, self._queue.wake), 1, "libvirt-gc")
        self._volumes_lock = threading.RLock()
        link.listen(self._watcher.put)
        link.on_connected(self._on_reconnected)

    def start(self) -> None:
        """Call with the link open. Finds all machines and reconciles each from where it is."""
        self._deps.store.recover()
        for id, reason in self._deps.store.unreadable.items():
            log.error("skipping machine with unreadable metadata id=%s error=%s", id, reason)
        self._held_starts.hold_after_boot()
        self._remove_leftovers()
        self._queue.start()
        self._watcher.start()
        self._address_poller.start()
        self._gc.start()
        self._gc.wake("all machines", gc.PERIOD_SECONDS)
        for id in self._deps.store.ids():
            self._queue.wake(id)

    def close(self) -> None:
        """Guests run on; they are not reconciled any more. The queue is closed last: the others wake machines in it."""
        self._gc.close()
        self._address_poller.close()
        self._watcher.close()
        self._queue.close()

    def create(self, wanted: RuntimeMachine) -> RuntimeMachine:
        """Idempotent by the machine's uid. The domain is defined before the call returns, so a crash afterwards loses nothing.

        Order: refuse, then secrets, then the domain. Nothing is left behind by a refusal, and secrets without a domain are collected.
        """
        id = derive_id(RuntimeMachine, wanted.labels) or str(uuid.uuid4())
        existing = self._deps.store.machines.get(id)
        if existing is not None:
            return existing
        with (
            self._ended.admit(wanted.labels),
            self._deps.store.lock(id),
            self._lock_volumes(wanted.spec.volumes),
        ):
            existing = self._deps.store.machines.get(id)
            if existing is not None:
                return existing
            self._deps.store.refuse_unreadable(id)
            resources = dict(self._resources(wanted.spec.class_name))
            record = MachineRecord(
                labels=dict(wanted.labels),
                annotations=dict(wanted.annotations),
                created_at=self._deps.store.now_ns(),
                spec=wanted.spec,
                resources=resources,
            )
            machine = replace(
                desired_machine(record, id), status=RuntimeMachineStatus(), detail=MachineDetail()
            )
            self._refuse(machine)
            record = self._deps.store.store_secrets(id, record)
            self._deps.domains.define(render_domain(domain_plan(self._deps, id, record)))
            made = self._deps.store.add(Guest(id=id, record=record, is_autostart_off=True))
        self._deps.journal.event(made, "Created", "Create", "the machine is recorded")
        self._queue.wake(id)
        return made

    def change(self, id: str, change: MachineChange, assignment: str = "") -> None:
        """The record changes before the call returns; the running guest follows in a later reconciliation.

        A change is refused as a whole, before anything is written. One that changes nothing writes nothing and still wakes the machine.
        A volume is attached only while the machine's assignment goes on: by then the volume may be another machine's.
        """
        store = self._deps.store
        labels = store.get(id).record.labels if isinstance(change, AttachVolume) else {}
        with self._ended.admit(labels), store.lock(id), self._lock_volumes(disks_of(change)):
            guest = store.get(id)
            require_assignment(id, guest.record.labels, assignment)
            machine = desired_machine(guest.record, id)
            after = change_machine(machine, change)
            for disk in disks_of(change):
                self._refuse_disk(id, disk)
            if isinstance(change, AttachInterface):
                self._deps.interfaces.require(id, change.interface)
            resources = guest.record.resources
            if isinstance(change, Resize):
                resources = dict(self._resources(change.class_name))
            is_on_again = isinstance(change, SetPower) and change.power is Power.ON

            def change_record(record: MachineRecord) -> MachineRecord:
                return replace(
                    record,
                    spec=after.spec,
                    annotations=after.annotations,
                    generation=after.generation,
                    resources=resources,
                    is_halted=record.is_halted and not is_on_again,
                    is_held=record.is_held and not isinstance(change, SetPower),
                )

            store.edit_record(id, change_record)
            store.update(id, lambda found: drop_undesired(found, guest.desired_devices.keys()))
            if is_on_again and not guest.observed.is_on:
                store.update(id, lambda found: replace(found, reason="", restarts=0))
        self._queue.wake(id)

    def hold_starts(self, *, release: bool) -> None:
        """From the next boot of the host on; `release` starts those that this boot left off."""
        self._held_starts.hold_next()
        for id in self._held_starts.release() if release else ():
            self._queue.wake(id)

    def remove(self, id: str, assignment: str = "") -> None:
        """Idempotent. Records the order to delete; reconciliations carry it out."""
        guest = self._deps.store.get(id)
        require_assignment(id, guest.record.labels, assignment)
        if guest.record.deleted_at:
            return
        if (
            guest.observed.run_state is RunState.UNFINISHED_START
            and guest.failure is not None
            and guest.failure.reason == TimedOut.__name__
        ):
            raise Unavailable(guest.failure.message)  # libvirt would block for half a minute, and then refuse
        now_ns = self._deps.store.now_ns()

        def mark_deleted(record: MachineRecord) -> MachineRecord:
            require_assignment(id, record.labels, assignment)  # once more, under the lock of the machine
            return replace(record, deleted_at=record.deleted_at or now_ns)

        try:
            self._deps.store.edit_record(id, mark_deleted)
        except TimedOut:
            # QEMU does not answer, and libvirt blocks every other call about the domain meanwhile.
            self._deps.domains.force_off(id)
            self._deps.store.edit_record(id, mark_deleted)
        self._deps.record_event(guest, "Removing", "Remove", "deleting the machine")
        self._queue.wake(id)

    def _resources(self, class_name: str) -> Mapping[str, int]:
        """Of the class now. They are recorded, so that a later change of the class does not touch this machine."""
        resources = self._deps.classes.machine_class(class_name).resources
        if resources.get("memory", 0) <= 0:
            raise InvalidArgument(f"machine class {class_name} has no memory")
        return resources

    def _refuse(self, machine: RuntimeMachine) -> None:
        """Raises for what this host can never do, so that the caller can choose another host before anything is recorded."""
        for disk in machine.spec.volumes:
            self._refuse_disk(machine.id, disk)
        for interface in machine.spec.network_interfaces:
            self._deps.interfaces.require(machine.id, interface)
        self._deps.seeds.refuse(machine)

    def _lock_volumes(self, disks: Iterable[Disk]) -> contextlib.AbstractContextManager[object]:
        """One request with volumes at a time, until its record says which machine has them: else two machines could get one volume."""
        has_volume = any(disk.connection is not None for disk in disks)
        return self._volumes_lock if has_volume else contextlib.nullcontext()

    def _refuse_disk(self, machine_id: str, disk: Disk) -> None:
        """Checks the disk against the storage and libvirt, then against the records of all other machines."""
        self._deps.disks.refuse(machine_id, disk)
        held = volume_identity(disk)
        if held is None:
            return
        for guest in self._deps.store.guests():
            if guest.id != machine_id and held in map(volume_identity, guest.record.spec.volumes):
                raise FailedPrecondition(f"volume {disk.name} is attached to machine {guest.id}")

    def _reconcile(self, id: str) -> float | None:
        """What the queue calls. Never returns None for a machine that exists: it is observed now and then, whatever was missed."""
        delay = reconcile_machine(self._deps, id)
        if self._deps.store.find(id) is None:
            return None
        self._address_poller.expect(id)
        return OBSERVE_SECONDS if delay is None else min(delay, OBSERVE_SECONDS)

    def _on_reconnected(self) -> None:
        """Events were lost while libvirtd was away, and it reports no event of a guest before it has spoken to QEMU again."""
        with contextlib.suppress(IRIError):
            self._deps.store.recover()
        for id in self._deps.store.ids():
            with contextlib.suppress(IRIError):
                self._deps.store.observe(id)
            self._queue.wake(id)
        for guest in self._deps.store.guests():
            if guest.observed.is_on:
                with contextlib.suppress(IRIError):
                    self._deps.domains.wait_for_qemu(guest.id)
                    self._deps.store.observe(guest.id)
                self._queue.wake(guest.id)

    def _remove_leftovers(self) -> None:
        """Removes what a killed process left of machines that are gone. A machine with unreadable metadata is not gone."""
        ids = self._deps.store.ids() | self._deps.store.unreadable.keys()
        attached: dict[str, Sequence[Disk] | None] = dict.fromkeys(ids)
        attached |= {guest.id: guest.record.spec.volumes for guest in self._deps.store.guests()}
        self._deps.disks.sweep(attached)
        self._deps.interfaces.prune(self._deps.desired_interfaces)
        gc.drop_orphaned_secrets(self._deps)
        self._deps.machines_folder.mkdir(mode=0o711, parents=True, exist_ok=True)
        for folder in self._deps.machines_folder.iterdir():
            if folder.name not in ids:
                shutil.rmtree(folder, ignore_errors=True)


def volume_identity(disk: Disk) -> tuple[str, str] | None:
    """Equal for two disks that are the same volume. Prefers the location, which comes from the storage, to the caller's handle."""
    connection = disk.connection
    if connection is None:
        return None
    where = connection.attributes.get("image") or connection.attributes.get("path") or connection.handle
    return (connection.driver, where) if where else None


def disks_of(change: MachineChange) -> tuple[Disk, ...]:
    """The disks that the change names; a detachment names none, because it needs no check."""
    match change:
        case AttachVolume(disk) | UpdateVolume(disk):
            return (disk,)
        case _:
            return ()
