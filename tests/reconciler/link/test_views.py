"""What clients see of a fleet: nodes and machines as they are, each change in its order with its cause, and nothing that they may not see."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import grpc
import pytest

from iri.proto.gitvirt.link.v1alpha1 import controller_pb2 as pb
from iri.proto.gitvirt.link.v1alpha1.controller_pb2 import InstanceEvent, NodeEvent
from reconciler.link import fleet_feed
from reconciler.picture.fleet_picture import PictureKeeper
from tests.reconciler.link.client import ApiClient, Watch
from tests.reconciler.link.serving import wait_for
from tests.reconciler.link.site import ViewedSite, viewed_site
from tests.reconciler.loop.fleet import machine

ALL = ("*",)


@pytest.fixture
def site(tmp_path: Path) -> Iterator[ViewedSite]:
    with viewed_site(tmp_path) as found:
        yield found


@pytest.fixture
def viewer(site: ViewedSite) -> Iterator[ApiClient]:
    """One who may read everything, let in."""
    client = site.permit("viewer", ("read",), ALL)
    site.settle()
    yield client
    client.close()


def watch_instances(client: ApiClient, **request: Any) -> Watch:
    return Watch(client.call("WatchInstances", pb.WatchInstancesRequest(**request), seconds=120))


def watch_nodes(client: ApiClient, **request: Any) -> Watch:
    return Watch(client.call("WatchNodes", pb.WatchNodesRequest(**request), seconds=120))


def read_initial(watch: Watch) -> list[Any]:
    found = []
    while (event := watch.next()).cause != type(event).CAUSE_SYNCED:
        assert event.cause == type(event).CAUSE_INITIAL
        found.append(event)
    return found


def next_of(watch: Watch, cause: int) -> Any:
    return watch.until(lambda each: each.cause == cause)


def in_namespace(name: str, namespace: str) -> str:
    return machine(name).replace("metadata:\n", f"metadata:\n  namespace: {namespace}\n")


def test_nodes_have_their_state_and_the_room_of_their_pools(site: ViewedSite, viewer: ApiClient) -> None:
    site.push({"m/web.yaml": machine("web")})
    site.settle()
    nodes = viewer.call("ListNodes", pb.ListNodesRequest()).nodes
    assert [each.name for each in nodes] == ["host-0", "host-1"]
    assert {each.state for each in nodes} == {pb.NODE_STATE_READY}
    (pool,) = nodes[0].pools
    assert (pool.name, pool.kind, pool.is_schedulable) == ("host-0", "MachinePool", True)
    assert (pool.capacity["cpu"], pool.allocatable["memory"]) == (20_000, 40 << 30)
    charged = sorted(dict(each.pools[0].charged).get("cpu", 0) for each in nodes)
    assert charged == [0, 2000]
    assert nodes[0].last_sign_of_life.seconds > 0
    assert not nodes[0].is_linked


def test_nodes_are_selected_by_the_labels_of_their_pools(site: ViewedSite, viewer: ApiClient) -> None:
    site.hosts[1].labels = {"rack": "b"}
    site.settle()
    found = viewer.call("ListNodes", pb.ListNodesRequest(selector={"rack": "b"}))
    assert [each.name for each in found.nodes] == ["host-1"]
    assert not viewer.call("ListNodes", pb.ListNodesRequest(selector={"rack": "c"})).nodes


def test_the_life_of_a_node_is_told_with_its_causes(site: ViewedSite, viewer: ApiClient) -> None:
    """Of Orka's diagram of an agent: it joins, reports, times out, comes back."""
    watch = watch_nodes(viewer)
    assert [each.node.name for each in read_initial(watch)] == ["host-0", "host-1"]
    late = type(site.hosts[0])(site.world.client(), "host-2", site.clock)
    site.hosts.append(late)
    site.settle()
    assert next_of(watch, NodeEvent.CAUSE_JOINED).node.name == "host-2"
    site.hosts.remove(late)
    for _ in range(9):
        for host in site.hosts:
            host.work()
        site.tick(seconds=10)
    lost = next_of(watch, NodeEvent.CAUSE_TIMEOUT).node
    assert (lost.name, lost.state) == ("host-2", pb.NODE_STATE_LOST)
    site.hosts.append(late)
    site.settle()
    back = next_of(watch, NodeEvent.CAUSE_BACK).node
    assert (back.name, back.state) == ("host-2", pb.NODE_STATE_READY)


