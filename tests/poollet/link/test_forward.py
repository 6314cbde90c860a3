"""TCP connections to machines from afar: bytes both ways, both ends' closings, who may, and how fast."""

from __future__ import annotations

import hashlib
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import grpc
import pytest

from iri.proto.gitvirt.link.v1alpha1.agent_pb2 import Chunk
from iri.proto.gitvirt.link.v1alpha1.controller_pb2 import ForwardRequest, InstanceRef
from reconciler.cli.api_client import LinkServers
from reconciler.cli.forward import relay_socket
from reconciler.link import pipe_calls
from tests.poollet.link.piped import PipedSite, piped_site
from tests.reconciler.link.client import ApiClient, Watch, status_of
from tests.reconciler.link.serving import wait_for

PART = b"0123456789abcdef" * 4096  # 64 KiB


@pytest.fixture
def site(tmp_path: Path) -> Iterator[PipedSite]:
    with piped_site(tmp_path) as found:
        yield found


@pytest.fixture
def ann(site: PipedSite) -> Iterator[ApiClient]:
    with site.client() as found:
        yield found


@contextmanager
def listening(serve: Callable[[socket.socket], None]) -> Iterator[int]:
    """A port that serves each connection in a thread."""
    with socket.create_server(("127.0.0.1", 0)) as server:

        def run() -> None:
            while True:
                try:
                    line, _ = server.accept()
                except OSError:
                    return
                threading.Thread(target=serve, args=(line,), daemon=True).start()

        threading.Thread(target=run, daemon=True).start()
        yield server.getsockname()[1]
        server.shutdown(socket.SHUT_RDWR)


def echo(line: socket.socket) -> None:
    """Until the other end has sent all; then its own end."""
    with line:
        while data := line.recv(65536):
            line.sendall(data)
        line.sendall(b"over")


def forward(client: ApiClient, port: int, *parts: bytes, name: str = "web") -> Any:
    first = ForwardRequest(instance=InstanceRef(name=name), port=port)
    requests = (ForwardRequest(chunk=Chunk(data=each)) for each in parts)
    return client.call("Forward", iter((first, *requests)), seconds=120)


def read_status(call: Any) -> tuple[grpc.StatusCode, str]:
    with pytest.raises(grpc.RpcError) as found:
        tuple(call)
    return status_of(found.value)


def test_bytes_go_both_ways_and_the_end_of_the_client_reaches_the_machine(ann: ApiClient) -> None:
    with listening(echo) as port:
        chunks = list(forward(ann, port, b"hello ", b"there "))
    assert chunks[0] == Chunk()
    assert b"".join(each.data for each in chunks) == b"hello there over"
    assert chunks[-1].is_end


def test_many_megabytes_arrive_whole_in_both_directions(ann: ApiClient) -> None:
    parts = [bytes([number % 251]) * len(PART) for number in range(256)]
    digest, size = hashlib.sha256(), 0
    with listening(echo) as port:
        for chunk in forward(ann, port, *parts):
            digest.update(chunk.data)
            size += len(chunk.data)
    assert size == 256 * len(PART) + len(b"over")
    assert digest.digest() == hashlib.sha256(b"".join(parts) + b"over").digest()


def test_a_machine_that_closes_ends_the_call(ann: ApiClient) -> None:
    def greet(line: socket.socket) -> None:
        with line:
            line.sendall(b"bye")

    with listening(greet) as port:
        assert b"".join(each.data for each in forward(ann, port)) == b"bye"


def test_a_client_that_leaves_closes_the_connection_in_the_machine(site: PipedSite, ann: ApiClient) -> None:
    closed = threading.Event()

    def hold(line: socket.socket) -> None:
        with line:
            line.sendall(b"x")
            while line.recv(65536):
                pass
            closed.set()

    with listening(hold) as port:
        release = threading.Event()

        def requests() -> Iterator[ForwardRequest]:
            yield ForwardRequest(instance=InstanceRef(name="web"), port=port)
            release.wait(60)

        watch = Watch(ann.call("Forward", requests(), seconds=120))
        watch.until(lambda chunk: chunk.data)
        watch.call.cancel()
        assert closed.wait(30)
        release.set()
    wait_for(lambda: site.served.count("gitvirt_link_pipes") == 0)


