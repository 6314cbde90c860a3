"""API clients over real TLS, and the settings that list them."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from queue import SimpleQueue
from typing import Any

import grpc
from google.protobuf.message import Message
from google.protobuf.message_factory import GetMessageClass

from reconciler.link.controller_calls import SERVICE
from schemas.settings.certificate import LINK_NAME
from tests.reconciler.link.serving import PATIENCE
from tests.servers.link_certificates import LinkCertificate, indent

METHODS = {each.name: each for each in SERVICE.methods}


def list_client(
    name: str, certificate: LinkCertificate, rights: Iterable[str] = (), namespaces: Iterable[str] = ()
) -> str:
    """An entry below `clients:`."""
    quoted = ", ".join(f"'{each}'" for each in namespaces)
    return (
        f"  {name}:\n    certificates:\n{indent(certificate, '    ')}"
        f"    namespaces: [{quoted}]\n    rights: [{', '.join(rights)}]\n"
    )


class ApiClient:
    """One connection of one certificate."""

    def __init__(
        self, address: str, server: LinkCertificate, own: LinkCertificate, *options: tuple[str, object]
    ) -> None:
        credentials = grpc.ssl_channel_credentials(
            server.pem.encode(), own.private.encode(), own.pem.encode()
        )
        named = (("grpc.ssl_target_name_override", LINK_NAME), ("grpc.use_local_subchannel_pool", 1))
        self.channel = grpc.secure_channel(address, credentials, (*named, *options))

    def call(self, method: str, request: Message | Iterable[Message], seconds: float = PATIENCE) -> Any:
        """The answer, or an iterator of answers."""
        about: Any = METHODS[method]
        kinds = {
            (False, False): self.channel.unary_unary,
            (False, True): self.channel.unary_stream,
            (True, True): self.channel.stream_stream,
        }
        answer: Any = GetMessageClass(about.output_type)
        request_type: Any = GetMessageClass(about.input_type)
        made: Any = kinds[about.client_streaming, about.server_streaming](
            f"/{SERVICE.full_name}/{method}",
            request_serializer=request_type.SerializeToString,
            response_deserializer=answer.FromString,
        )
        return made(request, timeout=seconds)

    def close(self) -> None:
        self.channel.close()


@contextmanager
def api_client(
    address: str, server: LinkCertificate, own: LinkCertificate, *options: tuple[str, object]
) -> Iterator[ApiClient]:
    made = ApiClient(address, server, own, *options)
    try:
        yield made
    finally:
        made.close()


def status_of(error: object) -> tuple[grpc.StatusCode, str]:
    found: Any = error
    return found.code(), found.details()


class Watch:
    """A stream of answers, read in a thread of its own."""

    def __init__(self, call: Any) -> None:
        self.call = call
        self.received: SimpleQueue[Any] = SimpleQueue()
        threading.Thread(target=self._receive, daemon=True).start()

    def _receive(self) -> None:
        try:
            for message in self.call:
                self.received.put(message)
            self.received.put(None)
        except grpc.RpcError as error:
            self.received.put(error)

    def next(self) -> Any:
        found = self.received.get(timeout=PATIENCE)
        assert isinstance(found, Message), found
        return found

    def until(self, accepts: Any) -> Any:
        """The first message that is accepted; others are passed over."""
        deadline = time.monotonic() + PATIENCE
        while True:
            assert time.monotonic() < deadline, "no such message came"
            if accepts(found := self.next()):
                return found

    def end(self) -> tuple[grpc.StatusCode, str]:
        while True:
            found = self.received.get(timeout=PATIENCE)
            if found is None:
                return grpc.StatusCode.OK, ""
            if isinstance(found, grpc.RpcError):
                return status_of(found)
