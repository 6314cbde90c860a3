"""The pipes of one stream: for each OpenPipe of the server a call Pipe, between the server and something on this host.

Theory of operation
-------------------
    OpenPipe                    what it names is opened, in a thread; if that fails, or too many are open: PipeRefused
    it is open                  a call Pipe, on a connection of its own: bytes that are not read hold up no heartbeat and no other pipe
    both directions             one chunk at a time: the next is read when the one before was taken
    this host's end ends        the last chunk says so, with exit status or problem
    the server's end ends, or   this host's end is closed: that frees a console
    ClosePipe comes
    the stream ends             all of its pipes end

Who may open what is checked by the server, by the rights of its client; here a pipe is only for machines that this poollet has.
Nothing of what passes is logged.

Must never happen: an end stays open after its pipe has ended.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import grpc

from iri.proto.gitvirt.link.v1alpha1.agent_pb2 import Chunk, OpenPipe, PipeRefused, Reason
from poollet.link.blocking_call import run_blocking

log = logging.getLogger(__name__)

CHUNK_BYTES = 64 * 1024
MOST_PIPES = 64
CLOSE_SECONDS = 2.0
PIPE = "/gitvirt.link.v1alpha1.Agent/Pipe"
# What a call raises whose other end is not there any more: the server, or the client behind it.
GONE = (grpc.aio.AioRpcError, asyncio.InvalidStateError, grpc.aio.UsageError)


class PipeRefusedError(Exception):
    """Raised by what opens or reads an end. `reason` is a word of agent.proto, `message` is for people."""

    def __init__(self, reason: str, message: str) -> None:
        super().__init__(message)
        self.reason, self.message = reason, message


class PipeEnd(Protocol):
    """What a pipe leads to. Its methods block; `close` ends a `read` that waits, and may be called again."""

    def read(self) -> bytes:
        """Empty: it has ended."""

    def write(self, data: bytes) -> None: ...

    def end_input(self) -> None:
        """Nothing more will be written."""

    def resize(self, columns: int, rows: int) -> None: ...

    def close(self) -> None: ...

    def exit_status(self) -> int | None: ...


@dataclass(frozen=True)
class PipePort:
    """What pipes need. `dial` makes a connection to the server; `refuse` sends a message on the stream; `open_end` blocks, and raises
    PipeRefusedError."""

    open_end: Callable[[OpenPipe], PipeEnd]
    dial: Callable[[], grpc.aio.Channel | str]
    refuse: Callable[[PipeRefused], None]


class HostPipes:
    """In the event loop's thread."""

    def __init__(self, port: PipePort) -> None:
        self._port = port
        self._tasks: dict[str, asyncio.Task[None]] = {}  # by the id of the pipe

    def open(self, wanted: OpenPipe) -> None:
        if len(self._tasks) >= MOST_PIPES or wanted.id in self._tasks:
            self._refuse(wanted, "ResourceExhausted", f"{MOST_PIPES} pipes are open already; try again later")
            return
        task = asyncio.get_running_loop().create_task(self._run(wanted))
        self._tasks[wanted.id] = task
        task.add_done_callback(lambda task: self._on_end(wanted.id, task))

    def close(self, id: str) -> None:
        """The server's client has left. One that has ended meanwhile is passed over."""
        if (task := self._tasks.get(id)) is not None:
            task.cancel()

    async def end(self) -> None:
        """Returns once all ends are closed, or were given time for it."""
        tasks = tuple(self._tasks.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _on_end(self, id: str, task: asyncio.Task[None]) -> None:
        del self._tasks[id]
        if not task.cancelled() and (error := task.exception()) is not None:
            log.error("a pipe of the link failed", exc_info=error)

    def _refuse(self, wanted: OpenPipe, reason: str, message: str) -> None:
        found = PipeRefused(pipe_id=wanted.id, reason=Reason(reason=reason, message=message))
        self._port.refuse(found)

    async def _run(self, wanted: OpenPipe) -> None:
        kind = wanted.WhichOneof("kind") or "pipe"
        opening = asyncio.ensure_future(run_blocking(lambda: self._port.open_end(wanted), "pipe-open"))
        try:
            end = await asyncio.shield(opening)
        except PipeRefusedError as error:
            self._refuse(wanted, error.reason, error.message)
            return
        except asyncio.CancelledError:
            opening.add_done_callback(_close_late)
            raise
        machine = describe(wanted)
        log.info("%s opened over the link client=%s machine=%s", kind, wanted.client, machine)
        try:
            await self._carry(wanted, end)
        finally:
            await _close(end)
            log.info("%s closed client=%s machine=%s", kind, wanted.client, machine)

    async def _carry(self, wanted: OpenPipe, end: PipeEnd) -> None:
        channel = self._port.dial()
        if isinstance(channel, str):
            self._refuse(wanted, "Unavailable", channel)
            return
        call: Any = channel.stream_stream(
            PIPE, request_serializer=Chunk.SerializeToString, response_deserializer=Chunk.FromString
        )(None)
        try:
            await call.write(Chunk(pipe_id=wanted.id))
            input_ended = asyncio.Event()
            receiving = asyncio.ensure_future(receive(call, end, input_ended))
            sending = asyncio.ensure_future(send(call, end, input_ended))
            try:
                await asyncio.wait([receiving, sending], return_when=asyncio.FIRST_COMPLETED)
            finally:
                receiving.cancel()
                sending.cancel()
                ends = await asyncio.gather(receiving, sending, return_exceptions=True)
            for each in ends:
                if isinstance(each, Exception):
                    raise each
        except (*GONE, PipeRefusedError):  # the other end sees the call end
            return
        finally:
            call.cancel()
            await channel.close(None)


async def send(call: Any, end: PipeEnd, input_ended: asyncio.Event) -> None:
    """Until this host's end ends, and the server has taken all of it. The call's own half ends only when the other direction has ended too:
    that says that all of it was taken. Where the server wants no more of it, as of a console that is over, it ends the call."""
    last = Chunk(is_end=True)
    try:
        while data := await run_blocking(end.read, "pipe-read"):
            for begin in range(0, len(data), CHUNK_BYTES):
                await call.write(Chunk(data=data[begin : begin + CHUNK_BYTES]))
        if (status := end.exit_status()) is not None:
            last.exit_status = status
    except PipeRefusedError as error:
        last.problem.CopyFrom(Reason(reason=error.reason, message=error.message))
    await call.write(last)
    await input_ended.wait()
    await call.done_writing()
    await call.code()  # the server ends the call once its client has it


async def receive(call: Any, end: PipeEnd, input_ended: asyncio.Event) -> None:
    """Until the server ends the call, which it does when its client leaves. `input_ended` is set when this end has taken the last byte."""
    while isinstance(chunk := await call.read(), Chunk):
        if chunk.HasField("terminal_size"):
            size = chunk.terminal_size
            await run_blocking(lambda size=size: end.resize(size.columns, size.rows), "pipe-write")  # type: ignore[misc]
        if data := chunk.data:
            await run_blocking(lambda data=data: end.write(data), "pipe-write")  # type: ignore[misc]
        if chunk.is_end:
            await run_blocking(end.end_input, "pipe-write")
            input_ended.set()


async def _close(end: PipeEnd) -> None:
    """Also where the task was cancelled: a console must not stay taken."""
    closing = asyncio.ensure_future(run_blocking(end.close, "pipe-close"))
    await asyncio.wait([closing], timeout=CLOSE_SECONDS)


def _close_late(opening: asyncio.Future[PipeEnd]) -> None:
    """Of an end that was opened when its pipe was over already."""
    if not opening.cancelled() and opening.exception() is None:
        end = opening.result()
        closing = asyncio.ensure_future(run_blocking(end.close, "pipe-close"))
        closing.add_done_callback(lambda done: done.exception() if not done.cancelled() else None)


def describe(wanted: OpenPipe) -> str:
    machine = getattr(wanted, wanted.WhichOneof("kind") or "console").machine
    return f"{machine.namespace}/{machine.name}"