def test_a_node_that_leaves_says_so_and_joins_again(site: ViewedSite, viewer: ApiClient) -> None:
    watch = watch_nodes(viewer)
    read_initial(watch)
    leaving = site.hosts.pop()
    leaving.leave()
    site.tick(2)
    left = next_of(watch, NodeEvent.CAUSE_LEFT).node
    assert (left.name, left.state) == (leaving.name, pb.NODE_STATE_LEFT)
    site.tick(times=9, seconds=10)  # longer than a heartbeat timeout: one that left is not lost
    assert node_state(viewer, leaving.name) == pb.NODE_STATE_LEFT
    site.hosts.append(leaving)
    site.settle()
    assert next_of(watch, NodeEvent.CAUSE_JOINED).node.name == leaving.name


def node_state(client: ApiClient, name: str) -> int:
    found = client.call("ListNodes", pb.ListNodesRequest()).nodes
    (state,) = [each.state for each in found if each.name == name]
    return int(state)


def test_a_listed_host_that_never_reported_is_unconfirmed_and_removed_with_its_entry(
    site: ViewedSite, viewer: ApiClient
) -> None:
    watch = watch_nodes(viewer)
    read_initial(watch)
    site.write_settings("rack-x")
    site.settle()
    listed = next_of(watch, NodeEvent.CAUSE_CHANGED).node
    assert (listed.name, listed.state) == ("rack-x", pb.NODE_STATE_UNCONFIRMED)
    site.write_settings()
    site.settle()
    assert next_of(watch, NodeEvent.CAUSE_REMOVED).node.name == "rack-x"


def test_the_life_of_a_machine_is_told_in_its_order(site: ViewedSite, viewer: ApiClient) -> None:
    watch = watch_instances(viewer)
    assert read_initial(watch) == []
    others = {
        f"m/m{number}.yaml": machine(f"m{number}") for number in range(3)
    }  # or a limit holds the deletion
    site.push(others)
    site.settle()
    for _ in others:
        next_of(watch, InstanceEvent.CAUSE_STARTED)
    site.push({"m/web.yaml": machine("web")})
    commit = site.commit()
    placed = next_of(watch, InstanceEvent.CAUSE_PLACED)
    assert placed.status.state == pb.INSTANCE_STATE_PLACED
    assert placed.status.instance.name == "web"
    assert placed.status.pool == placed.status.poollet != ""
    assert placed.status.commit == commit
    site.settle()
    started = next_of(watch, InstanceEvent.CAUSE_STARTED)
    assert (started.status.state, started.is_expected) == (pb.INSTANCE_STATE_RUNNING, True)
    site.push({"m/web.yaml": None})
    site.settle()
    ending = next_of(watch, InstanceEvent.CAUSE_CHANGED)
    assert ending.status.state == pb.INSTANCE_STATE_TERMINATING
    gone = next_of(watch, InstanceEvent.CAUSE_GONE)
    assert (gone.status.state, gone.is_expected) == (pb.INSTANCE_STATE_GONE, True)
    assert gone.status.uid == placed.status.uid


@pytest.mark.parametrize(
    ("state", "reason", "cause"),
    [
        ("Shutdown", "GuestPowerOff", InstanceEvent.CAUSE_STOPPED),
        ("Terminated", "GuestPowerOff", InstanceEvent.CAUSE_STOPPED),
        ("Terminated", "Crash", InstanceEvent.CAUSE_CRASHED),
    ],
)
def test_a_guest_that_ends_by_itself_is_not_expected(
    site: ViewedSite, viewer: ApiClient, state: str, reason: str, cause: int
) -> None:
    site.push({"m/web.yaml": machine("web")})
    site.settle()
    watch = watch_instances(viewer)
    assert [each.status.state for each in read_initial(watch)] == [pb.INSTANCE_STATE_RUNNING]
    for host in site.hosts:
        host.states["web"] = (state, reason)
    site.settle()
    event = next_of(watch, cause)
    assert not event.is_expected
    assert [each.reason for each in event.status.reasons] == [reason]


