"""The server's half of pipes, before hosts that do what they should not."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import grpc
import pytest

from iri.proto.gitvirt.link.v1alpha1.agent_pb2 import Chunk, PipeRefused, Reason
from iri.proto.gitvirt.link.v1alpha1.controller_pb2 import InstanceRef, LogsRequest
from reconciler.link import pipes
from reconciler.picture.fleet_picture import FleetPicture, PictureNews
from reconciler.picture.instance import InstancePicture, InstanceState
from schemas.kinds import Key, Kind
from tests.reconciler.link.client import ApiClient, Watch, api_client, list_client, status_of
from tests.reconciler.link.serving import RawHost, Served, serving, wait_for, welcomed
from tests.servers.link_certificates import make_certificate

CI = make_certificate("ci")
KEY = Key(Kind.MACHINE, "default", "web")
WEB = InstancePicture(KEY, "uid-web", InstanceState.RUNNING, poollet="rack-a1")
PIPE = "/gitvirt.link.v1alpha1.Agent/Pipe"


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Served]:
    with serving(tmp_path) as found:
        found.list_hosts(
            "rack-a1", "rack-a2", more="clients:\n" + list_client("ci", CI, ("logs",), ("default",))
        )
        found.server.show(PictureNews(FleetPicture(instances={KEY: WEB})))
        yield found


@pytest.fixture
def client(served: Served) -> Iterator[ApiClient]:
    with api_client(served.server.address, served.link, CI) as found:
        yield found


def read_log(client: ApiClient) -> Watch:
    return Watch(client.call("Logs", LogsRequest(instance=InstanceRef(name="web")), seconds=60))


def next_pipe(host: RawHost) -> Any:
    """The OpenPipe; heartbeats before it are passed over."""
    while (message := host.next()).WhichOneof("message") != "open_pipe":
        pass
    return message.open_pipe


def open_pipe(host: RawHost, *chunks: Chunk) -> Any:
    return host.channel.stream_stream(
        PIPE, request_serializer=Chunk.SerializeToString, response_deserializer=Chunk.FromString
    )(iter(chunks))


def refusal_of(call: Any) -> grpc.StatusCode:
    with pytest.raises(grpc.RpcError) as found:
        tuple(call)
    return status_of(found.value)[0]


def test_the_chunks_of_a_host_reach_the_client_that_asked(served: Served, client: ApiClient) -> None:
    with welcomed(served, "rack-a1") as host:
        watch = read_log(client)
        wanted = next_pipe(host)
        assert (wanted.client, wanted.logs.machine.uid) == ("ci", "uid-web")
        kept = open_pipe(host, Chunk(pipe_id=wanted.id), Chunk(data=b"one"), Chunk(data=b"two", is_end=True))
        assert [watch.next().data for _ in range(3)] == [b"", b"one", b"two"]
        assert watch.end() == (grpc.StatusCode.OK, "")
        assert refusal_of(open_pipe(host, Chunk(pipe_id=wanted.id))) is grpc.StatusCode.NOT_FOUND, "used up"
        assert tuple(kept) == ()


def test_a_pipe_is_opened_by_no_other_host_and_with_no_other_id(served: Served, client: ApiClient) -> None:
    """A stolen key of a host reaches no console of another."""
    with welcomed(served, "rack-a1") as host, welcomed(served, "rack-a2") as other:
        watch = read_log(client)
        wanted = next_pipe(host)
        assert refusal_of(open_pipe(other, Chunk(pipe_id=wanted.id))) is grpc.StatusCode.NOT_FOUND
        other.send(pipe_refused=PipeRefused(pipe_id=wanted.id, reason=Reason(reason="NotFound")))
        assert refusal_of(open_pipe(host, Chunk(pipe_id="guess"))) is grpc.StatusCode.NOT_FOUND
        assert refusal_of(open_pipe(host, Chunk(data=b"x"))) is grpc.StatusCode.NOT_FOUND
        assert refusal_of(open_pipe(host)) is grpc.StatusCode.NOT_FOUND
        call = open_pipe(host, Chunk(pipe_id=wanted.id), Chunk(is_end=True))
        watch.until(lambda chunk: chunk.is_end)
        call.cancel()


def test_a_client_opens_no_pipe_as_a_host(served: Served, client: ApiClient) -> None:
    with welcomed(served, "rack-a1") as host:
        watch = read_log(client)
        wanted = next_pipe(host)
        call = client.channel.stream_stream(
            PIPE, request_serializer=Chunk.SerializeToString, response_deserializer=Chunk.FromString
        )(iter((Chunk(pipe_id=wanted.id),)))
        assert refusal_of(call) is grpc.StatusCode.NOT_FOUND
        watch.call.cancel()


def test_a_host_that_answers_nothing_is_named_after_a_while(
    served: Served, client: ApiClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pipes, "OPEN_SECONDS", 0.3)
    with welcomed(served, "rack-a1") as host:
        status, words = read_log(client).end()
        assert status is grpc.StatusCode.UNAVAILABLE
        assert words.startswith("host rack-a1 did not open it within 0.3s")
        late = next_pipe(host)
        assert refusal_of(open_pipe(host, Chunk(pipe_id=late.id))) is grpc.StatusCode.NOT_FOUND


@pytest.mark.parametrize(
    ("reason", "status"),
    [
        ("NotFound", grpc.StatusCode.NOT_FOUND),
        ("FailedPrecondition", grpc.StatusCode.FAILED_PRECONDITION),
        ("Unheard", grpc.StatusCode.UNAVAILABLE),
    ],
)
def test_what_a_host_says_of_a_refusal_is_one_short_line(
    served: Served, client: ApiClient, reason: str, status: grpc.StatusCode
) -> None:
    with welcomed(served, "rack-a1") as host:
        watch = read_log(client)
        wanted = next_pipe(host)
        message = "no\nroom" + "x" * 10_000
        host.send(pipe_refused=PipeRefused(pipe_id=wanted.id, reason=Reason(reason=reason, message=message)))
        found, words = watch.end()
        assert found is status
        assert words.startswith("host rack-a1: no room")
        assert len(words) < 600


def test_what_cuts_off_a_pipe_is_said(served: Served, client: ApiClient) -> None:
    with welcomed(served, "rack-a1") as host:
        watch = read_log(client)
        problem = Reason(reason="Unavailable", message="the runtime is gone")
        kept = open_pipe(host, Chunk(pipe_id=next_pipe(host).id), Chunk(is_end=True, problem=problem))
        assert watch.end() == (grpc.StatusCode.UNAVAILABLE, "host rack-a1: the runtime is gone")
        watch = read_log(client)
        half = open_pipe(host, Chunk(pipe_id=next_pipe(host).id), Chunk(data=b"half"))
        assert watch.end()[0] is grpc.StatusCode.UNAVAILABLE
        assert (tuple(kept), tuple(half)) == ((), ())
    wait_for(lambda: served.count("gitvirt_link_pipes") == 0)


def test_pipes_of_a_host_end_with_its_stream(served: Served, client: ApiClient) -> None:
    with welcomed(served, "rack-a1") as host:
        watch = read_log(client)
        wanted = next_pipe(host)
        release: list[Chunk] = []

        def chunks() -> Iterator[Chunk]:
            yield Chunk(pipe_id=wanted.id)
            wait_for(lambda: release)

        call = host.channel.stream_stream(
            PIPE, request_serializer=Chunk.SerializeToString, response_deserializer=Chunk.FromString
        )(chunks())
        assert watch.next() == Chunk()
        host.call.cancel()
        assert watch.end()[0] is grpc.StatusCode.UNAVAILABLE
        assert tuple(call) == ()
        release.append(Chunk())
