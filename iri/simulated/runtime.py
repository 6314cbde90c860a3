"""The simulated host as a runtime: the methods of iri.runtime.Runtime.

Each method locks the host, calls the module that does the work, and returns. A host has no thread of its own, so what
falls due between calls is applied by whoever waits for it: a subscription, or the thread of an open console.

Limits: nothing here computes or stores anything about objects; that is in the modules called, and in the host. Errors pass
unchanged, because all of them are IRIErrors already.
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Collection, Mapping, Sequence
from importlib.metadata import version

from msgspec.structs import replace

from iri.change import ExpandVolume, RuntimeChange
from iri.console_log import LogRequest
from iri.errors import FailedPrecondition, Unimplemented
from iri.host import (
    HostAddress,
    HostInfo,
    MachineOffer,
    NodeInfo,
    Offers,
    RuntimeClasses,
    RuntimeInfo,
    RuntimeMachineClass,
    VolumeOffer,
)
from iri.journal import Watcher
from iri.machine import RuntimeMachine
from iri.runtime import AnyObject, ChangeNotice, Console, ConsoleLog, RuntimeEvent, Subscription
from iri.simulated import counters, machine_calls, shell, volume_calls
from iri.simulated.boot_log import BootLog
from iri.simulated.host import SimulatedHost
from iri.simulated.kept_console import KeptConsole, KeptConsoles
from iri.simulated.machine_calls import GuestAction
from iri.simulated.machine_lifecycle import HAS_SYSTEM, SimulatedMachine
from iri.simulated.shell import GuestAccess
from iri.simulated.state.usage import STORAGE
from iri.simulated.volume_lifecycle import SimulatedSnapshot, SimulatedVolume
from iri.usage import RuntimeUsage
from iri.volume import RuntimeSnapshot, RuntimeVolume

NAME = "gitvirt-simulated"
# By this name clients know which provider keeps its consoles.
KEEPS_CONSOLES_NAME = "libvirt-provider"
CONSOLE_TICK_SECONDS = 0.1
VERSION = version("gitvirt")


class SimulatedRuntime:
    """Implements iri.runtime.Runtime. Thread-safe, because the host is."""

    def __init__(self, host: SimulatedHost) -> None:
        self.host = host
        self._kept_consoles = KeptConsoles()
        self._started_ns = host.clock.now_ns()

    def about(self) -> RuntimeInfo:
        """The host's id depends on the seed alone, so it survives a restart."""
        with self.host.lock():
            profile = self.host.profile
            info = HostInfo(
                id=self.host.model.random.uuid("host"),
                capacity=profile.capacity,
                node_info=NodeInfo(
                    architecture=profile.architecture,
                    operating_system="simulated",
                    cpu_model="simulated",
                    hypervisor="simulated",
                    hypervisor_version=VERSION,
                ),
                addresses=(HostAddress(type="Hostname", address=profile.host), *profile.addresses),
                labels=profile.labels,
                hardware_id=profile.hardware_id,
            )
            has_host_service = not self.host.model.quirks.has_no_host_service
        name = KEEPS_CONSOLES_NAME if self.host.model.quirks.keeps_consoles else NAME
        return RuntimeInfo(name=name, version=VERSION, host=info, has_host_service=has_host_service)

    def offers(self) -> Offers:
        """Only classes of which at least one machine fits on the empty host."""
        with self.host.lock():
            classes = self.host.classes
            machine_offers = [
                MachineOffer(machine_class=offered, quantity=quantity)
                for offered in classes.machines
                if (quantity := self._quantity(offered))
            ]
            storage = self.host.profile.capacity.get(STORAGE, 0)
            volume_offers = [
                VolumeOffer(volume_class=offered, quantity=storage) for offered in classes.volumes
            ]
        return Offers(machines=tuple(machine_offers), volumes=tuple(volume_offers) if storage else ())

    def _quantity(self, offered: RuntimeMachineClass) -> int:
        """How many machines of the class fit on the empty host."""
        limit = self.host.profile.limit
        shares = [limit(resource) // need for resource, need in offered.resources.items() if need > 0]
        return min(shares, default=0)

    def set_classes(self, classes: RuntimeClasses) -> None:
        """Unimplemented when the profile fixes the classes. The same classes again write nothing."""
        with self.host.lock():
            if self.host.profile.class_policy == "fixed":
                raise Unimplemented("the classes of this host are fixed by its profile")
            if classes != self.host.record.classes:
                self.host.commit(host_record=replace(self.host.record, classes=classes))

    def objects(self, kind: type[AnyObject]) -> Mapping[str, AnyObject]:
        """The identical mapping until an object of the kind changes, so a caller can tell by identity that nothing has."""
        with self.host.lock():
            return self.host.state.objects(kind)

    def create(self, desired: AnyObject) -> AnyObject:
        """The object as it was recorded. Whatever takes time begins now and ends on the host's clock."""
        with self.host.lock() as now_ns:
            match desired := intern_keys(desired):
                case RuntimeMachine():
                    return machine_calls.create(self.host, desired, now_ns)
                case RuntimeVolume():
                    return volume_calls.create(self.host, desired, now_ns)
                case RuntimeSnapshot():
                    return volume_calls.create_snapshot(self.host, desired, now_ns)

    def change(self, id: str, change: RuntimeChange, *, assignment: str = "") -> None:
        """A volume can only be expanded; every other change is one of a machine."""
        with self.host.lock() as now_ns:
            if isinstance(change, ExpandVolume):
                volume = self.host.find(SimulatedVolume, id, assignment)
                volume_calls.expand(self.host, volume, change, now_ns)
            else:
                machine = self.host.find(SimulatedMachine, id, assignment)
                machine_calls.change(self.host, machine, change, now_ns)

    def remove(self, kind: type[AnyObject], id: str, *, assignment: str = "") -> None:
        """The object is listed until its removal is due; a running guest is shut down first."""
        with self.host.lock() as now_ns:
            if kind is RuntimeMachine:
                machine_calls.remove(self.host, self.host.find(SimulatedMachine, id, assignment), now_ns)
            elif kind is RuntimeVolume:
                volume_calls.remove(self.host, self.host.find(SimulatedVolume, id, assignment), now_ns)
            else:
                volume_calls.remove(self.host, self.host.find(SimulatedSnapshot, id, assignment), now_ns)

    def end_assignments(self, ids: Collection[str]) -> None:
        """A creation holds the host's lock from its check to its commit, so none is under way here."""
        with self.host.lock():
            self.host.end_assignments(ids)

    def hold_starts(self, *, release: bool) -> None:
        """In the host's record, which a restart reads."""
        with self.host.lock() as now_ns:
            if not self.host.record.holds_starts:
                self.host.commit(host_record=replace(self.host.record, holds_starts=True))
            if release:
                machine_calls.release_starts(self.host, now_ns)

    def events(self, since: int = 0) -> Sequence[RuntimeEvent]:
        """Everything that is due has happened, and has its event, before the journal is read."""
        with self.host.lock():
            return self.host.journal.events(since)

    def watch(self) -> Subscription:
        """A subscription that applies what is due while its holder waits. Without one, an idle host remains as the last call left it."""
        return DueSubscription(self.host, self.host.journal.watch())

    def console(self, machine_id: str) -> Console:
        """Opens a shell on a pty, and starts the thread that keeps its host up to date."""
        with self.host.lock():
            guest = self.host.find(SimulatedMachine, machine_id)
            if self.host.model.quirks.has_no_console:
                raise Unimplemented("this provider has no consoles")
            if guest.phase not in HAS_SYSTEM or guest.is_hung:
                raise FailedPrecondition(f"machine {machine_id} has no console while it is not running")
            if self.host.model.quirks.keeps_consoles:
                self._kept_consoles.keep(machine_id)
            console = shell.open_console(
                self._guest_access(machine_id), lambda console: self.host.drop_console(machine_id, console)
            )
            self.host.add_console(machine_id, console)
        timekeeper = threading.Thread(
            target=run_due_while_attached,
            args=(self.host, machine_id, console),
            name="guest-time",
            daemon=True,
        )
        timekeeper.start()
        if self.host.model.quirks.keeps_consoles:
            return KeptConsole(console, machine_id, self._kept_consoles)
        return console

    def console_log(self, machine_id: str, request: LogRequest) -> ConsoleLog:
        return BootLog(self.host, machine_id, request)

    def usage(self) -> RuntimeUsage:
        with self.host.lock() as now_ns:
            guests = self.host.state.list_records(SimulatedMachine).values()
            machines = counters.measure_machines(guests, now_ns, self.host.model)
            measured = counters.measure_host(machines, now_ns - self._started_ns, self.host.profile)
        return RuntimeUsage(time_ns=now_ns, host=measured, machines=machines)

    def _guest_access(self, machine_id: str) -> GuestAccess:
        """What the shell may do; each use locks the host."""

        def act(action: GuestAction) -> None:
            with self.host.lock() as now_ns:
                machine_calls.act(self.host, self.host.find(SimulatedMachine, machine_id), action, now_ns)

        def machine() -> RuntimeMachine:
            with self.host.lock():
                return self.host.find(SimulatedMachine, machine_id).machine

        return GuestAccess(machine, self.host.clock.now_ns, act)


def run_due_while_attached(host: SimulatedHost, machine_id: str, console: Console) -> None:
    """Applies what is due while a console is open, so that its user sees the guest end in time."""
    while host.has_console(machine_id, console):
        host.run_due()
        time.sleep(CONSOLE_TICK_SECONDS)


def intern_keys(desired: AnyObject) -> AnyObject:
    """Shares the keys of labels and annotations between objects: off a socket, each object has copies of its own."""
    labels = {sys.intern(key): value for key, value in desired.labels.items()}
    annotations = {sys.intern(key): value for key, value in desired.annotations.items()}
    return replace(desired, labels=labels, annotations=annotations)


class DueSubscription:
    """Notices, also of changes that only time causes: it waits until the next one is due, and applies it."""

    def __init__(self, host: SimulatedHost, watcher: Watcher) -> None:
        self._host = host
        self._watcher = watcher
        self._is_closed = False

    def next(self, timeout_seconds: float) -> tuple[ChangeNotice, ...]:
        """Waits for a notice or for the next due time, whichever is first, until the timeout."""
        deadline = time.monotonic() + timeout_seconds
        while True:
            self._host.run_due()
            left = deadline - time.monotonic()
            notices = self._watcher.next(max(0.0, min(left, self._seconds_until_due(left))))
            if notices or self._is_closed or time.monotonic() >= deadline:
                return notices

    def close(self) -> None:
        """Ends a `next` that waits in another thread."""
        self._is_closed = True
        self._watcher.close()

    def _seconds_until_due(self, at_most: float) -> float:
        """In real time. A stopped clock makes nothing due."""
        due_ns = self._host.next_due_ns()
        if due_ns is None:
            return at_most
        seconds = self._host.clock.real_seconds_until(due_ns)
        return at_most if seconds is None else seconds
