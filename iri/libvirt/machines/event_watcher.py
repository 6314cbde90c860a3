"""Turns libvirt's events into notices to watchers, and wakes the machine that an event is about.

The event thread only queues events. A thread of this module observes the domain, so a guest that ends is listed as ended within
milliseconds, whatever the reconciling threads are busy with.

An event is a reason to look, not the news itself: it may be late, repeated, or lost while libvirtd is away. The observation decides
what is listed. Must never happen: the event thread waits for libvirt, because all other events would wait with it.
"""

from __future__ import annotations

import logging
import queue
import threading
from collections.abc import Callable

from iri.errors import IRIError
from iri.libvirt.domain_events import DomainEvent, EventKind
from iri.libvirt.machines.deps import MachineDeps
from iri.libvirt.machines.guest import ENDED, Guest

log = logging.getLogger(__name__)
QUIET = (EventKind.DEFINED, EventKind.RESUMED)  # mostly our own calls; another event follows


class EventWatcher:
    """`wake(id)` has a machine reconciled."""

    def __init__(self, deps: MachineDeps, wake: Callable[[str], None]) -> None:
        self._deps = deps
        self._wake = wake
        self._events: queue.SimpleQueue[DomainEvent | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._work, name="libvirt-watch", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def close(self) -> None:
        """Handles the events that are queued already, then ends the thread."""
        self._events.put(None)
        if self._thread.is_alive():
            self._thread.join()

    def put(self, event: DomainEvent) -> None:
        """Called on libvirt's event thread; returns at once."""
        self._events.put(event)

    def _work(self) -> None:
        """One event at a time, in libvirt's order. An event that cannot be handled is dropped: the next observation has what it was about."""
        while (event := self._events.get()) is not None:
            if self._deps.store.find(event.domain_id) is None:
                continue  # a domain that is not ours
            try:
                self._handle(event)
            except IRIError as error:
                log.info("cannot handle event id=%s error=%s", event.domain_id, error)

    def _handle(self, event: DomainEvent) -> None:
        """Observes first: an event that people read must not come before the list shows what it is about."""
        id = event.domain_id
        before = self._deps.store.get(id)
        after = self._deps.store.observe(id)
        self._record(event, before, after)
        if event.kind not in QUIET:
            self._wake(id)

    def _record(self, event: DomainEvent, before: Guest, after: Guest | None) -> None:
        """Events that people read. What only changes the listed object is a notice, and `observe` sends that."""
        deps = self._deps
        match event.kind:
            case EventKind.REBOOTED:
                deps.record_event(before, "Rebooted", "Guest", "the guest rebooted")
            case EventKind.REMOVAL_FAILED:
                message = f"the guest refused to release device {event.detail}"
                deps.warn(before, "DeviceRemovalFailed", "Detach", message)
            case EventKind.DISK_ERROR:
                message = (
                    f"reading or writing a disk failed on the host ({event.detail}); the guest is paused"
                )
                deps.warn(before, "DiskError", "Guest", message)
            case EventKind.STOPPED if after is not None and after.reason:
                is_warning = after.reason in ENDED
                deps.record_event(after, after.reason, "Guest", "the machine is off", is_warning=is_warning)
            case _:
                pass
