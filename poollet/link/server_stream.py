"""The stream to one server of the link: connects, says Hello, sends heartbeats and what is news, receives, and begins again after a pause.

Theory of operation
-------------------
    pause       jittered, FIRST_PAUSE doubling up to LONGEST_PAUSE; a stream that was welcomed starts over
    connect     TLS with the pinned certificates of the link; the server answers Hello with Welcome, within DIAL_SECONDS
    stream      a heartbeat in each interval of Welcome, and at once when the state of the link changed; ReportMoved; measurements; pipes (host_pipes.py)
    end         the server or the network ends it, or it does not answer for 3.5 intervals

After Welcome the host looks at Git once, because it missed what was sent meanwhile.

Everything runs in one event loop; a stream waits for its own network alone. Of several ReportMoved that wait only the newest is sent.
"""

from __future__ import annotations

import asyncio
import logging
import random
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import grpc
from google.protobuf.duration_pb2 import Duration

from iri.proto.gitvirt.link.v1alpha1 import agent_pb2
from iri.proto.gitvirt.link.v1alpha1.agent_pb2 import (
    AgentMessage,
    Heartbeat,
    Hello,
    Leaving,
    Offer,
    OfferReply,
    OpenPipe,
    PipeRefused,
    ReportMoved,
    ServerMessage,
    Usage,
    Welcome,
)
from poollet.link.blocking_call import run_blocking
from poollet.link.host_pipes import HostPipes, PipeEnd, PipePort
from schemas.backoff import Backoff
from schemas.settings.certificate import LINK_NAME

log = logging.getLogger(__name__)

FIRST_PAUSE, LONGEST_PAUSE = 0.25, 5.0
DIAL_SECONDS = 10.0
STOP_SECONDS = 1.0
LEAST_INTERVAL_SECONDS = 0.1
CONNECT = f"/{agent_pb2.DESCRIPTOR.services_by_name['Agent'].full_name}/Connect"
OPTIONS = (
    ("grpc.ssl_target_name_override", LINK_NAME),
    ("grpc.use_local_subchannel_pool", 1),
    ("grpc.enable_retries", 0),
    ("grpc.max_receive_message_length", 1024 * 1024),
)
# Of a pipe, which has no heartbeats of its own.
KEEPALIVE = (("grpc.keepalive_time_ms", 20_000), ("grpc.keepalive_timeout_ms", 10_000))

Call = Any  # grpc.aio.StreamStreamCall, which the stubs describe with parameters that differ between versions


@dataclass(frozen=True)
class StreamPort:
    """What a stream asks of its poollet and tells it, all in the event loop's thread; every call returns at once."""

    hello: Callable[[], Hello]
    credentials: Callable[[], grpc.ChannelCredentials | str]
    """Or why it does not connect: the cause with its cure."""
    begin: Callable[[str, int, int], None]
    ask: Callable[[str], tuple[int, int]]
    take: Callable[[str, Heartbeat], None]
    is_lost: Callable[[str, float], bool]
    end: Callable[[str], None]
    standing: Callable[[], tuple[str, int]]
    """The commit that a heartbeat stands for, empty for none; and the interval of heartbeats to Git, in milliseconds."""
    look: Callable[[str], None]
    """`live` is at this commit; empty: unknown."""
    measure: Callable[[], Usage | None]
    """Blocks for seconds at most."""
    open_end: Callable[[OpenPipe], PipeEnd]
    """Blocks; raises PipeRefusedError."""
    answer_offer: Callable[[Offer], OfferReply]


