"""The connection to libvirtd: calls through it, events from it, and a new connection whenever it breaks.

    state      entered by                                     calls
    connected  open, or a reconnect                           go through; an error of a broken connection -> lost
    lost       a call or the close callback finds it broken   raise Unavailable at once; a thread reconnects, ever more slowly
    closed     close                                          raise Unavailable

Guests run on while libvirtd is away. Events are lost meanwhile, so listeners of `on_connected` observe everything again. Must
never happen: a call waits for libvirtd to come back; a connection is released inside one of its own callbacks.

    thread                runs                                         may block
    any caller            `call`                                       as long as libvirtd takes for it
    libvirt's event loop  listeners, `_on_closed`                      never
    libvirt-link          `_reconnect`, callbacks of `on_connected`    yes
"""

from __future__ import annotations

import contextlib
import logging
import threading
from collections.abc import Callable
from typing import TypeVar

import libvirt

from iri.backoff import ExponentialDelay
from iri.errors import Unavailable
from iri.libvirt.connect.event_callbacks import ensure_running, register
from iri.libvirt.connect.libvirt_errors import translate_error
from iri.libvirt.domain_events import DomainEvent

log = logging.getLogger(__name__)
T = TypeVar("T")
Listener = Callable[[DomainEvent], None]

KEEPALIVE_SECONDS = 10
KEEPALIVE_COUNT = 6
RECONNECTS = ExponentialDelay(0.05, 2.0)


class LibvirtLink:
    """Thread-safe. Listeners are called on the event thread and must return at once."""

    def __init__(self, uri: str) -> None:
        self.uri = uri
        self._raw: libvirt.virConnect | None = None
        self._callbacks: dict[libvirt.virConnect, list[int]] = {}  # of connections not released yet
        self._listeners: list[Listener] = []
        self._on_connected: list[Callable[[], None]] = []
        self._lock = threading.Lock()
        self._is_lost = threading.Event()
        self._closing = threading.Event()
        self._reconnector = threading.Thread(
            target=self._reconnect_when_lost, name="libvirt-link", daemon=True
        )

    def open(self) -> None:
        """Raises Unavailable when libvirtd does not answer; then it is not tried again."""
        self._raw = self._open_connection()
        self._reconnector.start()

    def close(self) -> None:
        """Ends the reconnecting thread first, so that no new connection comes up behind this call."""
        self._closing.set()
        self._is_lost.set()
        if self._reconnector.is_alive():
            self._reconnector.join()
        with self._lock:
            raw, self._raw = self._raw, None
        if raw is not None:
            self._release_connection(raw)

    def listen(self, listener: Listener) -> None:
        """Call before `open`."""
        self._listeners.append(listener)

    def on_connected(self, callback: Callable[[], None]) -> None:
        """Has `callback` called after each reconnect, on a thread that may block: events were lost meanwhile."""
        self._on_connected.append(callback)

    @property
    def is_connected(self) -> bool:
        """As far as is known: the next call may find the connection broken."""
        return self._raw is not None

    def call(self, action: Callable[[libvirt.virConnect], T], doing: str) -> T:
        """`doing` begins the message of an error: "defining the domain"."""
        raw = self._raw
        if raw is None:
            raise Unavailable("libvirt does not answer")
        try:
            return action(raw)
        except libvirt.libvirtError as error:
            if not is_alive(raw):
                self._mark_lost(raw)
                raise Unavailable(f"{doing}: libvirt went away") from error
            raise translate_error(error, doing) from error

    def _open_connection(self) -> libvirt.virConnect:
        """A connection without all of its callbacks is released again: events would be lost without notice."""
        ensure_running()
        try:
            raw = libvirt.open(self.uri)
        except libvirt.libvirtError as error:
            raise Unavailable(
                f"libvirt does not answer at {self.uri}: {error.get_error_message()}"
            ) from error
        callbacks = self._callbacks[raw] = []
        try:
            raw.setKeepAlive(KEEPALIVE_SECONDS, KEEPALIVE_COUNT)
            raw.registerCloseCallback(self._on_closed, None)
            for callback in register(raw, self._emit):
                callbacks.append(callback)
        except libvirt.libvirtError as error:
            self._release_connection(raw)
            raise Unavailable(f"libvirt went away: {error.get_error_message()}") from error
        return raw

    def _release_connection(self, raw: libvirt.virConnect) -> None:
        """libvirt keeps a connection and its socket while a callback is registered. It is closed with the last call that still
        uses it. Must not be called inside one of its own callbacks."""
        for callback in self._callbacks.pop(raw):
            with contextlib.suppress(libvirt.libvirtError):
                raw.domainEventDeregisterAny(callback)
        with contextlib.suppress(libvirt.libvirtError):
            raw.unregisterCloseCallback()

    def _emit(self, event: DomainEvent) -> None:
        """On libvirt's event thread, for domains of anyone: listeners leave out those that are not ours."""
        for listener in self._listeners:
            listener(event)

    def _on_closed(self, raw: libvirt.virConnect, reason: int, context: object) -> None:
        """Called by libvirt inside of the connection that died, so it only marks it: the reconnecting thread releases it."""
        del context
        log.warning("connection to libvirt lost reason=%d", reason)
        self._mark_lost(raw)

    def _mark_lost(self, raw: libvirt.virConnect) -> None:
        """Several threads may find one connection broken; the present one is dropped only if it is that one, or dead too."""
        with self._lock:
            if self._raw is not None and (self._raw is raw or not is_alive(self._raw)):
                self._raw = None
                self._is_lost.set()

    def _reconnect_when_lost(self) -> None:
        """The reconnecting thread. A loss that another thread has made good already needs nothing."""
        while self._is_lost.wait() and not self._closing.is_set():
            self._is_lost.clear()
            if self._raw is None:
                self._reconnect()

    def _reconnect(self) -> None:
        """Tries until it succeeds or `close` is called. The callbacks run before calls of others can rely on events."""
        attempts = 0
        while not self._closing.wait(RECONNECTS.delay(attempts)):
            for lost in tuple(self._callbacks):
                self._release_connection(lost)
            try:
                raw = self._open_connection()
            except Unavailable as error:
                log.info("cannot reconnect to libvirt error=%s", error)
                attempts += 1
                continue
            self._raw = raw
            if not is_alive(raw):
                self._mark_lost(raw)
                continue
            log.info("reconnected to libvirt")
            for callback in self._on_connected:
                callback()
            return


def is_alive(raw: libvirt.virConnect) -> bool:
    """Asks the library, not the daemon: False once the socket or the keepalive has failed."""
    try:
        return bool(raw.isAlive())
    except libvirt.libvirtError:
        return False
