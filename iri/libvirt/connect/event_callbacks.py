"""libvirt's callbacks: the loop that runs them, and the events that they become.

There is one loop for the process, on its own thread, started before the first connection and never ended. It calls nothing but
listeners that return at once: while a callback runs, no connection of the process hears of anything.

The library's objects end here: what leaves is a DomainEvent. A callback must not call into its own connection.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator
from typing import Any

import libvirt

from iri.libvirt.domain_events import DomainEvent, EventKind

log = logging.getLogger(__name__)
# The loop is the process's, not a connection's: it is registered once.
_starting = threading.Lock()
_threads: list[threading.Thread] = []
LIFECYCLE = {
    libvirt.VIR_DOMAIN_EVENT_DEFINED: EventKind.DEFINED,
    libvirt.VIR_DOMAIN_EVENT_STARTED: EventKind.STARTED,
    libvirt.VIR_DOMAIN_EVENT_RESUMED: EventKind.RESUMED,
    libvirt.VIR_DOMAIN_EVENT_STOPPED: EventKind.STOPPED,
}
# Kind and detail of each callback's event, from what libvirt passes besides the domain.
EVENTS: dict[int, Callable[..., tuple[EventKind, str]]] = {
    libvirt.VIR_DOMAIN_EVENT_ID_LIFECYCLE: lambda turn, _: (LIFECYCLE.get(turn, EventKind.CHANGED), ""),
    libvirt.VIR_DOMAIN_EVENT_ID_DEVICE_ADDED: lambda _: (EventKind.CHANGED, ""),
    libvirt.VIR_DOMAIN_EVENT_ID_DEVICE_REMOVED: lambda _: (EventKind.CHANGED, ""),
    libvirt.VIR_DOMAIN_EVENT_ID_DEVICE_REMOVAL_FAILED: lambda alias: (EventKind.REMOVAL_FAILED, alias),
    libvirt.VIR_DOMAIN_EVENT_ID_REBOOT: lambda: (EventKind.REBOOTED, ""),
    libvirt.VIR_DOMAIN_EVENT_ID_AGENT_LIFECYCLE: lambda *_: (EventKind.CHANGED, ""),
    libvirt.VIR_DOMAIN_EVENT_ID_IO_ERROR_REASON: lambda *details: (EventKind.DISK_ERROR, details[-1]),
}


def ensure_running() -> None:
    """Idempotent. libvirt requires the loop to be registered before the first connection of the process."""
    with _starting:
        if _threads:
            return
        libvirt.registerErrorHandler(ignore_error, None)  # it would print every error that is also raised
        libvirt.virEventRegisterDefaultImpl()
        thread = threading.Thread(target=_run, name="libvirt-events", daemon=True)
        _threads.append(thread)
        thread.start()


def ignore_error(context: object, error: object) -> None:
    """For libvirt's own report of errors, which go to standard error otherwise; each is raised as an exception too."""
    del context, error


def _run() -> None:
    """Never ends: without the loop no connection of the process gets events or notices that it is dead."""
    while True:
        try:
            libvirt.virEventRunDefaultImpl()
        except libvirt.libvirtError as error:
            log.error("event loop failed error=%s", error)


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
