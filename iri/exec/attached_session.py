"""A client at a console: keys go to the console, output comes back, until one side ends it.

Theory of operation. Three threads: the caller's receives from the client, one copies the console's output to the client, and
that of the KeyQueue writes keys to the console. Whichever ends first ends the others:

    what happens                                   what the client gets
    the console ends                               a status: its exit status, or that the runtime is stopping
    the client leaves, or is gone                  nothing
    the key of `escape` comes                      a status: success
    the client makes a mistake                     the protocol's own error
    the guest takes no keys for a minute           a status: that reason

The end of the client's input ends nothing: output goes on. Must never happen: `run` returns while the console is open, or
does not return after the client has left.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Sequence

from iri.exec import channels
from iri.exec.console_connection import FAREWELL_SECONDS, ConsoleConnection
from iri.exec.console_protocol import ClientEvent, ClientLeft, InputEnded, Keys, WindowSize
from iri.exec.key_queue import KeyQueue, PutOutcome
from iri.runtime import Console

CHUNK_BYTES = 32 * 1024


class AttachedSession:
    """`stop_reason` says why consoles are being closed; empty while the runtime goes on."""

    def __init__(
        self, connection: ConsoleConnection, console: Console, stop_reason: Callable[[], str]
    ) -> None:
        self._connection = connection
        self._console = console
        self._stop_reason = stop_reason
        self._has_left = False
        self._wake_reader, self._wake_writer = os.pipe()
        try:
            self._keys = KeyQueue(console, connection.patience.keys)
        except (OSError, RuntimeError):  # no descriptor or thread is left
            self._close_wake()
            raise

    def run(self, early: Sequence[ClientEvent]) -> None:
        """Begins with `early`. Blocks until the session has ended. The console is closed then; the connection is not."""
        output = threading.Thread(target=self._send_output, name="exec-output", daemon=True)
        events: Sequence[ClientEvent] | None = early
        try:
            output.start()
            while events is not None and all(self._handle(event) for event in events):
                events = self._connection.wait(self._wake_reader)
        finally:
            self._has_left = events is not None
            if self._has_left:
                self._connection.finish()
            self._keys.close(FAREWELL_SECONDS)
            if output.ident is not None:
                output.join()
            self._close_wake()

    def _close_wake(self) -> None:
        os.close(self._wake_reader)
        os.close(self._wake_writer)

    def _handle(self, event: ClientEvent) -> bool:
        """Whether the session goes on."""
        match event:
            case Keys(data):
                return self._put_keys(data)
            case WindowSize(columns, rows):
                self._console.resize(columns, rows)
                return True
            case InputEnded():
                return True
            case ClientLeft():
                return False

    def _put_keys(self, data: bytes) -> bool:
        """Whether the session goes on."""
        keys, escape, _ = (
            data.partition(self._connection.escape) if self._connection.escape else (data, b"", b"")
        )
        outcome = self._keys.put(keys, self._connection.socket)
        if outcome is PutOutcome.STALLED:
            reason = f"the guest took no keys for {self._connection.patience.keys:g}s; the session ends"
            self._connection.send_status(channels.encode_failure(reason))
        elif escape:
            self._connection.send_status(channels.encode_end(None))
        return outcome is PutOutcome.QUEUED and not escape

    def _send_output(self) -> None:
        """Until the console has ended, or the client is gone. Then it wakes the thread that receives."""
        try:
            is_there = self._connection.send_attached()
            while is_there and (data := self._console.read(CHUNK_BYTES)):
                is_there = self._connection.send_output(data)
            if is_there and not self._has_left:
                reason = self._stop_reason()
                status = (
                    channels.encode_failure(reason)
                    if reason
                    else channels.encode_end(self._console.exit_status())
                )
                self._connection.send_status(status)
        finally:
            os.write(self._wake_writer, b"x")
