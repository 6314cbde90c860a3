"""The client side of a console: keys go there, bytes come here, until one side leaves.

Ctrl-] leaves a terminal. Input that is no terminal ends with a Ctrl-D of its own; after that the session lasts until
the console ends or has been silent for a while, because a serial line never ends by itself.
"""

from __future__ import annotations

import os
import threading
import time
from dataclasses import dataclass
from urllib.parse import urlsplit, urlunsplit

from websockets.exceptions import (
    ConnectionClosed,
    InvalidHandshake,
    InvalidMessage,
    InvalidStatus,
    InvalidURI,
)
from websockets.sync.client import ClientConnection, connect
from websockets.typing import Subprotocol

from iri.exec import channels
from iri.exec.channels import Channel, ProtocolError
from iri.exec.keyboard import END_OF_INPUT, ESCAPE, Keyboard

OPEN_SECONDS = 10.0
LINGER_SECONDS = 2.0
CLOSE_SECONDS = 2.0


@dataclass(frozen=True, slots=True)
class SessionEnded:
    """The console ended by itself."""

    exit_status: int


@dataclass(frozen=True, slots=True)
class SessionLeft:
    """The person left, the console goes on."""


@dataclass(frozen=True, slots=True)
class SessionBroken:
    """Neither: it could not be attached to, or was cut off."""

    reason: str


SessionOutcome = SessionEnded | SessionLeft | SessionBroken


def attach(
    url: str, keyboard: Keyboard, screen: int, linger_seconds: float = LINGER_SECONDS
) -> SessionOutcome:
    """Blocks until the session is over. `screen` is a descriptor that takes what the console says."""
    try:
        connection = connect(
            websocket_url(url),
            subprotocols=[Subprotocol(channels.PROTOCOL)],
            compression=None,
            proxy=None,
            max_size=channels.MESSAGE_LIMIT_BYTES,
            open_timeout=OPEN_SECONDS,
            close_timeout=CLOSE_SECONDS,
        )
    except (InvalidURI, ValueError):
        return SessionBroken("the runtime answered with a URL that is none")
    except InvalidStatus as error:
        return SessionBroken(_said(error))
    except (OSError, InvalidHandshake, InvalidMessage, TimeoutError) as error:
        return SessionBroken(f"no console at {_without_token(url)}: {error}")
    receiver = OutputReceiver(connection, keyboard, screen)
    with keyboard.attached(), connection:
        receiver.start()
        _send_input(connection, keyboard, receiver, linger_seconds)
        has_left = not receiver.is_over
        connection.close()
        receiver.join(CLOSE_SECONDS)  # it may block on a screen that nobody reads
    if receiver.outcome is None:
        return SessionLeft() if has_left else SessionBroken("the console ended without saying how")
    return receiver.outcome


class OutputReceiver(threading.Thread):
    """Writes what the console says, and keeps how it ended. Wakes the keyboard when it is over."""

    def __init__(self, connection: ClientConnection, keyboard: Keyboard, screen: int) -> None:
        super().__init__(name="console-output", daemon=True)
        self.outcome: SessionOutcome | None = None
        self.is_over = False
        self.last_said = time.monotonic()
        self._connection = connection
        self._keyboard = keyboard
        self._screen = screen

    def run(self) -> None:
        try:
            for received in self._connection:
                channel, data = channels.split_message(received)
                self.last_said = time.monotonic()
                if channel in (Channel.STDOUT, Channel.STDERR):
                    self._show(data)
                elif channel is Channel.STATUS:
                    status, text = channels.decode_status(data)
                    self.outcome = SessionBroken(text) if text else SessionEnded(status)
        except ConnectionClosed as error:
            reason = error.rcvd.reason if error.rcvd else ""
            self.outcome = self.outcome or SessionBroken(
                reason or "the connection to the console was cut off"
            )
        except ProtocolError as error:
            self.outcome = SessionBroken(f"the console speaks another protocol: {error}")
        except OSError as error:
            self.outcome = SessionBroken(f"cannot write what the console says: {error.strerror}")
        finally:
            self.is_over = True
            self._keyboard.wake()

    def _show(self, data: bytes) -> None:
        rest = memoryview(data)
        while rest:
            rest = rest[os.write(self._screen, rest) :]


def _send_input(
    connection: ClientConnection, keyboard: Keyboard, receiver: OutputReceiver, linger_seconds: float
) -> None:
    is_at_end = False
    try:
        connection.send(channels.encode_resize(*keyboard.window()))
        while not receiver.is_over and not keyboard.is_told_to_leave:
            if is_at_end and time.monotonic() - receiver.last_said >= linger_seconds:
                return
            if keyboard.is_resized:
                keyboard.is_resized = False
                connection.send(channels.encode_resize(*keyboard.window()))
            if not keyboard.wait(linger_seconds if is_at_end else None, with_input=not is_at_end):
                continue
            data = keyboard.read()
            if not data and keyboard.is_terminal:
                return
            if not data:
                is_at_end, data = True, END_OF_INPUT
                receiver.last_said = time.monotonic()
            keys, escape, _ = data.partition(bytes((ESCAPE,))) if keyboard.is_terminal else (data, b"", b"")
            if keys:
                connection.send(channels.encode_message(Channel.STDIN, keys))
            if escape:
                return
    except ConnectionClosed:
        return  # the receiver knows why


def websocket_url(url: str) -> str:
    """A provider's URL as one of a WebSocket. Some leave the host out and mean their own."""
    parts = urlsplit(url)
    scheme = {"http": "ws", "https": "wss"}.get(parts.scheme, parts.scheme)
    host = f"127.0.0.1{parts.netloc}" if parts.netloc.startswith(":") else parts.netloc
    return urlunsplit((scheme, host, parts.path, parts.query, ""))


def _without_token(url: str) -> str:
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc}"


def _said(error: InvalidStatus) -> str:
    body = (error.response.body or b"").decode("utf-8", "replace").strip()
    return body or f"the console was refused with HTTP status {error.response.status_code}"
