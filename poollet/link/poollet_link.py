"""The link of one poollet: which servers it connects to, with which certificate, and what its agent asks of it.

    called by              what
    the agent's pass       name_interval: the fleet's settings, and what the report names as its interval
    the Git thread         report_moved: a report landed; is_steady: Git may be looked at less often
    the event loop         everything that a stream tells (StreamPort)

The state (link_state.py) is changed under a lock, in a few assignments. When the interval to name changes, the agent is woken, and its next pass
offers a report that names the new one: as news, so it is pushed at once.
"""

from __future__ import annotations

import asyncio
import random
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

import grpc

from iri.proto.gitvirt.link.v1alpha1.agent_pb2 import (
    Heartbeat,
    Hello,
    Leaving,
    Offer,
    OfferReply,
    OpenPipe,
    Usage,
)
from poollet.clock import Clock
from poollet.link.host_pipes import PipeEnd, PipeRefusedError
from poollet.link.link_state import LinkState
from poollet.link.link_thread import LinkThread
from poollet.link.server_stream import ServerStream, StreamPort
from schemas.settings.certificate import RefusedCertificate, read_certificate
from schemas.settings.duration import milliseconds
from schemas.settings.fleet import (
    FleetSettings,
    PoolletEntry,
    heartbeat_timeout_milliseconds,
    linked_interval,
)

LEAVING = {"stopping": Leaving.CAUSE_RESTART, "leaving": Leaving.CAUSE_LEAVE}


@dataclass(frozen=True, repr=False)
class LinkIdentity:
    """Who connects. `key` and `certificate` are files, read at each attempt: they may be replaced while the poollet runs."""

    name: str
    host_id: str
    instance: str
    versions: Mapping[str, str]
    key: Path
    certificate: Path


def refuse_pipe(_wanted: OpenPipe) -> PipeEnd:
    """For a poollet without runtimes."""
    raise PipeRefusedError("Unimplemented", "this poollet opens nothing")


def answer_nothing(offer: Offer) -> OfferReply:
    """For a poollet that decides nothing: the reconciler places without its answer."""
    return OfferReply(offer_id=offer.id)


@dataclass
class LinkEvents:
    """What the link causes, called in the event loop's thread. `standing` gives the commit that a heartbeat may stand for, given how long a
    report may wait for its push at most, in milliseconds. `measure` and `open_end`
    alone are called in other threads, and may block."""

    on_changed: Callable[[], None] = lambda: None
    on_live_moved: Callable[[str], None] = lambda _: None
    standing: Callable[[int], str] = lambda _: ""
    measure: Callable[[], Usage | None] = lambda: None
    open_end: Callable[[OpenPipe], PipeEnd] = refuse_pipe
    answer_offer: Callable[[Offer], OfferReply] = answer_nothing


