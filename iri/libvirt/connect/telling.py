"""libvirt's callbacks made into events."""

from __future__ import annotations

from collections.abc import Callable

import libvirt

from iri.libvirt.events import (
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


def register(raw: libvirt.virConnect, tell: Tell) -> None:
    """For all domains, foreign ones too: who listens knows which are his."""

    def lived(_: object, domain: libvirt.virDomain, event: int, detail: int, opaque: object) -> None:
        del opaque
        by_guest = (
            event == libvirt.VIR_DOMAIN_EVENT_SHUTDOWN and detail == libvirt.VIR_DOMAIN_EVENT_SHUTDOWN_GUEST
        )
        if event in TURNS:
            tell(Lived(domain.UUIDString(), TURNS[event], by_guest))

    def came(_: object, domain: libvirt.virDomain, alias: str, opaque: object) -> None:
        del opaque
        tell(DeviceCame(domain.UUIDString(), alias))

    def went(_: object, domain: libvirt.virDomain, alias: str, opaque: object) -> None:
        del opaque
        tell(DeviceWent(domain.UUIDString(), alias))

    def stays(_: object, domain: libvirt.virDomain, alias: str, opaque: object) -> None:
        del opaque
        tell(DeviceStays(domain.UUIDString(), alias))

    def rebooted(_: object, domain: libvirt.virDomain, opaque: object) -> None:
        del opaque
        tell(Rebooted(domain.UUIDString()))

    def agent(_: object, domain: libvirt.virDomain, state: int, reason: int, opaque: object) -> None:
        del reason, opaque
        is_connected = state == libvirt.VIR_CONNECT_DOMAIN_EVENT_AGENT_LIFECYCLE_STATE_CONNECTED
        tell(AgentChanged(domain.UUIDString(), is_connected))

    def failed(
        _: object,
        domain: libvirt.virDomain,
        path: str,
        alias: str,
        action: int,
        reason: str,
        opaque: object,
    ) -> None:
        del path, action, opaque
        tell(DiskFailed(domain.UUIDString(), alias, reason))

    for event, callback in (
        (libvirt.VIR_DOMAIN_EVENT_ID_LIFECYCLE, lived),
        (libvirt.VIR_DOMAIN_EVENT_ID_DEVICE_ADDED, came),
        (libvirt.VIR_DOMAIN_EVENT_ID_DEVICE_REMOVED, went),
        (libvirt.VIR_DOMAIN_EVENT_ID_DEVICE_REMOVAL_FAILED, stays),
        (libvirt.VIR_DOMAIN_EVENT_ID_REBOOT, rebooted),
        (libvirt.VIR_DOMAIN_EVENT_ID_AGENT_LIFECYCLE, agent),
        (libvirt.VIR_DOMAIN_EVENT_ID_IO_ERROR_REASON, failed),
    ):
        raw.domainEventRegisterAny(None, event, callback, None)
