"""A console over SPDY: Kubernetes' `v4.channel.k8s.io`, in which each channel is a stream that the client opens.

Theory of operation. The client opens one stream for each channel, and names it in the header `streamtype`: error, stdin,
stdout, stderr, resize. Each is answered at once, because clients open the next one only after the answer. With error and
stdout a session can begin; stdin and resize may come later, or never.

    from the client                                   what happens
    a stream with a known type, the first of it       SYN_REPLY
    another stream, while few were refused            RST_STREAM REFUSED_STREAM
    a stream id that is even, or does not grow        GOAWAY PROTOCOL_ERROR, the end
    data of stdin, resize                             Keys, WindowSize; a WINDOW_UPDATE of the same size
    data of other streams, or after their end         ignored: they may have been sent before the client knew
    data of a stream that was never opened            GOAWAY PROTOCOL_ERROR, the end
    the end of stdin, or its reset                    InputEnded
    a reset of stdout; GOAWAY                         ClientLeft
    PING                                              sent back, unless it answers ours

The session's end is, in this order: the end of stdout and stderr, the status as the only data of error, and the ends of
stdin and resize, on which clients wait. A session may end before the client has opened all streams; it still waits for an
answer to each, and reads the status only then. So streams are still accepted after the end, and ended at once.

Windows: the clients of Kubernetes neither send WINDOW_UPDATE nor obey it, so a server that waited for one would stop after
64 KiB of output. TCP alone holds back the faster side. WINDOW_UPDATE is sent nevertheless, for clients that need it.

Must never happen: what a client sends makes us keep more than one control frame, one resize and a stream id for each type.
"""

from __future__ import annotations

import enum
from collections.abc import Iterator, Sequence

from iri.exec.channels import ProtocolError, ResizeDecoder, encode_failure
from iri.exec.console_protocol import ESCAPE, ClientEvent, ClientLeft, InputEnded, Keys, WindowSize
from iri.exec.spdy import frames
from iri.exec.spdy.frames import (
    Frame,
    FrameReader,
    GoAway,
    GoAwayStatus,
    Ping,
    StreamData,
    StreamError,
    StreamHeaders,
    StreamOpened,
    StreamReset,
)
from iri.exec.spdy.header_block import HeaderCompressor

UPGRADE = "SPDY/3.1"
# A client that goes on after so many refusals does not open a console.
REFUSALS = 16


class StreamType(enum.Enum):
    """The header `streamtype`."""

    ERROR = "error"
    STDIN = "stdin"
    STDOUT = "stdout"
    STDERR = "stderr"
    RESIZE = "resize"


TYPES = {kind.value: kind for kind in StreamType}


