"""The runtime on one libvirtd: builds its parts, and hands each call to the half that it concerns.

The order of a start is the order of what may be relied on:

    1. the lock on the runtime's folder   no other process uses this folder
    2. the connection                     libvirt answers, and its events arrive
    3. ownership of this libvirtd         no other runtime's machines are on it
    4. the host's platform                KVM is proven or not, before the first machine needs to know
    5. volumes, then machines             machines refer to volumes, so these are known first

A step that fails undoes those before it, and the process ends with the reason. The end is the reverse order; guests run on. Must
never happen: an object of libvirt is changed before the third step, which proves that no other runtime has it.

Threads: one reads libvirt's events, one reconnects, one observes after events, one asks for addresses, one collects garbage; two work
queues reconcile machines and volumes. Calls run on the threads of the server. What they share is locked in its own module.
"""

from __future__ import annotations

import os
import threading
import time
import uuid
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

from iri.change import ExpandVolume, RuntimeChange
from iri.console_log import LogRequest
from iri.errors import FailedPrecondition, InvalidArgument, Unavailable
from iri.host import Offers, RuntimeClasses, RuntimeInfo
from iri.journal import Journal
from iri.libvirt.connect.counters import LibvirtCounters
from iri.libvirt.connect.domains import LibvirtDomains
from iri.libvirt.connect.link import LibvirtLink
from iri.libvirt.connect.machine_secrets import MachineSecrets
from iri.libvirt.connect.networks import LibvirtNetworks
from iri.libvirt.connect.node import LibvirtNode
from iri.libvirt.connect.qemu_monitor import QemuMonitor
from iri.libvirt.connect.storage import LibvirtSecrets
from iri.libvirt.domain.document import CONSOLE
from iri.libvirt.ended_file import EndedFile
from iri.libvirt.folder_lock import FolderLock
from iri.libvirt.host.devices import measure_disks, measure_networks
from iri.libvirt.host.hardware import HARDWARE_ID, read_hardware_id
from iri.libvirt.host.host import Installation, LibvirtHost
from iri.libvirt.host.kvm_probe import KvmProbe
from iri.libvirt.images.images import Images
from iri.libvirt.libvirtd_owner import LibvirtdOwner
from iri.libvirt.machines.consoles import LONGEST_PATH, Consoles
from iri.libvirt.machines.deps import MachineDeps
from iri.libvirt.machines.guest_counters import measure_guest
from iri.libvirt.machines.held_starts import BOOT_ID, HeldStarts
from iri.libvirt.machines.log_files import LogFile
from iri.libvirt.machines.machine_store import MachineStore
from iri.libvirt.machines.machines import Machines
from iri.libvirt.networks.guest_addresses import GuestAddresses
from iri.libvirt.networks.networks import Networks
from iri.libvirt.seed.memory_folder import find_memory_folder
from iri.libvirt.seed.seed import Reader, no_yaml
from iri.libvirt.seed.seed_files import SeedWriter
from iri.libvirt.settings import Settings
from iri.libvirt.volumes.bootstrap import build_storage
from iri.libvirt.volumes.disks import VolumeDisks
from iri.machine import RuntimeMachine
from iri.runtime import AnyObject, Console, ConsoleLog, RuntimeEvent, Subscription
from iri.usage import RuntimeHostUsage, RuntimeUsage
from iri.volume import RuntimeSnapshot, RuntimeVolume

VERSION = version("gitvirt")
LONGEST_FOLDER = LONGEST_PATH - len(f"/machines/{uuid.UUID(int=0)}/{CONSOLE}")


@dataclass(frozen=True)
class MachineFiles:
    """Where the kernel says which boot this is, and which hardware."""

    boot_id: Path = BOOT_ID
    hardware_id: Path = HARDWARE_ID


