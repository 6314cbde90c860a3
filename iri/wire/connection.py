"""One connection to one server: a deadline on every call, errors of ours, and a new connection when the server was
replaced. Knows no service.

A unix socket that was bound anew is another file at the same path; the link sees that and leaves the old server, even
one that still runs. Reads are tried again for a moment when nobody answers, so a restart goes unnoticed; writes never
are, because a lost answer does not say whether they took effect.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TypeVar

import grpc
import grpc.experimental
from google.protobuf import message_factory
from google.protobuf.descriptor import MethodDescriptor
from google.protobuf.message import DecodeError, Message

from iri.address import Address, TcpAddress, UnixAddress
from iri.errors import Internal, IRIError, TimedOut, Unavailable
from iri.wire.error_status import DETAILS, decode_error

LARGEST_MESSAGE_BYTES = 64 * 1024 * 1024
PATIENCE_SECONDS = 2.0
FIRST_PAUSE_SECONDS = 0.02
LONGEST_PAUSE_SECONDS = 0.5
OPTIONS = (
    ("grpc.max_receive_message_length", LARGEST_MESSAGE_BYTES),
    ("grpc.max_send_message_length", LARGEST_MESSAGE_BYTES),
    # Connections are shared between channels to one path otherwise, and a new one would get the old server.
    ("grpc.use_local_subchannel_pool", 1),
    ("grpc.initial_reconnect_backoff_ms", 50),
    # Despite its name this is how long one attempt may take; a busy host needs its time for the handshake.
    ("grpc.min_reconnect_backoff_ms", 5000),
    ("grpc.max_reconnect_backoff_ms", 1000),
    ("grpc.enable_retries", 0),
    # Else a thread of the channel hands on to the one that reads, which looks ten times a second by itself.
    (grpc.experimental.ChannelOptions.SingleThreadedUnaryStream, 1),
)

AnyMessage = TypeVar("AnyMessage", bound=Message)
SocketIdentity = tuple[int, int, int]


class ServerConnection:
    def __init__(self, address: Address, patience_seconds: float = PATIENCE_SECONDS) -> None:
        self.address = address
        self._patience = patience_seconds
        self._channel: grpc.Channel | None = None
        self._retired: grpc.Channel | None = None
        self._identity: SocketIdentity | None = None
        self._lock = threading.Lock()

    def close(self) -> None:
        with self._lock:
            for channel in (self._channel, self._retired):
                if channel is not None:
                    channel.close()
            self._channel = self._retired = None

    def call(self, method: MethodDescriptor, request: Message, seconds: float) -> Message:
        """One call, at most so long; raises an IRIError."""
        return decode_response(method, self.fetch(method, request, seconds))

    def read(self, method: MethodDescriptor, request: Message, seconds: float) -> Message:
        """A call that changes nothing, tried again while nobody answers."""
        return decode_response(method, self.read_bytes(method, request, seconds))

    def read_bytes(self, method: MethodDescriptor, request: Message, seconds: float) -> bytes:
        end = time.monotonic() + min(self._patience, seconds)
        pause = FIRST_PAUSE_SECONDS
        while True:
            try:
                return self.fetch(method, request, seconds)
            except TimedOut:
                raise
            except Unavailable:
                if time.monotonic() + pause > end:
                    raise
            time.sleep(pause)
            pause = min(2 * pause, LONGEST_PAUSE_SECONDS)

    def fetch(self, method: MethodDescriptor, request: Message, seconds: float) -> bytes:
        """The encoded response."""
        call = self._connected().unary_unary(method_path(method), None, None)
        try:
            response: bytes = call(request.SerializeToString(), timeout=seconds)
        except grpc.RpcError as error:
            raise self.translated(method, error) from None
        except ValueError as error:
            # Another thread has closed the channel meanwhile.
            raise Unavailable(f"{self.address}: the connection was closed") from error
        return response

    def stream(self, method: MethodDescriptor, request: Message) -> ResponseStream:
        """The responses of a streaming call, without a deadline."""
        call = self._connected().unary_stream(method_path(method), None, None)
        return ResponseStream(self, method, call(request.SerializeToString()))

    def _connected(self) -> grpc.Channel:
        with self._lock:
            now = socket_identity(self.address)
            if self._channel is not None and now is not None and now != self._identity:
                self._retire()
            if self._channel is None:
                self._identity = now
                self._channel = grpc.insecure_channel(grpc_target(self.address), options=OPTIONS)
            return self._channel

    def _retire(self) -> None:
        """The old server may still be answering calls of other threads, so its channel outlives its use by one more."""
        if self._retired is not None:
            self._retired.close()
        self._retired, self._channel = self._channel, None

    def translated(self, method: MethodDescriptor, error: grpc.RpcError) -> IRIError:
        code, details = error.code(), error.details() or ""
        found = [one.value for one in error.trailing_metadata() or () if one.key == DETAILS]
        precise = found[0] if found and isinstance(found[0], bytes) else b""
        translated = decode_error(code, details or f"{method.name}: {code.name}", precise)
        if isinstance(translated, TimedOut):
            return TimedOut(f"{self.address} did not answer {method.name} in time")
        if isinstance(translated, Unavailable):
            return Unavailable(f"{self.address}: {details or 'no answer'}")
        return translated


class ResponseStream:
    """The responses of one streaming call, read by one thread; `cancel` from another ends it."""

    def __init__(
        self, link: ServerConnection, method: MethodDescriptor, call: grpc.CallIterator[bytes]
    ) -> None:
        self._link = link
        self._method = method
        self._call = call

    def __iter__(self) -> Iterator[Message]:
        try:
            for data in self._call:
                yield decode_response(self._method, data)
        except grpc.RpcError as error:
            raise self._link.translated(self._method, error) from None

    def cancel(self) -> None:
        self._call.cancel()  # type: ignore[no-untyped-call]


def decode_response(method: MethodDescriptor, data: bytes) -> Message:
    try:
        return message_factory.GetMessageClass(method.output_type).FromString(data)
    except DecodeError:
        raise Internal(f"the answer to {method.name} is no valid {method.output_type.full_name}") from None


def method_path(method: MethodDescriptor) -> str:
    return f"/{method.containing_service.full_name}/{method.name}"


def grpc_target(address: Address) -> str:
    match address:
        case UnixAddress(path):
            return f"unix:{path}"
        case TcpAddress():
            return f"dns:///{address}"


def socket_identity(address: Address) -> SocketIdentity | None:
    """Tells a unix socket from the one that was at its path before; always the same for TCP."""
    match address:
        case UnixAddress(path):
            return file_identity(path)
        case TcpAddress():
            return 0, 0, 0


def file_identity(path: Path) -> SocketIdentity | None:
    try:
        found = path.stat()
    except OSError:
        return None
    # An inode number may be used again at once; its time of birth is not.
    return found.st_dev, found.st_ino, found.st_ctime_ns
