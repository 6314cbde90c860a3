"""libvirt's callbacks made into events."""

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
    GuestRebooted,
    LifecycleChange,
    LifecycleEvent,
)

Tell = Callable[[DomainEvent], None]
TURNS = {
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


def register(raw: libvirt.virConnect, tell: Tell) -> Iterator[int]:
    """For all domains, foreign ones too: who listens knows which are his. Gives what each callback is known by."""
    teller = EventCallbacks(tell)
    for event, callback in (
        (libvirt.VIR_DOMAIN_EVENT_ID_LIFECYCLE, teller.lived),
        (libvirt.VIR_DOMAIN_EVENT_ID_DEVICE_ADDED, teller.came),
        (libvirt.VIR_DOMAIN_EVENT_ID_DEVICE_REMOVED, teller.went),
        (libvirt.VIR_DOMAIN_EVENT_ID_DEVICE_REMOVAL_FAILED, teller.stays),
        (libvirt.VIR_DOMAIN_EVENT_ID_REBOOT, teller.rebooted),
        (libvirt.VIR_DOMAIN_EVENT_ID_AGENT_LIFECYCLE, teller.agent),
        (libvirt.VIR_DOMAIN_EVENT_ID_IO_ERROR_REASON, teller.failed),
    ):
        yield raw.domainEventRegisterAny(None, event, callback, None)


class EventCallbacks:
    """libvirt's callbacks, each with the connection first and something opaque last."""

    def __init__(self, tell: Tell) -> None:
        self._tell = tell

    def lived(self, _: object, domain: libvirt.virDomain, event: int, detail: int, opaque: object) -> None:
        del opaque
        by_guest = (
            event == libvirt.VIR_DOMAIN_EVENT_SHUTDOWN and detail == libvirt.VIR_DOMAIN_EVENT_SHUTDOWN_GUEST
        )
        if event in TURNS:
            self._tell(LifecycleEvent(domain.UUIDString(), TURNS[event], by_guest))

    def came(self, _: object, domain: libvirt.virDomain, alias: str, opaque: object) -> None:
        del opaque
        self._tell(DeviceAdded(domain.UUIDString(), alias))

    def went(self, _: object, domain: libvirt.virDomain, alias: str, opaque: object) -> None:
        del opaque
        self._tell(DeviceRemoved(domain.UUIDString(), alias))

    def stays(self, _: object, domain: libvirt.virDomain, alias: str, opaque: object) -> None:
        del opaque
        self._tell(DeviceRemovalFailed(domain.UUIDString(), alias))

    def rebooted(self, _: object, domain: libvirt.virDomain, opaque: object) -> None:
        del opaque
        self._tell(GuestRebooted(domain.UUIDString()))

    def agent(self, _: object, domain: libvirt.virDomain, state: int, reason: int, opaque: object) -> None:
        del reason, opaque
        is_connected = state == libvirt.VIR_CONNECT_DOMAIN_EVENT_AGENT_LIFECYCLE_STATE_CONNECTED
        self._tell(AgentChanged(domain.UUIDString(), is_connected))

    def failed(self, _: object, domain: libvirt.virDomain, *details: Any) -> None:
        """`details`: path, alias, action, reason, opaque."""
        _path, alias, _action, reason, _opaque = details
        self._tell(DiskError(domain.UUIDString(), alias, reason))
