"""Pipes: byte streams between a client's call and a machine's host. This is the half that hosts know: the service Agent's Pipe.

Theory of operation
-------------------
    a client wants a pipe       an OpenPipe with a random id goes to the host that has the machine, on its Connect stream
    the host opens it           a call Pipe, on a connection of its own, whose first chunk has the id; from then on chunks go both ways
    the host refuses            PipeRefused on its Connect stream
    neither within OPEN_SECONDS the client is refused, and a Pipe that comes later finds no request
    either end closes           the other end is closed; the host also gets ClosePipe on its Connect stream, because the end of a call waits
                                behind bytes that the host does not take
    the host's stream ends      all of its pipes end

An id is good for one Pipe, and only of the host that it was sent to. Nothing is kept of a pipe but its two calls, so a server that is killed
leaves nothing behind: both ends see their connection end.

Must never happen: bytes of one pipe reach another; a chunk is read before the one before it was taken by the other end.
"""

from __future__ import annotations

import asyncio
import secrets
from dataclasses import dataclass, field

import grpc

from iri.proto.gitvirt.link.v1alpha1.agent_pb2 import Chunk, ClosePipe, OpenPipe, PipeRefused, ServerMessage
from reconciler.link.agent_calls import Context, LinkService
from reconciler.link.agent_stream import AgentStream
from reconciler.link.client_calls import CallRefusedError

OPEN_SECONDS = 10.0
STALL_SECONDS = 60.0  # until a chunk is taken by the other end
FINISH_SECONDS = 1.0
PIPES_OF_HOST = 64
PIPES_OF_CLIENT = {"console": 4, "logs": 4, "forward": 16}  # at one host, of each kind
STATUSES = {
    "NotFound": grpc.StatusCode.NOT_FOUND,
    "FailedPrecondition": grpc.StatusCode.FAILED_PRECONDITION,
    "ResourceExhausted": grpc.StatusCode.RESOURCE_EXHAUSTED,
    "Unimplemented": grpc.StatusCode.UNIMPLEMENTED,
}
WORDS_LENGTH = 500


@dataclass(eq=False)
class HostPipe:
    """One open Pipe of a host. `left` is set when the client needs it no more, `ended` when the host's call is over."""

    context: Context
    left: asyncio.Event = field(default_factory=asyncio.Event)
    ended: asyncio.Event = field(default_factory=asyncio.Event)

    def __post_init__(self) -> None:
        self.writer = ChunkWriter(self.context, "the host")

    async def read(self) -> Chunk | None:
        """None at the end of what the host sends."""
        found = await self.context.read()
        return found if isinstance(found, Chunk) else None


@dataclass(eq=False)
class PipeRequest:
    """One OpenPipe, until its host opens or refuses it. Counts as a pipe until `end`."""

    id: str
    stream: AgentStream
    client: str
    kind: str
    opened: asyncio.Future[HostPipe]


