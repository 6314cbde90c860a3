"""The service Controller: what API clients ask. Runs in the event loop's thread.

    ListNodes, WatchNodes, WatchInstances     from the newest picture of the fleet; they never ask the thread that ticks
    Schedule, Update, Stop, Destroy           a commit, made in a thread of its own (link/change_calls.py)
    Usage                                     what hosts measured (link/usage_calls.py)
    Console, Logs, Forward                    a pipe to the host of a machine (link/pipe_calls.py)

A watch sends what is there first, each with the cause INITIAL, then one message SYNCED without content, then each change.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping
from datetime import UTC, datetime
from typing import Any, TypeVar

import grpc
from google.protobuf.message import Message
from google.protobuf.message_factory import GetMessageClass

from iri.proto.gitvirt.link.v1alpha1 import controller_pb2
from iri.proto.gitvirt.link.v1alpha1.controller_pb2 import (
    InstanceEvent,
    ListNodesRequest,
    ListNodesResponse,
    Node,
    NodeEvent,
    WatchInstancesRequest,
    WatchNodesRequest,
)
from reconciler.link.agent_calls import Context, LinkService
from reconciler.link.change_calls import ChangeCalls
from reconciler.link.client_calls import ClientCall
from reconciler.link.fleet_feed import Change
from reconciler.link.fleet_messages import to_instance_event, to_node, to_node_event
from reconciler.link.pipe_calls import PipeCalls
from reconciler.link.usage_calls import UsageCalls
from reconciler.picture.changes import InstanceCause, NodeCause
from reconciler.picture.fleet_picture import FleetPicture
from reconciler.picture.instance import InstancePicture
from reconciler.picture.node import NodePicture

SERVICE = controller_pb2.DESCRIPTOR.services_by_name["Controller"]
T = TypeVar("T")
Handler = Callable[[Any, Context], Awaitable[Any]]


class ControllerService:
    """`service` has what hosts say."""

    def __init__(self, changes: ChangeCalls, pipes: PipeCalls, service: LinkService) -> None:
        self._changes, self._pipes, self._service = changes, pipes, service
        self._calls, self._feed = changes.calls, changes.feed
        self._usage = UsageCalls(self._calls, self._feed, service.board)

    def handlers(self) -> dict[str, grpc.RpcMethodHandler[Any, Any]]:
        """One for each method of the service."""
        built: dict[str, Handler] = {
            "ListNodes": self.list_nodes,
            "WatchNodes": self.watch_nodes,
            "WatchInstances": self.watch_instances,
            "Schedule": self._changes.schedule,
            "Update": self._changes.update,
            "Stop": self._changes.stop,
            "Destroy": self._changes.destroy,
            "Usage": self._usage.usage,
            "Console": self._pipes.console,
            "Logs": self._pipes.logs,
            "Forward": self._pipes.forward,
        }
        return {each.name: make_handler(each, built[each.name]) for each in SERVICE.methods}

    async def list_nodes(self, request: ListNodesRequest, context: Context) -> ListNodesResponse:
        async def body(_call: ClientCall) -> ListNodesResponse:
            picture = self._feed.take_picture()
            chosen = select_nodes(picture, request.selector)
            return ListNodesResponse(nodes=[self._to_node(picture, each) for each in chosen])

        return await self._calls.run(context, "read", body)

    async def watch_nodes(self, request: WatchNodesRequest, context: Context) -> None:
        def wants(change: Change) -> bool:
            found = change.picture
            return isinstance(found, NodePicture) and is_selected(found, request.selector)

        async def body(call: ClientCall) -> None:
            with self._feed.view(call, wants) as viewer:
                picture = self._feed.take_picture()
                for found in select_nodes(picture, request.selector):
                    await context.write(to_node_event(NodeCause.INITIAL, self._to_node(picture, found)))
                await context.write(NodeEvent(cause=NodeEvent.CAUSE_SYNCED))
                while True:
                    change = await viewer.next()
                    if isinstance(change.picture, NodePicture) and isinstance(change.cause, NodeCause):
                        node = self._to_node(self._feed.take_picture(), change.picture)
                        await context.write(to_node_event(change.cause, node))

        await self._calls.run(context, "read", body)

    async def watch_instances(self, request: WatchInstancesRequest, context: Context) -> None:
        async def body(call: ClientCall) -> None:
            call.permit(request.namespaces)

            def is_wanted(found: InstancePicture) -> bool:
                namespace, labels = found.key.namespace, dict(found.labels)
                is_named = not request.namespaces or namespace in request.namespaces
                return is_named and call.may_see(namespace) and matches(labels, request.selector)

            def wants(change: Change) -> bool:
                return isinstance(change.picture, InstancePicture) and is_wanted(change.picture)

            with self._feed.view(call, wants) as viewer:
                instances = self._feed.take_picture().instances
                for key in sorted(instances):
                    if is_wanted(instances[key]):
                        await context.write(to_instance_event(InstanceCause.INITIAL, instances[key]))
                await context.write(InstanceEvent(cause=InstanceEvent.CAUSE_SYNCED))
                while True:
                    change = await viewer.next()
                    found, cause = change.picture, change.cause
                    if isinstance(found, InstancePicture) and isinstance(cause, InstanceCause):
                        event = to_instance_event(
                            cause, found, is_expected=change.is_expected, is_gone=change.is_gone
                        )
                        await context.write(event)

        await self._calls.run(context, "read", body)

    def _to_node(self, picture: FleetPicture, found: NodePicture) -> Node:
        """With what the link itself knows: that is newer than the last tick."""
        sign, at = picture.signs.get(found.name), self._service.hosts.signed_at(found.name)
        if at is not None:
            linked = datetime.now(UTC) - (self._service.steady() - at)
            sign = max(linked, sign) if sign is not None else linked
        node = to_node(found, sign, is_linked=self._service.hosts.is_connected(found.name))
        if (used := self._service.board.find_node(found.name)) is not None:
            node.usage.CopyFrom(used)
        return node


def make_handler(method: Any, behavior: Handler) -> grpc.RpcMethodHandler[Any, Any]:
    """With the messages and the kind of streams that the descriptor says."""
    kinds = {
        (False, False): grpc.unary_unary_rpc_method_handler,
        (False, True): grpc.unary_stream_rpc_method_handler,
        (True, False): grpc.stream_unary_rpc_method_handler,
        (True, True): grpc.stream_stream_rpc_method_handler,
    }
    request: type[Message] = GetMessageClass(method.input_type)
    answer: type[Message] = GetMessageClass(method.output_type)
    return kinds[method.client_streaming, method.server_streaming](
        behavior,
        request_deserializer=request.FromString,
        response_serializer=answer.SerializeToString,
    )


def select_nodes(picture: FleetPicture, selector: Mapping[str, str]) -> Iterable[NodePicture]:
    return (
        picture.nodes[name] for name in sorted(picture.nodes) if is_selected(picture.nodes[name], selector)
    )


def is_selected(node: NodePicture, selector: Mapping[str, str]) -> bool:
    """Whether one of its pools has all these labels. Without a selector, also a node without pools."""
    return not selector or any(matches(dict(each.labels), selector) for each in node.pools)


def matches(labels: Mapping[str, str], selector: Mapping[str, str]) -> bool:
    return all(labels.get(name) == value for name, value in selector.items())
