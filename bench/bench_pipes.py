"""Consoles and connections from afar, over real TLS on loopback: server, host and client in processes of their own.

python -m bench.bench_pipes [MEBIBYTES]     64 unless told
"""

from __future__ import annotations

import logging
import multiprocessing
import random
import socket
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from multiprocessing.connection import Connection
from pathlib import Path
from queue import SimpleQueue
from statistics import median
from typing import Any

from prometheus_client import CollectorRegistry

from bench.bench_link import COMMIT, FLEET, begin, read_settings
from iri.proto.gitvirt.link.v1alpha1.agent_pb2 import Chunk
from iri.proto.gitvirt.link.v1alpha1.controller_pb2 import ForwardRequest, InstanceRef
from poollet.clock import Clock
from poollet.link.link_thread import LinkThread
from poollet.link.poollet_link import LinkEvents, LinkIdentity, PoolletLink
from poollet.runtimes.forward_end import ForwardEnd
from reconciler.link.metrics import LinkMetrics
from reconciler.link.server import LinkServer
from reconciler.link.server_key import ServerKey
from reconciler.loop.loop import read_steady_clock
from reconciler.picture.fleet_picture import FleetPicture, PictureNews
from reconciler.picture.instance import InstancePicture, InstanceState
from schemas.kinds import Key, Kind
from tests.reconciler.link.client import ApiClient, api_client, list_client
from tests.servers.daemon import free_port
from tests.servers.link_certificates import link_settings, make_certificate

HOST = "rack-1"
WEB = Key(Kind.MACHINE, "default", "web")
ECHOES, OPENINGS, CHUNK = 500, 30, 64 * 1024


def serve(pipe: Connection, folder: Path, port: int) -> None:
    own = ServerKey(folder / "link.key", folder / "link.crt", read_steady_clock)
    metrics = LinkMetrics(CollectorRegistry())
    machine = InstancePicture(WEB, "uid-web", InstanceState.RUNNING, poollet=HOST)
    with LinkServer(
        ("127.0.0.1", port), own, lambda: None, read_steady_clock, metrics, version="1"
    ) as server:
        server.follow(read_settings(folder))
        server.show(PictureNews(FleetPicture(instances={WEB: machine})))
        while server.hosts.count() == 0:
            time.sleep(0.02)
        pipe.send("ready")
        pipe.recv()


def be_host(pipe: Connection, folder: Path) -> None:
    """Its machine's ports are those of this process."""
    logging.disable(logging.WARNING)
    thread = LinkThread()
    thread.start()
    link = PoolletLink(
        LinkIdentity(HOST, HOST, HOST, {}, folder / f"{HOST}.key", folder / f"{HOST}.crt"),
        thread,
        Clock(),
        random.Random(1),
    )
    link.events = LinkEvents(
        standing=lambda _: COMMIT,
        open_end=lambda wanted: ForwardEnd(socket.create_connection(("127.0.0.1", wanted.forward.port))),
    )
    link.follow(read_settings(folder))
    pipe.send(listen(echo))
    pipe.send(listen(pour))
    pipe.recv()
    thread.stop()


def listen(work: Any) -> int:
    """A port that serves each connection in a thread."""
    server = socket.create_server(("127.0.0.1", 0))

    def run() -> None:
        while True:
            line, _ = server.accept()
            threading.Thread(target=work, args=(line,), daemon=True).start()

    threading.Thread(target=run, daemon=True).start()
    port: int = server.getsockname()[1]
    return port


def echo(line: socket.socket) -> None:
    line.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    while data := line.recv(CHUNK):
        line.sendall(data)


def pour(line: socket.socket) -> None:
    """As many mebibytes as the first bytes say."""
    count = int(line.recv(64))
    with line:
        for _ in range(count * 16):
            line.sendall(b"x" * CHUNK)


class BenchConnection:
    def __init__(self, client: ApiClient, port: int) -> None:
        self.sent: SimpleQueue[ForwardRequest | None] = SimpleQueue()
        self.sent.put(ForwardRequest(instance=InstanceRef(name="web"), port=port))
        self.call = client.call("Forward", iter(self.sent.get, None), seconds=300)
        next(self.call)

    def send(self, data: bytes) -> None:
        self.sent.put(ForwardRequest(chunk=Chunk(data=data)))

    def chunks(self) -> Iterator[Chunk]:
        yield from self.call

    def close(self) -> None:
        self.sent.put(None)
        self.call.cancel()


def measure(folder: Path, mebibytes: int) -> None:
    link, host, own = (
        make_certificate("link", is_link=True),
        make_certificate(HOST),
        make_certificate("bench"),
    )
    port = free_port()
    link.write(folder, "link")
    host.write(folder, HOST)
    clients = "clients:\n" + list_client("bench", own, ("forward",), ("default",))
    (folder / "gitvirt.yaml").write_text(
        link_settings(FLEET, [f"127.0.0.1:{port}"], link, {HOST: host}, clients)
    )
    _, server = begin(serve, folder, port)
    _, hosts = begin(be_host, folder)
    echoing, pouring = hosts.recv(), hosts.recv()
    server.recv()
    with api_client(f"127.0.0.1:{port}", link, own) as client:
        BenchConnection(client, echoing).close()
        opened = [time_opening(client, echoing) for _ in range(OPENINGS)]
        echoed = time_echoes(client, echoing)
        seconds = time_pouring(client, pouring, mebibytes)
    for pipe in (server, hosts):
        pipe.send("end")
    print(
        f"opened, {OPENINGS} connections: p50 {median(opened) * 1e3:.1f} ms, p95 {find_p95(opened) * 1e3:.1f} ms"
    )
    print(
        f"echo of one byte, {ECHOES}: p50 {median(echoed) * 1e3:.2f} ms, p95 {find_p95(echoed) * 1e3:.2f} ms"
    )
    print(f"{mebibytes} MiB to the client: {mebibytes * 1.048576 / seconds:.0f} MB/s")


def find_p95(times: list[float]) -> float:
    return sorted(times)[int(len(times) * 0.95)]


def time_opening(client: ApiClient, port: int) -> float:
    """From the call to the first chunk: the way to the host, its connection, and a TLS handshake back."""
    started = time.monotonic()
    connection = BenchConnection(client, port)
    took = time.monotonic() - started
    connection.close()
    time.sleep(0.1)
    return took


def time_echoes(client: ApiClient, port: int) -> list[float]:
    connection = BenchConnection(client, port)
    chunks, took = connection.chunks(), []
    for _ in range(ECHOES):
        started = time.monotonic()
        connection.send(b"k")
        next(chunks)
        took.append(time.monotonic() - started)
    connection.close()
    return took


def time_pouring(client: ApiClient, port: int, mebibytes: int) -> float:
    connection = BenchConnection(client, port)
    started, size = time.monotonic(), 0
    connection.send(str(mebibytes).encode())
    for chunk in connection.chunks():
        size += len(chunk.data)
    assert size == mebibytes << 20
    connection.close()
    return time.monotonic() - started


if __name__ == "__main__":
    multiprocessing.freeze_support()
    logging.disable(logging.WARNING)
    with tempfile.TemporaryDirectory() as made:
        measure(Path(made), int(sys.argv[1]) if len(sys.argv) > 1 else 64)
