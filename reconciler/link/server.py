"""The link as a part of `gitvirt run`: its port, its TLS, and the thread with the event loop that all calls run in.

One thread is enough, because a call only moves small messages: ten thousand streams are ten thousand tasks and no thread. The thread that
ticks hands values over: settings, commits; and takes one: LinkInput. Neither waits for the other, but that a tick waits a moment for the answers to its offers (offer_board.py).

TLS asks for the roots at each handshake, and gets those of the settings in force. Before the first tick has ended that is the own certificate
alone, which is not a host's: none is let in. So is the own key: one that was replaced counts from the next handshake on (server_key.py).

Must never happen: the key in a log or an error; a port that is open and answers nothing, because the start failed halfway.
"""

from __future__ import annotations

import asyncio
import logging
import threading
import uuid
from collections.abc import Awaitable, Callable, Collection, Sequence
from datetime import datetime, timedelta
from typing import Any

import grpc

from iri.proto.gitvirt.link.v1alpha1 import agent_pb2
from iri.proto.gitvirt.link.v1alpha1.agent_pb2 import AgentMessage, LiveMoved, ServerMessage
from reconciler.decide.placement.offers import Answers, OfferedObject
from reconciler.link.agent_calls import LinkService
from reconciler.link.agent_stream import AgentStream, StreamEnd
from reconciler.link.callers import Callers
from reconciler.link.change_calls import ChangeCalls
from reconciler.link.client_calls import ClientCalls
from reconciler.link.common_services import CommonServices, PoolOf
from reconciler.link.controller_calls import SERVICE as CONTROLLER
from reconciler.link.controller_calls import ControllerService, make_handler
from reconciler.link.fleet_feed import FleetFeed
from reconciler.link.fleet_writer import FleetWriter
from reconciler.link.join_port import JoinPort, JoinSetup
from reconciler.link.linked_hosts import LinkedHosts
from reconciler.link.metrics import LinkMetrics
from reconciler.link.offer_board import OfferBoard
from reconciler.link.pipe_calls import PipeCalls
from reconciler.link.pipes import Pipes
from reconciler.link.server_key import LinkSetupError, ServerKey
from reconciler.picture.fleet_picture import PictureNews
from reconciler.world.reports.heartbeat import LinkInput
from schemas.settings.duration import format_duration
from schemas.settings.fleet import FleetSettings

log = logging.getLogger(__name__)

LARGEST_MESSAGE_BYTES = 1024 * 1024
SWEEP_SECONDS = 0.5
START_SECONDS = 60.0  # of a machine that is busy
OPTIONS = (
    ("grpc.max_receive_message_length", LARGEST_MESSAGE_BYTES),
    ("grpc.max_concurrent_streams", 64),
    ("grpc.server_handshake_timeout_ms", 10_000),
    ("grpc.max_connection_idle_ms", 60_000),
    # A client or a host whose network is cut must not keep a console: no FIN says that it is gone.
    ("grpc.keepalive_time_ms", 20_000),
    ("grpc.keepalive_timeout_ms", 10_000),
    ("grpc.http2.min_ping_interval_without_data_ms", 10_000),
    ("grpc.so_reuseport", 0),
)
AGENT = agent_pb2.DESCRIPTOR.services_by_name["Agent"]