class SpdyProtocol:
    """Implements ConsoleProtocol."""

    escape = ESCAPE  # irictl and kubectl have no key of their own to leave a console

    def __init__(self) -> None:
        self._reader = FrameReader()
        self._compressor = HeaderCompressor()
        self._resizes = ResizeDecoder()
        self._ids: dict[StreamType, int] = {}
        self._readable: dict[int, StreamType] = {}  # streams on which the client may still send
        self._last_id = 0
        self._refusals = 0
        self._ping_id = 0
        self._is_over = False
        self._outgoing = bytearray()

    def receive(self, data: bytes) -> Sequence[ClientEvent]:
        events: list[ClientEvent] = []
        for frame in self._reader.feed(data):
            events += self._handle(frame)
        return events

    def is_ready(self) -> bool:
        return StreamType.ERROR in self._ids and StreamType.STDOUT in self._ids

    def send_attached(self) -> None:
        """The answers to the streams have said so."""

    def send_output(self, data: bytes) -> None:
        if not self._is_over:
            self._outgoing += frames.encode_data(self._ids[StreamType.STDOUT], data)

    def send_status(self, status: bytes) -> None:
        """Without an error stream the client learns only that the session is over."""
        if self._is_over:
            return
        self._is_over = True
        last = {StreamType.ERROR: status}
        for kind in (
            StreamType.STDOUT,
            StreamType.STDERR,
            StreamType.ERROR,
            StreamType.STDIN,
            StreamType.RESIZE,
        ):
            if kind in self._ids:
                self._outgoing += frames.encode_data(self._ids[kind], last.get(kind, b""), is_final=True)
        if StreamType.ERROR not in self._ids:
            self._outgoing += frames.encode_go_away(self._last_id, GoAwayStatus.OK)

    def send_ping(self) -> None:
        """A server's pings have even ids, a client's odd ones."""
        if not self._is_over:
            self._ping_id = self._ping_id + 2 & frames.LARGEST_ID
            self._outgoing += frames.encode_ping(self._ping_id)

    def fail(self, reason: str) -> None:
        """The reason is the status, where there is a stream for it: GOAWAY has no text."""
        if not self._is_over:
            if StreamType.ERROR in self._ids:
                self.send_status(encode_failure(reason))
            self._is_over = True
            self._outgoing += frames.encode_go_away(self._last_id, GoAwayStatus.PROTOCOL_ERROR)

    def take_outgoing(self) -> bytes:
        taken = bytes(self._outgoing)
        self._outgoing.clear()
        return taken

    def _handle(self, frame: Frame) -> Iterator[ClientEvent]:
        match frame:
            case StreamOpened():
                yield from self._open(frame)
            case StreamData(stream_id, data, is_final):
                yield from self._read(stream_id, data)
                if is_final:
                    yield from self._end(stream_id)
            case StreamHeaders(stream_id, is_final):
                if is_final:
                    yield from self._end(stream_id)
            case StreamReset(stream_id):
                yield from self._end(stream_id)
                if stream_id == self._ids.get(StreamType.STDOUT):
                    yield ClientLeft()
            case GoAway():
                yield ClientLeft()
            case Ping(ping_id):
                if ping_id % 2:
                    self._outgoing += frames.encode_ping(ping_id)

    def _open(self, frame: StreamOpened) -> Iterator[ClientEvent]:
        """Ids are odd and grow, so an id says whether its stream was ever opened."""
        if frame.stream_id % 2 == 0 or frame.stream_id <= self._last_id:
            raise ProtocolError(f"stream {frame.stream_id} after stream {self._last_id}")
        self._last_id = frame.stream_id
        kind = TYPES.get(frame.headers.get("streamtype", ""))
        if kind is None or kind in self._ids or frame.is_unidirectional:
            self._refuse(frame.stream_id)
            return
        self._ids[kind] = frame.stream_id
        self._readable[frame.stream_id] = kind
        self._outgoing += frames.encode_reply(frame.stream_id, self._compressor)
        if self._is_over:
            self._outgoing += frames.encode_data(frame.stream_id, b"", is_final=True)
        if frame.is_final:
            yield from self._end(frame.stream_id)

    def _refuse(self, stream_id: int) -> None:
        self._refusals += 1
        if self._refusals > REFUSALS:
            raise ProtocolError(f"more than {REFUSALS} streams that a console does not have")
        self._outgoing += frames.encode_reset(stream_id, StreamError.REFUSED_STREAM)

    def _read(self, stream_id: int, data: bytes) -> Iterator[ClientEvent]:
        if stream_id % 2 == 0 or stream_id > self._last_id:
            raise ProtocolError(f"data of stream {stream_id}, which does not exist")
        kind = self._readable.get(stream_id)
        if not data or kind not in (StreamType.STDIN, StreamType.RESIZE):
            return
        self._outgoing += frames.encode_window_update(stream_id, len(data))
        if kind is StreamType.STDIN:
            yield Keys(data)
        else:
            yield from (WindowSize(columns, rows) for columns, rows in self._resizes.feed(data))

    def _end(self, stream_id: int) -> Iterator[ClientEvent]:
        """The client sends no more on the stream; we may."""
        if self._readable.pop(stream_id, None) is StreamType.STDIN:
            yield InputEnded()
