"""What a runtime has to tell besides its objects: events that people read, and notices that wake watchers. Bounded in
count and in age; nothing here outlives the process. A runtime owns one and hands out what `Runtime` asks for.
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
    def __init__(self, now: Callable[[], int], *, events_kept: int = EVENTS_KEPT) -> None:
        """`now` gives Unix nanoseconds."""
        self._now = now
        self._events: deque[RuntimeEvent] = deque(maxlen=events_kept)
        self._watchers: set[Watcher] = set()
        self._lock = threading.Lock()

    def event(
        self, subject: RuntimeObject, reason: str, action: str, message: str, *, is_warning: bool = False
    ) -> None:
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

    def events(self) -> tuple[RuntimeEvent, ...]:
        oldest = self._now() // 1_000_000_000 - EVENTS_KEPT_SECONDS
        with self._lock:
            return tuple(event for event in self._events if event.time >= oldest)

    def notice(self, kind: RuntimeKind, id: str, what: ChangeType) -> None:
        with self._lock:
            watchers = tuple(self._watchers)
        for watcher in watchers:
            watcher.put(ChangeNotice(kind, id, what))

    def watch(self) -> Watcher:
        watcher = Watcher(self._forget)
        with self._lock:
            if len(self._watchers) >= WATCHERS:
                raise ResourceExhausted(f"{WATCHERS} watchers are connected, and there can be no more")
            self._watchers.add(watcher)
        return watcher

    @property
    def watchers(self) -> int:
        """How many there are."""
        return len(self._watchers)

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
        with self._changed:
            if self._is_closed:
                return
            if notice.kind is not None:
                key = (notice.kind, notice.id)
                self._pending[key] = merged(self._pending.get(key), notice.what)
            if notice.kind is None or len(self._pending) > NOTICES_PENDING:
                self._pending.clear()
                self._is_resync = True
            self._changed.notify()

    def next(self, timeout_seconds: float) -> tuple[ChangeNotice, ...]:
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
        self._forget(self)
        with self._changed:
            self._is_closed = True
            self._changed.notify_all()


def merged(earlier: ChangeType | None, later: ChangeType) -> ChangeType:
    """A new object that then changed is still a new one; everything else is what it was last."""
    return ChangeType.CREATED if earlier is ChangeType.CREATED and later is ChangeType.CHANGED else later
