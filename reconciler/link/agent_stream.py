"""One host's Connect stream at the server: its heartbeats, what waits to be sent to it, and its limits. Knows no gRPC.

    limit              value                     beyond it
    messages of host   MESSAGES_PER_SECOND,      closed: too_many
                       BURST at once
    queue to host      QUEUE_LENGTH              closed: too_many. Heartbeats and LiveMoved take no room: only the newest of each
                                                 matters, and replaces the one that waits
    silence            LINK_MISSED_HEARTBEATS    closed: the host is lost, or does not read

`close` may be called by anybody, any number of times; the first reason is the one that the host gets.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

import grpc

from iri.proto.gitvirt.link.v1alpha1.agent_pb2 import Heartbeat, Hello, ServerMessage
from reconciler.link.callers import Caller
from reconciler.world.reports.heartbeat import LinkSign
from schemas.settings.fleet import LINK_MISSED_HEARTBEATS, heartbeat_timeout_milliseconds
from schemas.signs_of_life import SignsOfLife

QUEUE_LENGTH = 64
MESSAGES_PER_SECOND, BURST = 20.0, 200.0
COMMIT_LENGTHS = (40, 64)
MOST_GIT_INTERVAL_MS = 3_600_000


@dataclass(frozen=True, slots=True)
class StreamEnd:
    """Why a stream ends: status and words for the host, `reason` for log and metrics."""

    status: grpc.StatusCode
    words: str
    reason: str


class AgentStream:
    """`steady` is the clock of heartbeats. All methods but `send` and `close` are for the event loop's thread."""

    def __init__(
        self, caller: Caller, hello: Hello, interval: timedelta, steady: Callable[[], datetime]
    ) -> None:
        self.caller: Final = caller
        self.hello: Final = hello
        self.name: Final = hello.poollet
        self.host_id: Final = hello.host_id
        self._interval, self._steady = interval, steady
        self._loop = asyncio.get_running_loop()
        self._signs: SignsOfLife[datetime] = SignsOfLife()
        self._heard = steady()
        self._tokens, self._counted = BURST, self._heard
        self._queue: deque[ServerMessage] = deque()
        self._newest: dict[str, ServerMessage] = {}
        self._has_message = asyncio.Event()
        self.end: asyncio.Future[StreamEnd] = self._loop.create_future()

    def first_number(self) -> int:
        """Of Welcome."""
        return self._signs.ask(self._steady())

    def count_message(self) -> bool:
        """Whether the host may send one more now."""
        now = self._steady()
        gained = (now - self._counted).total_seconds() * MESSAGES_PER_SECOND
        self._tokens, self._counted = min(BURST, self._tokens + gained) - 1, now
        return self._tokens >= 0

    def take_heartbeat(self, beat: Heartbeat) -> LinkSign | None:
        """Answers it. A sign of life where it stands for a heartbeat commit, and answers a newer question than the one before."""
        self._heard = now = self._steady()
        at = self._signs.take(beat.number, beat.answers)
        answer = Heartbeat(number=self._signs.ask(now), answers=self._signs.received)
        self._put(ServerMessage(heartbeat=answer))
        if at is None or len(beat.report_commit) not in COMMIT_LENGTHS:
            return None
        most = min(beat.git_interval.ToMilliseconds(), MOST_GIT_INTERVAL_MS)
        timeout = heartbeat_timeout_milliseconds(f"{max(0, most)}ms")
        return LinkSign(beat.report_commit, at, timedelta(milliseconds=timeout))

    def is_silent(self) -> bool:
        """Whether the host missed so many heartbeats that it counts as not connected: none came, or none that answers a recent one."""
        now, most = self._steady(), self._interval * (LINK_MISSED_HEARTBEATS + 0.5)
        alive_at = self._signs.alive_at
        return now - self._heard > most or (
            alive_at is not None and now - alive_at > most + 2 * self._interval
        )

    def send(self, message: ServerMessage) -> None:
        """From any thread. Too many that wait close the stream; after the end of the event loop nothing is sent."""
        if not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._put, message)

    async def next_message(self) -> ServerMessage:
        """Heartbeats first: what waits behind a long queue must not look lost."""
        while not self._queue and not self._newest:
            self._has_message.clear()
            await self._has_message.wait()
        for kind in tuple(self._newest):
            return self._newest.pop(kind)
        return self._queue.popleft()

    def close(self, end: StreamEnd) -> None:
        """From the event loop's thread."""
        if not self.end.done():
            self.end.set_result(end)

    def _put(self, message: ServerMessage) -> None:
        kind = message.WhichOneof("message")
        if kind in ("heartbeat", "live_moved"):
            self._newest[kind] = message
        elif len(self._queue) >= QUEUE_LENGTH:
            words = f"the host does not read: {QUEUE_LENGTH} messages wait; look at its load and its network"
            self.close(StreamEnd(grpc.StatusCode.RESOURCE_EXHAUSTED, words, "too_many"))
        else:
            self._queue.append(message)
        self._has_message.set()