def test_a_stop_by_a_commit_is_expected(site: ViewedSite, viewer: ApiClient) -> None:
    site.push({"m/web.yaml": machine("web")})
    site.settle()
    watch = watch_instances(viewer)
    read_initial(watch)
    site.push({"m/web.yaml": machine("web", spec="  power: Off\n")})
    for host in site.hosts:
        host.states["web"] = ("Shutdown", "PoweredOff")
    site.settle()
    assert next_of(watch, InstanceEvent.CAUSE_STOPPED).is_expected


def test_a_machine_whose_host_is_silent_is_lost_and_comes_back(site: ViewedSite, viewer: ApiClient) -> None:
    site.push({"m/web.yaml": machine("web")})
    site.settle()
    watch = watch_instances(viewer)
    read_initial(watch)
    site.tick(times=9, seconds=10)
    lost = next_of(watch, InstanceEvent.CAUSE_LOST)
    assert (lost.status.state, lost.is_expected) == (pb.INSTANCE_STATE_UNKNOWN, False)
    site.settle()
    assert next_of(watch, InstanceEvent.CAUSE_BACK).status.state == pb.INSTANCE_STATE_RUNNING


def test_a_machine_that_no_pool_takes_says_why_for_each_pool(site: ViewedSite, viewer: ApiClient) -> None:
    watch = watch_instances(viewer)
    large = "  machinePoolSelector: {zone: nowhere}\n"
    site.push({"m/web.yaml": machine("web", spec=large)})
    site.settle()
    found = watch.until(lambda each: each.status.state == pb.INSTANCE_STATE_UNSCHEDULABLE).status
    assert {each.pool for each in found.refusals} == {"host-0", "host-1"}
    assert {reason.reason for each in found.refusals for reason in each.reasons} == {"SelectorMismatch"}


def test_a_pool_that_rejects_is_named_beside_the_next_one(site: ViewedSite, viewer: ApiClient) -> None:
    """Of Orka's diagram of scheduling: the first host does not accept, the next one does."""
    watch = watch_instances(viewer)
    read_initial(watch)
    for host in site.hosts:
        host.rejects = frozenset({"web"})
    site.push({"m/web.yaml": machine("web")})
    site.commit()
    first = next_of(watch, InstanceEvent.CAUSE_PLACED).status.pool
    for host in site.hosts:
        host.rejects = frozenset({"web"}) if host.name == first else frozenset()
    site.settle()
    started = next_of(watch, InstanceEvent.CAUSE_STARTED).status
    assert started.pool != first
    assert [each.pool for each in started.refusals] == [first]


def test_a_client_sees_the_machines_of_its_namespaces_alone(site: ViewedSite, viewer: ApiClient) -> None:
    tenant = site.permit("tenant", ("read",), ("staging",))
    site.push({"m/web.yaml": machine("web"), "m/db.yaml": in_namespace("db", "staging")})
    site.settle()
    assert len(read_initial(watch_instances(viewer))) == 2
    watch = watch_instances(tenant)
    assert [each.status.instance.name for each in read_initial(watch)] == ["db"]
    site.push({"m/web-2.yaml": machine("web-2"), "m/db-2.yaml": in_namespace("db-2", "staging")})
    site.settle()
    assert watch.next().status.instance.name == "db-2"
    named = read_initial(watch_instances(viewer, namespaces=["default"]))
    assert [each.status.instance.name for each in named] == ["web", "web-2"]
    tenant.close()


