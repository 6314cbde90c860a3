"""Calls that commit: Schedule, Update, Stop, Destroy. The event loop waits for a thread that makes the commits, one after the other.

Theory of operation of Schedule
-------------------------------
    the commit is on the source branch       ACCEPTED, with that commit, for each machine of the manifest
    then                                     each change of them that a tick shows, beginning with how they are then
    until                                    all of them run, or are off as declared; or one failed for good

Failed for good is what no tick alone changes: GONE, CRASHED, BLOCKED. A machine of an earlier life of the name may still be on its way out when
the commit lands: its TERMINATING and GONE are passed over until the new one was seen.

A client that disconnects ends the reports alone: a commit that was begun is finished.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

import grpc

from iri.proto.gitvirt.link.v1alpha1 import controller_pb2
from iri.proto.gitvirt.link.v1alpha1.controller_pb2 import (
    DestroyRequest,
    DestroyResponse,
    InstanceStatus,
    ScheduleRequest,
    StopRequest,
    StopResponse,
    UpdateRequest,
    UpdateResponse,
)
from reconciler.link.agent_calls import Context
from reconciler.link.client_calls import CallRefusedError, ClientCall, ClientCalls
from reconciler.link.fleet_feed import Change, FleetFeed
from reconciler.link.fleet_messages import to_status
from reconciler.link.fleet_writer import CallingClient, FleetWriter, ScheduledManifest
from reconciler.picture.instance import InstancePicture, InstanceState
from schemas.kinds import Key
from schemas.settings.link import Right

MOST_WAITING_COMMITS = 32
FAILED = frozenset((InstanceState.CRASHED, InstanceState.BLOCKED))
T = TypeVar("T")


class ChangeCalls:
    """`wake` tells the loop that the source branch moved."""

    def __init__(
        self, calls: ClientCalls, feed: FleetFeed, writer: FleetWriter | None, wake: Callable[[], None]
    ) -> None:
        self.calls, self.feed, self._writer, self._wake = calls, feed, writer, wake
        self._thread = ThreadPoolExecutor(1, "controller")
        self._waiting = 0

    def end(self) -> None:
        """Returns once the commit that was begun is finished. Those that wait are dropped."""
        self._thread.shutdown(cancel_futures=True)

    async def schedule(self, request: ScheduleRequest, context: Context) -> None:
        async def body(call: ClientCall) -> None:
            made = await self._write(call, lambda writer, client: writer.schedule(client, request))
            if made.commit:
                await self._report(call, made, context.write)

        await self.calls.run(context, "schedule", body)

    async def update(self, request: UpdateRequest, context: Context) -> UpdateResponse:
        return await self._change(context, "update", lambda writer, client: writer.update(client, request))

    async def stop(self, request: StopRequest, context: Context) -> StopResponse:
        return await self._change(context, "stop", lambda writer, client: writer.stop(client, request))

    async def destroy(self, request: DestroyRequest, context: Context) -> DestroyResponse:
        return await self._change(context, "destroy", lambda writer, client: writer.destroy(client, request))

    async def _change(
        self, context: Context, right: Right, write: Callable[[FleetWriter, CallingClient], T]
    ) -> T:
        return await self.calls.run(context, right, lambda call: self._write(call, write))

    async def _write(self, call: ClientCall, write: Callable[[FleetWriter, CallingClient], T]) -> T:
        writer = self._writer
        if writer is None:
            words = "this server makes no commits; call one that `gitvirt run --link` serves"
            raise CallRefusedError(grpc.StatusCode.UNIMPLEMENTED, words)
        if self._waiting >= MOST_WAITING_COMMITS:
            words = f"{MOST_WAITING_COMMITS} commits wait already; call again later"
            raise CallRefusedError(grpc.StatusCode.RESOURCE_EXHAUSTED, words)
        client = CallingClient(call.name, call.permit)
        self._waiting += 1
        future = asyncio.get_running_loop().run_in_executor(self._thread, lambda: write(writer, client))
        future.add_done_callback(self._note_done)
        found = await future
        self._wake()
        return found

    def _note_done(self, future: asyncio.Future[T]) -> None:
        self._waiting -= 1
        if not future.cancelled():
            future.exception()  # whoever called may be gone, and then nothing else takes it

    async def _report(
        self, call: ClientCall, made: ScheduledManifest, write: Callable[[InstanceStatus], Awaitable[None]]
    ) -> None:
        for key in made.machines:
            accepted = controller_pb2.InstanceStatus(
                instance=controller_pb2.InstanceRef(namespace=key.namespace, name=key.name),
                state=controller_pb2.INSTANCE_STATE_ACCEPTED,
                commit=made.commit,
            )
            await write(accepted)

        def wants(change: Change) -> bool:
            return isinstance(change.picture, InstancePicture) and change.picture.key in made.machines

        progress = ScheduleProgress(made.machines)
        with self.feed.view(call, wants) as viewer:
            now = self.feed.take_picture().instances
            for key in made.machines:
                if key in now and progress.take(now[key], is_gone=False):
                    await write(to_status(now[key]))
            while not progress.is_over:
                change = await viewer.next()
                found = change.picture
                if isinstance(found, InstancePicture) and progress.take(found, is_gone=change.is_gone):
                    await write(to_status(found, is_gone=change.is_gone))


class ScheduleProgress:
    """How far the machines of one manifest are."""

    def __init__(self, machines: tuple[Key, ...]) -> None:
        self._waiting = set(machines)
        self._seen: set[Key] = set()
        self._has_failed = False

    @property
    def is_over(self) -> bool:
        return self._has_failed or not self._waiting

    def take(self, found: InstancePicture, *, is_gone: bool) -> bool:
        """Whether it is about the machine that was scheduled, and not about an earlier one of that name."""
        if (is_gone or found.state is InstanceState.TERMINATING) and found.key not in self._seen:
            return False
        self._seen.add(found.key)
        self._has_failed |= is_gone or found.state in FAILED
        is_off = found.state is InstanceState.STOPPED and found.power == "Off"
        if found.state is InstanceState.RUNNING or is_off:
            self._waiting.discard(found.key)
        else:
            self._waiting.add(found.key)
        return True
