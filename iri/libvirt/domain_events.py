"""libvirt's events about domains, as frozen values. Knows no libvirt."""

from __future__ import annotations

from enum import Enum

import msgspec


class LifecycleChange(Enum):
    """The change in a domain's lifecycle."""

    DEFINED = "defined"
    STARTED = "started"
    RESUMED = "resumed"
    STOPPED = "stopped"
    OTHER = "other"


class DomainLifecycle(msgspec.Struct, frozen=True):
    """A change in the lifecycle of one domain."""

    domain_id: str
    turn: LifecycleChange


class DeviceChanged(msgspec.Struct, frozen=True):
    """A device was added, the guest has released one, or its agent came or went. An observation shows which."""

    domain_id: str


class DeviceRemovalFailed(msgspec.Struct, frozen=True):
    """The guest refused to release the device."""

    domain_id: str
    alias: str


class GuestRebooted(msgspec.Struct, frozen=True):
    domain_id: str


class DiskError(msgspec.Struct, frozen=True):
    """An I/O error that paused the guest, such as `enospc`."""

    domain_id: str
    reason: str


DomainEvent = DomainLifecycle | DeviceChanged | DeviceRemovalFailed | GuestRebooted | DiskError
