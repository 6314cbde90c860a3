"""What machines need from storage, networks, first-boot data and the host, as protocols. Those packages implement them.

Every method is thread-safe and may be repeated without harm. Methods that prepare something may block. They raise IRIErrors,
which become a condition of the machine and a retry.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Protocol

import msgspec

from iri.host import RuntimeMachineClass
from iri.libvirt.device_sources import NicSource, PreparedDisk
from iri.libvirt.domain.traits import ClassTraits, HostPlatform
from iri.machine import Disk, RuntimeMachine, RuntimeNetworkInterface


class DiskProvider(Protocol):
    """Implemented by volumes.disks.VolumeDisks."""

    def refuse(self, machine_id: str, disk: Disk) -> None:
        """Quick. Raises InvalidArgument or FailedPrecondition for a disk that this host will never attach."""
        ...

    def prepare(self, machine_id: str, disk: Disk) -> PreparedDisk:
        """Blocks: fetches the image, creates the local disk, hands secrets to libvirt."""
        ...

    def release(self, machine_id: str, name: str) -> None:
        """The machine has detached it for good: deletes its local disk and its secrets."""
        ...

    def forget(self, machine_id: str) -> None:
        """Deletion of the machine was ordered: deletes all its local disks and secrets."""
        ...

    def sweep(self, attached: Mapping[str, Sequence[Disk] | None]) -> None:
        """Removes leftovers of interrupted work, and secrets of unknown machines. `attached`: the desired disks by machine, None
        where the metadata cannot be read. Data stays without an order, and while a domain refers to it."""
        ...

    def wake_waiting(self) -> None:
        """A machine has detached something: volumes that wait for that are reconciled."""
        ...


class InterfaceProvider(Protocol):
    """Implemented by networks.networks.Networks."""

    def plan(self, machine_id: str, interface: RuntimeNetworkInterface) -> NicSource:
        """Pure. Raises InvalidArgument for an interface that this host will never connect."""
        ...

    def require(self, machine_id: str, interface: RuntimeNetworkInterface) -> None:
        """Quick. Raises NetworkNotReady while a network of the operator is missing."""
        ...

    def connect(self, machine_id: str, interface: RuntimeNetworkInterface) -> NicSource:
        """Creates the network if it is missing."""
        ...

    def prune(self, wanted: Callable[[], Iterable[tuple[str, RuntimeNetworkInterface]]]) -> None:
        """Removes networks and reservations that no interface needs. Calls `wanted` under its own lock."""
        ...

    def addresses(self, machine_id: str, macs: tuple[str, ...]) -> Mapping[str, tuple[str, ...]]:
        """The guest's known addresses by MAC. May take seconds."""
        ...


class SeedFiles(msgspec.Struct, frozen=True, kw_only=True):
    """Host paths of a guest's first-boot data."""

    iso: Path | None = None
    ignition: Path | None = None
    nvram: Path | None = None  # the variable store, with the machine's EFI variables


class SeedProvider(Protocol):
    """Implemented by seed.seed_files.SeedWriter."""

    def refuse(self, machine: RuntimeMachine) -> None:
        """Quick. Raises InvalidArgument for data that no guest can be given."""
        ...

    def write(self, machine: RuntimeMachine, folder: Path) -> SeedFiles:
        """Writes into the machine's folder; repeatable. Raises InvalidArgument for data that no guest can read."""
        ...


class ClassProvider(Protocol):
    """Implemented by host.host.LibvirtHost."""

    def machine_class(self, name: str) -> RuntimeMachineClass:
        """Raises InvalidArgument when the class is not offered."""
        ...

    def traits(self, class_name: str) -> ClassTraits:
        """How machines of that class are built, whether the class is offered or not."""
        ...

    def platform(self) -> HostPlatform:
        """May block at the first call, which probes whether guests boot with KVM."""
        ...
