"""What machines need from storage, networks, seeds and the host, each as a seam. Storage and networks implement them.

Every method is thread-safe and can be repeated without harm. Those that make something ready may block; they raise
IRIErrors, which become a condition of the machine and a retry.
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
    def refuse(self, machine_id: str, disk: Disk) -> None:
        """Quick. InvalidArgument or FailedPrecondition for a disk that this host will never attach."""
        ...

    def prepare(self, machine_id: str, disk: Disk) -> PreparedDisk:
        """Blocks: fetches the image, makes the local disk, hands secrets to libvirt."""
        ...

    def release(self, machine_id: str, name: str) -> None:
        """The machine has let go of it for good: its local disk is deleted, its secrets are dropped."""
        ...

    def forget(self, machine_id: str) -> None:
        """The machine is removed by order: all its local disks and secrets go."""
        ...

    def sweep(self, attached: Mapping[str, Sequence[Disk] | None]) -> None:
        """By machine the disks that it is to have, None where nobody can read which. Removes what interrupted work left, and
        secrets of other machines. Data stays without an order, and as long as a domain refers to it."""
        ...

    def wake_waiting(self) -> None:
        """Some machine no longer holds something; whoever waits for a volume may look again."""
        ...


class InterfaceProvider(Protocol):
    def plan(self, machine_id: str, interface: RuntimeNetworkInterface) -> NicSource:
        """Pure. InvalidArgument for an interface that this host will never connect."""
        ...

    def require(self, machine_id: str, interface: RuntimeNetworkInterface) -> None:
        """Quick. NetworkNotReady while the network that is meant is the operator's and not there."""
        ...

    def connect(self, machine_id: str, interface: RuntimeNetworkInterface) -> NicSource:
        """Makes sure the network is there."""
        ...

    def prune(self, wanted: Callable[[], Iterable[tuple[str, RuntimeNetworkInterface]]]) -> None:
        """Removes networks and reservations made for machines that none of those needs, asked under its own lock."""
        ...

    def addresses(self, machine_id: str, macs: tuple[str, ...]) -> Mapping[str, tuple[str, ...]]:
        """What the guest has on each, as far as anybody knows. May take a while."""
        ...


class SeedFiles(msgspec.Struct, frozen=True, kw_only=True):
    """Host paths of what a guest is configured by at its first boot."""

    iso: Path | None = None
    ignition: Path | None = None
    nvram: Path | None = None  # EFI variables to begin with


class SeedProvider(Protocol):
    def refuse(self, machine: RuntimeMachine) -> None:
        """Quick. InvalidArgument for what no guest could be told."""
        ...

    def write(self, machine: RuntimeMachine, folder: Path) -> SeedFiles:
        """Into the machine's folder, anew each time. InvalidArgument for data that no guest could read."""
        ...


class ClassProvider(Protocol):
    def machine_class(self, name: str) -> RuntimeMachineClass:
        """InvalidArgument, with its name, when it is not on offer."""
        ...

    def traits(self, class_name: str) -> ClassTraits:
        """How machines of that class are built, whether it is on offer or not."""
        ...

    def platform(self) -> HostPlatform:
        """May block the first time it is asked: whether guests really boot with KVM is tried once."""
        ...
