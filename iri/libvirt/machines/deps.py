"""What the steps of a machine's life need from around it, in one frozen value. No step knows any other runtime state."""

from __future__ import annotations

import threading
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from iri.journal import Journal
from iri.libvirt.connect.domains import Domains
from iri.libvirt.connect.machine_secrets import Vault
from iri.libvirt.connect.qemu_monitor import Monitor
from iri.libvirt.machines.guest import Guest
from iri.libvirt.machines.machine_store import Roster
from iri.libvirt.machines.power_settings import PowerRules
from iri.libvirt.protocols import Disks, HostClasses, Interfaces, Seeds
from iri.machine import NetworkInterface


@dataclass(frozen=True)
class Parts:
    """What comes from storage, networks, seeds and the host."""

    disks: Disks
    interfaces: Interfaces
    seeds: Seeds
    classes: HostClasses


@dataclass(frozen=True)
class Folders:
    machines: Path  # one folder a machine
    qemu_logs: Path = Path("/var/log/libvirt/qemu")


@dataclass(frozen=True)
class Site:
    domains: Domains
    monitor: Monitor
    vault: Vault
    roster: Roster
    parts: Parts
    folders: Folders
    rules: PowerRules
    starts: threading.Semaphore  # more at once than processors start none of them sooner

    @property
    def journal(self) -> Journal:
        return self.roster.journal

    def folder(self, id: str) -> Path:
        return self.folders.machines / id

    def tell(self, guest: Guest, reason: str, action: str, message: str, *, is_warning: bool = False) -> None:
        machine = self.roster.machines.get(guest.id)
        if machine is not None:
            self.journal.event(machine, reason, action, message, is_warning=is_warning)

    def wanted_interfaces(self) -> Iterable[tuple[str, NetworkInterface]]:
        """Of all machines, those under deletion included: they hold theirs to the end."""
        for guest in self.roster.guests():
            for interface in guest.record.spec.network_interfaces:
                yield guest.id, interface
