"""What hosts measured, as clients see it: over real TLS, with hosts that send what a test tells them to."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import grpc
import pytest
from google.protobuf.duration_pb2 import Duration
from google.protobuf.timestamp_pb2 import Timestamp

from iri.proto.gitvirt.link.v1alpha1.agent_pb2 import MachineUsage, NodeUsage, Usage
from iri.proto.gitvirt.link.v1alpha1.controller_pb2 import InstanceRef, ListNodesRequest, UsageRequest
from reconciler.picture.fleet_picture import FleetPicture, PictureNews
from reconciler.picture.instance import InstancePicture, InstanceState
from reconciler.picture.node import NodePicture, NodeState
from schemas.kinds import Key, Kind
from tests.reconciler.link.client import ApiClient, Watch, api_client, list_client, status_of
from tests.reconciler.link.serving import RawHost, Served, raw_host, serving, wait_for, welcomed
from tests.servers.link_certificates import make_certificate

CI = make_certificate("ci")
HOSTS = ("rack-a1", "rack-a2")


def machine(name: str, poollet: str, namespace: str = "default") -> InstancePicture:
    key = Key(Kind.MACHINE, namespace, name)
    return InstancePicture(key, f"uid-{name}", InstanceState.RUNNING, poollet, poollet)


MACHINES = (machine("web", "rack-a1"), machine("db", "rack-a2"), machine("job", "rack-a1", "staging"))
PICTURE = FleetPicture(
    nodes={name: NodePicture(name, NodeState.READY) for name in HOSTS},
    instances={each.key: each for each in MACHINES},
)


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Served]:
    with serving(tmp_path) as found:
        found.server.show(PictureNews(PICTURE))
        yield found


def permit(served: Served, *rights: str, namespaces: tuple[str, ...] = ("default",)) -> None:
    served.list_hosts(*HOSTS, more="clients:\n" + list_client("ci", CI, rights, namespaces))


def measured(second: int, *names: str) -> Usage:
    """At that second, with as much processor time."""
    machines = [
        MachineUsage(uid=f"uid-{name}", namespace=namespace, name=name, cpu_time=Duration(seconds=second))
        for namespace, _, name in (each.rpartition("/") for each in names)
    ]
    return Usage(
        time=Timestamp(seconds=second),
        node=NodeUsage(cpu_time=Duration(seconds=10 * second), cpus=8),
        machines=machines,
    )


def ask(client: ApiClient, **fields: Any) -> dict[str, list[str]]:
    """The machines by their node, and `node` where the node itself is shown."""
    reports = client.call("Usage", UsageRequest(**fields))
    return {
        each.node: ["node"] * each.usage.HasField("node") + [found.name for found in each.usage.machines]
        for each in reports
    }


def wait_until_shown(client: ApiClient, node: str, second: int) -> Any:
    """The report of that node, once it has the measurement of that second."""
    found: dict[str, Any] = {}

    def is_shown() -> bool:
        found.update({each.node: each for each in client.call("Usage", UsageRequest())})
        return node in found and found[node].usage.time.seconds == second

    wait_for(is_shown)
    return found[node]


def send(host: RawHost, second: int, *names: str) -> None:
    host.send(usage=measured(second, *names))


def test_the_server_says_how_often_it_wants_measurements(served: Served) -> None:
    permit(served, "read")
    with raw_host(served, served.hosts["rack-a1"]) as host:
        host.hello("rack-a1")
        assert host.next().welcome.usage_interval.seconds == 15


def test_the_newest_measurement_is_shown_with_the_one_before_it(served: Served) -> None:
    permit(served, "read")
    with welcomed(served, "rack-a1") as host, api_client(served.server.address, served.link, CI) as client:
        send(host, 100, "default/web")
        assert not wait_until_shown(client, "rack-a1", 100).HasField("previous")
        send(host, 115, "default/web")
        report = wait_until_shown(client, "rack-a1", 115)
        assert report.previous.time.seconds == 100
        assert [each.cpu_time.seconds for each in report.usage.machines] == [115]
        assert [each.cpu_time.seconds for each in report.previous.machines] == [100]
        assert report.usage.node.cpus == 8
        (node, _) = client.call("ListNodes", ListNodesRequest()).nodes
        assert (node.name, node.usage.cpu_time.seconds) == ("rack-a1", 1150)


def test_a_host_is_believed_about_machines_that_live_assigns_to_it_alone(served: Served) -> None:
    """A stolen key of a host shows nothing about machines of others."""
    permit(served, "read", namespaces=("*",))
    with welcomed(served, "rack-a1") as host, api_client(served.server.address, served.link, CI) as client:
        usage = measured(100, "default/web", "default/web", "default/db", "staging/web", "other/x")
        usage.machines.append(MachineUsage(uid="uid-of-another", namespace="staging", name="job"))
        host.send(usage=usage)
        report = wait_until_shown(client, "rack-a1", 100)
        assert [(each.namespace, each.name) for each in report.usage.machines] == [("default", "web")]


def test_machines_are_shown_in_the_namespaces_of_the_client(served: Served) -> None:
    permit(served, "read", namespaces=("staging",))
    with welcomed(served, "rack-a1") as host, api_client(served.server.address, served.link, CI) as client:
        send(host, 100, "default/web", "staging/job")
        wait_until_shown(client, "rack-a1", 100)
        assert ask(client) == {"rack-a1": ["node", "job"]}
        with pytest.raises(grpc.RpcError) as refused:
            ask(client, instances=[InstanceRef(name="web")])
        status, words = status_of(refused.value)
        assert status is grpc.StatusCode.PERMISSION_DENIED
        assert "namespace default" in words


def test_nodes_and_machines_are_chosen_by_name(served: Served) -> None:
    permit(served, "read", namespaces=("*",))
    with (
        welcomed(served, "rack-a1") as first,
        welcomed(served, "rack-a2") as second,
        api_client(served.server.address, served.link, CI) as client,
    ):
        send(first, 100, "default/web", "staging/job")
        send(second, 100, "default/db")
        wait_until_shown(client, "rack-a1", 100)
        wait_until_shown(client, "rack-a2", 100)
        assert ask(client, nodes=["rack-a2"]) == {"rack-a2": ["node", "db"]}
        assert ask(client, instances=[InstanceRef(name="web")]) == {"rack-a1": ["web"]}
        for wrong in ({"nodes": ["rack-a3"]}, {"instances": [InstanceRef(name="wbe")]}):
            with pytest.raises(grpc.RpcError) as refused:
                ask(client, **wrong)
            assert status_of(refused.value)[0] is grpc.StatusCode.NOT_FOUND


def test_whoever_follows_gets_each_host_again_and_nothing_of_one_that_is_gone(served: Served) -> None:
    permit(served, "read", namespaces=("*",))
    with api_client(served.server.address, served.link, CI) as client:
        with welcomed(served, "rack-a1") as host:
            send(host, 100, "default/web")
            wait_until_shown(client, "rack-a1", 100)
            watch = Watch(client.call("Usage", UsageRequest(follow=True)))
            assert watch.next().usage.time.seconds == 100
            send(host, 115, "default/web")
            later = watch.next()
            assert (later.usage.time.seconds, later.previous.time.seconds) == (115, 100)
        wait_for(lambda: ask(client) == {})


def test_a_reader_that_is_slow_gets_the_newest_and_keeps_nobody_waiting(served: Served) -> None:
    permit(served, "read", namespaces=("*",))
    with welcomed(served, "rack-a1") as host, api_client(served.server.address, served.link, CI) as client:
        call = client.call("Usage", UsageRequest(follow=True), seconds=60)
        for second in range(1, 40):
            send(host, second, "default/web")
        wait_until_shown(client, "rack-a1", 39)
        last = 0
        for report in call:  # read only now
            assert report.usage.time.seconds > last
            last = report.usage.time.seconds
            if last == 39:
                break
        call.cancel()


def test_without_the_right_nothing_is_shown(served: Served) -> None:
    permit(served, "schedule")
    with (
        api_client(served.server.address, served.link, CI) as client,
        pytest.raises(grpc.RpcError) as refused,
    ):
        ask(client)
    assert status_of(refused.value)[0] is grpc.StatusCode.PERMISSION_DENIED
