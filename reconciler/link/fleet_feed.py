"""Who looks at the fleet, and what each of them has still to be sent. Runs in the event loop's thread.

A viewer gets the whole picture first, then each change in its order. What waits for one is bounded by MOST_WAITING: one that reads more slowly
than the fleet changes for long is closed with RESOURCE_EXHAUSTED and told to watch again, because with a part of the changes left out it
would see a fleet that never was. Neither the tick nor another viewer waits for it.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import grpc

from reconciler.link.agent_stream import StreamEnd
from reconciler.link.client_calls import CallRefusedError, ClientCall
from reconciler.picture.changes import InstanceChange, NodeChange, compare_instances, compare_nodes
from reconciler.picture.fleet_picture import FleetPicture, PictureNews

MOST_WAITING = 20_000
Change = InstanceChange | NodeChange
SLOW = StreamEnd(
    grpc.StatusCode.RESOURCE_EXHAUSTED,
    f"more than {MOST_WAITING} changes wait for this call, because the client reads too slowly; watch again: that begins with how it is now",
    "too_many",
)


@dataclass(eq=False)
class Viewer:
    """`wants` says which changes it is sent."""

    call: ClientCall
    wants: Callable[[Change], bool]
    waiting: deque[Change] = field(default_factory=deque)
    has_news: asyncio.Event = field(default_factory=asyncio.Event)

    def put(self, change: Change) -> None:
        if not self.wants(change):
            return
        if len(self.waiting) >= MOST_WAITING:
            self.call.close(SLOW)
            return
        self.waiting.append(change)
        self.has_news.set()

    async def next(self) -> Change:
        while not self.waiting:
            self.has_news.clear()
            await self.has_news.wait()
        return self.waiting.popleft()


class FleetFeed:
    """The newest picture, and its viewers. `picture` is None before the first tick has ended."""

    def __init__(self) -> None:
        self.picture: FleetPicture | None = None
        self._viewers: set[Viewer] = set()

    @contextmanager
    def view(self, call: ClientCall, wants: Callable[[Change], bool]) -> Iterator[Viewer]:
        """All changes from now on: whoever takes `picture` in the same step misses none and sees none twice."""
        viewer = Viewer(call, wants)
        self._viewers.add(viewer)
        try:
            yield viewer
        finally:
            self._viewers.discard(viewer)

    def take_picture(self) -> FleetPicture:
        """Raises CallRefusedError before the first tick has ended."""
        if self.picture is None:
            words = "the reconciler has not read the fleet yet; call again in a moment"
            raise CallRefusedError(grpc.StatusCode.UNAVAILABLE, words)
        return self.picture

    def take(self, news: PictureNews) -> None:
        before, self.picture = self.picture, news.picture
        if self._viewers:
            for change in list_changes(before or FleetPicture(), news):
                for viewer in self._viewers:
                    viewer.put(change)


def list_changes(before: FleetPicture, news: PictureNews) -> Iterator[Change]:
    """Nodes first: a machine on a node that is new is seen after it."""
    after = news.picture
    names = before.nodes.keys() | after.nodes.keys() if news.names is None else news.names
    for name in sorted(names):
        if node := compare_nodes(before.nodes.get(name), after.nodes.get(name)):
            yield node
    keys = before.instances.keys() | after.instances.keys() if news.keys is None else news.keys
    for key in sorted(keys):
        if instance := compare_instances(before.instances.get(key), after.instances.get(key)):
            yield instance