@dataclass
class PoolletLink:
    """`events` are set before the first `follow`. Without addresses in the settings it connects to nothing."""

    who: LinkIdentity
    thread: LinkThread
    clock: Clock
    chance: random.Random
    events: LinkEvents = field(default_factory=LinkEvents)

    def __post_init__(self) -> None:
        self._lock = threading.Lock()
        self._state = LinkState()
        self._settings: FleetSettings | None = None
        self._streams: dict[str, tuple[ServerStream, asyncio.Task[None]]] = {}
        self._was_steady = False
        self._welcomed_ms: int | None = None  # the first time
        self._watch: asyncio.Task[None] | None = None

    # Of the agent and the Git thread

    def follow(self, settings: FleetSettings) -> None:
        """The settings on `live`, in each pass."""
        if settings is self._settings:
            return
        self._settings = settings
        with self._lock:
            self._state.follow(settings.link.addresses, self.clock.moment_ms())
        self.thread.call(self._connect_to, settings.link.addresses)

    def name_interval(self, settings: FleetSettings) -> str:
        """What the report names under these settings, which are those on `live`; they are followed from here on."""
        self.follow(settings)
        interval = settings.heartbeat.interval
        return linked_interval(interval) if self.is_steady() else interval

    def answers_by(self) -> int | None:
        """By when another run with this certificate would have pushed: a server gave its place to this run, so it is not connected to all."""
        if self._welcomed_ms is None or self._settings is None:
            return None
        return self._welcomed_ms + heartbeat_timeout_milliseconds(self._settings.heartbeat.interval)

    def is_steady(self) -> bool:
        with self._lock:
            return self._state.is_steady(self.clock.moment_ms())

    def report_moved(self, commit: str) -> None:
        self.thread.call(self._for_each, lambda stream: stream.report_moved(commit))

    def leave(self, leaving: str | None) -> None:
        """The process ends: the servers are told, and no stream begins any more."""
        self.thread.call(self._end, LEAVING[leaving or "stopping"])

    def count_connected(self) -> tuple[int, int]:
        """Servers that answer, of all that are listed."""
        with self._lock:
            return self._state.count_connected(self.clock.moment_ms()), len(self._state.addresses)

    # In the event loop's thread

    def _connect_to(self, addresses: tuple[str, ...]) -> None:
        """Streams to these and to no others. One that is listed still goes on undisturbed."""
        for gone in self._streams.keys() - set(addresses):
            self._streams.pop(gone)[1].cancel()
        for address in addresses:
            if address not in self._streams:
                stream = ServerStream(address, self._port(), self.chance)
                self._streams[address] = stream, self.thread.spawn(stream.run())
        if self._watch is None:
            self._watch = self.thread.spawn(self._watch_steadiness())

    def _port(self) -> StreamPort:
        """What each stream is given: the same for all, because a stream names its address with each call."""
        return StreamPort(
            hello=self._hello,
            credentials=self._credentials,
            begin=self._begin,
            ask=self._ask,
            take=self._take,
            is_lost=self._is_lost,
            end=self._on_end,
            standing=self._standing,
            look=self.events.on_live_moved,
            measure=self.events.measure,
            open_end=self.events.open_end,
            answer_offer=self.events.answer_offer,
        )

    def _hello(self) -> Hello:
        assert self._settings is not None, "they name the address"
        who = self.who
        return Hello(
            fleet=self._settings.fleet.id,
            poollet=who.name,
            host_id=who.host_id,
            instance=who.instance,
            versions=who.versions,
        )

    def _credentials(self) -> grpc.ChannelCredentials | str:
        """With the link's certificates as the only ones that are trusted. A certificate that cannot be used is not even presented."""
        assert self._settings is not None, "they name the address"
        try:
            key, pem = self.who.key.read_bytes(), self.who.certificate.read_bytes()
        except OSError as error:
            return f"{error.filename} cannot be read: {error.strerror}; see link of poollet.yaml"
        found = read_certificate(pem.decode("utf-8", "replace"))
        if isinstance(found, RefusedCertificate):
            return f"{self.who.certificate}: {found.message}; {found.hint}"
        place = f"poollets.{self.who.name}.certificates of gitvirt.yaml"
        if not found.begins <= datetime.now(UTC) < found.ends:
            return f"{self.who.certificate}: it is valid from {found.begins:%F} to {found.ends:%F}; make a new one and list it under {place}"
        entry = self._settings.poollets.get(self.who.name) or PoolletEntry()
        listed = {
            each.identity
            for text in entry.certificates
            if not isinstance(each := read_certificate(text), RefusedCertificate)
        }
        if found.identity not in listed:
            return f"certificate SHA-256 {found.identity} ({self.who.certificate}) is not listed; list it under {place}"
        roots = "\n".join(text.strip() for text in self._settings.link.certificates)
        return grpc.ssl_channel_credentials(roots.encode(), key, pem)

    def _begin(self, address: str, interval_ms: int, number: int) -> None:
        """A server said Welcome. The first time the agent is woken: it may wait for that (`answers_by`)."""
        with self._lock:
            self._state.begin(address, interval_ms, number, self.clock.moment_ms())
        if self._welcomed_ms is None:
            self._welcomed_ms = self.clock.moment_ms()
            self.events.on_changed()
        self._notice()

    def _ask(self, address: str) -> tuple[int, int]:
        """Number and answer of the heartbeat that is about to be sent, which is dated now."""
        with self._lock:
            return self._state.ask(address, self.clock.moment_ms())

    def _take(self, address: str, beat: Heartbeat) -> None:
        """A server answered. If it was the last one that had not, all are told at once."""
        with self._lock:
            is_complete = self._state.take(address, beat.number, beat.answers, self.clock.moment_ms())
        if is_complete:  # from here on heartbeats count: the servers need not wait for the next one
            self._for_each(ServerStream.beat)
        self._notice()

    def _is_lost(self, address: str, seconds: float) -> bool:
        """Whether a stream that began so many seconds ago is to be given up."""
        now_ms = self.clock.moment_ms()
        with self._lock:
            return self._state.is_lost(address, now_ms, now_ms - round(seconds * 1000))

    def _on_end(self, address: str) -> None:
        """A stream ended, or could not begin. From now on heartbeats go to Git, until all servers answer again."""
        with self._lock:
            self._state.end(address, self.clock.moment_ms())
        self._notice()

    def _standing(self) -> tuple[str, int]:
        """Nothing while a listed server does not answer: then heartbeats go to Git, and only those count, for every server alike."""
        assert self._settings is not None, "they name the address"
        interval_ms = milliseconds(self._settings.heartbeat.interval)
        with self._lock:
            is_connected = self._state.advance(self.clock.moment_ms())
        return self.events.standing(interval_ms) if is_connected else "", interval_ms

    def _for_each(self, act: Callable[[ServerStream], None]) -> None:
        for stream, _ in self._streams.values():
            act(stream)

    def _end(self, cause: Leaving.Cause.ValueType) -> None:
        """Each stream tells its server, and ends by itself."""
        self._for_each(lambda stream: stream.leave(cause))
        if self._watch is not None:
            self._watch.cancel()

    def _notice(self) -> None:
        """Wakes the agent when its report has to name another interval."""
        if (is_steady := self.is_steady()) != self._was_steady:
            self._was_steady = is_steady
            self.events.on_changed()

    async def _watch_steadiness(self) -> None:
        """Time alone makes a link steady, or a server silent."""
        while True:
            await asyncio.sleep(0.5)
            self._notice()
