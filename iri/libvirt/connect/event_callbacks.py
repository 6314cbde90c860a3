"""libvirt's callbacks, turned into events."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import libvirt

from iri.libvirt.domain_events import DomainEvent, EventKind

LIFECYCLE = {
    libvirt.VIR_DOMAIN_EVENT_DEFINED: EventKind.DEFINED,
    libvirt.VIR_DOMAIN_EVENT_STARTED: EventKind.STARTED,
    libvirt.VIR_DOMAIN_EVENT_RESUMED: EventKind.RESUMED,
    libvirt.VIR_DOMAIN_EVENT_STOPPED: EventKind.STOPPED,
}
# Kind and detail of each callback's event, from what libvirt says besides the domain.
EVENTS: dict[int, Callable[..., tuple[EventKind, str]]] = {
    libvirt.VIR_DOMAIN_EVENT_ID_LIFECYCLE: lambda turn, _: (LIFECYCLE.get(turn, EventKind.CHANGED), ""),
    libvirt.VIR_DOMAIN_EVENT_ID_DEVICE_ADDED: lambda _: (EventKind.CHANGED, ""),
    libvirt.VIR_DOMAIN_EVENT_ID_DEVICE_REMOVED: lambda _: (EventKind.CHANGED, ""),
    libvirt.VIR_DOMAIN_EVENT_ID_DEVICE_REMOVAL_FAILED: lambda alias: (EventKind.REMOVAL_FAILED, alias),
    libvirt.VIR_DOMAIN_EVENT_ID_REBOOT: lambda: (EventKind.REBOOTED, ""),
    libvirt.VIR_DOMAIN_EVENT_ID_AGENT_LIFECYCLE: lambda *_: (EventKind.CHANGED, ""),
    libvirt.VIR_DOMAIN_EVENT_ID_IO_ERROR_REASON: lambda *said: (EventKind.DISK_ERROR, said[-1]),
}


def register(raw: libvirt.virConnect, emit: Callable[[DomainEvent], None]) -> Iterator[int]:
    """Registers for all domains, ours or not; listeners filter. Yields the id of each callback."""
    for number, describe in EVENTS.items():
        yield raw.domainEventRegisterAny(None, number, _callback(describe, emit), None)


def _callback(
    describe: Callable[..., tuple[EventKind, str]], emit: Callable[[DomainEvent], None]
) -> Callable[..., None]:
    """libvirt passes the connection first and an opaque value last."""

    def callback(_: object, domain: libvirt.virDomain, *details: Any) -> None:
        emit(DomainEvent(domain.UUIDString(), *describe(*details[:-1])))

    return callback
