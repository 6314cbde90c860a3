"""A watch over a socket, as a `Subscription`.

Theory of operation. A thread reads the stream into a Watcher, which merges notices until the caller takes them.

    the server                                  the subscription
    refuses the first stream                    raises that error in its constructor (Unimplemented among them)
    does not answer in time                     raises TimedOut in its constructor
    sends a notice                              hands it on
    ends the stream, restarts, is unreachable   reconnects after a growing pause; the new stream begins with a RESYNC

A RESYNC tells the caller to list, so a broken connection makes notices late and never loses a change.
Must never happen: `next` stays silent after the server was away.
"""

from __future__ import annotations

import threading
from collections.abc import Callable

from iri.errors import IRIError, TimedOut, Unavailable
from iri.journal import Watcher
from iri.proto.gitvirt.host.v1alpha1 import api_pb2 as pb
from iri.runtime import ChangeNotice
from iri.wire.connection import ResponseStream
from iri.wire.events import decode_notice

PAUSE_SECONDS = 0.1
LONGEST_PAUSE_SECONDS = 5.0
CLOSE_SECONDS = 5.0


class RemoteSubscription:
    """Reads in a thread of its own until `close`."""

    def __init__(self, connect: Callable[[], ResponseStream], seconds: float) -> None:
        """Raises the server's refusal, or TimedOut after so many seconds without a first notice."""
        self._connect = connect
        self._watcher = Watcher(lambda _: None)
        self._stream: ResponseStream | None = None
        self._refusal: IRIError | None = None
        self._answered = threading.Event()
        self._closed = threading.Event()
        self._thread = threading.Thread(target=self._read, name="iri-watch", daemon=True)
        self._thread.start()
        self._await_answer(seconds)

    def next(self, timeout_seconds: float) -> tuple[ChangeNotice, ...]:
        return self._watcher.next(timeout_seconds)

    def close(self) -> None:
        """Wakes a waiting `next`, ends the stream, and waits for the thread."""
        self._closed.set()
        self._watcher.close()
        stream = self._stream
        if stream is not None:
            stream.cancel()
        self._thread.join(CLOSE_SECONDS)

    def _await_answer(self, seconds: float) -> None:
        """The first message proves that the server has begun to watch."""
        if not self._answered.wait(seconds):
            self.close()
            raise TimedOut("the runtime did not begin the watch in time")
        if self._refusal is not None:
            self._thread.join()
            raise self._refusal

    def _read(self) -> None:
        """One stream after another, until `close`. A refusal after the first answer is taken as a failure, and tried again."""
        pause = PAUSE_SECONDS
        while not self._closed.is_set():
            try:
                self._stream = self._connect()
                if self._closed.is_set():
                    self._stream.cancel()
                for message in self._stream:
                    assert isinstance(message, pb.WatchEventsResponse)
                    self._watcher.put(decode_notice(message))
                    self._answered.set()
                    pause = PAUSE_SECONDS
            except IRIError as error:
                if not self._answered.is_set() and not isinstance(error, Unavailable):
                    self._refusal = error
                    self._answered.set()
                    return
            self._closed.wait(pause)
            pause = min(2 * pause, LONGEST_PAUSE_SECONDS)
