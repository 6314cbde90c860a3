"""A real server of the link on a port of this machine, and clients of it that do only what a test tells them to."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Any

import grpc
from prometheus_client import CollectorRegistry

from iri.proto.gitvirt.link.v1alpha1.agent_pb2 import AgentMessage, Heartbeat, Hello, ServerMessage
from reconciler.link.metrics import LinkMetrics
from reconciler.link.server import LinkServer
from reconciler.link.server_key import ServerKey
from reconciler.loop.loop import read_steady_clock
from schemas.settings.certificate import LINK_NAME
from schemas.settings.fleet import FleetSettings, parse
from tests.servers.link_certificates import LinkCertificate, link_settings, make_certificate

FLEET = "7c9e6679-7425-40de-944b-e07fc1f90ae7"
COMMIT = "c" * 40
CONNECT = "/gitvirt.link.v1alpha1.Agent/Connect"
PATIENCE = 30.0


def settings_of(link: LinkCertificate, hosts: dict[str, LinkCertificate], more: str = "") -> FleetSettings:
    found = parse(link_settings(FLEET, ["127.0.0.1:7443"], link, hosts, more).encode())
    assert isinstance(found, FleetSettings), found
    return found


@dataclass
class Served:
    """A server whose settings list `hosts`, and how often it woke the loop."""

    server: LinkServer
    link: LinkCertificate
    registry: CollectorRegistry
    hosts: dict[str, LinkCertificate] = field(default_factory=dict)
    wakes: SimpleQueue[float] = field(default_factory=SimpleQueue)

    def list_hosts(self, *names: str, more: str = "") -> None:
        """These are listed now, with new certificates for those that had none."""
        for name in names:
            self.hosts.setdefault(name, make_certificate(name))
        self.follow({name: self.hosts[name] for name in names}, more)

    def follow(self, hosts: dict[str, LinkCertificate], more: str = "") -> None:
        self.server.follow(settings_of(self.link, hosts, more))

    def count(self, name: str, **labels: str) -> float:
        return self.registry.get_sample_value(name, labels) or 0.0


@contextmanager
def serving(
    folder: Path, *names: str, link: LinkCertificate | None = None, port: int = 0, **more: Any
) -> Iterator[Served]:
    link = link or make_certificate("link", is_link=True)
    wakes: SimpleQueue[float] = SimpleQueue()
    registry = CollectorRegistry()
    own = ServerKey(*link.write(folder, "link"), read_steady_clock)
    metrics = LinkMetrics(registry)

    def wake() -> None:
        wakes.put(time.monotonic())

    address = ("127.0.0.1", port)
    made = LinkServer(address, own, wake, read_steady_clock, metrics, version="1", **more)
    with made as server:
        served = Served(server, link, registry, wakes=wakes)
        served.list_hosts(*names)
        yield served


class RawHost:
    """One Connect stream, message by message. Its certificate may be any."""

    def __init__(self, served: Served, certificate: LinkCertificate, trusted: str = "") -> None:
        roots = (trusted or served.link.pem).encode()
        credentials = grpc.ssl_channel_credentials(
            roots, certificate.private.encode(), certificate.pem.encode()
        )
        options = (("grpc.ssl_target_name_override", LINK_NAME), ("grpc.use_local_subchannel_pool", 1))
        self.channel = grpc.secure_channel(served.server.address, credentials, options)
        self.sent: SimpleQueue[AgentMessage | None] = SimpleQueue()
        self.received: SimpleQueue[ServerMessage | grpc.RpcError | None] = SimpleQueue()
        self.number = 0
        call: Any = self.channel.stream_stream(
            CONNECT,
            request_serializer=AgentMessage.SerializeToString,
            response_deserializer=ServerMessage.FromString,
        )(iter(self.sent.get, None))
        self.call = call
        threading.Thread(target=self._receive, daemon=True).start()

    def _receive(self) -> None:
        try:
            for message in self.call:
                self.received.put(message)
            self.received.put(None)
        except grpc.RpcError as error:
            self.received.put(error)

    def hello(self, name: str, fleet: str = FLEET, host: str = "host", instance: str = "run") -> None:
        self.send(hello=Hello(fleet=fleet, poollet=name, host_id=host, instance=instance))

    def send(self, **message: Any) -> None:
        self.sent.put(AgentMessage(**message))

    def beat(self, answers: int, commit: str = COMMIT) -> None:
        self.number += 1
        self.send(heartbeat=Heartbeat(number=self.number, answers=answers, report_commit=commit))

    def next(self) -> ServerMessage:
        found = self.received.get(timeout=PATIENCE)
        assert isinstance(found, ServerMessage), found
        return found

    def end(self) -> tuple[grpc.StatusCode, str]:
        """Whatever comes before the end is passed over."""
        deadline = time.monotonic() + PATIENCE
        while time.monotonic() < deadline:
            found = self.received.get(timeout=PATIENCE)
            if found is None:
                return grpc.StatusCode.OK, ""
            if isinstance(found, grpc.RpcError):
                error: Any = found
                return error.code(), error.details()
        raise Empty

    def close(self) -> None:
        self.sent.put(None)
        self.call.cancel()
        self.channel.close()


@contextmanager
def raw_host(served: Served, certificate: LinkCertificate, trusted: str = "") -> Iterator[RawHost]:
    made = RawHost(served, certificate, trusted)
    try:
        yield made
    finally:
        made.close()


@contextmanager
def welcomed(served: Served, name: str) -> Iterator[RawHost]:
    """A host that is connected and has given its first sign of life."""
    with raw_host(served, served.hosts[name]) as host:
        host.hello(name)
        welcome = host.next().welcome
        host.beat(welcome.number)
        assert host.next().heartbeat.answers == 1
        yield host


def wait_for(condition: Callable[[], object], seconds: float = PATIENCE) -> float:
    """How long that took."""
    begun = time.monotonic()
    while not condition():
        assert time.monotonic() - begun < seconds, "it did not happen in time"
        time.sleep(0.01)
    return time.monotonic() - begun
