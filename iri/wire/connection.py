"""One connection to one server: a deadline on every call, our errors, a new channel when the server was replaced.

Theory of operation. Before each call the socket file is compared with the one that the channel was opened to. A server
that was started again has bound another file at the same path; its channel is opened, even while the old server still
runs, so no call goes to a server that is being replaced.

    call                     the server does not answer                 why
    read (`read`)            tried again for two seconds, then error    a restart goes unnoticed; reading twice is harmless
    write (`call`)           Unavailable at once                        a lost answer does not say whether it took effect
    either, past deadline    TimedOut                                   it may have taken effect
    stream                   ends with an error; the caller reconnects  see iri.client.remote_watch

The old channel stays open until it is replaced once more, because other threads may still wait for answers on it.
Must never happen: a write is sent twice. This module knows no service.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator

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
    # Otherwise gRPC shares connections between channels to one path, and a new channel would reach the old server.
    ("grpc.use_local_subchannel_pool", 1),
    ("grpc.initial_reconnect_backoff_ms", 50),
    # Despite its name this is how long one attempt may take; on a busy host the handshake is slow.
    ("grpc.min_reconnect_backoff_ms", 5000),
    ("grpc.max_reconnect_backoff_ms", 1000),
    ("grpc.enable_retries", 0),
    # Otherwise a thread of the channel hands each message to the reading thread, which polls ten times a second.
    (grpc.experimental.ChannelOptions.SingleThreadedUnaryStream, 1),
)

SocketIdentity = tuple[int, int, int]
Metadata = tuple[tuple[str, bytes], ...]  # beside a request; a server that does not know a name ignores it


class ServerConnection:
    """Thread-safe. Connects with the first call; `close` ends it for good."""

    def __init__(self, address: Address) -> None:
        self.address = address
        self._channel: grpc.Channel | None = None
        self._retired: grpc.Channel | None = None
        self._identity: SocketIdentity | None = None
        self._lock = threading.Lock()

    def close(self) -> None:
        """Ends calls under way with Unavailable."""
        with self._lock:
            for channel in (self._channel, self._retired):
                if channel is not None:
                    channel.close()
            self._channel = self._retired = None

    def call(
        self, method: MethodDescriptor, request: Message, seconds: float, metadata: Metadata = ()
    ) -> Message:
        """One call, made once, at most so long; raises an IRIError."""
        return decode_response(method, self.fetch(method, request, seconds, metadata))

    def read(self, method: MethodDescriptor, request: Message, seconds: float) -> Message:
        """A call that changes nothing, tried again for a while when no server answers."""
        return decode_response(method, self.read_bytes(method, request, seconds))

    def read_bytes(self, method: MethodDescriptor, request: Message, seconds: float) -> bytes:
        """As `read`, for responses that are decoded elsewhere."""
        end = time.monotonic() + min(PATIENCE_SECONDS, seconds)
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

    def fetch(
        self, method: MethodDescriptor, request: Message, seconds: float, metadata: Metadata = ()
    ) -> bytes:
        """The encoded response of one call, made once."""
        call = self._current_channel().unary_unary(method_path(method), None, None)
        try:
            response: bytes = call(request.SerializeToString(), timeout=seconds, metadata=metadata)
        except grpc.RpcError as error:
            raise self.translate_error(method, error) from None
        except ValueError as error:
            # Another thread has closed the channel meanwhile.
            raise Unavailable(f"{self.address}: the connection was closed") from error
        return response

    def stream(self, method: MethodDescriptor, request: Message) -> ResponseStream:
        """The responses of a streaming call, without a deadline."""
        call = self._current_channel().unary_stream(method_path(method), None, None)
        return ResponseStream(self, method, call(request.SerializeToString()))

    def _current_channel(self) -> grpc.Channel:
        """The channel to the server that listens now."""
        with self._lock:
            now = socket_identity(self.address)
            if self._channel is not None and now is not None and now != self._identity:
                self._retire()
            if self._channel is None:
                self._identity = now
                self._channel = grpc.insecure_channel(grpc_target(self.address), options=OPTIONS)
            return self._channel

    def _retire(self) -> None:
        """Replaces the channel, but keeps it open once more: other threads may wait for answers on it."""
        if self._retired is not None:
            self._retired.close()
        self._retired, self._channel = self._channel, None

    def translate_error(self, method: MethodDescriptor, error: grpc.RpcError) -> IRIError:
        """The error that the runtime raised, or one that names the address which did not answer."""
        code, details = error.code(), error.details() or ""
        details_found = [one.value for one in error.trailing_metadata() or () if one.key == DETAILS]
        precise = details_found[0] if details_found and isinstance(details_found[0], bytes) else b""
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
            raise self._link.translate_error(self._method, error) from None

    def cancel(self) -> None:
        self._call.cancel()  # type: ignore[no-untyped-call]


def decode_response(method: MethodDescriptor, data: bytes) -> Message:
    """Internal when it is not such a message: the other side is not the runtime that it should be, or a broken one."""
    try:
        return message_factory.GetMessageClass(method.output_type).FromString(data)
    except DecodeError:
        raise Internal(f"the answer to {method.name} is not a valid {method.output_type.full_name}") from None


def method_path(method: MethodDescriptor) -> str:
    return f"/{method.containing_service.full_name}/{method.name}"


def grpc_target(address: Address) -> str:
    """The address in gRPC's own syntax."""
    match address:
        case UnixAddress(path):
            return f"unix:{path}"
        case TcpAddress():
            return f"dns:///{address}"


def socket_identity(address: Address) -> SocketIdentity | None:
    """Tells a unix socket from another one at its path; always the same for TCP, None without a socket."""
    if isinstance(address, TcpAddress):
        return 0, 0, 0
    try:
        found = address.path.stat()
    except OSError:
        return None
    # An inode number may be used again at once, so the time of its last change counts too.
    return found.st_dev, found.st_ino, found.st_ctime_ns
