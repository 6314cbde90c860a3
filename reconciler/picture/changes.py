"""Two pictures of the same machine or node, one after the other → the cause of an event. Pure.

    a machine                                               cause
    was not there, or had another pool, and is placed now   PLACED
    cannot be observed any more                             LOST
    can be observed again                                   BACK
    runs now                                                STARTED
    is off now                                              STOPPED, CRASHED
    is removed from `live`                                  GONE
    anything else                                           CHANGED

    a node                                                  cause
    reports for the first time, or again after it left      JOINED
    says that it leaves                                     LEFT
    its heartbeat timeout is over                           TIMEOUT
    is alive again                                          BACK
    is not known any more                                   REMOVED
    anything else                                           CHANGED

An event of a machine is expected where a commit asked for it: a stop because of `power: Off`, an eviction or a removal. A machine that
stops, crashes or is lost by itself is not; nor is its end when no removal was ordered.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Generic, TypeVar

from reconciler.picture.instance import InstancePicture, InstanceState
from reconciler.picture.node import NodePicture, NodeState


class InstanceCause(StrEnum):
    """As Cause of InstanceEvent, without its prefix."""

    INITIAL = "INITIAL"
    SYNCED = "SYNCED"
    PLACED = "PLACED"
    STARTED = "STARTED"
    STOPPED = "STOPPED"
    CRASHED = "CRASHED"
    LOST = "LOST"
    BACK = "BACK"
    GONE = "GONE"
    CHANGED = "CHANGED"


class NodeCause(StrEnum):
    """As Cause of NodeEvent, without its prefix."""

    INITIAL = "INITIAL"
    SYNCED = "SYNCED"
    JOINED = "JOINED"
    LEFT = "LEFT"
    TIMEOUT = "TIMEOUT"
    BACK = "BACK"
    CHANGED = "CHANGED"
    REMOVED = "REMOVED"


Cause = TypeVar("Cause", InstanceCause, NodeCause)
Picture = TypeVar("Picture", InstancePicture, NodePicture)


@dataclass(frozen=True, slots=True)
class PictureChange(Generic[Picture, Cause]):
    """`picture` is the newest; of one that is gone, the last."""

    cause: Cause
    picture: Picture
    is_expected: bool = True
    is_gone: bool = False


InstanceChange = PictureChange[InstancePicture, InstanceCause]
NodeChange = PictureChange[NodePicture, NodeCause]

_OF_STATE = {
    InstanceState.PLACED: InstanceCause.PLACED,
    InstanceState.RUNNING: InstanceCause.STARTED,
    InstanceState.STOPPED: InstanceCause.STOPPED,
    InstanceState.CRASHED: InstanceCause.CRASHED,
}


def compare_instances(before: InstancePicture | None, after: InstancePicture | None) -> InstanceChange | None:
    """None where nothing changed."""
    if after is None:
        if before is None:
            return None
        is_ordered = before.is_leaving or before.state is InstanceState.TERMINATING
        return PictureChange(InstanceCause.GONE, before, is_ordered, is_gone=True)
    if before is not None and after == before:
        return None
    cause = _find_cause(before, after)
    return PictureChange(cause, after, _is_expected(cause, after))


def _find_cause(before: InstancePicture | None, after: InstancePicture) -> InstanceCause:
    was = before.state if before is not None else None
    if was is after.state:
        is_moved = before is not None and after.pool not in ("", before.pool)
        return InstanceCause.PLACED if is_moved else InstanceCause.CHANGED
    if after.state is InstanceState.UNKNOWN:
        return InstanceCause.LOST
    if was is InstanceState.UNKNOWN and after.state is not InstanceState.TERMINATING:
        return InstanceCause.BACK
    if was in (InstanceState.RUNNING, InstanceState.STOPPED) and after.state is InstanceState.PLACED:
        is_moved = before is not None and after.pool != before.pool
        return InstanceCause.PLACED if is_moved else InstanceCause.CHANGED  # it starts again where it is
    return _OF_STATE.get(after.state, InstanceCause.CHANGED)


def _is_expected(cause: InstanceCause, after: InstancePicture) -> bool:
    match cause:
        case InstanceCause.STOPPED:
            return after.power == "Off" or after.is_leaving
        case InstanceCause.CRASHED:
            return False
        case InstanceCause.LOST:
            return after.has_left_host
        case _:
            return True


def compare_nodes(before: NodePicture | None, after: NodePicture | None) -> NodeChange | None:
    """None where nothing changed."""
    if after is None:
        return PictureChange(NodeCause.REMOVED, before, is_gone=True) if before is not None else None
    if before is not None and after == before:
        return None
    was = before.state if before is not None else None
    had_reported = before is not None and before.has_reported and was is not NodeState.LEFT
    is_there = after.state in (NodeState.READY, NodeState.UNCONFIRMED)
    if after.has_reported and is_there and not had_reported:
        return PictureChange(NodeCause.JOINED, after)
    if was is after.state:
        return PictureChange(NodeCause.CHANGED, after)
    match after.state:
        case NodeState.LOST:
            return PictureChange(NodeCause.TIMEOUT, after, False)
        case NodeState.LEFT:
            return PictureChange(NodeCause.LEFT, after)
        case NodeState.READY if was is NodeState.LOST:
            return PictureChange(NodeCause.BACK, after)
    return PictureChange(NodeCause.CHANGED, after)
