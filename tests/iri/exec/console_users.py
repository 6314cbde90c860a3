"""Clients of a console over a real socket, in each protocol that the server has. One interface, so that one suite holds for all.

They are bare: no terminal, no thread. What the tests of hostile input send is sent through `raw`.
"""

from __future__ import annotations

import socket
import struct
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from typing import Protocol
from urllib.parse import urlsplit

import pytest
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import connect
from websockets.typing import Subprotocol

from iri.exec import channels
from iri.exec.channels import V4, V5, Channel
from iri.exec.spdy import frames
from iri.exec.spdy.frames import (
    FrameReader,
    FrameType,
    GoAway,
    GoAwayStatus,
    Ping,
    StreamData,
    StreamError,
    StreamHeaders,
    StreamReset,
)
from iri.exec.spdy.header_block import HeaderCompressor
from iri.exec.websocket import websocket_url

PATIENCE_SECONDS = 60.0


class RefusedError(Exception):
    """The server's answer to a request, in place of an upgrade."""

    def __init__(self, status: int, text: str) -> None:
        super().__init__(f"{status}: {text}")
        self.status = status
        self.text = text


class User(Protocol):
    """A session at a console."""

    @property
    def raw(self) -> socket.socket:
        """To send what no client sends, and to vanish."""

    def await_attached(self) -> None: ...
    def type(self, keys: bytes) -> None: ...
    def resize(self, columns: int, rows: int) -> None: ...
    def end_input(self) -> None: ...
    def until(self, wanted: bytes) -> bytes:
        """The output up to a text in it."""

    def the_end(self) -> tuple[bytes, tuple[int, str]]:
        """The output before the status, and the status; nothing may follow it."""


class WebSocketUser:
    def __init__(self, url: str, protocol: str) -> None:
        self.open = ExitStack()
        try:
            opened = connect(
                websocket_url(url),
                subprotocols=[Subprotocol(protocol)],
                proxy=None,
                compression=None,
                open_timeout=PATIENCE_SECONDS,
            )
            self.connection = self.open.enter_context(opened)
        except InvalidStatus as error:
            response = error.response
            raise RefusedError(response.status_code, (response.body or b"").decode()) from None
        assert self.connection.subprotocol == protocol

    @property
    def raw(self) -> socket.socket:
        return self.connection.socket

    def receive(self) -> tuple[Channel | None, bytes]:
        return channels.split_message(self.connection.recv(timeout=PATIENCE_SECONDS))

    def await_attached(self) -> None:
        assert self.receive() == (Channel.STDOUT, b"")

    def type(self, keys: bytes) -> None:
        self.connection.send(channels.encode_message(Channel.STDIN, keys))

    def resize(self, columns: int, rows: int) -> None:
        self.connection.send(channels.encode_resize(columns, rows))

    def end_input(self) -> None:
        self.connection.send(bytes((Channel.CLOSE, Channel.STDIN)))

    def until(self, wanted: bytes) -> bytes:
        answer = b""
        while wanted not in answer:
            channel, data = self.receive()
            assert channel is Channel.STDOUT, (channel, data, answer)
            answer += data
        return answer

    def the_end(self) -> tuple[bytes, tuple[int, str]]:
        answer = b""
        while True:
            channel, data = self.receive()
            if channel is Channel.STATUS:
                break
            answer += data
        with pytest.raises(ConnectionClosed):
            self.connection.recv(timeout=PATIENCE_SECONDS)
        assert self.connection.close_code == 1000
        return answer, channels.decode_status(data)

    def close(self) -> None:
        self.open.close()


