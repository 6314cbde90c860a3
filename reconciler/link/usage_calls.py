"""The call Usage: what machines and hosts measured. Runs in the event loop's thread.

Hosts have no namespace: the right `read` shows them to each client that has it. Machines are shown in the namespaces of the client alone.
"""

from __future__ import annotations

import grpc

from iri.proto.gitvirt.link.v1alpha1.controller_pb2 import UsageRequest
from reconciler.link.agent_calls import Context
from reconciler.link.client_calls import CallRefusedError, ClientCall, ClientCalls
from reconciler.link.fleet_feed import FleetFeed
from reconciler.link.usage_board import UsageBoard
from reconciler.picture.fleet_picture import FleetPicture
from reconciler.picture.instance import InstancePicture
from schemas.kinds import DEFAULT_NAMESPACE, Key, Kind


class UsageCalls:
    def __init__(self, calls: ClientCalls, feed: FleetFeed, board: UsageBoard) -> None:
        self._calls, self._feed, self._board = calls, feed, board

    async def usage(self, request: UsageRequest, context: Context) -> None:
        async def body(call: ClientCall) -> None:
            keys = frozenset(
                Key(Kind.MACHINE, each.namespace or DEFAULT_NAMESPACE, each.name)
                for each in request.instances
            )
            call.permit({key.namespace for key in keys})
            picture = self._feed.take_picture()
            nodes = frozenset(request.nodes)
            require_known(keys, nodes, picture)

            def wants(found: InstancePicture) -> bool:
                is_named = not keys or found.key in keys
                return is_named and call.may_see(found.key.namespace)

            async def send(name: str) -> None:
                has_node = name in nodes or not (nodes or keys)
                if nodes and not keys and not has_node:
                    return
                report = self._board.report(name, self._feed.take_picture(), wants, has_node=has_node)
                if report is not None:
                    await context.write(report)

            with self._board.follow() as viewer:
                for name in self._board.names:
                    await send(name)
                while request.follow:
                    await send(await viewer.next())

        await self._calls.run(context, "read", body)


def require_known(keys: frozenset[Key], nodes: frozenset[str], picture: FleetPicture) -> None:
    """Raises CallRefusedError for what the fleet does not have: a name that is misspelt must not look like one that is not measured."""
    for key in sorted(keys - picture.instances.keys()):
        words = f"{key} is not in the fleet; WatchInstances lists its machines"
        raise CallRefusedError(grpc.StatusCode.NOT_FOUND, words)
    for name in sorted(nodes - picture.nodes.keys()):
        words = f"node {name[:100]!r} is not in the fleet; ListNodes lists its nodes"
        raise CallRefusedError(grpc.StatusCode.NOT_FOUND, words)
