"""The service Agent: one Connect stream from Hello to its end. Runs in the event loop's thread.

Theory of operation
-------------------
    accepted    the certificate of the call is listed
    Hello       within HELLO_SECONDS; its name, fleet and host are checked
    Welcome     the newest stream of a name takes the place of an older one
    messages    both ways, until either end closes
    the end     the host is not connected any more, unless another stream of it is

Three things run for a stream: one reads, one writes, and one future has the reason to end. Whichever is first ends the others, so nothing of a
stream outlives it. What a message means for the fleet is not known here: a sign of life goes to the registry, and a wake to the loop.

Must never happen: a message of a host that was not checked is used; an error of one stream ends another.
"""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

import grpc
from google.protobuf.duration_pb2 import Duration

from iri.proto.gitvirt.link.v1alpha1.agent_pb2 import (
    AgentMessage,
    Hello,
    OfferReply,
    PipeRefused,
    ServerMessage,
    Welcome,
)
from reconciler.link.agent_stream import AgentStream, StreamEnd
from reconciler.link.callers import Caller, Callers, LinkRefusal, LinkRefusalReason, check_host
from reconciler.link.linked_hosts import LinkedHosts
from reconciler.link.metrics import LinkMetrics
from reconciler.link.usage_board import UsageBoard

log = logging.getLogger(__name__)

HELLO_SECONDS = 10.0
STREAMS_OF_CALLER = 4  # one, and others that are about to take its place or to end
TEXT_LENGTH = 253
LOGGED_AGAIN = timedelta(minutes=10)
LOGGED_AT_MOST = 1000
USAGE_INTERVAL = timedelta(seconds=15)

Context = grpc.aio.ServicerContext[Any, Any]


