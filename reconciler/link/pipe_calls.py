"""Calls of clients that reach into a machine: Console, Logs and Forward. This is the half that clients know; link/pipes.py has the hosts'.

Theory of operation
-------------------
    the client has the right in the namespace, and live assigns the machine to a host that is connected here
                                  the host opens a pipe; the client gets an empty chunk
    the client sends              one chunk at a time goes to the host, and the next is read when the host has taken it
    the host sends                likewise
    the client ends its half      the host is told, and its output goes on
    the host ends                 the client gets the rest, with the exit status or with why it was cut off; a console and a log are over then
    the machine ends its half of a connection
                                  the client is told; what it still sends goes to the host, until it ends its half as well or sends nothing for
                                  IDLE_SECONDS. The call ends when the host has taken all of it
    the client leaves, loses the right or its certificate, or does not read for STALL_SECONDS
                                  the host's end is closed, which frees the console

Who opened what, and how it ended, is a line of the log each; what was typed or shown is in none.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import grpc

from iri.proto.gitvirt.link.v1alpha1.agent_pb2 import (
    Chunk,
    ConsoleTarget,
    ForwardTarget,
    LogsTarget,
    MachineTarget,
    OpenPipe,
)
from iri.proto.gitvirt.link.v1alpha1.controller_pb2 import (
    ConsoleRequest,
    ForwardRequest,
    InstanceRef,
    LogsRequest,
)
from reconciler.link.agent_calls import Context
from reconciler.link.agent_stream import AgentStream
from reconciler.link.client_calls import CallRefusedError, ClientCall, ClientCalls
from reconciler.link.fleet_feed import FleetFeed
from reconciler.link.linked_hosts import LinkedHosts
from reconciler.link.metrics import LinkMetrics
from reconciler.link.pipes import ChunkWriter, HostPipe, Pipes, to_refusal
from reconciler.picture.instance import InstancePicture
from schemas.kinds import DEFAULT_NAMESPACE, Key, Kind
from schemas.settings.link import HIGHEST_PORT, Right

log = logging.getLogger(__name__)

FIRST_SECONDS = 10.0
IDLE_SECONDS = 60.0  # of a connection whose other half has ended
# Reads the next chunk of the client; None at the end of its half.
ReadChunk = Callable[[], Awaitable[Chunk | None]]


@dataclass
class PipeTraffic:
    """Bytes, for the log."""

    to_host: int = 0
    to_client: int = 0


class PipeCalls:
    def __init__(
        self, calls: ClientCalls, feed: FleetFeed, hosts: LinkedHosts, pipes: Pipes, metrics: LinkMetrics
    ) -> None:
        self._calls, self._feed, self._hosts, self._pipes = calls, feed, hosts, pipes
        self._metrics = metrics

    async def console(self, _requests: object, context: Context) -> None:
        async def body(call: ClientCall) -> None:
            first = await read_first(context, ConsoleRequest)
            machine, stream = self._find(call, first.instance)
            wanted = OpenPipe(console=ConsoleTarget(machine=to_target(machine)))
            await self._run(call, context, machine, (stream, wanted), read_chunks(context))

        await self._calls.run(context, "console", body)

    async def logs(self, request: LogsRequest, context: Context) -> None:
        async def body(call: ClientCall) -> None:
            machine, stream = self._find(call, request.instance)
            target = LogsTarget(
                machine=to_target(machine),
                tail_lines=request.tail_lines,
                follow=request.follow,
                previous=request.previous,
            )
            await self._run(call, context, machine, (stream, OpenPipe(logs=target)), None)

        await self._calls.run(context, "logs", body)

    async def forward(self, _requests: object, context: Context) -> None:
        async def body(call: ClientCall) -> None:
            first = await read_first(context, ForwardRequest)
            machine, stream = self._find(call, first.instance)
            if not 0 < first.port <= HIGHEST_PORT:
                words = f"{first.port} is not a port; set `port` in the first message"
                raise CallRefusedError(grpc.StatusCode.INVALID_ARGUMENT, words)
            wanted = OpenPipe(forward=ForwardTarget(machine=to_target(machine), port=first.port))
            await self._run(call, context, machine, (stream, wanted), read_chunks(context))

        await self._calls.run(context, "forward", body)

    def _find(self, call: ClientCall, instance: InstanceRef) -> tuple[InstancePicture, AgentStream]:
        """The machine, and the stream of the host that has it. Raises CallRefusedError."""
        key = Key(Kind.MACHINE, instance.namespace or DEFAULT_NAMESPACE, instance.name)
        call.permit({key.namespace})
        found = self._feed.take_picture().instances.get(key)
        if found is None:
            words = f"{key} is not in the fleet; WatchInstances lists its machines"
            raise CallRefusedError(grpc.StatusCode.NOT_FOUND, words)
        if not found.poollet:
            words = f"{key} is on no host, its state is {found.state.value}; wait until it is placed"
            raise CallRefusedError(grpc.StatusCode.FAILED_PRECONDITION, words)
        stream = self._hosts.find_stream(found.poollet)
        if not isinstance(stream, AgentStream):
            words = f"host {found.poollet} of {key} is not connected to this server of the link; look at the log of its poollet, or call another server"
            raise CallRefusedError(grpc.StatusCode.UNAVAILABLE, words)
        return found, stream

    async def _run(
        self,
        call: ClientCall,
        context: Context,
        machine: InstancePicture,
        at_host: tuple[AgentStream, OpenPipe],
        read: ReadChunk | None,
    ) -> None:
        """From the request to the end of either side."""
        traffic, writer = PipeTraffic(), ChunkWriter(context, "the client")
        async with self._opened(call, machine, at_host, traffic) as pipe:
            try:
                await writer.write(Chunk())
                has_halves = at_host[1].HasField("forward")
                await splice(writer, pipe, read, traffic, at_host[0].name, has_halves=has_halves)
            finally:
                await writer.finish()

    @asynccontextmanager
    async def _opened(
        self,
        call: ClientCall,
        machine: InstancePicture,
        at_host: tuple[AgentStream, OpenPipe],
        traffic: PipeTraffic,
    ) -> AsyncIterator[HostPipe]:
        """Logs who opened what, and how it ended."""
        stream, wanted = at_host
        kind = wanted.WhichOneof("kind") or ""
        right: Right | None = call.right
        request = await self._pipes.request(stream, call.name, wanted)
        who = f"client={call.name} right={right} machine={machine.key} uid={machine.uid} host={stream.name}"
        if wanted.HasField("forward"):
            who += f" port={wanted.forward.port}"
        log.info("%s opened %s", kind, who)
        self._metrics.count_pipe(kind, self._pipes.count())
        reason, started = "the client left", asyncio.get_running_loop().time()
        try:
            yield request.opened.result()
            reason = "the host's end"
        except CallRefusedError as refused:
            reason = refused.words
            raise
        finally:
            self._pipes.end(request)
            self._metrics.pipes.set(self._pipes.count())
            seconds = asyncio.get_running_loop().time() - started
            log.info(
                "%s closed %s seconds=%.1f to_host=%d to_client=%d reason=%s",
                kind,
                who,
                seconds,
                traffic.to_host,
                traffic.to_client,
                reason,
            )


async def splice(
    writer: ChunkWriter,
    pipe: HostPipe,
    read: ReadChunk | None,
    traffic: PipeTraffic,
    host: str,
    *,
    has_halves: bool,
) -> None:
    """Both directions, until the host ends; with halves, each until its own end. Raises CallRefusedError where it was cut off."""
    tasks = [asyncio.ensure_future(send_to_client(writer, pipe, traffic, host))]
    if read is not None:
        tasks.append(asyncio.ensure_future(send_to_host(pipe, read, traffic)))
    cut = asyncio.ensure_future(pipe.ended.wait())
    waiting: set[asyncio.Future[Any]] = {*tasks, cut}
    try:
        while not tasks[0].done():
            done, _ = await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
            waiting -= done
            for each in done:
                each.result()  # raises what ended it
            if cut in done and not tasks[0].done():
                # What it has sent before may still be on its way.
                await asyncio.wait([tasks[0]], timeout=1.0)
                if not tasks[0].done():
                    words = f"host {host} ended the connection; call again"
                    raise CallRefusedError(grpc.StatusCode.UNAVAILABLE, words)
        tasks[0].result()
        if has_halves:
            await end_input(tasks[1], pipe, traffic, host)
    finally:
        for each in (*tasks, cut):
            each.cancel()
        await asyncio.gather(*tasks, cut, return_exceptions=True)


async def end_input(sending: asyncio.Future[None], pipe: HostPipe, traffic: PipeTraffic, host: str) -> None:
    """After the machine's end: what the client still sends, and then that the host has taken all of it, which it says by its own end."""
    cut = asyncio.ensure_future(pipe.ended.wait())
    ends: list[asyncio.Future[Any]] = [sending, cut]
    try:
        while not sending.done() and not cut.done():
            before = traffic.to_host
            await asyncio.wait(ends, timeout=IDLE_SECONDS, return_when=asyncio.FIRST_COMPLETED)
            if not sending.done() and not cut.done() and traffic.to_host == before:
                return  # as if it had closed: the client may be gone
        if not sending.done():
            raise CallRefusedError(
                grpc.StatusCode.UNAVAILABLE, f"host {host}: the machine has closed the connection; call again"
            )
        sending.result()
        taking = asyncio.ensure_future(pipe.read())
        either: list[asyncio.Future[Any]] = [taking, cut]
        try:
            await asyncio.wait(either, timeout=IDLE_SECONDS, return_when=asyncio.FIRST_COMPLETED)
        finally:
            taking.cancel()
            await asyncio.gather(taking, return_exceptions=True)
    finally:
        cut.cancel()


