"""What a client does at a console, and the interface of the protocols that carry it. Without socket, thread and clock.

Two protocols implement ConsoleProtocol: WebSocketProtocol, where each message has a channel, and SpdyProtocol, where each
channel is a stream. Both turn received bytes into the events below, and output into bytes to send. The session on top
(attached_session) does not know which of them it has.

    event           WebSocket                          SPDY
    Keys            message of channel 0               data of the stream `stdin`
    WindowSize      message of channel 4               one JSON object of the stream `resize`
    InputEnded      [255, 0] (v5 alone)                end or reset of the stream `stdin`
    ClientLeft      a close frame                      GOAWAY; reset of the stream `stdout`

The end of the TCP connection is a ClientLeft too; the connection adds it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

# Ctrl-], as `virsh console` has it. In a protocol with this escape the key ends the session, and the guest never gets it.
ESCAPE = b"\x1d"


@dataclass(frozen=True, slots=True)
class Keys:
    """Bytes for the guest."""

    data: bytes


@dataclass(frozen=True, slots=True)
class WindowSize:
    columns: int
    rows: int


@dataclass(frozen=True, slots=True)
class InputEnded:
    """No more keys will come. Output goes on: a serial line has no end that the guest could see."""


@dataclass(frozen=True, slots=True)
class ClientLeft:
    """Nothing that is sent from now on is read."""


ClientEvent = Keys | WindowSize | InputEnded | ClientLeft


class ConsoleProtocol(Protocol):
    """The server's end of one connection. Not thread-safe. What it wants to send is in `take_outgoing`.

    Each of the methods that send is without effect once the protocol has ended: after `send_status`, after `fail`, and after
    a ClientLeft.
    """

    escape: bytes  # the key that ends a session; empty: every byte reaches the guest

    def receive(self, data: bytes) -> Sequence[ClientEvent]:
        """Raises ProtocolError when the client does not use the protocol; the connection is of no use then."""

    def is_ready(self) -> bool:
        """Whether output and a status can be sent."""

    def send_attached(self) -> None:
        """Tells the client that the console is attached, where the protocol has a message for that."""

    def send_output(self, data: bytes) -> None:
        """For the client's screen."""

    def send_status(self, status: bytes) -> None:
        """The last thing that a client gets: how the session ended, as `encode_end` and `encode_failure` write it."""

    def send_ping(self) -> None:
        """Each client that is alive answers it with some bytes."""

    def fail(self, reason: str) -> None:
        """Ends the connection because of the client's mistake."""

    def take_outgoing(self) -> bytes:
        """Bytes for the socket, each once."""
