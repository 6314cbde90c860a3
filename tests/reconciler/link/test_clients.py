"""API clients: which calls each certificate may make, what refusals say, and what ends an open call."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import grpc
import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection_pb2, reflection_pb2_grpc

from iri.proto.gitvirt.link.v1alpha1.controller_pb2 import (
    ConsoleRequest,
    ForwardRequest,
    ListNodesRequest,
    LogsRequest,
    NodeEvent,
    UsageRequest,
    WatchInstancesRequest,
    WatchNodesRequest,
)
from iri.server.reflection_pool import build_reflection_pool
from reconciler.link import client_calls
from reconciler.picture.fleet_picture import FleetPicture, PictureNews
from reconciler.picture.node import NodePicture, NodeState
from tests.reconciler.link.client import ApiClient, Watch, api_client, list_client, status_of
from tests.reconciler.link.serving import PATIENCE, Served, raw_host, serving, wait_for
from tests.servers.link_certificates import LinkCertificate, make_certificate

CI = make_certificate("ci")
PICTURE = FleetPicture(nodes={"rack-a1": NodePicture("rack-a1", NodeState.READY)})


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Served]:
    with serving(tmp_path, "rack-a1", pool_of=build_reflection_pool) as found:
        found.server.show(PictureNews(PICTURE))
        yield found


def permit(served: Served, *rights: str, namespaces: tuple[str, ...] = ("default",)) -> None:
    served.list_hosts("rack-a1", more="clients:\n" + list_client("ci", CI, rights, namespaces))


def client_of(served: Served, own: LinkCertificate = CI) -> Any:
    return api_client(served.server.address, served.link, own)


def refused(client: ApiClient, method: str, request: Any) -> tuple[grpc.StatusCode, str]:
    with pytest.raises(grpc.RpcError) as found:
        tuple(client.call(method, request))
    return status_of(found.value)


def test_a_client_with_the_right_gets_an_answer(served: Served) -> None:
    permit(served, "read")
    with client_of(served) as client:
        found = client.call("ListNodes", ListNodesRequest())
    assert [each.name for each in found.nodes] == ["rack-a1"]


@pytest.mark.parametrize(
    ("method", "request_message", "right"),
    [
        ("ListNodes", ListNodesRequest(), "read"),
        ("WatchNodes", WatchNodesRequest(), "read"),
        ("WatchInstances", WatchInstancesRequest(), "read"),
        ("Console", iter((ConsoleRequest(),)), "console"),
        ("Logs", LogsRequest(), "logs"),
        ("Forward", iter((ForwardRequest(),)), "forward"),
        ("Usage", UsageRequest(), "read"),
    ],
)
def test_a_client_without_the_right_is_told_which_one(
    served: Served, method: str, request_message: Any, right: str
) -> None:
    others = {"read", "console", "logs", "forward"} - {right}
    permit(served, *others)
    with client_of(served) as client:
        status, words = refused(client, method, request_message)
    assert status is grpc.StatusCode.PERMISSION_DENIED
    assert words == (
        f"client ci does not have the right {right}; add {right} to clients.ci.rights of gitvirt.yaml"
    )
    assert served.count("gitvirt_link_refused_total", reason="no_right") == 1


def test_a_watch_of_another_namespace_is_refused_by_its_name(served: Served) -> None:
    permit(served, "read", namespaces=("staging",))
    with client_of(served) as client:
        request = WatchInstancesRequest(namespaces=["staging", "prod"])
        status, words = refused(client, "WatchInstances", request)
    assert status is grpc.StatusCode.PERMISSION_DENIED
    assert "has the right read, but not in namespace prod; add prod to clients.ci.namespaces" in words


@pytest.mark.parametrize("kind", ["host", "link"])
def test_certificates_of_hosts_and_of_the_link_make_no_calls(served: Served, kind: str) -> None:
    permit(served, "read")
    own = served.hosts["rack-a1"] if kind == "host" else served.link
    with client_of(served, own) as client:
        status, words = refused(client, "ListNodes", ListNodesRequest())
    assert status is grpc.StatusCode.PERMISSION_DENIED
    owner = "poollet rack-a1" if kind == "host" else "the link"
    assert f"belongs to {owner}, and not to a client" in words
    assert served.count("gitvirt_link_refused_total", reason="not_a_client") == 1


def test_a_client_makes_no_calls_of_hosts(served: Served) -> None:
    permit(served, "read")
    with raw_host(served, CI) as host:
        host.hello("rack-a1")
        status, words = host.end()
    assert status is grpc.StatusCode.PERMISSION_DENIED
    assert "belongs to client ci, and not to a host" in words


def test_a_certificate_that_is_not_listed_gets_no_connection(served: Served) -> None:
    permit(served, "read")
    with client_of(served, make_certificate("ci")) as client:
        assert refused(client, "ListNodes", ListNodesRequest())[0] is grpc.StatusCode.UNAVAILABLE


def follow_nodes(client: ApiClient) -> Watch:
    watch = Watch(client.call("WatchNodes", WatchNodesRequest(), seconds=120))
    watch.until(lambda each: each.cause == NodeEvent.CAUSE_SYNCED)
    return watch


def test_a_revoked_certificate_loses_its_open_calls_within_five_seconds_and_makes_no_other(
    served: Served,
) -> None:
    permit(served, "read")
    with client_of(served) as client:
        watch = follow_nodes(client)
        begun = time.monotonic()
        served.list_hosts("rack-a1")
        status, words = watch.end()
        assert time.monotonic() - begun < 5
        assert status is grpc.StatusCode.UNAUTHENTICATED
        assert f"certificate SHA-256 {CI.identity} is not listed" in words
        assert refused(client, "ListNodes", ListNodesRequest())[0] in (
            grpc.StatusCode.UNAUTHENTICATED,
            grpc.StatusCode.UNAVAILABLE,  # where the connection ended, and none is made any more
        )


def test_a_right_that_is_taken_away_ends_open_calls(served: Served) -> None:
    permit(served, "read", "stop")
    with client_of(served) as client:
        watch = follow_nodes(client)
        permit(served, "stop")
        status, words = watch.end()
    assert status is grpc.StatusCode.PERMISSION_DENIED
    assert "does not have the right read" in words


def test_another_right_leaves_open_calls_alone(served: Served) -> None:
    permit(served, "read", "stop")
    with client_of(served) as client:
        watch = follow_nodes(client)
        permit(served, "read")
        served.server.show(PictureNews(FleetPicture(), None, None))
        assert watch.next().cause == NodeEvent.CAUSE_REMOVED


def test_a_client_that_has_too_many_calls_open_is_refused_one_more_and_others_are_not(
    served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(client_calls, "OPEN_CALLS", 2)
    other = make_certificate("other")
    entries = list_client("ci", CI, ["read"]) + list_client("other", other, ["read"])
    served.list_hosts("rack-a1", more=f"clients:\n{entries}")
    with client_of(served) as client, client_of(served, other) as third:
        watches = [follow_nodes(client), follow_nodes(client)]
        status, words = refused(client, "WatchNodes", WatchNodesRequest())
        assert status is grpc.StatusCode.RESOURCE_EXHAUSTED
        assert "clients.ci has 2 calls open already" in words
        assert third.call("ListNodes", ListNodesRequest()).nodes
        watches[0].call.cancel()
        wait_for(lambda: may_call(client))


def may_call(client: ApiClient) -> bool:
    try:
        return bool(client.call("ListNodes", ListNodesRequest()).nodes)
    except grpc.RpcError as error:
        return status_of(error)[0] is not grpc.StatusCode.RESOURCE_EXHAUSTED


def test_a_client_that_calls_too_often_is_told_to_wait(
    served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(client_calls, "CALLS_AT_ONCE", 3.0)
    monkeypatch.setattr(client_calls, "CALLS_PER_SECOND", 0.001)
    permit(served, "read")
    with client_of(served) as client:
        for _ in range(3):
            client.call("ListNodes", ListNodesRequest())
        status, words = refused(client, "ListNodes", ListNodesRequest())
    assert status is grpc.StatusCode.RESOURCE_EXHAUSTED
    assert "call again later" in words


def test_a_message_that_is_too_large_is_refused(served: Served) -> None:
    permit(served, "read")
    with client_of(served) as client:
        request = ListNodesRequest(selector={"label": "x" * (2 << 20)})
        assert refused(client, "ListNodes", request)[0] is grpc.StatusCode.RESOURCE_EXHAUSTED


def test_health_is_answered_for_clients_and_hosts(served: Served) -> None:
    permit(served)
    for own in (CI, served.hosts["rack-a1"]):
        with client_of(served, own) as client:
            stub = health_pb2_grpc.HealthStub(client.channel)
            for name in ("", "gitvirt.link.v1alpha1.Controller"):
                found = stub.Check(health_pb2.HealthCheckRequest(service=name), timeout=PATIENCE)
                assert found.status == health_pb2.HealthCheckResponse.SERVING
            with pytest.raises(grpc.RpcError) as unknown:
                stub.Check(health_pb2.HealthCheckRequest(service="other"), timeout=PATIENCE)
            assert status_of(unknown.value)[0] is grpc.StatusCode.NOT_FOUND


def test_a_watch_of_health_ends_with_the_certificate(served: Served) -> None:
    permit(served)
    with client_of(served) as client:
        stub = health_pb2_grpc.HealthStub(client.channel)
        watch = Watch(stub.Watch(health_pb2.HealthCheckRequest(), timeout=60))
        assert watch.next().status == health_pb2.HealthCheckResponse.SERVING
        served.list_hosts("rack-a1")
        assert watch.end()[0] is grpc.StatusCode.UNAUTHENTICATED


def test_reflection_lists_the_services_and_names_fields_as_documented(served: Served) -> None:
    permit(served)
    with client_of(served) as client:
        stub = reflection_pb2_grpc.ServerReflectionStub(client.channel)
        asked = reflection_pb2.ServerReflectionRequest
        name = "gitvirt.link.v1alpha1.Controller"
        requests = [asked(list_services=""), asked(file_containing_symbol=name)]
        listed, file = stub.ServerReflectionInfo(iter(requests), timeout=PATIENCE)
    names = {each.name for each in listed.list_services_response.service}
    assert {name, "gitvirt.link.v1alpha1.Agent", "grpc.health.v1.Health"} <= names
    assert b"allowDestruction" in b"".join(file.file_descriptor_response.file_descriptor_proto)


def test_a_server_that_stops_ends_calls_as_unavailable(tmp_path: Path) -> None:
    with serving(tmp_path, "rack-a1") as served:
        served.server.show(PictureNews(PICTURE))
        permit(served, "read")
        client = ApiClient(served.server.address, served.link, CI)
        watch = follow_nodes(client)
    assert watch.end()[0] is grpc.StatusCode.UNAVAILABLE
    client.close()
