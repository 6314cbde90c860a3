"""Which host a pool is granted to: by what live has, what is announced, and how sure it is that the host lives."""

from __future__ import annotations

import msgspec
import pytest

from reconciler.world.objects.object_state import ObjectState, Origin
from reconciler.world.pools.grants import NO_GRANT, Grant, grant_for, grant_on_live
from reconciler.world.record import Record
from reconciler.world.reports.heartbeat import Heartbeat
from reconciler.world.world import World
from schemas.kinds import Kind
from schemas.model import (
    Assignment,
    DestroyRequest,
    GrantedHost,
    MachinePoolStatus,
    MachineStatus,
    MoveRequest,
)
from tests.reconciler.decide.small import make_object
from tests.reconciler.world.scene import Scene, machine, report, with_record

ALIVE, UNCONFIRMED, EXPIRED, LEFT = Heartbeat.ALIVE, Heartbeat.UNCONFIRMED, Heartbeat.EXPIRED, Heartbeat.LEFT


def pool(host: str = "", epoch: int = 0, **requests: DestroyRequest | MoveRequest) -> ObjectState:
    found = make_object(Kind.MACHINE_POOL, "a", {})
    status = MachinePoolStatus(host=GrantedHost(id=host) if host else None, epoch=epoch, **requests)  # type: ignore[arg-type]
    return msgspec.structs.replace(found, record=msgspec.structs.replace(found.record, status=status))


def destroy_request(host: str, state: str = "Followed") -> DestroyRequest:
    return DestroyRequest(commit="c0ffee", host=host, state=state)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("found", "highest", "beat", "want"),
    [
        pytest.param(pool(), 0, UNCONFIRMED, Grant("h", 1, True), id="the first report"),
        pytest.param(pool(), 0, ALIVE, Grant("h", 1, True), id="a host that is alive"),
        pytest.param(pool(), 0, EXPIRED, NO_GRANT, id="an old report"),
        pytest.param(pool(), 0, LEFT, NO_GRANT, id="a host that leaves"),
        pytest.param(pool(), 7, ALIVE, Grant("h", 8, True), id="above what was reported or assigned"),
        pytest.param(pool(), 7, UNCONFIRMED, NO_GRANT, id="an old report of what live does not know"),
        pytest.param(pool("", 4), 2, ALIVE, Grant("h", 5, True), id="above what live had"),
        pytest.param(pool("h", 4), 4, EXPIRED, Grant("h", 4), id="its own already"),
        pytest.param(pool("g", 4), 9, ALIVE, Grant("g", 4), id="another host has it"),
        pytest.param(
            pool("", 2, destroyed=destroy_request("h")), 1, UNCONFIRMED, Grant("", 2), id="left behind"
        ),
        pytest.param(
            pool("", 2, destroyed=destroy_request("h")), 1, EXPIRED, Grant("", 2), id="left behind, expired"
        ),
        pytest.param(
            pool("", 2, destroyed=destroy_request("h")), 1, ALIVE, Grant("h", 3, True), id="it came back"
        ),
        pytest.param(
            pool("", 2, destroyed=destroy_request("g")), 0, UNCONFIRMED, Grant("", 2), id="its heir, or older"
        ),
        pytest.param(
            pool("", 2, destroyed=destroy_request("g")), 0, ALIVE, Grant("h", 3, True), id="its heir"
        ),
        pytest.param(
            pool("", 4, destroyed=destroy_request("c")), 1, UNCONFIRMED, Grant("", 4), id="a host before that"
        ),
        pytest.param(None, 0, ALIVE, NO_GRANT, id="a pool that is unknown"),
    ],
)
def test_grant(found: ObjectState | None, highest: int, beat: Heartbeat, want: Grant) -> None:
    assert grant_for(found, "h", highest, beat) == want


def test_a_pool_that_live_forgot_is_granted_above_every_epoch_that_is_known() -> None:
    """Its document left `live`, and is there again; reports and assignments still name the epochs of then."""
    scene = Scene({"web.yaml": machine("web")})
    status = MachineStatus(assignment=Assignment(pool="a", id="1", host="h", epoch=7))
    live = with_record(machine("web"), Kind.MACHINE, Record(uid="u", pool="a", status=status))
    scene.live({"web.yaml": live})
    world = World()
    for _ in range(2):
        scene.report("a", report("a", host="h", epochs={"a": 3}))
        scene.step(world)
    assert world.pools["a"].grant == Grant("h", 8, True)
    scene.report("a", report("a", host="h", epochs={"a": 11}))
    scene.step(world)
    assert world.pools["a"].grant == Grant("h", 12, True)


def test_a_pool_that_is_removed_is_granted_no_more() -> None:
    leaving = msgspec.structs.replace(pool(), origin=Origin.LEAVING)
    assert grant_for(leaving, "h", 0, ALIVE) == NO_GRANT


def test_a_report_without_a_host_gets_nothing() -> None:
    assert grant_for(pool(), "", 0, ALIVE) == NO_GRANT


def test_what_has_no_status_of_a_pool_has_no_grant() -> None:
    assert grant_on_live(None) == NO_GRANT
    assert (
        grant_on_live(make_object(Kind.MACHINE_CLASS, "small", {"capabilities": {"cpu": 1, "memory": 1}}))
        == NO_GRANT
    )
