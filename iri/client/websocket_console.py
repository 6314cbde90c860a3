"""A console at the other end of a one-time URL, as a `Console` of iri.runtime.

It knows no terminal: iri.exec.console_client is for people.
"""

from __future__ import annotations

import threading
from contextlib import ExitStack

from websockets.exceptions import ConnectionClosed

from iri.errors import FailedPrecondition, Internal
from iri.exec import channels
from iri.exec.channels import Channel, ProtocolError
from iri.exec.websocket import open_websocket


class WebSocketConsole:
    """Connects, or is refused, in its constructor. One thread reads; others may write, resize and close meanwhile.

    `farewell` is what frees the console at its provider when the client leaves; empty where nothing has to be sent.
    """

    def __init__(self, url: str, farewell: bytes = b"") -> None:
        self._farewell = farewell
        self._open = ExitStack()
        self._connection = self._open.enter_context(open_websocket(url))
        self._rest = b""
        self._exit_status: int | None = None
        self._ended = threading.Event()
        # The first message is an empty one once the console is attached, or the reason why it is not.
        self._receive()

    def read(self, size: int) -> bytes:
        """Blocks until there is output; empty once the session has ended."""
        while not self._rest and not self._ended.is_set():
            self._receive()
        data, self._rest = self._rest[:size], self._rest[size:]
        return data

    def write(self, data: bytes) -> None:
        self._send(channels.encode_message(Channel.STDIN, data))

    def resize(self, columns: int, rows: int) -> None:
        self._send(channels.encode_resize(columns, rows))

    def close(self) -> None:
        """May be called again."""
        if self._farewell and not self._ended.is_set():
            self.write(self._farewell)
            self._farewell = b""
        self._open.close()

    def exit_status(self) -> int | None:
        return self._exit_status

    def _send(self, message: bytes) -> None:
        """A lost connection ends the session; `read` then returns the end."""
        try:
            self._connection.send(message)
        except ConnectionClosed:
            self._ended.set()

    def _receive(self) -> None:
        """Waits for one message and handles it."""
        try:
            self._handle(self._connection.recv())
        except ConnectionClosed:
            self._ended.set()

    def _handle(self, received: bytes | str) -> None:
        """Keeps output; a status ends the session, and raises when it says that the session broke."""
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
            raise Internal(f"the console does not use {channels.V4}: {error}") from None
