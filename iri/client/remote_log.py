"""The log of a console over a socket, as a `ConsoleLog`."""

from __future__ import annotations

from collections.abc import Iterator

from google.protobuf.message import Message

from iri.errors import IRIError
from iri.proto.gitvirt.host.v1alpha1 import api_pb2 as pb
from iri.wire.connection import ResponseStream


class RemoteLog:
    """One stream. What the server refuses is raised by the first `read`; a connection that breaks, by the one that waits."""

    def __init__(self, stream: ResponseStream) -> None:
        self._stream = stream
        self._parts: Iterator[Message] = iter(stream)
        self._is_closed = False

    def read(self) -> bytes:
        try:
            message = next(self._parts, None)
        except IRIError:
            if self._is_closed:
                return b""
            raise
        if message is None:
            return b""
        assert isinstance(message, pb.ReadConsoleLogResponse)
        return message.data

    def close(self) -> None:
        self._is_closed = True
        self._stream.cancel()
