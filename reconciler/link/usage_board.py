"""What connected hosts measured last, and who follows it. Runs in the event loop's thread.

Two measurements of each host are kept: one is a state, two make a rate. They are gone with the host's stream, so nothing old is shown as new.
A client that follows and reads slowly gets the newest of each host, and none that a newer one has replaced: what waits for it is names.

A host is believed about machines that `live` assigns to it, and about no others: namespace, name and uid must be those of one.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from iri.proto.gitvirt.link.v1alpha1.agent_pb2 import NodeUsage, Usage
from iri.proto.gitvirt.link.v1alpha1.controller_pb2 import UsageReport
from reconciler.link.usage_bounds import bound_usage
from reconciler.picture.fleet_picture import FleetPicture
from reconciler.picture.instance import InstancePicture
from schemas.kinds import Key, Kind

Wants = Callable[[InstancePicture], bool]


@dataclass(frozen=True, slots=True)
class HostUsage:
    newest: Usage
    previous: Usage | None = None


@dataclass(eq=False)
class UsageViewer:
    """`waiting` are hosts with a measurement that was not sent yet, in the order in which they came."""

    waiting: dict[str, None] = field(default_factory=dict)
    has_news: asyncio.Event = field(default_factory=asyncio.Event)

    def put(self, name: str) -> None:
        self.waiting[name] = None
        self.has_news.set()

    async def next(self) -> str:
        while not self.waiting:
            self.has_news.clear()
            await self.has_news.wait()
        name = next(iter(self.waiting))
        del self.waiting[name]
        return name


class UsageBoard:
    def __init__(self) -> None:
        self._hosts: dict[str, HostUsage] = {}
        self._viewers: set[UsageViewer] = set()

    def put(self, name: str, usage: Usage) -> None:
        """Of what the host says only what usage_bounds.py lets pass is kept."""
        before, usage = self._hosts.get(name), bound_usage(usage)
        self._hosts[name] = HostUsage(usage, before.newest if before is not None else None)
        for viewer in self._viewers:
            viewer.put(name)

    def forget(self, name: str) -> None:
        """The host is not connected any more."""
        self._hosts.pop(name, None)

    @property
    def names(self) -> Collection[str]:
        return sorted(self._hosts)

    def find_node(self, name: str) -> NodeUsage | None:
        found = self._hosts.get(name)
        return found.newest.node if found is not None and found.newest.HasField("node") else None

    @contextmanager
    def follow(self) -> Iterator[UsageViewer]:
        """All measurements from now on."""
        viewer = UsageViewer()
        self._viewers.add(viewer)
        try:
            yield viewer
        finally:
            self._viewers.discard(viewer)

    def report(self, name: str, picture: FleetPicture, wants: Wants, *, has_node: bool) -> UsageReport | None:
        """Of one host, with the machines on it that are wanted. None where there is nothing to say."""
        found = self._hosts.get(name)
        if found is None:
            return None

        def select(usage: Usage) -> Usage:
            """A machine counts once, whatever the host says."""
            chosen = Usage(time=usage.time, node=usage.node if has_node else None)
            seen: set[str] = set()
            for each in usage.machines:
                key = Key(Kind.MACHINE, each.namespace, each.name)
                machine = picture.instances.get(key)
                is_there = machine is not None and (machine.uid, machine.poollet) == (each.uid, name)
                if machine is not None and is_there and each.uid not in seen and wants(machine):
                    seen.add(each.uid)
                    chosen.machines.append(each)
            return chosen

        report = UsageReport(node=name, usage=select(found.newest))
        if not has_node and not report.usage.machines:
            return None
        if found.previous is not None:
            report.previous.CopyFrom(select(found.previous))
        return report
