"""Keys on their way to a console, in a pipe of the kernel, so that what waits is bounded (64 KiB on Linux).

A guest may read slowly or never. The thread that reads from the client must notice even then that the client is gone, so
another thread writes to the console and may block there. While the pipe is full, `put` waits for the first of these:

    the guest takes some        `put` goes on
    the client disconnects      PutOutcome.CLIENT_LEFT
    STALL_SECONDS are over      PutOutcome.STALLED

`close` gives the console a moment for keys that were put before; then it drops them. Must never happen: a guest that does
not read keeps a session after its client has left.
"""

from __future__ import annotations

import enum
import os
import select
import socket
import threading

from iri.runtime import Console

STALL_SECONDS = 60.0
CHUNK_BYTES = 4096
GONE = select.POLLRDHUP | select.POLLHUP | select.POLLERR


class PutOutcome(enum.Enum):
    """What became of the keys."""

    QUEUED = enum.auto()
    CLIENT_LEFT = enum.auto()
    STALLED = enum.auto()


class KeyQueue:
    """One thread puts and closes; a thread of the queue writes to the console."""

    def __init__(self, console: Console, stall_seconds: float = STALL_SECONDS) -> None:
        self._console = console
        self._stall_seconds = stall_seconds
        self._reader, self._writer = os.pipe()
        os.set_blocking(self._writer, False)
        self._thread = threading.Thread(target=self._write_keys, name="exec-keys", daemon=True)
        try:
            self._thread.start()
        except RuntimeError:  # no thread is left
            os.close(self._reader)
            os.close(self._writer)
            raise

    def put(self, data: bytes, client: socket.socket) -> PutOutcome:
        """Waits while the pipe is full."""
        rest = memoryview(data)
        while rest:
            try:
                rest = rest[os.write(self._writer, rest) :]
            except BlockingIOError:
                outcome = self._await_space(client)
                if outcome is not PutOutcome.QUEUED:
                    return outcome
        return PutOutcome.QUEUED

    def close(self, drain_seconds: float) -> None:
        """Closes the console too, when its keys are written or the time is over."""
        os.close(self._writer)
        self._thread.join(drain_seconds)
        self._console.close()
        self._thread.join()

    def _await_space(self, client: socket.socket) -> PutOutcome:
        poll = select.poll()
        poll.register(self._writer, select.POLLOUT)
        poll.register(client, GONE)
        ready = dict(poll.poll(self._stall_seconds * 1000))
        if self._writer in ready:
            return PutOutcome.QUEUED
        return PutOutcome.CLIENT_LEFT if ready else PutOutcome.STALLED

    def _write_keys(self) -> None:
        """Until the queue is closed and empty. A console that has ended drops the rest, so this always ends."""
        try:
            while data := os.read(self._reader, CHUNK_BYTES):
                self._console.write(data)
        finally:
            os.close(self._reader)
