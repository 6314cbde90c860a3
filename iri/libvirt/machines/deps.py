"""What the steps of a machine's reconciliation may use, in one frozen value. Steps keep no other state.

A step gets this value and a Guest, and returns a Guest or a delay. So any thread can take any step, and what a step has found out is
in the store when it ends.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from iri.journal import Journal
from iri.libvirt.connect.domains import LibvirtDomains
from iri.libvirt.connect.machine_secrets import MachineSecrets
from iri.libvirt.connect.qemu_monitor import QemuMonitor
from iri.libvirt.host.host import LibvirtHost
from iri.libvirt.machines.guest import Guest
from iri.libvirt.machines.machine_store import MachineStore
from iri.libvirt.machines.power_settings import PowerSettings
from iri.libvirt.networks.guest_addresses import GuestAddresses
from iri.libvirt.networks.networks import Networks
from iri.libvirt.seed.seed_files import SeedWriter
from iri.libvirt.volumes.disks import VolumeDisks
from iri.machine import RuntimeNetworkInterface


@dataclass(frozen=True)
class MachineDeps:
    """Frozen. Every method that a step calls is thread-safe, may be repeated without harm, and raises IRIErrors, which become a
    condition of the machine and a retry. Those of the parts that prepare something may block."""

    domains: LibvirtDomains
    monitor: QemuMonitor
    machine_secrets: MachineSecrets
    store: MachineStore
    disks: VolumeDisks
    interfaces: Networks
    addresses: GuestAddresses
    seeds: SeedWriter
    classes: LibvirtHost
    machines_folder: Path  # with a folder for each machine
    qemu_logs: Path
    power_settings: PowerSettings
    starts: threading.Semaphore  # starts at once: more than there are processors make none of them sooner

    @property
    def journal(self) -> Journal:
        return self.store.journal

    def folder(self, id: str) -> Path:
        """The machine's own, with its console, its first-boot data and its log. Removed with the machine."""
        return self.machines_folder / id

    def warn(self, guest: Guest, reason: str, action: str, message: str) -> None:
        """Records an event of type Warning: a person may have to act."""
        self.record_event(guest, reason, action, message, is_warning=True)

    def record_event(
        self, guest: Guest, reason: str, action: str, message: str, *, is_warning: bool = False
    ) -> None:
        """No effect once the machine is gone: its last event is recorded before it is dropped."""
        machine = self.store.machines.get(guest.id)
        if machine is not None:
            self.journal.event(machine, reason, action, message, is_warning=is_warning)

    def desired_interfaces(self) -> Iterable[tuple[str, RuntimeNetworkInterface]]:
        """Of all machines, also of those under deletion, which keep their interfaces to the end."""
        for guest in self.store.guests():
            for interface in guest.record.spec.network_interfaces:
                yield guest.id, interface