async def send_to_client(writer: ChunkWriter, pipe: HostPipe, traffic: PipeTraffic, host: str) -> None:
    """Until the host's end. Of a chunk only what concerns a client is passed on."""
    while (chunk := await pipe.read()) is not None:
        traffic.to_client += len(chunk.data)
        if chunk.is_end and chunk.HasField("problem"):
            raise to_refusal(chunk.problem.reason, chunk.problem.message, host)
        passed = Chunk(data=chunk.data, is_end=chunk.is_end)
        if chunk.is_end and chunk.HasField("exit_status"):
            passed.exit_status = chunk.exit_status
        await writer.write(passed)
        if chunk.is_end:
            return
    raise CallRefusedError(grpc.StatusCode.UNAVAILABLE, f"host {host} ended the connection; call again")


async def send_to_host(pipe: HostPipe, read: ReadChunk, traffic: PipeTraffic) -> None:
    """Until the client ends its half."""
    while (chunk := await read()) is not None:
        traffic.to_host += len(chunk.data)
        size = chunk.terminal_size if chunk.HasField("terminal_size") else None
        await pipe.writer.write(Chunk(data=chunk.data, terminal_size=size))
        if chunk.is_end:
            break
    await pipe.writer.write(Chunk(is_end=True))


async def read_first(context: Context, kind: type[Any]) -> Any:
    """The message that names the machine."""
    try:
        first = await asyncio.wait_for(context.read(), FIRST_SECONDS)
    except TimeoutError:
        first = None
    if not isinstance(first, kind) or not first.instance.name:
        words = "the first message names no machine; set `instance` in it, and in no other"
        raise CallRefusedError(grpc.StatusCode.INVALID_ARGUMENT, words)
    return first


def read_chunks(context: Context) -> ReadChunk:
    """Of messages that have one each."""

    async def read() -> Chunk | None:
        message = await context.read()
        return None if message is grpc.aio.EOF else message.chunk  # type: ignore[attr-defined]

    return read


def to_target(machine: InstancePicture) -> MachineTarget:
    return MachineTarget(uid=machine.uid, namespace=machine.key.namespace, name=machine.key.name)
