"""A console at the other end of a one-time URL, as a `Console`. Knows no terminal: see iri.exec.console_client for people."""

from __future__ import annotations

import threading
from contextlib import ExitStack

from websockets.exceptions import (
    ConnectionClosed,
    InvalidHandshake,
    InvalidMessage,
    InvalidStatus,
    InvalidURI,
)
from websockets.sync.client import ClientConnection, connect
from websockets.typing import Subprotocol

from iri.errors import FailedPrecondition, Internal, Unavailable
from iri.exec import channels
from iri.exec.channels import Channel, ProtocolError

OPEN_SECONDS = 10.0
CLOSE_SECONDS = 2.0


class WebSocketConsole:
    """Connects at once, and is refused at once. One thread reads; others may write, resize and close meanwhile."""

    def __init__(self, url: str) -> None:
        self._open = ExitStack()
        self._connection = connected(url, self._open)
        self._rest = b""
        self._exit_status: int | None = None
        self._ended = threading.Event()
        # The first message is an empty one when the console is attached, or says why it is not.
        self._receive()

    def read(self, size: int) -> bytes:
        while not self._rest and not self._ended.is_set():
            self._receive()
        data, self._rest = self._rest[:size], self._rest[size:]
        return data

    def write(self, data: bytes) -> None:
        self._send(channels.encode_message(Channel.STDIN, data))

    def resize(self, columns: int, rows: int) -> None:
        self._send(channels.encode_resize(columns, rows))

    def close(self) -> None:
        self._open.close()

    def exit_status(self) -> int | None:
        return self._exit_status

    def _send(self, message: bytes) -> None:
        try:
            self._connection.send(message)
        except ConnectionClosed:
            self._ended.set()

    def _receive(self) -> None:
        try:
            self._take(self._connection.recv())
        except ConnectionClosed:
            self._ended.set()

    def _take(self, received: bytes | str) -> None:
        try:
            channel, data = channels.split_message(received)
            if channel is Channel.STDOUT:
                self._rest += data
            elif channel is Channel.STATUS:
                self._exit_status, failure = channels.decode_status(data)
                self._ended.set()
                if failure:
                    self.close()
                    raise FailedPrecondition(failure)
        except ProtocolError as error:
            self.close()
            raise Internal(f"the console does not speak {channels.PROTOCOL}: {error}") from None


def connected(url: str, opened: ExitStack) -> ClientConnection:
    """The URL is a key, so no error quotes it."""
    try:
        connection = connect(
            url.replace("http", "ws", 1),
            subprotocols=[Subprotocol(channels.PROTOCOL)],
            compression=None,
            proxy=None,
            max_size=channels.MESSAGE_LIMIT_BYTES,
            open_timeout=OPEN_SECONDS,
            close_timeout=CLOSE_SECONDS,
        )
        return opened.enter_context(connection)
    except (InvalidURI, ValueError):
        raise FailedPrecondition("the runtime answered Exec with a URL that is none") from None
    except InvalidStatus as error:
        said = (error.response.body or b"").decode(errors="replace").strip()
        raise FailedPrecondition(said or f"the console answered {error.response.status_code}") from None
    except (OSError, InvalidHandshake, InvalidMessage, TimeoutError) as error:
        raise Unavailable(f"the console does not answer: {type(error).__name__}") from None
