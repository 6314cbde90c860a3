"""What libvirt tells of domains by itself. Frozen; knows no libvirt."""

from __future__ import annotations

from enum import Enum

import msgspec


class LifecycleChange(Enum):
    """What a domain's life has come to."""

    DEFINED = "defined"
    UNDEFINED = "undefined"
    STARTED = "started"
    SUSPENDED = "suspended"
    RESUMED = "resumed"
    STOPPING = "stopping"  # the guest has ended, QEMU has not
    STOPPED = "stopped"
    CRASHED = "crashed"


class LifecycleEvent(msgspec.Struct, frozen=True):
    domain_id: str
    turn: LifecycleChange
    by_guest: bool = False  # STOPPING: the guest itself asked for it


class DeviceAdded(msgspec.Struct, frozen=True):
    domain_id: str
    alias: str


class DeviceRemoved(msgspec.Struct, frozen=True):
    """The guest has let go of it."""

    domain_id: str
    alias: str


class DeviceRemovalFailed(msgspec.Struct, frozen=True):
    """The guest refused to let it go."""

    domain_id: str
    alias: str


class GuestRebooted(msgspec.Struct, frozen=True):
    domain_id: str


class AgentChanged(msgspec.Struct, frozen=True):
    domain_id: str
    is_connected: bool


class DiskError(msgspec.Struct, frozen=True):
    """An error that stopped the guest, such as `enospc`."""

    domain_id: str
    alias: str
    reason: str


DomainEvent = (
    LifecycleEvent
    | DeviceAdded
    | DeviceRemoved
    | DeviceRemovalFailed
    | GuestRebooted
    | AgentChanged
    | DiskError
)