@dataclass
class LinkService:
    """What all calls share. `wake` tells the loop that there is something to read; `clock` is the time of day, for certificates."""

    hosts: LinkedHosts
    metrics: LinkMetrics
    wake: Callable[[], None]
    steady: Callable[[], datetime]
    instance: str
    version: str
    clock: Callable[[], datetime] = lambda: datetime.now(UTC)
    callers: Callers = field(default_factory=Callers)
    interval: timedelta = timedelta(seconds=2)
    usage_interval: timedelta = USAGE_INTERVAL
    board: UsageBoard = field(default_factory=UsageBoard)
    on_refused_pipe: Callable[[AgentStream, PipeRefused], None] = lambda _stream, _refused: None
    on_end: Callable[[AgentStream], None] = lambda _stream: None
    on_offer_reply: Callable[[AgentStream, OfferReply], bool] = lambda _stream, _reply: False

    def __post_init__(self) -> None:
        self.streams: set[AgentStream] = set()
        self._open: Counter[str] = Counter()  # by identity, also those before Hello
        self._logged: dict[tuple[str, str], datetime] = {}

    async def connect(self, _requests: object, context: Context) -> None:
        """The handler of Agent.Connect."""
        caller = await self.identify(context)
        if self._open[caller.identity] >= STREAMS_OF_CALLER:
            cause = f"poollet {caller.name} has {STREAMS_OF_CALLER} streams already"
            cure = "use each certificate in one process only"
            refusal = LinkRefusal(
                LinkRefusalReason.TOO_MANY, grpc.StatusCode.RESOURCE_EXHAUSTED, cause, cure, caller.identity
            )
            await self.refuse(context, refusal)
        self._open[caller.identity] += 1
        try:
            hello = await self._read_hello(context, caller)
            await self._serve(AgentStream(caller, hello, self.interval, self.steady), context)
        finally:
            self._open[caller.identity] -= 1
            if not self._open[caller.identity]:
                del self._open[caller.identity]

    async def identify(self, context: Context) -> Caller:
        """Ends the call if its caller is not listed."""
        found = self.callers.identify(context.auth_context(), self.clock())
        if isinstance(found, LinkRefusal):
            await self.refuse(context, found)
            raise AssertionError("abort raises")
        return found

    async def refuse(self, context: Context, refusal: LinkRefusal) -> None:
        self.note_refusal(refusal, context.peer())
        await context.abort(refusal.status, str(refusal))

    def note_refusal(self, refusal: LinkRefusal, peer: str) -> None:
        self.metrics.count_refused(refusal.reason.value)
        self._log_refusal(refusal, peer)

    def check_streams(self) -> None:
        """Closes the streams of hosts that are silent, and those of certificates that are not listed any more or have expired."""
        now = self.clock()
        for stream in self.streams:
            found = self.callers.find(stream.caller.identity, now)
            if not isinstance(found, LinkRefusal):
                found = check_host(found, stream.name, stream.hello.fleet, self.callers.fleet) or found
            if isinstance(found, LinkRefusal):
                self._log_refusal(found, stream.name)
                stream.close(StreamEnd(found.status, str(found), found.reason.value))
            elif stream.is_silent():
                words = "no heartbeat in time: the host, or the network between, is too slow"
                stream.close(StreamEnd(grpc.StatusCode.DEADLINE_EXCEEDED, words, "silent"))

    async def _read_hello(self, context: Context, caller: Caller) -> Hello:
        try:
            first = await asyncio.wait_for(context.read(), HELLO_SECONDS)
        except TimeoutError:
            first = None
        hello = first.hello if isinstance(first, AgentMessage) and first.HasField("hello") else Hello()
        texts = (hello.poollet, hello.host_id, hello.instance)
        if not all(texts) or max(map(len, (*texts, hello.fleet))) > TEXT_LENGTH:
            cause = f"poollet {caller.name} sent no Hello with fleet, poollet, host_id and instance of at most {TEXT_LENGTH} characters"
            cure = "update gitvirt on that host"
            status = grpc.StatusCode.INVALID_ARGUMENT
            await self.refuse(
                context, LinkRefusal(LinkRefusalReason.BAD_HELLO, status, cause, cure, caller.identity)
            )
        if refusal := check_host(caller, hello.poollet, hello.fleet, self.callers.fleet):
            await self.refuse(context, refusal)
        return hello

    async def _serve(self, stream: AgentStream, context: Context) -> None:
        welcome = Welcome(
            instance=self.instance,
            version=self.version,
            heartbeat_interval=to_duration(self.interval),
            usage_interval=to_duration(self.usage_interval),
            number=stream.first_number(),
        )
        await context.write(ServerMessage(welcome=welcome))
        before = self.hosts.join(stream.name, stream)
        if isinstance(before, AgentStream):
            words = f"a newer stream of poollet {stream.name} took the place of this one"
            before.close(StreamEnd(grpc.StatusCode.ABORTED, words, "replaced"))
        self.streams.add(stream)
        self.metrics.opened.inc()
        self.metrics.hosts.set(self.hosts.count())
        log.info(
            "host connected poollet=%s host=%s peer=%s", stream.name, stream.hello.host_id, context.peer()
        )
        tasks: list[asyncio.Future[None]] = [
            asyncio.ensure_future(self._read(stream, context)),
            asyncio.ensure_future(write(stream, context)),
        ]
        try:
            ends: list[asyncio.Future[Any]] = [*tasks, stream.end]
            await asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in tasks:
                task.cancel()
            self._forget(stream)
        if stream.end.done():
            await context.abort(stream.end.result().status, stream.end.result().words)

    def _forget(self, stream: AgentStream) -> None:
        self.streams.discard(stream)
        self.on_end(stream)
        was_newest = self.hosts.leave(stream.name, stream, self.steady())
        self.metrics.hosts.set(self.hosts.count())
        reason = stream.end.result().reason if stream.end.done() else "closed by the host or the network"
        if reason == "silent":
            self.metrics.lost.inc()
        elif reason in set(LinkRefusalReason):
            self.metrics.count_refused(reason)
        if was_newest:
            self.board.forget(stream.name)
            log.info("host not connected any more poollet=%s reason=%s", stream.name, reason)

    async def _read(self, stream: AgentStream, context: Context) -> None:
        """Until the host ends its half of the stream, or sends too much."""
        while (message := await context.read()) is not grpc.aio.EOF:  # type: ignore[attr-defined]
            is_reply = message.HasField("offer_reply") and self.on_offer_reply(stream, message.offer_reply)
            if not is_reply and not stream.count_message():  # a tick asks as often as it likes
                words = f"poollet {stream.name} sends more messages than the link allows; update gitvirt on that host"
                stream.close(StreamEnd(grpc.StatusCode.RESOURCE_EXHAUSTED, words, "too_many"))
                return
            match message.WhichOneof("message"):
                case "heartbeat":
                    self.metrics.heartbeats.inc()
                    sign = stream.take_heartbeat(message.heartbeat)
                    if sign is not None and self.hosts.sign(stream.name, stream, sign):
                        self.wake()  # what waits for this host can be placed
                case "report_moved":
                    self.wake()
                case "usage" if self.hosts.is_newest(stream.name, stream):
                    self.board.put(stream.name, message.usage)
                case "pipe_refused":
                    self.on_refused_pipe(stream, message.pipe_refused)
                case "leaving":
                    return

    def _log_refusal(self, refusal: LinkRefusal, peer: str) -> None:
        """Once in LOGGED_AGAIN for each caller and reason: a host that is refused comes back every few seconds."""
        now, key = self.steady(), (refusal.identity, refusal.reason.value)
        last = self._logged.get(key)
        if last is not None and now - last < LOGGED_AGAIN:
            return
        if len(self._logged) >= LOGGED_AT_MOST:
            self._logged.clear()
        self._logged[key] = now
        log.warning("refused peer=%s cause=%s cure=%s", peer, refusal.cause, refusal.cure)


async def write(stream: AgentStream, context: Context) -> None:
    """What waits, one message after the other; each is awaited, so a host that does not read holds up itself alone."""
    while True:
        await context.write(await stream.next_message())


def to_duration(time: timedelta) -> Duration:
    found = Duration()
    found.FromTimedelta(time)
    return found
