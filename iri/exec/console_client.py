"""A person's or a script's session at a console: keys go there, bytes come here, until one side ends it.

Theory of operation. Two threads: the caller's reads the keyboard and sends, an OutputReceiver prints what comes. Whichever
ends first ends the other: the receiver wakes the keyboard, the sender closes the connection.

A provider may keep a console until it gets a certain key: `farewell` is sent when the user leaves, and never otherwise.

    what happens                                     outcome
    the console sends its status                     SessionEnded(exit status), or SessionBroken(reason)
    Ctrl-] on a terminal; its window is closed       SessionLeft: the machine goes on
    input that is not a terminal ends               Ctrl-D is sent once; after `linger_seconds` of silence, SessionLeft
    the connection breaks, or another protocol       SessionBroken(reason)

The silence rule exists because a serial line has no end of its own: a guest does not know that the input was a file.
Must never happen: the terminal stays raw after the session (Keyboard.raw restores it).
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator
from contextlib import suppress

from websockets.exceptions import ConnectionClosed
from websockets.sync.client import ClientConnection

from iri.errors import IRIError
from iri.exec import channels
from iri.exec.channels import Channel, ProtocolError
from iri.exec.console_line import (
    ConsoleLine,
    LineClosedError,
    SessionBroken,
    SessionEnded,
    SessionLeft,
    SessionOutcome,
)
from iri.exec.keyboard import END_OF_INPUT, ESCAPE, Keyboard
from iri.exec.websocket import CLOSE_SECONDS, open_websocket

LINGER_SECONDS = 2.0


def attach(
    url: str,
    keyboard: Keyboard,
    screen: int,
    linger_seconds: float = LINGER_SECONDS,
    farewell: bytes = b"",
) -> SessionOutcome:
    """As `attach_line`, to the console behind a one-time URL."""
    try:
        connection = open_websocket(url)
    except IRIError as error:
        return SessionBroken(str(error))
    with connection:
        return attach_line(WebSocketLine(connection), keyboard, screen, linger_seconds, farewell)


def attach_line(
    line: ConsoleLine,
    keyboard: Keyboard,
    screen: int,
    linger_seconds: float = LINGER_SECONDS,
    farewell: bytes = b"",
) -> SessionOutcome:
    """Blocks until the session has ended. `screen` is a descriptor that gets the console's output."""
    receiver = OutputReceiver(line, keyboard, screen)
    with keyboard.raw():
        receiver.start()
        _send_input(line, keyboard, receiver, linger_seconds)
        has_left = not receiver.is_ended
        if has_left and farewell:
            with suppress(LineClosedError):
                line.send_keys(farewell)
        line.close()
        receiver.join(CLOSE_SECONDS)  # it may block on a screen that is not read
    if receiver.outcome is None:
        return SessionLeft() if has_left else SessionBroken("the console ended without a status")
    return receiver.outcome


class WebSocketLine:
    """Over the protocol of IronCore's consoles."""

    def __init__(self, connection: ClientConnection) -> None:
        self._connection = connection

    def send_keys(self, data: bytes) -> None:
        self._send(channels.encode_message(Channel.STDIN, data))

    def send_window(self, columns: int, rows: int) -> None:
        self._send(channels.encode_resize(columns, rows))

    def receive(self) -> Iterator[bytes | SessionOutcome]:
        """The last STATUS decides the outcome; a lost connection counts only without one."""
        outcome: SessionOutcome | None = None
        try:
            for received in self._connection:
                channel, data = channels.split_message(received)
                if channel in (Channel.STDOUT, Channel.STDERR):
                    yield data
                elif channel is Channel.STATUS:
                    status, text = channels.decode_status(data)
                    outcome = SessionBroken(text) if text else SessionEnded(status)
        except ConnectionClosed as error:
            reason = error.rcvd.reason if error.rcvd else ""
            outcome = outcome or SessionBroken(reason or "the connection to the console was cut off")
        except ProtocolError as error:
            outcome = SessionBroken(f"the console speaks another protocol: {error}")
        if outcome is not None:
            yield outcome

    def close(self) -> None:
        self._connection.close()

    def _send(self, message: bytes) -> None:
        try:
            self._connection.send(message)
        except ConnectionClosed:
            raise LineClosedError from None


class OutputReceiver(threading.Thread):
    """Writes the console's output, keeps how the session ended, and then wakes the keyboard."""

    def __init__(self, line: ConsoleLine, keyboard: Keyboard, screen: int) -> None:
        super().__init__(name="console-output", daemon=True)
        self.outcome: SessionOutcome | None = None
        self.is_ended = False
        self.last_output = time.monotonic()
        self._line = line
        self._keyboard = keyboard
        self._screen = screen

    def run(self) -> None:
        """The line's outcome counts, unless the screen broke."""
        try:
            for received in self._line.receive():
                self.last_output = time.monotonic()
                if isinstance(received, bytes):
                    self._show(received)
                else:
                    self.outcome = received
        except OSError as error:
            self.outcome = SessionBroken(f"cannot write the console's output: {error.strerror}")
        finally:
            self.is_ended = True
            self._keyboard.wake()

    def _show(self, data: bytes) -> None:
        """Until all of it is written: a pipe takes less at a time."""
        rest = memoryview(data)
        while rest:
            rest = rest[os.write(self._screen, rest) :]


def _send_input(
    line: ConsoleLine, keyboard: Keyboard, receiver: OutputReceiver, linger_seconds: float
) -> None:
    """Until either side ends. After the end of piped input only silence is waited for."""
    is_at_end = False
    try:
        line.send_window(*keyboard.window())
        while not receiver.is_ended and not keyboard.is_leaving:
            if is_at_end and time.monotonic() - receiver.last_output >= linger_seconds:
                return
            if keyboard.is_resized:
                keyboard.is_resized = False
                line.send_window(*keyboard.window())
            if not keyboard.wait(linger_seconds if is_at_end else None, with_input=not is_at_end):
                continue
            data = keyboard.read()
            if not data and keyboard.is_terminal:
                return
            if not data:
                is_at_end, data = True, END_OF_INPUT
                receiver.last_output = time.monotonic()
            keys, escape, _ = data.partition(bytes((ESCAPE,))) if keyboard.is_terminal else (data, b"", b"")
            if keys:
                line.send_keys(keys)
            if escape:
                return
    except LineClosedError:
        return  # the receiver has the reason
