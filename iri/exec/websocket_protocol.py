"""A console over a WebSocket: Kubernetes' `v4.channel.k8s.io` and `v5.channel.k8s.io`, one message for each piece of data.

The library `websockets` does the framing; this module gives messages their meaning (channels has the table). It joins
fragments, and refuses messages of more than MESSAGE_LIMIT_BYTES while they arrive.

    from the client                            what happens
    STDIN, RESIZE                              Keys, WindowSize
    CLOSE of STDIN, in v5                      InputEnded; later STDIN messages are ignored
    another channel, CLOSE in v4               ignored, as the kubelet does
    a text message, or one without channel     close 1002, with the reason
    a message that is too large                close 1009
    a close frame                              answered; ClientLeft
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence

from websockets.exceptions import InvalidHandshake
from websockets.frames import CloseCode, Frame, Opcode
from websockets.http11 import Request, Response
from websockets.protocol import OPEN
from websockets.server import ServerProtocol
from websockets.typing import Subprotocol

from iri.exec import channels
from iri.exec.channels import MESSAGE_LIMIT_BYTES, V4, V5, Channel
from iri.exec.console_protocol import ESCAPE, ClientEvent, ClientLeft, InputEnded, Keys, WindowSize

UPGRADE = "websocket"
# A client that offers both gets v5. kubectl offers v5 alone, gitvirt's own client v4 alone.
PROTOCOLS = (V5, V4)


class WebSocketProtocol:
    """Implements ConsoleProtocol. `head` is the client's request; `refusal` says why it is not a valid handshake."""

    def __init__(self, head: bytes) -> None:
        self.refusal = ""
        self._response: Response | None = None
        self._message = bytearray()
        self._is_text = False
        self._has_input = True
        self._websocket = ServerProtocol(
            subprotocols=[Subprotocol(name) for name in PROTOCOLS],
            max_size=MESSAGE_LIMIT_BYTES,
            logger=_silent_logger(),
        )
        self._shake_hands(head)
        self._has_close = self._websocket.subprotocol == V5
        # v5 is what clients without a key of their own speak; gitvirt's client has one, and speaks v4.
        self.escape = ESCAPE if self._has_close else b""

    def accept(self) -> None:
        """Sends the answer that upgrades the connection."""
        assert self._response is not None, "the handshake was refused"
        self._websocket.send_response(self._response)

    def receive(self, data: bytes) -> Sequence[ClientEvent]:
        """A mistake in the framing is answered by the library, and counts as a ClientLeft."""
        events: list[ClientEvent] = []
        self._websocket.receive_data(data)
        for received in self._websocket.events_received():
            if isinstance(received, Frame):
                events += self._handle(received)
        if self._websocket.parser_exc is not None:
            events.append(ClientLeft())
        return events

    def is_ready(self) -> bool:
        return True

    def send_attached(self) -> None:
        self._send(Channel.STDOUT)

    def send_output(self, data: bytes) -> None:
        self._send(Channel.STDOUT, data)

    def send_status(self, status: bytes) -> None:
        """And then a close frame."""
        self._send(Channel.STATUS, status)
        if self._websocket.state is OPEN:
            self._websocket.send_close(CloseCode.NORMAL_CLOSURE)

    def send_ping(self) -> None:
        if self._websocket.state is OPEN:
            self._websocket.send_ping(b"")

    def fail(self, reason: str) -> None:
        self._websocket.fail(CloseCode.PROTOCOL_ERROR, reason)

    def take_outgoing(self) -> bytes:
        return b"".join(self._websocket.data_to_send())

    def _shake_hands(self, head: bytes) -> None:
        self._websocket.receive_data(head)
        requests = [event for event in self._websocket.events_received() if isinstance(event, Request)]
        if not requests:
            self.refusal = "the request is not a WebSocket handshake"
            return
        self._response = self._websocket.accept(requests[0])
        error = self._websocket.handshake_exc
        if error is not None:
            self.refusal = str(error) if isinstance(error, InvalidHandshake) else "the handshake is not valid"

    def _send(self, channel: Channel, data: bytes = b"") -> None:
        if self._websocket.state is OPEN:
            self._websocket.send_binary(channels.encode_message(channel, data))

    def _handle(self, frame: Frame) -> Iterator[ClientEvent]:
        """Joins the fragments of a message."""
        if frame.opcode is Opcode.CLOSE:
            yield ClientLeft()
        if frame.opcode not in (Opcode.TEXT, Opcode.BINARY, Opcode.CONT):
            return
        self._is_text |= frame.opcode is Opcode.TEXT
        self._message += frame.data
        if frame.fin:
            message, self._message = bytes(self._message), bytearray()
            yield from self._read("" if self._is_text else message)

    def _read(self, message: bytes | str) -> Iterator[ClientEvent]:
        channel, data = channels.split_message(message)
        if channel is Channel.STDIN and data and self._has_input:
            yield Keys(data)
        elif channel is Channel.RESIZE:
            size = channels.decode_resize(data)
            if size:
                yield WindowSize(*size)
        elif (
            channel is Channel.CLOSE
            and self._has_close
            and data == bytes((Channel.STDIN,))
            and self._has_input
        ):
            self._has_input = False
            yield InputEnded()


def _silent_logger() -> logging.Logger:
    """The library logs request lines and tracebacks when clients disconnect; a request line contains the ticket."""
    logger = logging.getLogger("iri.exec.websocket")
    logger.propagate = False
    logger.setLevel(logging.CRITICAL + 1)
    return logger
