"""libvirt's events about domains, as frozen values. Knows no libvirt."""

from __future__ import annotations

from enum import Enum

import msgspec


class LifecycleChange(Enum):
    """The change in a domain's lifecycle."""

    DEFINED = "defined"
    UNDEFINED = "undefined"
    STARTED = "started"
    SUSPENDED = "suspended"
    RESUMED = "resumed"
    STOPPING = "stopping"  # the guest has ended, QEMU not yet
    STOPPED = "stopped"
    CRASHED = "crashed"


class DomainLifecycle(msgspec.Struct, frozen=True):
    """A change in the lifecycle of one domain."""

    domain_id: str
    turn: LifecycleChange
    by_guest: bool = False  # STOPPING: on the guest's own request


class DeviceAdded(msgspec.Struct, frozen=True):
    domain_id: str
    alias: str


class DeviceRemoved(msgspec.Struct, frozen=True):
    """The guest has released the device."""

    domain_id: str
    alias: str


class DeviceRemovalFailed(msgspec.Struct, frozen=True):
    """The guest refused to release the device."""

    domain_id: str
    alias: str


class GuestRebooted(msgspec.Struct, frozen=True):
    domain_id: str


class AgentChanged(msgspec.Struct, frozen=True):
    domain_id: str
    is_connected: bool


class DiskError(msgspec.Struct, frozen=True):
    """An I/O error that paused the guest, such as `enospc`."""

    domain_id: str
    alias: str
    reason: str


DomainEvent = (
    DomainLifecycle
    | DeviceAdded
    | DeviceRemoved
    | DeviceRemovalFailed
    | GuestRebooted
    | AgentChanged
    | DiskError
)
