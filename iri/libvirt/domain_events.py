"""What libvirt tells of domains by itself. Frozen; knows no libvirt."""

from __future__ import annotations

from enum import Enum

import msgspec


class Turn(Enum):
    """What a domain's life has come to."""

    DEFINED = "defined"
    UNDEFINED = "undefined"
    STARTED = "started"
    SUSPENDED = "suspended"
    RESUMED = "resumed"
    STOPPING = "stopping"  # the guest has ended, QEMU has not
    STOPPED = "stopped"
    CRASHED = "crashed"


class Lived(msgspec.Struct, frozen=True):
    domain_id: str
    turn: Turn
    by_guest: bool = False  # STOPPING: the guest itself asked for it


class DeviceCame(msgspec.Struct, frozen=True):
    domain_id: str
    alias: str


class DeviceWent(msgspec.Struct, frozen=True):
    """The guest has let go of it."""

    domain_id: str
    alias: str


class DeviceStays(msgspec.Struct, frozen=True):
    """The guest refused to let it go."""

    domain_id: str
    alias: str


class Rebooted(msgspec.Struct, frozen=True):
    domain_id: str


class AgentChanged(msgspec.Struct, frozen=True):
    domain_id: str
    is_connected: bool


class DiskFailed(msgspec.Struct, frozen=True):
    """An error that stopped the guest, such as `enospc`."""

    domain_id: str
    alias: str
    reason: str


DomainEvent = Lived | DeviceCame | DeviceWent | DeviceStays | Rebooted | AgentChanged | DiskFailed
