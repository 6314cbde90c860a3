"""libvirt's events about domains, as frozen values. Knows no libvirt.

An event says that something has happened, seldom what: the domain is observed after each, and the observation counts.

`connect.event_callbacks` makes these on libvirt's event thread, and `machines.event_watcher` reads them on its own.
"""

from __future__ import annotations

from enum import Enum

import msgspec


class EventKind(Enum):
    """What an event is about, as far as people are told of it or a reaction depends on it."""

    CHANGED = "changed"  # power, a device, or the connection of the agent
    DEFINED = "defined"
    STARTED = "started"
    RESUMED = "resumed"
    STOPPED = "stopped"
    REBOOTED = "rebooted"  # by the guest itself
    REMOVAL_FAILED = "removal-failed"  # the guest refused to release a device
    DISK_ERROR = "disk-error"  # paused the guest


class DomainEvent(msgspec.Struct, frozen=True):
    """`detail`: the alias of the device that stays, or the cause of the disk error, such as `enospc`."""

    domain_id: str
    kind: EventKind
    detail: str = ""