class LibvirtRuntime:
    """Implements iri.runtime.Runtime. Thread-safe. Machines and volumes outlive it, and are not reconciled meanwhile.

    `read_yaml` reads Ignition data in YAML, which guests cannot read themselves.
    """

    def __init__(
        self, settings: Settings, read_yaml: Reader = no_yaml, files: MachineFiles = MachineFiles()
    ) -> None:
        folder = Path(settings.folder)
        if len(settings.folder) > LONGEST_FOLDER:
            raise InvalidArgument(
                f"the path of `folder` has more than {LONGEST_FOLDER} characters, too long for the sockets in it"
            )
        self._folder, self._lock = folder, FolderLock("the runtime's folder")
        self._link = LibvirtLink(settings.uri)
        self._journal = Journal(time.time_ns)
        self._domains, self._secrets = LibvirtDomains(self._link), MachineSecrets(self._link)
        self._owner = LibvirtdOwner(LibvirtSecrets(self._link), folder, self._domains.metadata)
        self._store = MachineStore(self._domains, self._secrets, self._journal)
        self._volumes, disks = build_storage(
            self._link,
            settings.storage,
            Images(settings.images, folder / "images"),
            folder,
            journal=self._journal,
            volume_class=lambda name: self._host.volume_class(name),
            tell=self._record_event,
        )
        node, self._counters = LibvirtNode(self._link), LibvirtCounters(self._link)
        self._host = LibvirtHost(
            node,
            self._volumes,
            KvmProbe(node, folder, Path(settings.qemu_logs)),
            settings.host,
            Installation(VERSION, settings.uri, folder, read_hardware_id(files.hardware_id)),
        )
        seeds = SeedWriter(settings.efi_template, read_yaml, find_memory_folder(folder))
        deps = self._machine_deps(settings, disks, seeds)
        self._ended = EndedFile(folder / "ended-assignments.json")
        held_starts = HeldStarts(self._store, folder / "boot-id", files.boot_id)
        self._machines = Machines(deps, self._link, self._ended, held_starts)
        self._consoles = Consoles(lambda id: deps.folder(id) / CONSOLE)
        self._link.on_connected(self._host.forget)

    def _machine_deps(self, settings: Settings, disks: VolumeDisks, seeds: SeedWriter) -> MachineDeps:
        """Everything that the steps of a machine may use."""
        return MachineDeps(
            domains=self._domains,
            monitor=QemuMonitor(self._link),
            machine_secrets=self._secrets,
            store=self._store,
            disks=disks,
            interfaces=Networks(LibvirtNetworks(self._link), settings.networks),
            addresses=GuestAddresses(self._domains),
            seeds=seeds,
            classes=self._host,
            machines_folder=self._folder / "machines",
            qemu_logs=Path(settings.qemu_logs),
            power_settings=settings.power,
            starts=threading.Semaphore(max(2, os.cpu_count() or 1)),
        )

    def start(self) -> None:
        """Raises Unavailable when libvirt does not answer, LockHeldError when another runtime runs here. Then nothing keeps running."""
        self._folder.mkdir(mode=0o711, parents=True, exist_ok=True)
        self._lock.acquire(self._folder)
        try:
            self._link.open()
            self._owner.acquire()
            self._ended.open()
            self._host.platform()  # probes KVM now, so that the first machine does not wait for it
            self._volumes.start()
            self._machines.start()
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Ends all threads; work under way ends first. May be called after a start that failed. Guests run on."""
        self._consoles.close()
        self._machines.close()
        self._volumes.close()
        self._link.close()
        self._lock.release()

    def about(self) -> RuntimeInfo:
        return self._host.about()

    def offers(self) -> Offers:
        return self._host.offers()

    def set_classes(self, classes: RuntimeClasses) -> None:
        """Raises FailedPrecondition where the operator has fixed the classes."""
        self._host.set_classes(classes)

    def objects(self, kind: type[AnyObject]) -> Mapping[str, AnyObject]:
        """Raises Unavailable while libvirt is away: what is known of its machines may be outdated."""
        if not self._link.is_connected:
            raise Unavailable("libvirt does not answer")
        if issubclass(kind, RuntimeMachine):
            return self._store.machines
        return self._volumes.objects(kind)

    def create(self, wanted: AnyObject) -> AnyObject:
        """Returns once the object is recorded where libvirt or the pool keeps it; what it is made of follows."""
        match wanted:
            case RuntimeMachine():
                return self._machines.create(wanted)
            case RuntimeVolume() | RuntimeSnapshot():
                return self._volumes.create(wanted, self._ended.admit(wanted.labels))

    def change(self, id: str, change: RuntimeChange, *, assignment: str = "") -> None:
        """Records the change and returns; the object follows in a later reconciliation."""
        if isinstance(change, ExpandVolume):
            self._volumes.expand(id, change, assignment)
        else:
            self._machines.change(id, change, assignment)

    def remove(self, kind: type[AnyObject], id: str, *, assignment: str = "") -> None:
        """Records the order to delete. The object is listed until nothing of it is left."""
        if issubclass(kind, RuntimeMachine):
            self._machines.remove(id, assignment)
        else:
            self._volumes.remove(kind, id, assignment)

    def end_assignments(self, ids: Collection[str]) -> None:
        """Of machines, volumes and snapshots alike."""
        self._ended.end(ids)

    def hold_starts(self, *, release: bool) -> None:
        """On disk when it returns."""
        self._machines.hold_starts(release=release)

    def events(self, since: int = 0) -> Sequence[RuntimeEvent]:
        """Those of this process: libvirt keeps no events, so a restart begins without any."""
        return self._journal.events(since)

    def watch(self) -> Subscription:
        return self._journal.watch()

    def console(self, machine_id: str) -> Console:
        """Raises NotFound without the machine, FailedPrecondition while it is off or another user has the console."""
        guest = self._store.get(machine_id)
        if not guest.observed.is_on:
            raise FailedPrecondition(f"machine {machine_id} has no console: it is not running")
        return self._consoles.open(machine_id)

    def console_log(self, machine_id: str, request: LogRequest) -> ConsoleLog:
        """Of a machine that is off as well. It ends once the machine is not listed any more."""
        guest = self._store.get(machine_id)
        folder = self._folder / "machines" / guest.id
        return LogFile(folder, request, lambda: guest.id not in self._store.machines)

    def usage(self) -> RuntimeUsage:
        """Asks libvirt at each call. A machine that ends meanwhile is left out."""
        stats = self._counters.domains()
        guests = [guest for id in stats if (guest := self._store.find(id)) is not None]
        total, used = self._counters.memory_bytes()
        host = RuntimeHostUsage(
            cpu_time_ns=self._counters.cpu_time_ns(),
            cpus=self._host.platform().cpus,
            load=os.getloadavg()[0],
            memory_bytes=total,
            memory_used_bytes=used,
            disks=measure_disks(),
            networks=measure_networks(),
        )
        machines = tuple(measure_guest(guest, stats[guest.id]) for guest in guests)
        return RuntimeUsage(time_ns=time.time_ns(), host=host, machines=machines)

    def _record_event(self, machine_id: str, reason: str, message: str) -> None:
        """For the storage, which prepares disks of machines and does not know the machines. No effect once the machine is gone."""
        machine = self._store.machines.get(machine_id)
        if machine is not None:
            self._journal.event(machine, reason, "Prepare", message)
