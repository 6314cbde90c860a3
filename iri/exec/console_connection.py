"""A client's connection after the upgrade: a socket, and the protocol on it.

Two threads use it: one waits and receives, the other sends output. The lock is held for a whole send, so frames never mix.

    limit                                                    what happens then
    a send takes SEND_SECONDS: the client does not read      the connection is cut off
    nothing came for PING_SECONDS                            a ping; after the same time once more, the client is gone
    a client is still there LINGER_SECONDS after the end     the connection is closed

Must never happen: a client that reads slowly or not at all holds a thread for longer than that.
"""

from __future__ import annotations

import contextlib
import select
import socket
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from iri.exec.channels import ProtocolError
from iri.exec.console_protocol import ClientEvent, ClientLeft, ConsoleProtocol

RECEIVE_BYTES = 64 * 1024
FAREWELL_SECONDS = 1.0
LINGER_SECONDS = 5.0
# What a client may do before the session begins; each event has at most what one `receive` got.
EARLY_EVENTS = 16


@dataclass(frozen=True, slots=True)
class Patience:
    """In seconds. Tests take less."""

    send: float = 60.0
    ping: float = 30.0
    streams: float = 10.0  # until a client of SPDY has opened its streams
    keys: float = 60.0  # until the guest takes some


class ConsoleConnection:
    """`socket` gets a timeout; nothing else may use it, but for waiting."""

    def __init__(self, line: socket.socket, protocol: ConsoleProtocol, patience: Patience) -> None:
        self.socket = line
        self.patience = patience
        self.escape = protocol.escape
        self._protocol = protocol
        self._lock = threading.Lock()
        self._is_broken = False
        self._is_pinged = False
        line.settimeout(patience.send)

    def receive(self) -> Sequence[ClientEvent]:
        """What has come, without waiting for more. A ClientLeft is the last event, whatever ended the connection."""
        try:
            data = self.socket.recv(RECEIVE_BYTES)
        except OSError:
            data = b""
        self._is_pinged = False
        if not data:
            return [ClientLeft()]
        return self.feed(data)

    def feed(self, data: bytes) -> Sequence[ClientEvent]:
        """Bytes that were received before, or now. A client's mistake is answered, and ends the connection."""
        with self._lock:
            try:
                events = self._protocol.receive(data)
            except ProtocolError as error:
                self._protocol.fail(str(error))
                events = [ClientLeft()]
            self._flush()
        return events

    def wait(self, wake: int) -> Sequence[ClientEvent] | None:
        """Events that have come; None once `wake` is readable. Pings a silent client, and gives up one that does not answer."""
        poll = select.poll()
        poll.register(self.socket, select.POLLIN)
        poll.register(wake, select.POLLIN)
        while True:
            ready = dict(poll.poll(self.patience.ping * 1000))
            if wake in ready:
                return None
            if ready:
                return self.receive()
            if self._is_pinged:
                return [ClientLeft()]
            self._is_pinged = True
            self._send(self._protocol.send_ping)

    def await_ready(self) -> Sequence[ClientEvent]:
        """What came until the client had opened what its protocol needs. It ends with a ClientLeft if that takes too long."""
        deadline = time.monotonic() + self.patience.streams
        early: list[ClientEvent] = []
        poll = select.poll()
        poll.register(self.socket, select.POLLIN)
        while not self._protocol.is_ready():
            left = deadline - time.monotonic()
            if left <= 0 or len(early) > EARLY_EVENTS or not poll.poll(left * 1000):
                return [*early, ClientLeft()]
            early += self.receive()
            if ClientLeft() in early:
                break
        return early

    def send_attached(self) -> bool:
        return self._send(self._protocol.send_attached)

    def send_output(self, data: bytes) -> bool:
        """False once the client is gone."""
        return self._send(lambda: self._protocol.send_output(data))

    def send_status(self, status: bytes) -> bool:
        """The last message; later ones are dropped."""
        return self._send(lambda: self._protocol.send_status(status))

    def linger(self) -> None:
        """After the status: until the client has read it and leaves. It may still open streams before that."""
        deadline = time.monotonic() + LINGER_SECONDS
        poll = select.poll()
        poll.register(self.socket, select.POLLIN)
        while (left := deadline - time.monotonic()) > 0 and poll.poll(left * 1000):
            if ClientLeft() in self.receive():
                return

    def finish(self) -> None:
        """Sends nothing more: a send that waits in another thread ends with it."""
        with contextlib.suppress(OSError):
            self.socket.shutdown(socket.SHUT_WR)

    def _send(self, prepare: Callable[[], None]) -> bool:
        with self._lock:
            prepare()
            return self._flush()

    def _flush(self) -> bool:
        """With the lock held."""
        data = self._protocol.take_outgoing()
        try:
            if data and not self._is_broken:
                self.socket.sendall(data)
        except OSError:
            self._is_broken = True
            with contextlib.suppress(OSError):
                self.socket.shutdown(socket.SHUT_RDWR)  # wakes the thread that waits
        return not self._is_broken


def drain(line: socket.socket, seconds: float) -> None:
    """Reads and forgets until the other side has closed, at most so long.

    Before a close: the kernel would discard what the other side has not read yet.
    """
    deadline = time.monotonic() + seconds
    with contextlib.suppress(OSError):
        while (left := deadline - time.monotonic()) > 0:
            line.settimeout(left)
            if not line.recv(RECEIVE_BYTES):
                return