class Pipes:
    def __init__(self, service: LinkService) -> None:
        self._service = service
        self._requests: dict[str, PipeRequest] = {}
        self._open: dict[PipeRequest, HostPipe | None] = {}

    async def request(self, stream: AgentStream, client: str, wanted: OpenPipe) -> PipeRequest:
        """Once the host has opened it. `end` it in any case. Raises CallRefusedError."""
        kind = wanted.WhichOneof("kind") or ""
        self._check_limits(stream, client, kind)
        wanted.id, wanted.client = secrets.token_urlsafe(24), client
        made = PipeRequest(wanted.id, stream, client, kind, asyncio.get_running_loop().create_future())
        self._requests[wanted.id] = made
        self._open[made] = None
        try:
            stream.send(ServerMessage(open_pipe=wanted))
            self._open[made] = await asyncio.wait_for(made.opened, OPEN_SECONDS)
        except TimeoutError:
            self.end(made)
            words = (
                f"host {stream.name} did not open it within {OPEN_SECONDS:g}s; look at the log of its poollet"
            )
            raise CallRefusedError(grpc.StatusCode.UNAVAILABLE, words) from None
        except BaseException:
            self.end(made)
            raise
        finally:
            del self._requests[wanted.id]
        return made

    def end(self, request: PipeRequest) -> None:
        """The client needs it no more, or never got it. May be called again."""
        if request not in self._open:
            return
        pipe = self._open.pop(request)
        request.stream.send(ServerMessage(close_pipe=ClosePipe(id=request.id)))
        if pipe is None and request.opened.done() and not request.opened.cancelled():
            pipe = request.opened.result() if request.opened.exception() is None else None
        if pipe is not None:
            pipe.left.set()

    def refuse(self, stream: AgentStream, refused: PipeRefused) -> None:
        """A host does not open it. One that was never sent to that host is passed over."""
        found = self._requests.get(refused.pipe_id)
        if found is not None and found.stream is stream and not found.opened.done():
            found.opened.set_exception(to_refusal(refused.reason.reason, refused.reason.message, stream.name))

    def end_all(self, stream: AgentStream) -> None:
        """The host is not connected any more."""
        gone = CallRefusedError(
            grpc.StatusCode.UNAVAILABLE, f"host {stream.name} is not connected any more; call again"
        )
        for request, pipe in tuple(self._open.items()):
            if request.stream is stream:
                if pipe is not None:
                    pipe.ended.set()
                elif not request.opened.done():
                    request.opened.set_exception(gone)

    def count(self) -> int:
        return len(self._open)

    async def serve(self, _requests: object, context: Context) -> None:
        """The handler of Agent.Pipe."""
        caller = await self._service.identify(context)
        try:
            first = await asyncio.wait_for(context.read(), OPEN_SECONDS)
        except TimeoutError:
            first = None
        request = self._requests.get(first.pipe_id) if isinstance(first, Chunk) else None
        is_own = request is not None and (caller.kind, caller.name) == ("poollets", request.stream.name)
        if request is None or not is_own or request.opened.done():
            await context.abort(grpc.StatusCode.NOT_FOUND, "there is no such pipe for this host to open")
            raise AssertionError("abort raises")
        pipe = HostPipe(context)
        request.opened.set_result(pipe)
        try:
            await pipe.left.wait()
            await pipe.writer.finish()
        finally:
            pipe.ended.set()

    def _check_limits(self, stream: AgentStream, client: str, kind: str) -> None:
        """One client must not take all pipes of a host, nor all logs that its runtime serves."""
        of_host = [request for request in self._open if request.stream is stream]
        own = sum((request.client, request.kind) == (client, kind) for request in of_host)
        if own >= PIPES_OF_CLIENT[kind]:
            words = f"client {client} has {own} of kind {kind} open at host {stream.name} already; close one first"
            raise CallRefusedError(grpc.StatusCode.RESOURCE_EXHAUSTED, words)
        if len(of_host) >= PIPES_OF_HOST:
            words = f"{len(of_host)} consoles, logs and connections are open at host {stream.name} already; call again later"
            raise CallRefusedError(grpc.StatusCode.RESOURCE_EXHAUSTED, words)


def to_refusal(reason: str, message: str, host: str) -> CallRefusedError:
    """What a host says of a pipe, as the status of the client's call."""
    words = " ".join(message.split())[:WORDS_LENGTH] or reason[:WORDS_LENGTH]
    return CallRefusedError(STATUSES.get(reason, grpc.StatusCode.UNAVAILABLE), f"host {host}: {words}")


class ChunkWriter:
    """Writes to one call, one chunk after the other. `finish` comes before the call ends: gRPC cannot end a call while it still writes to it."""

    def __init__(self, context: Context, reader: str) -> None:
        self._context, self._reader = context, reader
        self._writing: asyncio.Future[None] | None = None

    async def write(self, chunk: Chunk) -> None:
        """Raises CallRefusedError where the reader does not take it: what waits for it is bounded, and so is how long."""
        self._writing = asyncio.ensure_future(self._context.write(chunk))
        await asyncio.wait([self._writing], timeout=STALL_SECONDS)
        if not self._writing.done():
            words = f"{self._reader} took nothing for {STALL_SECONDS:g}s; call again"
            raise CallRefusedError(grpc.StatusCode.RESOURCE_EXHAUSTED, words)
        try:
            self._writing.result()
        except grpc.aio.InternalError:
            # The call has ended meanwhile, which gRPC says of the write that was on its way.
            words = f"{self._reader} has closed the connection; call again"
            raise CallRefusedError(grpc.StatusCode.UNAVAILABLE, words) from None

    async def finish(self) -> None:
        """Waits for a write that was cancelled, or given up."""
        if self._writing is not None:
            await asyncio.wait([self._writing], timeout=FINISH_SECONDS)
            if self._writing.done() and not self._writing.cancelled():
                self._writing.exception()  # the call is over, whatever became of its last chunk
