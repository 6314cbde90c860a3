"""Which cause an event has, from the picture before and the one after."""

from __future__ import annotations

import pytest

from reconciler.picture.changes import InstanceCause, NodeCause, compare_instances, compare_nodes
from reconciler.picture.instance import InstancePicture, InstanceState
from reconciler.picture.node import NodePicture, NodeState
from schemas.kinds import Key, Kind

WEB = Key(Kind.MACHINE, "default", "web")


def instance(state: str, pool: str = "", *, power: str = "On", leaving: bool = False) -> InstancePicture:
    return InstancePicture(
        WEB, "uid", InstanceState(state), pool, "host" * bool(pool), power, is_leaving=leaving
    )


@pytest.mark.parametrize(
    ("before", "after", "cause", "is_expected"),
    [
        pytest.param(None, instance("ACCEPTED"), "CHANGED", True, id="new"),
        pytest.param(None, instance("PLACED", "a"), "PLACED", True, id="new, and placed at once"),
        pytest.param(instance("ACCEPTED"), instance("PLACED", "a"), "PLACED", True, id="placed"),
        pytest.param(
            instance("ACCEPTED"), instance("UNSCHEDULABLE"), "CHANGED", True, id="refused by every pool"
        ),
        pytest.param(instance("UNSCHEDULABLE"), instance("PLACED", "a"), "PLACED", True, id="room at last"),
        pytest.param(instance("PLACED", "a"), instance("PLACED", "b"), "PLACED", True, id="the next pool"),
        pytest.param(instance("RUNNING", "a"), instance("PLACED", "b"), "PLACED", True, id="moved"),
        pytest.param(instance("STOPPED", "a"), instance("PLACED", "a"), "CHANGED", True, id="starts again"),
        pytest.param(instance("PLACED", "a"), instance("RUNNING", "a"), "STARTED", True, id="runs"),
        pytest.param(
            instance("RUNNING", "a"), instance("STOPPED", "a"), "STOPPED", False, id="off by itself"
        ),
        pytest.param(
            instance("RUNNING", "a"),
            instance("STOPPED", "a", power="Off"),
            "STOPPED",
            True,
            id="off by a commit",
        ),
        pytest.param(
            instance("RUNNING", "a"),
            instance("STOPPED", "a", leaving=True),
            "STOPPED",
            True,
            id="off to leave its pool",
        ),
        pytest.param(instance("RUNNING", "a"), instance("CRASHED", "a"), "CRASHED", False, id="crashed"),
        pytest.param(instance("RUNNING", "a"), instance("UNKNOWN", "a"), "LOST", False, id="lost"),
        pytest.param(instance("UNKNOWN", "a"), instance("RUNNING", "a"), "BACK", True, id="back"),
        pytest.param(
            instance("UNKNOWN", "a"), instance("STOPPED", "a", power="Off"), "BACK", True, id="back, and off"
        ),
        pytest.param(
            instance("RUNNING", "a"), instance("TERMINATING", "a"), "CHANGED", True, id="removal ordered"
        ),
        pytest.param(instance("TERMINATING", "a", leaving=True), None, "GONE", True, id="removed"),
        pytest.param(instance("RUNNING", "a"), None, "GONE", False, id="gone without an order"),
    ],
)
def test_the_cause_of_an_event_of_a_machine(
    before: InstancePicture | None, after: InstancePicture | None, cause: str, is_expected: bool
) -> None:
    found = compare_instances(before, after)
    assert found is not None
    assert (found.cause, found.is_expected) == (InstanceCause(cause), is_expected)
    assert found.is_gone == (after is None)


def node(state: str, *, has_reported: bool = True) -> NodePicture:
    return NodePicture("rack-a1", NodeState(state), has_reported=has_reported)


@pytest.mark.parametrize(
    ("before", "after", "cause"),
    [
        pytest.param(None, node("READY"), "JOINED", id="a new host that is alive"),
        pytest.param(None, node("UNCONFIRMED", has_reported=False), "CHANGED", id="listed"),
        pytest.param(
            node("UNCONFIRMED", has_reported=False), node("READY"), "JOINED", id="listed, then alive"
        ),
        pytest.param(None, node("UNCONFIRMED"), "JOINED", id="a new host with its first report"),
        pytest.param(node("UNCONFIRMED"), node("READY"), "CHANGED", id="confirmed after a start"),
        pytest.param(node("READY"), node("LEFT"), "LEFT", id="left"),
        pytest.param(node("LEFT"), node("READY"), "JOINED", id="joined again"),
        pytest.param(node("READY"), node("LOST"), "TIMEOUT", id="lost"),
        pytest.param(node("UNCONFIRMED"), node("LOST"), "TIMEOUT", id="never confirmed"),
        pytest.param(node("LOST"), node("READY"), "BACK", id="back"),
        pytest.param(node("READY"), None, "REMOVED", id="removed"),
    ],
)
def test_the_cause_of_an_event_of_a_node(
    before: NodePicture | None, after: NodePicture | None, cause: str
) -> None:
    found = compare_nodes(before, after)
    assert found is not None
    assert found.cause is NodeCause(cause)


def test_what_did_not_change_is_no_event() -> None:
    assert compare_instances(instance("RUNNING", "a"), instance("RUNNING", "a")) is None
    assert compare_instances(None, None) is None
    assert compare_nodes(node("READY"), node("READY")) is None
    assert compare_nodes(None, None) is None