def test_a_reconciler_that_starts_again_shows_the_same_and_no_event(
    site: ViewedSite, viewer: ApiClient
) -> None:
    site.push({"m/web.yaml": machine("web")})
    site.settle()
    watch = watch_instances(viewer)
    before = read_initial(watch)
    site.reconciler = site.new_reconciler()
    site.settle()
    site.push({"m/new.yaml": machine("new")})
    site.settle()
    assert watch.next().status.instance.name == "new"
    again = {each.status.instance.name: each for each in read_initial(watch_instances(viewer))}
    assert again["web"].status.uid == before[0].status.uid


def test_what_a_tick_touched_is_all_that_needs_to_be_painted(site: ViewedSite, viewer: ApiClient) -> None:
    """The picture that was kept up from tick to tick is that of a keeper that sees the World for the first time."""
    names = [f"m{number}" for number in range(6)]
    site.push({f"m/{name}.yaml": machine(name) for name in names})
    site.settle()
    site.hosts[0].states["m1"] = ("Shutdown", "GuestPowerOff")
    site.push({"m/m2.yaml": None, "m/m3.yaml": machine("m3", spec="  power: Off\n")})
    site.settle()
    kept = {each.status.instance.name: each.status for each in read_initial(watch_instances(viewer))}
    outcome = site.reconciler.tick(site.clock)
    whole = PictureKeeper().update(site.reconciler.world, outcome.plan, (), None).picture  # type: ignore[union-attr]
    painted = {key.name: each for key, each in whole.instances.items()}
    assert kept.keys() == painted.keys() == {"m0", "m1", "m3", "m4", "m5"}
    for name, each in painted.items():
        shown = kept[name]
        assert pb.InstanceState.Name(shown.state) == f"INSTANCE_STATE_{each.state}"
        assert (shown.pool, shown.uid) == (each.pool, each.uid)
        assert [reason.reason for reason in shown.reasons] == [reason.reason for reason in each.reasons]
    nodes = {each.name: each for each in viewer.call("ListNodes", pb.ListNodesRequest()).nodes}
    for name, node in whole.nodes.items():
        assert dict(nodes[name].pools[0].charged) == dict(node.pools[0].charged)


def needs_zone(event: InstanceEvent, zone: str) -> bool:
    return any(why.need == zone for pool in event.status.refusals for why in pool.reasons)


def test_a_viewer_that_does_not_read_is_closed_and_slows_neither_ticks_nor_others(
    site: ViewedSite, viewer: ApiClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fleet_feed, "MOST_WAITING", 50)
    narrow = (("grpc.http2.bdp_probe", 0), ("grpc.http2.lookahead_bytes", 1024))
    served, own = site.served, site.certificates["viewer"]
    slow = ApiClient(served.server.address, served.link, own, *narrow)
    lazy: Any = slow.call("WatchInstances", pb.WatchInstancesRequest(), seconds=120)
    assert next(lazy).cause == InstanceEvent.CAUSE_SYNCED
    watch = watch_instances(viewer)
    read_initial(watch)
    for turn in range(15):
        labels = ", ".join(f"zone-{number}: {'x' * 50}{turn}" for number in range(8))
        nowhere = f"  machinePoolSelector: {{{labels}}}\n"
        site.push({f"m/m{number}.yaml": machine(f"m{number}", spec=nowhere) for number in range(10)})
        site.tick()
        watch.until(lambda each, turn=turn: needs_zone(each, f"{'x' * 50}{turn}"))
    with pytest.raises(grpc.RpcError) as closed:
        for _ in lazy:
            pass
    error: Any = closed.value
    assert error.code() is grpc.StatusCode.RESOURCE_EXHAUSTED
    assert "watch again" in error.details()
    assert watch.call.is_active()
    slow.close()


def test_nothing_is_painted_for_a_fleet_without_clients(site: ViewedSite) -> None:
    site.write_settings()
    site.settle()
    assert site.served.server.read().is_served
    assert not site.served.server.has_picture()
    site.permit("viewer", ("read",), ALL).close()
    site.settle()
    wait_for(site.served.server.has_picture)
