"""A runtime behind sockets: where it listens, what it serves, its limits, and how it stops.

Stopping, in this order: consoles end; the sockets are removed, so that a new server can take the paths; health turns to
NOT_SERVING; watches end; calls under way may finish within FINISH_SECONDS. Health and reflection are always on.

A runtime that has something of its own to start and to stop subclasses Server: its `start` comes before the sockets
exist, its `stop` after the last call has returned.

    limit                   what happens beyond it
    calls at once           gRPC answers RESOURCE_EXHAUSTED before a handler runs
    threads                 further calls wait for one; each watch keeps one for as long as it lasts
    size of a message       the call fails; a response is never cut
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Self

import grpc
from google.protobuf.descriptor import ServiceDescriptor
from grpc_health.v1 import health, health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection

from iri.address import Address, TcpAddress, UnixAddress
from iri.errors import FailedPrecondition, IRIError
from iri.exec.exec_server import ExecServer
from iri.exec.streaming_address import StreamingAddress
from iri.runtime import Runtime
from iri.server.call_handlers import Calls, CallWrapper, build_handlers, list_calls, run_unwrapped
from iri.server.host_service import HostService
from iri.server.listening_socket import ListeningSocket
from iri.server.object_services import build_machine_calls, build_volume_calls
from iri.server.reflection_pool import build_reflection_pool
from iri.wire.calls import HOST_SERVICE, MACHINE_SERVICE, VOLUME_SERVICE
from iri.wire.connection import LARGEST_MESSAGE_BYTES

log = logging.getLogger(__name__)

# Threads for calls and watches, and calls in all, queued ones included; any further call is RESOURCE_EXHAUSTED.
THREADS = 32
CALLS = 256
SOCKET_MODE = 0o600
FINISH_SECONDS = 5.0
OPTIONS = (
    ("grpc.max_receive_message_length", LARGEST_MESSAGE_BYTES),
    ("grpc.max_send_message_length", LARGEST_MESSAGE_BYTES),
    # A second server on a TCP port is a mistake here, not a way to share load.
    ("grpc.so_reuseport", 0),
)


class Server:
    """`with Server(runtime, address) as server:` serves until the block ends. Consoles have an address of their own, `streaming`."""

    def __init__(
        self,
        runtime: Runtime,
        addresses: Sequence[Address],
        *,
        services: Sequence[ServiceDescriptor] = (MACHINE_SERVICE, VOLUME_SERVICE, HOST_SERVICE),
        extra_calls: Mapping[ServiceDescriptor, Calls] | None = None,
        wrapper: CallWrapper = run_unwrapped,
        socket_mode: int = SOCKET_MODE,
        streaming: StreamingAddress | None = None,
    ) -> None:
        self.addresses: tuple[Address, ...] = tuple(addresses)
        self._socket_mode = socket_mode
        self._sockets: list[ListeningSocket] = []
        self._server = grpc.server(
            ThreadPoolExecutor(THREADS, thread_name_prefix="iri"),
            options=OPTIONS,
            maximum_concurrent_rpcs=CALLS,
        )
        self._host = HostService(runtime)
        self._consoles = ExecServer(address=streaming)
        calls: Mapping[ServiceDescriptor, Calls] = {
            MACHINE_SERVICE: build_machine_calls(runtime, self._consoles.offer),
            VOLUME_SERVICE: build_volume_calls(runtime),
            HOST_SERVICE: list_calls(HOST_SERVICE, self._host),
        }
        served = {service: calls[service] for service in services} | dict(extra_calls or {})
        self._server.add_generic_rpc_handlers(
            tuple(build_handlers(service, table, wrapper) for service, table in served.items())
        )
        self._health = health.HealthServicer()
        self._serve_health([service.full_name for service in served])

    def start(self) -> None:
        """Listens. TCP port 0 becomes the port that was free, in `addresses`.

        FailedPrecondition when it cannot listen; nothing is left running then.
        """
        try:
            self._consoles.start()
            self.addresses = tuple(self._listen(address) for address in self.addresses)
        except IRIError:
            self.stop(0)
            raise
        self._server.start()
        log.info("serving addresses=%s", " ".join(map(str, self.addresses)))

    def stop(self, finish_seconds: float = FINISH_SECONDS) -> None:
        """Ends consoles and refuses new calls; calls under way may finish within that time. May be called again."""
        self._consoles.stop()
        for listening in self._sockets:
            listening.remove()
        self._sockets.clear()
        self._health.enter_graceful_shutdown()
        self._host.stop()
        self._server.stop(finish_seconds).wait()

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def _listen(self, address: Address) -> Address:
        """The address that it really listens at."""
        match address:
            case UnixAddress(path):
                self._sockets.append(ListeningSocket(path, self._socket_mode, self._bind_socket))
                return address
            case TcpAddress(host, _):
                return TcpAddress(host, self._bind(str(address)))

    def _bind_socket(self, path: Path) -> None:
        self._bind(f"unix:{path}")

    def _bind(self, target: str) -> int:
        """gRPC reports every failure as RuntimeError without a usable cause, so the message can only name the address."""
        try:
            return self._server.add_insecure_port(target)
        except RuntimeError as error:
            raise FailedPrecondition(f"cannot listen on {target}: is the address in use?") from error

    def _serve_health(self, names: Sequence[str]) -> None:
        """For the server as a whole (the empty name) and for each service."""
        health_pb2_grpc.add_HealthServicer_to_server(self._health, self._server)
        for name in ("", *names):
            self._health.set(name, health_pb2.HealthCheckResponse.SERVING)
        services = (*names, health.SERVICE_NAME, reflection.SERVICE_NAME)
        reflection.enable_server_reflection(services, self._server, pool=build_reflection_pool(services))