class LinkServer:
    """`with LinkServer(...):` serves until the block ends. A LinkPort of the loop (reconciler/loop/link_port.py)."""

    def __init__(
        self,
        listen: tuple[str, int],
        own: ServerKey,
        wake: Callable[[], None],
        steady: Callable[[], datetime],
        metrics: LinkMetrics,
        *,
        version: str,
        pool_of: PoolOf | None = None,
        writer: FleetWriter | None = None,
        join: JoinSetup | None = None,
    ) -> None:
        host, port = listen
        self.address = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
        self.hosts = LinkedHosts()
        self._own, self._metrics = own, metrics
        self._service = LinkService(self.hosts, metrics, wake, steady, str(uuid.uuid4()), version)
        self._calls = ClientCalls(self._service)
        self._feed = FleetFeed()
        self._changes = ChangeCalls(self._calls, self._feed, writer, wake)
        self._pipes = Pipes(self._service)
        self._offers = OfferBoard(self.hosts, steady)
        self._service.on_refused_pipe, self._service.on_end = self._pipes.refuse, self._end_stream
        self._service.on_offer_reply = self._offers.take
        pipe_calls = PipeCalls(self._calls, self._feed, self.hosts, self._pipes, metrics)
        self._controller = ControllerService(self._changes, pipe_calls, self._service)
        self._common = CommonServices(self._calls, (AGENT.full_name, CONTROLLER.full_name), pool_of)
        self.join_port = JoinPort(join, own, metrics, steady, wake) if join is not None else None
        self._callers, self._configuring = Callers(), threading.Lock()
        self._configuration = self._configure(self._callers)
        self._given = self._configuration
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._run, name="link", daemon=True)
        self._started = threading.Event()
        self._failure: Exception | None = None
        self._stopping: asyncio.Event | None = None
        self._warned = ""

    def __enter__(self) -> LinkServer:
        self._thread.start()
        has_started = self._started.wait(START_SECONDS)
        if self._failure is not None:
            raise self._failure
        if not has_started:
            cause = f"the link at {self.address} did not start within {format_duration(START_SECONDS)}"
            raise LinkSetupError(cause, "look at the load of this machine, and start again")
        log.info(
            "serving the link address=%s certificate=%s", self.address, self._own.pair.certificate.identity
        )
        return self

    def __exit__(self, *_: object) -> None:
        """Hosts get UNAVAILABLE and connect again."""
        if self._stopping is not None and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._stopping.set)
        self._thread.join()
        self._changes.end()
        if self.join_port is not None:
            self.join_port.end()

    # Of LinkPort: called by the thread that ticks

    def read(self) -> LinkInput:
        return self.hosts.read()

    def follow(self, settings: FleetSettings) -> None:
        if self.join_port is not None:
            self.join_port.follow(settings)
        callers = Callers.of(settings)
        names = {each.name for each in callers.by_identity.values() if each.kind == "poollets"}
        self.hosts.forget_others(names)
        self._metrics.listed.set(len(names))
        self._warn_about_own(callers)
        interval = timedelta(milliseconds=settings.heartbeat.link_milliseconds)
        if (callers, interval) == (self._service.callers, self._service.interval):
            return
        self._reconfigure(callers)
        if not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._take, callers, interval)

    def nudge(self, commit: str, poollets: Collection[str] | None) -> None:
        self.hosts.send(ServerMessage(live_moved=LiveMoved(commit=commit)), poollets)

    def may_offer(self, poollet: str, host: str) -> bool:
        return self._offers.may_ask(poollet, host)

    def offer(self, offered: Sequence[OfferedObject], seconds: float) -> Answers:
        answers = self._offers.ask(offered, seconds)
        self._metrics.count_offers(len(offered), answers.values())
        return answers

    def is_viewed(self, settings: FleetSettings) -> bool:
        return bool(settings.clients)

    def has_picture(self) -> bool:
        return self._feed.picture is not None

    def show(self, news: PictureNews) -> None:
        if not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._feed.take, news)

    # In the event loop's thread

    def _end_stream(self, stream: AgentStream) -> None:
        self._pipes.end_all(stream)
        self._offers.forget(stream)

    def _take(self, callers: Callers, interval: timedelta) -> None:
        self._service.callers, self._service.interval = callers, interval
        self._check_streams()

    def _check_streams(self) -> None:
        self._service.check_streams()
        self._calls.check()
        self._metrics.calls.set(self._calls.count())

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        try:
            self._loop.run_until_complete(self._serve())
        except Exception as error:  # before the start, it is raised in the thread that waits for that
            self._failure = error
            if self._started.is_set():
                log.exception("the link has ended: hosts use Git alone until this process is started again")
        finally:
            self._started.set()
            self._loop.close()

    async def _serve(self) -> None:
        server = grpc.aio.server(options=OPTIONS)
        for name, handlers in self._handlers().items():
            server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler(name, handlers),))
        credentials = grpc.dynamic_ssl_server_credentials(
            self._configuration,
            self._fetch,  # type: ignore[arg-type]  # None is for "as before", which the stubs do not know
            require_client_authentication=True,
        )
        try:
            port = server.add_secure_port(self.address, credentials)
        except RuntimeError as error:
            cause = f"cannot listen on {self.address}: is the address in use?"
            raise LinkSetupError(cause, "choose another address with --link") from error
        self.address = f"{self.address.rpartition(':')[0]}:{port}"
        self._stopping = asyncio.Event()
        if self.join_port is not None:
            await self.join_port.start()
        await server.start()
        self._started.set()
        await self._sweep_until(self._stopping.wait())
        stops = StreamEnd(grpc.StatusCode.UNAVAILABLE, "the server stops; connect again", "server stops")
        for stream in self._service.streams:
            stream.close(stops)
        self._calls.close_all(stops)
        if self.join_port is not None:
            await self.join_port.stop()
        await server.stop(1.0)

    def _handlers(self) -> dict[str, dict[str, grpc.RpcMethodHandler[Any, Any]]]:
        """By the full name of each service."""
        connect = grpc.stream_stream_rpc_method_handler(
            self._service.connect,
            request_deserializer=AgentMessage.FromString,
            response_serializer=ServerMessage.SerializeToString,
        )
        agent = {"Connect": connect, "Pipe": make_handler(AGENT.methods_by_name["Pipe"], self._pipes.serve)}
        controller = {CONTROLLER.full_name: self._controller.handlers()}
        return {AGENT.full_name: agent, **controller, **self._common.handlers()}

    async def _sweep_until(self, stopped: Awaitable[object]) -> None:
        waiting = asyncio.ensure_future(stopped)
        while not waiting.done():
            await asyncio.wait([waiting], timeout=SWEEP_SECONDS)
            self._check_streams()
            if self._own.look():
                self._reconfigure(None)

    # In a thread of gRPC

    def _fetch(self) -> grpc.ServerCertificateConfiguration | None:
        """For each handshake: the roots, or None where they are those of the last one."""
        if self._given is self._configuration:
            return None
        self._given = self._configuration
        return self._given

    def _reconfigure(self, callers: Callers | None) -> None:
        """From the thread that ticks and from the event loop's: the later one has both, other callers and another key."""
        with self._configuring:
            self._callers = callers or self._callers
            self._configuration = self._configure(self._callers)

    def _configure(self, callers: Callers) -> grpc.ServerCertificateConfiguration:
        roots = callers.roots or self._own.pair.pem
        return grpc.ssl_server_certificate_configuration([(self._own.pair.key, self._own.pair.pem)], roots)

    def _warn_about_own(self, callers: Callers) -> None:
        """Once for each cause: hosts do not connect to a server whose certificate is not listed."""
        found = callers.by_identity.get(self._own.pair.certificate.identity)
        cause = "" if found is not None and found.kind == "link" else "is not listed"
        if cause and cause != self._warned:
            log.warning(
                "hosts will not connect: certificate SHA-256 %s of this server %s; list it in gitvirt.yaml: link.certificates",
                self._own.pair.certificate.identity,
                cause,
            )
        self._warned = cause
