"""libvirt's callbacks, turned into events."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import libvirt

from iri.libvirt.domain_events import (
    AgentChanged,
    DeviceAdded,
    DeviceRemovalFailed,
    DeviceRemoved,
    DiskError,
    DomainEvent,
    DomainLifecycle,
    GuestRebooted,
    LifecycleChange,
)

Emit = Callable[[DomainEvent], None]
LIFECYCLE = {
    libvirt.VIR_DOMAIN_EVENT_DEFINED: LifecycleChange.DEFINED,
    libvirt.VIR_DOMAIN_EVENT_UNDEFINED: LifecycleChange.UNDEFINED,
    libvirt.VIR_DOMAIN_EVENT_STARTED: LifecycleChange.STARTED,
    libvirt.VIR_DOMAIN_EVENT_SUSPENDED: LifecycleChange.SUSPENDED,
    libvirt.VIR_DOMAIN_EVENT_RESUMED: LifecycleChange.RESUMED,
    libvirt.VIR_DOMAIN_EVENT_STOPPED: LifecycleChange.STOPPED,
    libvirt.VIR_DOMAIN_EVENT_SHUTDOWN: LifecycleChange.STOPPING,
    libvirt.VIR_DOMAIN_EVENT_PMSUSPENDED: LifecycleChange.SUSPENDED,
    libvirt.VIR_DOMAIN_EVENT_CRASHED: LifecycleChange.CRASHED,
}


def register(raw: libvirt.virConnect, emit: Emit) -> Iterator[int]:
    """Registers for all domains, ours or not; listeners filter. Yields the id of each callback."""
    callbacks = EventCallbacks(emit)
    for event, callback in (
        (libvirt.VIR_DOMAIN_EVENT_ID_LIFECYCLE, callbacks.on_lifecycle),
        (libvirt.VIR_DOMAIN_EVENT_ID_DEVICE_ADDED, callbacks.on_device_added),
        (libvirt.VIR_DOMAIN_EVENT_ID_DEVICE_REMOVED, callbacks.on_device_removed),
        (libvirt.VIR_DOMAIN_EVENT_ID_DEVICE_REMOVAL_FAILED, callbacks.on_removal_failed),
        (libvirt.VIR_DOMAIN_EVENT_ID_REBOOT, callbacks.on_reboot),
        (libvirt.VIR_DOMAIN_EVENT_ID_AGENT_LIFECYCLE, callbacks.on_agent_state),
        (libvirt.VIR_DOMAIN_EVENT_ID_IO_ERROR_REASON, callbacks.on_disk_error),
    ):
        yield raw.domainEventRegisterAny(None, event, callback, None)


class EventCallbacks:
    """Each method is a callback: libvirt passes the connection first and an opaque value last."""

    def __init__(self, emit: Emit) -> None:
        self._emit = emit

    def on_lifecycle(
        self, _: object, domain: libvirt.virDomain, event: int, detail: int, opaque: object
    ) -> None:
        """libvirt's numbers that this runtime does not use are dropped."""
        del opaque
        by_guest = (
            event == libvirt.VIR_DOMAIN_EVENT_SHUTDOWN and detail == libvirt.VIR_DOMAIN_EVENT_SHUTDOWN_GUEST
        )
        if event in LIFECYCLE:
            self._emit(DomainLifecycle(domain.UUIDString(), LIFECYCLE[event], by_guest))

    def on_device_added(self, _: object, domain: libvirt.virDomain, alias: str, opaque: object) -> None:
        del opaque
        self._emit(DeviceAdded(domain.UUIDString(), alias))

    def on_device_removed(self, _: object, domain: libvirt.virDomain, alias: str, opaque: object) -> None:
        del opaque
        self._emit(DeviceRemoved(domain.UUIDString(), alias))

    def on_removal_failed(self, _: object, domain: libvirt.virDomain, alias: str, opaque: object) -> None:
        del opaque
        self._emit(DeviceRemovalFailed(domain.UUIDString(), alias))

    def on_reboot(self, _: object, domain: libvirt.virDomain, opaque: object) -> None:
        del opaque
        self._emit(GuestRebooted(domain.UUIDString()))

    def on_agent_state(
        self, _: object, domain: libvirt.virDomain, state: int, reason: int, opaque: object
    ) -> None:
        del reason, opaque
        is_connected = state == libvirt.VIR_CONNECT_DOMAIN_EVENT_AGENT_LIFECYCLE_STATE_CONNECTED
        self._emit(AgentChanged(domain.UUIDString(), is_connected))

    def on_disk_error(self, _: object, domain: libvirt.virDomain, *details: Any) -> None:
        """`details`: path, alias, action, reason, opaque."""
        _path, alias, _action, reason, _opaque = details
        self._emit(DiskError(domain.UUIDString(), alias, reason))