class ServerStream:
    """`run` until it is cancelled. `address` is as gitvirt.yaml has it."""

    def __init__(self, address: str, port: StreamPort, chance: random.Random) -> None:
        self.address = address
        self.problem = ""  # why it is not connected; empty while it is
        self._port = port
        self._backoff = Backoff(FIRST_PAUSE, LONGEST_PAUSE, chance=chance)
        self._news = asyncio.Event()
        self._moved = ""
        self._usage: Usage | None = None  # measured, and not sent yet
        self._refused: deque[PipeRefused] = deque()
        self._replies: deque[OfferReply] = deque()
        self._is_beat_due = True
        self._pipes = HostPipes(PipePort(port.open_end, self._dial, self._refuse_pipe))
        self._leaving: Leaving.Cause.ValueType | None = None

    async def run(self) -> None:
        """One stream after the other, with a pause between two; the end of the poollet ends it."""
        while self._leaving is None:
            credentials = self._port.credentials()
            if isinstance(credentials, str):
                self._note(credentials)
            else:
                self._note(await self._connect(credentials))
            self._port.end(self.address)
            await self._pause()

    def report_moved(self, commit: str) -> None:
        """The report is at this commit; while there is no stream, the next one tells it."""
        self._moved = commit
        self.beat()

    def beat(self) -> None:
        """The next heartbeat is due now."""
        self._is_beat_due = True
        self._news.set()

    def leave(self, cause: Leaving.Cause.ValueType) -> None:
        """Ends the stream on purpose, with what waits."""
        self._leaving = cause
        self._news.set()

    def _dial(self) -> grpc.aio.Channel | str:
        """A connection of its own, for one pipe; or why there is none."""
        credentials = self._port.credentials()
        if isinstance(credentials, str):
            return credentials
        return grpc.aio.secure_channel(self.address, credentials, (*OPTIONS, *KEEPALIVE))

    def _refuse_pipe(self, refused: PipeRefused) -> None:
        self._refused.append(refused)
        self._news.set()

    async def _pause(self) -> None:
        """Longer after each attempt that failed, and drawn at random: the hosts of a server that was gone must not come back as one."""
        if self._leaving is None:
            await asyncio.sleep(self._backoff.next())

    def _note(self, problem: str) -> None:
        """A cause is logged once, however often the next attempt has the same."""
        if problem and problem != self.problem:
            log.warning("not connected to the link address=%s cause=%s", self.address, problem)
        self.problem = problem

    async def _connect(self, credentials: grpc.ChannelCredentials) -> str:
        """One stream from its beginning to its end; why it ended."""
        channel = grpc.aio.secure_channel(self.address, credentials, OPTIONS)
        call: Call = channel.stream_stream(
            CONNECT,
            request_serializer=AgentMessage.SerializeToString,
            response_deserializer=ServerMessage.FromString,
        )(None)
        try:
            welcome = await asyncio.wait_for(self._say_hello(call), DIAL_SECONDS)
            return await self._stream(call, welcome) if welcome is not None else await describe_end(call)
        except TimeoutError:
            return "no answer in time; check the network, and the load of the server"
        except (grpc.aio.AioRpcError, asyncio.InvalidStateError, grpc.aio.UsageError):
            return await describe_end(call)
        finally:
            call.cancel()
            await channel.close(None)

    async def _say_hello(self, call: Call) -> Welcome | None:
        """None where the server ended the stream in place of a welcome."""
        await call.write(AgentMessage(hello=self._port.hello()))
        first = await call.read()
        is_welcome = isinstance(first, ServerMessage) and first.HasField("welcome")
        return first.welcome if is_welcome else None

    async def _stream(self, call: Call, welcome: Welcome) -> str:
        interval = max(LEAST_INTERVAL_SECONDS, welcome.heartbeat_interval.ToTimedelta().total_seconds())
        self._backoff.reset()
        self.problem = ""
        self._port.begin(self.address, round(interval * 1000), welcome.number)
        log.info("connected to the link address=%s server=%s", self.address, welcome.instance)
        self._port.look("")
        receiving = asyncio.ensure_future(self._receive(call))
        sending = asyncio.ensure_future(self._send(call, interval))
        measuring = asyncio.ensure_future(self._measure(welcome.usage_interval.ToTimedelta().total_seconds()))
        try:
            await asyncio.wait([receiving, sending], return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in (receiving, sending, measuring):
                task.cancel()
            self._refused.clear()
            await self._pipes.end()
        if sending.done() and not sending.cancelled() and sending.exception() is None:
            return sending.result()
        return await describe_end(call)

    async def _receive(self, call: Call) -> None:
        """Until the stream ends. Messages of a newer server are passed over."""
        while isinstance(message := await call.read(), ServerMessage):
            match message.WhichOneof("message"):
                case "heartbeat":
                    self._port.take(self.address, message.heartbeat)
                case "live_moved":
                    self._port.look(message.live_moved.commit)
                case "offer":
                    self._replies.append(self._port.answer_offer(message.offer))
                    self._news.set()
                case "open_pipe":
                    self._pipes.open(message.open_pipe)
                case "close_pipe":
                    self._pipes.close(message.close_pipe.id)

    async def _measure(self, interval: float) -> None:
        """As often as the server wants, and never where it does not say so."""
        while interval > 0:
            self._usage = await run_blocking(self._port.measure, "measure")
            self._news.set()
            await asyncio.sleep(max(LEAST_INTERVAL_SECONDS, interval))

    async def _send(self, call: Call, interval: float) -> str:
        """Heartbeats and news, until the server does not answer any more, or the poollet ends."""
        loop = asyncio.get_running_loop()
        started = beat_at = loop.time()
        self._replies.clear()  # of a stream that ended
        while True:
            self._news.clear()
            if self._port.is_lost(self.address, loop.time() - started):
                return "the server does not answer heartbeats; check the network, and the load of the server"
            if moved := self._moved:
                self._moved = ""
                await call.write(AgentMessage(report_moved=ReportMoved(commit=moved)))
            if (usage := self._usage) is not None:
                self._usage = None
                await call.write(AgentMessage(usage=usage))
            while self._refused:
                await call.write(AgentMessage(pipe_refused=self._refused.popleft()))
            if self._leaving is not None:
                await call.write(AgentMessage(leaving=Leaving(cause=self._leaving)))
                await call.done_writing()
                return "the poollet ends"
            while self._replies:  # as often as a tick asks: no heartbeat goes with each
                await call.write(AgentMessage(offer_reply=self._replies.popleft()))
            if self._is_beat_due or loop.time() >= beat_at:
                self._is_beat_due, beat_at = False, loop.time() + interval
                await call.write(AgentMessage(heartbeat=self._heartbeat()))
            await _wait(self._news, beat_at - loop.time())

    def _heartbeat(self) -> Heartbeat:
        """What it stands for is asked right before it is sent."""
        number, answers = self._port.ask(self.address)
        commit, interval_ms = self._port.standing()
        promised = Duration()
        promised.FromMilliseconds(interval_ms)
        return Heartbeat(number=number, answers=answers, report_commit=commit, git_interval=promised)


async def _wait(event: asyncio.Event, seconds: float) -> None:
    try:
        await asyncio.wait_for(event.wait(), seconds)
    except TimeoutError:
        return


async def describe_end(call: Call) -> str:
    """What the server or the library says, with what to do where the library cannot know."""
    if not call.done():
        call.cancel()
    code, words = await call.code(), " ".join((await call.details() or "").split())[:500]
    if code is grpc.StatusCode.UNAVAILABLE and "failed to connect" in words:
        return f"{words}; check the address, and that gitvirt.yaml lists the certificates of both ends"
    return f"{code.name}: {words}"
