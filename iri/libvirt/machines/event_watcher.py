"""libvirt's events about our machines: told to watchers at once, and a reason to tend the machine.

The event thread only puts them down; looking at a domain is done by a thread here, so that a guest that ends is seen
within milliseconds whatever the machines' own threads are busy with.
"""

from __future__ import annotations

import logging
import queue
import threading
from collections.abc import Callable

from iri.errors import IRIError
from iri.libvirt.domain_events import (
    DeviceRemovalFailed,
    DiskError,
    DomainEvent,
    GuestRebooted,
    LifecycleChange,
    LifecycleEvent,
)
from iri.libvirt.machines.deps import MachineDeps
from iri.libvirt.machines.guest import ENDED, Guest

log = logging.getLogger(__name__)
QUIET = (LifecycleChange.DEFINED, LifecycleChange.RESUMED)  # our own doing, mostly, and followed by others


class EventWatcher:
    """`wake(id)` tends a machine."""

    def __init__(self, deps: MachineDeps, wake: Callable[[str], None]) -> None:
        self._deps = deps
        self._wake = wake
        self._events: queue.SimpleQueue[DomainEvent | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._work, name="libvirt-watch", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def close(self) -> None:
        self._events.put(None)
        if self._thread.is_alive():
            self._thread.join()

    def put(self, event: DomainEvent) -> None:
        self._events.put(event)

    def _work(self) -> None:
        while (event := self._events.get()) is not None:
            if self._deps.store.find(event.domain_id) is None:
                continue  # somebody else's
            try:
                self._handle(event)
            except IRIError as error:
                log.info("event passed over id=%s error=%s", event.domain_id, error)

    def _handle(self, event: DomainEvent) -> None:
        id = event.domain_id
        before = self._deps.store.get(id)
        after = self._deps.store.observe(id)
        self._tell(event, before, after)
        if not (isinstance(event, LifecycleEvent) and event.turn in QUIET):
            self._wake(id)

    def _tell(self, event: DomainEvent, before: Guest, after: Guest | None) -> None:
        deps = self._deps
        match event:
            case GuestRebooted():
                deps.record_event(before, "Rebooted", "Guest", "the guest has rebooted")
            case DeviceRemovalFailed(alias=alias):
                deps.record_event(
                    before, "DeviceStays", "Detach", f"the guest keeps device {alias}", is_warning=True
                )
            case DiskError(reason=reason):
                message = f"a disk of the guest failed on the host ({reason}); the guest waits"
                deps.record_event(before, "DiskError", "Guest", message, is_warning=True)
            case LifecycleEvent(turn=LifecycleChange.STOPPED) if after is not None and after.reason:
                is_warning = after.reason in ENDED
                deps.record_event(after, after.reason, "Guest", "the machine is off", is_warning=is_warning)
            case _:
                pass