def test_a_port_that_is_closed_or_is_none_is_refused(ann: ApiClient) -> None:
    with listening(echo) as port:
        pass
    status, words = read_status(forward(ann, port))
    assert status is grpc.StatusCode.FAILED_PRECONDITION
    assert "Connection refused" in words
    for wrong in (0, 65536, -1):
        assert read_status(forward(ann, wrong))[0] is grpc.StatusCode.INVALID_ARGUMENT


def test_the_right_to_type_is_not_the_right_to_connect(site: PipedSite, ann: ApiClient) -> None:
    site.permit(("read", "logs", "console"))
    status, words = read_status(forward(ann, 22))
    assert status is grpc.StatusCode.PERMISSION_DENIED
    assert "does not have the right forward" in words
    site.permit(("forward",), ("staging",))
    assert "not in namespace default" in read_status(forward(ann, 22))[1]


class Listener:
    """In the machine: says something, ends its half, and takes what comes until the other half ends too."""

    def __init__(self) -> None:
        self.digest, self.size, self.is_over = hashlib.sha256(), 0, threading.Event()

    def __call__(self, line: socket.socket) -> None:
        with line:
            line.sendall(b"go on")
            line.shutdown(socket.SHUT_WR)
            while data := line.recv(65536):
                self.digest.update(data)
                self.size += len(data)
            self.is_over.set()


def test_what_a_client_sends_after_the_machine_has_ended_its_half_arrives(ann: ApiClient) -> None:
    listener, ended = Listener(), threading.Event()
    parts = [bytes([number % 251]) * len(PART) for number in range(64)]

    def requests() -> Iterator[ForwardRequest]:
        yield ForwardRequest(instance=InstanceRef(name="web"), port=port)
        assert ended.wait(60)
        yield from (ForwardRequest(chunk=Chunk(data=each)) for each in parts)

    with listening(listener) as port:
        watch = Watch(ann.call("Forward", requests(), seconds=120))
        watch.until(lambda chunk: chunk.is_end)
        ended.set()
        assert watch.end()[0] is grpc.StatusCode.OK
        assert listener.is_over.is_set(), "the call ends once the machine has all of it"
    assert listener.digest.digest() == hashlib.sha256(b"".join(parts)).digest()


def test_a_client_hears_that_a_machine_takes_no_more(ann: ApiClient) -> None:
    """It has closed both directions, and the client goes on."""
    ended = threading.Event()

    def leave(line: socket.socket) -> None:
        with line:
            line.sendall(b"bye")
            line.shutdown(socket.SHUT_WR)
            line.recv(1)

    def requests() -> Iterator[ForwardRequest]:
        yield ForwardRequest(instance=InstanceRef(name="web"), port=port)
        assert ended.wait(60)
        for _ in range(10_000):
            yield ForwardRequest(chunk=Chunk(data=PART))

    with listening(leave) as port:
        watch = Watch(ann.call("Forward", requests(), seconds=120))
        watch.until(lambda chunk: chunk.is_end)
        ended.set()
        status, words = watch.end()
    assert status is grpc.StatusCode.UNAVAILABLE
    assert "closed the connection" in words


def test_half_a_connection_that_is_idle_ends(
    site: PipedSite, ann: ApiClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A client that never ends its half does not keep a pipe for good."""
    monkeypatch.setattr(pipe_calls, "IDLE_SECONDS", 0.5)
    release = threading.Event()

    def requests() -> Iterator[ForwardRequest]:
        yield ForwardRequest(instance=InstanceRef(name="web"), port=port)
        release.wait(60)

    with listening(Listener()) as port:
        assert Watch(ann.call("Forward", requests(), seconds=120)).end()[0] is grpc.StatusCode.OK
        release.set()
    wait_for(lambda: site.served.count("gitvirt_link_pipes") == 0)


def test_the_verb_relays_each_direction_until_its_own_end(site: PipedSite, ann: ApiClient) -> None:
    """A program here reads the machine's end, and then sends for the first time."""
    listener, data = Listener(), PART * 64
    here, line = socket.socketpair()
    servers = LinkServers({"one": ann.channel})
    with listening(listener) as port, here:
        relay = threading.Thread(target=relay_socket, args=(line, servers, "default/web", port))
        relay.start()
        greeting = b"".join(iter(lambda: here.recv(65536), b""))
        here.sendall(data)
        here.shutdown(socket.SHUT_WR)
        assert listener.is_over.wait(60)
        relay.join(60)
        assert not relay.is_alive()
    assert greeting == b"go on"
    assert listener.digest.digest() == hashlib.sha256(data).digest()