class SpdyUser:
    """Opens its streams in the order of Kubernetes' clients, each after the answer to the one before."""

    def __init__(self, url: str, streams: tuple[str, ...] = ("error", "stdin", "stdout", "resize")) -> None:
        self.line = open_spdy(url)
        self.line.settimeout(PATIENCE_SECONDS)
        self.compressor = HeaderCompressor()
        self.reader = FrameReader()
        self.frames: list[frames.Frame] = []
        self.ids: dict[str, int] = {}
        self.output = b""
        self.status = b""
        self.ended: set[str] = set()
        for name in streams:
            self.open_stream(name)
            while not self.is_replied(name):
                assert self.receive(), f"no answer to the stream {name}"

    @property
    def raw(self) -> socket.socket:
        return self.line

    def open_stream(self, kind: str, flags: int = 0) -> int:
        stream_id = 2 * len(self.ids) + 1
        self.ids[kind] = stream_id
        self.line.sendall(syn_stream(stream_id, {"streamtype": kind}, self.compressor, flags))
        return stream_id

    def is_replied(self, kind: str) -> bool:
        return any(
            isinstance(each, StreamHeaders) and each.stream_id == self.ids[kind] for each in self.frames
        )

    def is_reset(self, stream_id: int) -> bool:
        return StreamReset(stream_id) in self.frames

    def is_gone(self) -> bool:
        return any(isinstance(each, GoAway) for each in self.frames)

    def receive(self) -> bool:
        """Handles what comes next. False at the end of the connection."""
        try:
            data = self.line.recv(65536)
        except ConnectionResetError:
            return False
        names = {number: name for name, number in self.ids.items()}
        for frame in self.reader.feed(data):
            match frame:
                case StreamData(stream_id, payload, is_final):
                    assert names[stream_id] not in self.ended, "data after the end of a stream"
                    self.output += payload if names[stream_id] == "stdout" else b""
                    self.status += payload if names[stream_id] == "error" else b""
                    self.ended |= {names[stream_id]} if is_final else set()
                case Ping(ping_id) if ping_id % 2 == 0:
                    self.line.sendall(frames.encode_ping(ping_id))
                case _:
                    self.frames.append(frame)
        return bool(data)

    def await_attached(self) -> None:
        """SPDY has no word for it: the console answers what is typed."""

    def type(self, keys: bytes) -> None:
        self.line.sendall(frames.encode_data(self.ids["stdin"], keys))

    def resize(self, columns: int, rows: int) -> None:
        text = channels.encode_resize(columns, rows)[1:] + b"\n"
        self.line.sendall(frames.encode_data(self.ids["resize"], text))

    def end_input(self) -> None:
        self.line.sendall(frames.encode_data(self.ids["stdin"], b"", is_final=True))

    def until(self, wanted: bytes) -> bytes:
        while wanted not in self.output:
            assert self.receive(), (self.output, self.status)
        answer, self.output = self.output, b""
        return answer

    def the_end(self) -> tuple[bytes, tuple[int, str]]:
        while self.ended != set(self.ids):
            assert self.receive(), (self.output, self.status, self.ended)
        # As Kubernetes' clients leave: `receive` fails if anything but the end follows.
        with suppress(ConnectionError):  # a server that stops closes soon
            for stream_id in self.ids.values():
                self.line.sendall(frames.encode_reset(stream_id, StreamError.REFUSED_STREAM))
            self.line.sendall(frames.encode_go_away(0, GoAwayStatus.OK))
        while self.receive():
            pass
        return self.output, channels.decode_status(self.status)

    def close(self) -> None:
        self.line.close()


def open_spdy(url: str, *, method: str = "GET", protocol: str = V4) -> socket.socket:
    """A socket after the upgrade."""
    parts = urlsplit(url)
    line = socket.create_connection((parts.hostname or "", parts.port or 0), PATIENCE_SECONDS)
    line.sendall(
        f"{method} {parts.path} HTTP/1.1\r\nHost: {parts.netloc}\r\nConnection: Upgrade\r\nUpgrade: SPDY/3.1\r\n"
        f"X-Stream-Protocol-Version: v9.channel.k8s.io\r\nX-Stream-Protocol-Version: {protocol}\r\n\r\n".encode()
    )
    head = b""
    while b"\r\n\r\n" not in head:
        data = line.recv(1)
        assert data, head
        head += data
    if head.startswith(b"HTTP/1.1 101 "):
        assert b"\r\nX-Stream-Protocol-Version: v4.channel.k8s.io\r\n" in head
        return line
    text = b""
    while data := line.recv(65536):
        text += data
    line.close()
    raise RefusedError(int(head[9:12]), text.decode())


def syn_stream(
    stream_id: int, headers: dict[str, str], compressor: HeaderCompressor, flags: int = 0
) -> bytes:
    payload = struct.pack(">IIH", stream_id, 0, 0) + compressor.compress(headers)
    return frames.encode_control(FrameType.SYN_STREAM, payload, flags)


USERS: dict[str, Callable[[str], WebSocketUser | SpdyUser]] = {
    "websocket-v4": lambda url: WebSocketUser(url, V4),
    "websocket-v5": lambda url: WebSocketUser(url, V5),
    "spdy": SpdyUser,
}


@contextmanager
def user_at(url: str, protocol: str = "websocket-v4") -> Iterator[WebSocketUser | SpdyUser]:
    user = USERS[protocol](url)
    try:
        yield user
    finally:
        user.close()
