"""What a runtime tells besides its objects: events for people, and notices that wake watchers.

Rules. Both are bounded in count and in age, and nothing here outlives the process: whoever missed something lists the objects
again. A watcher that reads too slowly loses single notices and gets one RESYNC in their place, which means "list everything".
A new watcher begins with a RESYNC. Must never happen: a change to an object leaves a watcher without a notice or a RESYNC; a slow
watcher keeps the runtime waiting.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable

from iri.errors import ResourceExhausted
from iri.runtime import ChangeNotice, ChangeType, EventType, RuntimeEvent, RuntimeKind, RuntimeObject

EVENTS_KEPT = 1000
EVENTS_KEPT_SECONDS = 300
NOTICES_PENDING = 10_000
WATCHERS = 16


class Journal:
    """One for each runtime. Thread-safe; no call waits for a watcher."""

    def __init__(self, now: Callable[[], int], *, events_kept: int = EVENTS_KEPT) -> None:
        """`now` gives Unix nanoseconds."""
        self._now = now
        self._events: deque[RuntimeEvent] = deque(maxlen=events_kept)
        self._watchers: set[Watcher] = set()
        self._lock = threading.Lock()

    def event(
        self, subject: RuntimeObject, reason: str, action: str, message: str, *, is_warning: bool = False
    ) -> None:
        """For people: about the object as it is now, with its labels, so that the event can be selected after the object is gone."""
        event = RuntimeEvent(
            kind=type(subject),
            id=subject.id,
            labels=subject.labels,
            type=EventType.WARNING if is_warning else EventType.NORMAL,
            reason=reason,
            action=action,
            message=message,
            time=self._now() // 1_000_000_000,
        )
        with self._lock:
            self._events.append(event)

    def events(self, since: int = 0) -> tuple[RuntimeEvent, ...]:
        """Oldest first; at most EVENTS_KEPT, and none older than EVENTS_KEPT_SECONDS."""
        oldest = max(since, self._now() // 1_000_000_000 - EVENTS_KEPT_SECONDS)
        with self._lock:
            return tuple(event for event in self._events if event.time >= oldest)

    def notice(self, kind: RuntimeKind, id: str, what: ChangeType) -> None:
        """For programs: an object has changed. Call it after the change can be listed, or a watcher lists too early."""
        with self._lock:
            watchers = tuple(self._watchers)
        for watcher in watchers:
            watcher.put(ChangeNotice(kind, id, what))

    def watch(self) -> Watcher:
        """ResourceExhausted beyond WATCHERS: each one may keep NOTICES_PENDING notices."""
        watcher = Watcher(self._forget)
        with self._lock:
            if len(self._watchers) >= WATCHERS:
                raise ResourceExhausted(f"{WATCHERS} watchers are connected, which is the limit")
            self._watchers.add(watcher)
        return watcher

    def _forget(self, watcher: Watcher) -> None:
        with self._lock:
            self._watchers.discard(watcher)


class Watcher:
    """A subscription. An object that changes often while its reader is away is one notice; too many objects become a RESYNC."""

    def __init__(self, forget: Callable[[Watcher], None]) -> None:
        self._forget = forget
        self._pending: dict[tuple[RuntimeKind, str], ChangeType] = {}
        self._is_resync = True
        self._is_closed = False
        self._changed = threading.Condition()

    def put(self, notice: ChangeNotice) -> None:
        """Never waits. Notices of one object become one, and too many objects one RESYNC."""
        with self._changed:
            if self._is_closed:
                return
            if notice.kind is not None:
                key = (notice.kind, notice.id)
                self._pending[key] = merge(self._pending.get(key), notice.what)
            if notice.kind is None or len(self._pending) > NOTICES_PENDING:
                self._pending.clear()
                self._is_resync = True
            self._changed.notify()

    def next(self, timeout_seconds: float) -> tuple[ChangeNotice, ...]:
        """Everything since the last call, at once when there is something. Empty after the timeout, and once it is closed."""
        with self._changed:
            self._changed.wait_for(
                lambda: self._pending or self._is_resync or self._is_closed, timeout_seconds
            )
            resync = (ChangeNotice(None, "", ChangeType.RESYNC),) if self._is_resync else ()
            notices = tuple(ChangeNotice(kind, id, what) for (kind, id), what in self._pending.items())
            self._pending.clear()
            self._is_resync = False
            return resync + notices

    def close(self) -> None:
        """Wakes a `next` that waits in another thread. May be called again."""
        self._forget(self)
        with self._changed:
            self._is_closed = True
            self._changed.notify_all()


def merge(earlier: ChangeType | None, later: ChangeType) -> ChangeType:
    """An object that was created and then changed is still new to the watcher; else the later notice counts."""
    return ChangeType.CREATED if earlier is ChangeType.CREATED and later is ChangeType.CHANGED else later
