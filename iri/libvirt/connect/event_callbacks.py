"""libvirt's callbacks made into events."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import libvirt

from iri.libvirt.domain_events import (
    AgentChanged,
    DeviceCame,
    DeviceStays,
    DeviceWent,
    DiskFailed,
    DomainEvent,
    Lived,
    Rebooted,
    Turn,
)

Tell = Callable[[DomainEvent], None]
TURNS = {
    libvirt.VIR_DOMAIN_EVENT_DEFINED: Turn.DEFINED,
    libvirt.VIR_DOMAIN_EVENT_UNDEFINED: Turn.UNDEFINED,
    libvirt.VIR_DOMAIN_EVENT_STARTED: Turn.STARTED,
    libvirt.VIR_DOMAIN_EVENT_SUSPENDED: Turn.SUSPENDED,
    libvirt.VIR_DOMAIN_EVENT_RESUMED: Turn.RESUMED,
    libvirt.VIR_DOMAIN_EVENT_STOPPED: Turn.STOPPED,
    libvirt.VIR_DOMAIN_EVENT_SHUTDOWN: Turn.STOPPING,
    libvirt.VIR_DOMAIN_EVENT_PMSUSPENDED: Turn.SUSPENDED,
    libvirt.VIR_DOMAIN_EVENT_CRASHED: Turn.CRASHED,
}


def register(raw: libvirt.virConnect, tell: Tell) -> Iterator[int]:
    """For all domains, foreign ones too: who listens knows which are his. Gives what each callback is known by."""
    teller = Teller(tell)
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


class Teller:
    """libvirt's callbacks, each with the connection first and something opaque last."""

    def __init__(self, tell: Tell) -> None:
        self._tell = tell

    def lived(self, _: object, domain: libvirt.virDomain, event: int, detail: int, opaque: object) -> None:
        del opaque
        by_guest = (
            event == libvirt.VIR_DOMAIN_EVENT_SHUTDOWN and detail == libvirt.VIR_DOMAIN_EVENT_SHUTDOWN_GUEST
        )
        if event in TURNS:
            self._tell(Lived(domain.UUIDString(), TURNS[event], by_guest))

    def came(self, _: object, domain: libvirt.virDomain, alias: str, opaque: object) -> None:
        del opaque
        self._tell(DeviceCame(domain.UUIDString(), alias))

    def went(self, _: object, domain: libvirt.virDomain, alias: str, opaque: object) -> None:
        del opaque
        self._tell(DeviceWent(domain.UUIDString(), alias))

    def stays(self, _: object, domain: libvirt.virDomain, alias: str, opaque: object) -> None:
        del opaque
        self._tell(DeviceStays(domain.UUIDString(), alias))

    def rebooted(self, _: object, domain: libvirt.virDomain, opaque: object) -> None:
        del opaque
        self._tell(Rebooted(domain.UUIDString()))

    def agent(self, _: object, domain: libvirt.virDomain, state: int, reason: int, opaque: object) -> None:
        del reason, opaque
        is_connected = state == libvirt.VIR_CONNECT_DOMAIN_EVENT_AGENT_LIFECYCLE_STATE_CONNECTED
        self._tell(AgentChanged(domain.UUIDString(), is_connected))

    def failed(self, _: object, domain: libvirt.virDomain, *details: Any) -> None:
        """`details`: path, alias, action, reason, opaque."""
        _path, alias, _action, reason, _opaque = details
        self._tell(DiskFailed(domain.UUIDString(), alias, reason))
