"""Pictures as messages of controller.proto. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime

from google.protobuf.timestamp_pb2 import Timestamp

from iri.proto.gitvirt.link.v1alpha1 import agent_pb2, controller_pb2
from iri.proto.gitvirt.link.v1alpha1.controller_pb2 import InstanceEvent, InstanceStatus, Node, NodeEvent
from reconciler.picture.changes import InstanceCause, NodeCause
from reconciler.picture.instance import InstancePicture, StatedReason
from reconciler.picture.node import NodePicture, PoolPicture

MOST_AMOUNT = 2**63 - 1
INFO_FIELDS = ("architecture", "operating_system", "kernel_version", "hypervisor", "hypervisor_version")


def to_timestamp(time: datetime) -> Timestamp:
    found = Timestamp()
    found.FromDatetime(time.astimezone(UTC))
    return found


def to_reasons(reasons: Iterable[StatedReason]) -> list[agent_pb2.Reason]:
    return [
        agent_pb2.Reason(
            reason=each.reason, message=each.message, resource=each.resource, need=each.need, have=each.have
        )
        for each in reasons
    ]


def to_status(found: InstancePicture, *, is_gone: bool = False) -> InstanceStatus:
    state = "GONE" if is_gone else found.state.value
    return InstanceStatus(
        instance=controller_pb2.InstanceRef(namespace=found.key.namespace, name=found.key.name),
        uid=found.uid,
        state=controller_pb2.InstanceState.Value(f"INSTANCE_STATE_{state}"),
        pool=found.pool,
        poollet=found.poollet,
        refusals=[
            controller_pb2.PoolRefusal(pool=each.pool, reasons=to_reasons(each.reasons))
            for each in found.refusals
        ],
        reasons=to_reasons(found.reasons),
        ips=found.ips,
        commit=found.commit,
        since=to_timestamp(found.since) if found.since is not None else None,
    )


def to_instance_event(
    cause: InstanceCause, found: InstancePicture, *, is_expected: bool = True, is_gone: bool = False
) -> InstanceEvent:
    return InstanceEvent(
        cause=InstanceEvent.Cause.Value(f"CAUSE_{cause.value}"),
        status=to_status(found, is_gone=is_gone),
        is_expected=is_expected,
    )


def to_node(found: NodePicture, sign: datetime | None, *, is_linked: bool) -> Node:
    info = dict(found.info)
    given = {name: info.get(to_camel(name), "") for name in INFO_FIELDS}
    return Node(
        name=found.name,
        state=controller_pb2.NodeState.Value(f"NODE_STATE_{found.state.value}"),
        since=to_timestamp(found.since) if found.since is not None else None,
        pools=map(to_pool, found.pools),
        hardware=agent_pb2.NodeStatus(**given) if any(given.values()) else None,  # type: ignore[arg-type]
        last_sign_of_life=to_timestamp(sign) if sign is not None else None,
        is_linked=is_linked,
        version=found.version,
    )


def to_node_event(cause: NodeCause, node: Node) -> NodeEvent:
    return NodeEvent(cause=NodeEvent.Cause.Value(f"CAUSE_{cause.value}"), node=node)


def to_pool(found: PoolPicture) -> controller_pb2.NodePool:
    return controller_pb2.NodePool(
        name=found.name,
        kind=found.kind,
        labels=dict(found.labels),
        capacity=_amounts(found.capacity),
        allocatable=_amounts(found.allocatable),
        charged=_amounts(found.charged),
        is_schedulable=found.is_schedulable,
        reasons=to_reasons(found.reasons),
    )


def to_camel(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(each.capitalize() for each in rest)


def _amounts(found: tuple[tuple[str, int], ...]) -> dict[str, int]:
    """What a host reports may be any whole number; a message has 63 bits."""
    return {name: max(-MOST_AMOUNT, min(amount, MOST_AMOUNT)) for name, amount in found}
