"""libvirt's callbacks, turned into events."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import libvirt

from iri.libvirt.domain_events import (
    DeviceChanged,
    DeviceRemovalFailed,
    DiskError,
    DomainEvent,
    DomainLifecycle,
    GuestRebooted,
    LifecycleChange,
)

LIFECYCLE = {
    libvirt.VIR_DOMAIN_EVENT_DEFINED: LifecycleChange.DEFINED,
    libvirt.VIR_DOMAIN_EVENT_STARTED: LifecycleChange.STARTED,
    libvirt.VIR_DOMAIN_EVENT_RESUMED: LifecycleChange.RESUMED,
    libvirt.VIR_DOMAIN_EVENT_STOPPED: LifecycleChange.STOPPED,
}
# The event of each callback, from the domain's UUID and what libvirt says besides.
EVENTS: dict[int, Callable[..., DomainEvent]] = {
    libvirt.VIR_DOMAIN_EVENT_ID_LIFECYCLE: lambda id, change, _detail: DomainLifecycle(
        id, LIFECYCLE.get(change, LifecycleChange.OTHER)
    ),
    libvirt.VIR_DOMAIN_EVENT_ID_DEVICE_ADDED: lambda id, _alias: DeviceChanged(id),
    libvirt.VIR_DOMAIN_EVENT_ID_DEVICE_REMOVED: lambda id, _alias: DeviceChanged(id),
    libvirt.VIR_DOMAIN_EVENT_ID_DEVICE_REMOVAL_FAILED: DeviceRemovalFailed,
    libvirt.VIR_DOMAIN_EVENT_ID_REBOOT: GuestRebooted,
    libvirt.VIR_DOMAIN_EVENT_ID_AGENT_LIFECYCLE: lambda id, _state, _reason: DeviceChanged(id),
    libvirt.VIR_DOMAIN_EVENT_ID_IO_ERROR_REASON: lambda id, _path, _alias, _action, reason: DiskError(
        id, reason
    ),
}


def register(raw: libvirt.virConnect, emit: Callable[[DomainEvent], None]) -> Iterator[int]:
    """Registers for all domains, ours or not; listeners filter. Yields the id of each callback."""
    for number, make in EVENTS.items():
        yield raw.domainEventRegisterAny(None, number, _callback(make, emit), None)


def _callback(make: Callable[..., DomainEvent], emit: Callable[[DomainEvent], None]) -> Callable[..., None]:
    """libvirt passes the connection first and an opaque value last."""

    def callback(_: object, domain: libvirt.virDomain, *details: Any) -> None:
        emit(make(domain.UUIDString(), *details[:-1]))

    return callback
