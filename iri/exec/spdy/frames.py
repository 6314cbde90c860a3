"""Frames of SPDY/3.1: bytes to frames, and frames to bytes. Pure.

Each frame begins with eight bytes. The first bit tells control frames from data:

    control    1 | version 3 (15 bits) | type (16) | flags (8) | length (24) | payload
    data       0 | stream (31 bits)                | flags (8) | length (24) | data

A control frame is read whole, and may have CONTROL_LIMIT_BYTES. A data frame may have 16 MiB, and is never kept: its data
are handed on as they arrive, so a reader holds at most one control frame, whatever a client announces.

    type                  here
    1 SYN_STREAM          a client opens a stream
    2 SYN_REPLY           we accept it; from a client: ignored, because we open none
    3 RST_STREAM          either side ends a stream
    4 SETTINGS            ignored
    6 PING                either side; the other sends it back
    7 GOAWAY              either side ends the connection
    8 HEADERS             ignored but for its end of the stream; unpacked, because the compression goes on
    9 WINDOW_UPDATE       we send it for what we have read; from a client: ignored (spdy_protocol says why)
    others                ignored, as the specification demands
"""

from __future__ import annotations

import enum
import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from iri.exec.channels import ProtocolError
from iri.exec.spdy.header_block import HeaderCompressor, HeaderDecompressor

VERSION = 3
CONTROL_LIMIT_BYTES = 64 * 1024
LARGEST_DATA_BYTES = (1 << 24) - 1
LARGEST_ID = (1 << 31) - 1
FIN = 0x01
UNIDIRECTIONAL = 0x02
HEAD = struct.Struct(">IB3s")


class FrameType(enum.IntEnum):
    """Of control frames; NOOP (5) was removed from the protocol."""

    SYN_STREAM = 1
    SYN_REPLY = 2
    RST_STREAM = 3
    SETTINGS = 4
    PING = 6
    GOAWAY = 7
    HEADERS = 8
    WINDOW_UPDATE = 9


class StreamError(enum.IntEnum):
    """Why a stream is reset."""

    PROTOCOL_ERROR = 1
    REFUSED_STREAM = 3


class GoAwayStatus(enum.IntEnum):
    """Why a connection ends."""

    OK = 0
    PROTOCOL_ERROR = 1


@dataclass(frozen=True, slots=True)
class StreamOpened:
    """SYN_STREAM."""

    stream_id: int
    headers: Mapping[str, str]
    is_final: bool = False
    is_unidirectional: bool = False


@dataclass(frozen=True, slots=True)
class StreamHeaders:
    """HEADERS, later ones of a stream."""

    stream_id: int
    is_final: bool


@dataclass(frozen=True, slots=True)
class StreamData:
    """Data of a stream, perhaps a part of a frame. `is_final` is in the last part."""

    stream_id: int
    data: bytes
    is_final: bool = False


@dataclass(frozen=True, slots=True)
class StreamReset:
    """RST_STREAM. The reason makes no difference here."""

    stream_id: int


@dataclass(frozen=True, slots=True)
class Ping:
    ping_id: int


@dataclass(frozen=True, slots=True)
class GoAway:
    """No stream will be opened any more."""


Frame = StreamOpened | StreamHeaders | StreamData | StreamReset | Ping | GoAway


class FrameReader:
    """The frames of one side of one connection. After a ProtocolError it cannot be used."""

    def __init__(self) -> None:
        self._buffer = bytearray()
        self._headers = HeaderDecompressor()
        self._data_left = 0  # of the data frame that is being received
        self._data_stream = 0
        self._data_flags = 0

    def feed(self, received: bytes) -> Iterator[Frame]:
        """The frames that are complete, and the data that are there. Frames that mean nothing here are left out."""
        self._buffer += received
        while True:
            if self._data_left:
                if not self._buffer:
                    return
                yield self._take_data()
                continue
            size = self._next_size()
            if size is None:
                return
            if (frame := self._take_frame(size)) is not None:
                yield frame

    @property
    def pending_bytes(self) -> int:
        """What waits for the rest of its frame."""
        return len(self._buffer)

    def _next_size(self) -> int | None:
        """Bytes of what can be taken now: a control frame, or the head of a data frame. None: more must come first."""
        if len(self._buffer) < HEAD.size:
            return None
        if not self._buffer[0] & 0x80:
            return HEAD.size
        size = HEAD.size + int.from_bytes(self._buffer[5:8], "big")
        if size - HEAD.size > CONTROL_LIMIT_BYTES:
            raise ProtocolError(f"a control frame of more than {CONTROL_LIMIT_BYTES} bytes")
        return size if len(self._buffer) >= size else None

    def _take_frame(self, size: int) -> Frame | None:
        """Removes it from the buffer. An empty data frame is complete with its head."""
        taken = bytes(self._buffer[:size])
        del self._buffer[:size]
        word, flags, length = HEAD.unpack_from(taken)
        if word >> 31:
            if word >> 16 & 0x7FFF != VERSION:
                raise ProtocolError(f"SPDY {word >> 16 & 0x7FFF}; this server has version {VERSION}")
            return parse_control(word & 0xFFFF, flags, taken[HEAD.size :], self._headers)
        self._data_stream, self._data_flags = word, flags
        self._data_left = int.from_bytes(length, "big")
        return None if self._data_left else StreamData(word, b"", bool(flags & FIN))

    def _take_data(self) -> StreamData:
        """What is there of the data frame."""
        data = bytes(self._buffer[: self._data_left])
        del self._buffer[: len(data)]
        self._data_left -= len(data)
        return StreamData(self._data_stream, data, not self._data_left and bool(self._data_flags & FIN))


def parse_control(kind: int, flags: int, payload: bytes, headers: HeaderDecompressor) -> Frame | None:
    """None for frames that mean nothing here. A ProtocolError when one is too short, or its headers cannot be read."""
    match kind:
        case FrameType.SYN_STREAM:
            stream_id = _number(payload, 0)
            unpacked = headers.decompress(payload[10:])
            return StreamOpened(stream_id, unpacked, bool(flags & FIN), bool(flags & UNIDIRECTIONAL))
        case FrameType.HEADERS | FrameType.SYN_REPLY:
            stream_id = _number(payload, 0)
            headers.decompress(payload[4:])
            return StreamHeaders(stream_id, bool(flags & FIN))
        case FrameType.RST_STREAM:
            return StreamReset(_number(payload, 0))
        case FrameType.PING:
            return Ping(int.from_bytes(_four_bytes(payload, 0), "big"))
        case FrameType.GOAWAY:
            return GoAway()
        case _:
            return None


def _four_bytes(payload: bytes, offset: int) -> bytes:
    if len(payload) < offset + 4:
        raise ProtocolError("a control frame that is too short")
    return payload[offset : offset + 4]


def _number(payload: bytes, offset: int) -> int:
    """A stream id; its first bit is reserved."""
    return int.from_bytes(_four_bytes(payload, offset), "big") & LARGEST_ID


def encode_control(kind: FrameType, payload: bytes, flags: int = 0) -> bytes:
    """Also used by test clients, for the frames that only clients send."""
    head = HEAD.pack(1 << 31 | VERSION << 16 | kind, flags, len(payload).to_bytes(3, "big"))
    return head + payload


def encode_data(stream_id: int, data: bytes, is_final: bool = False) -> bytes:
    """`data` has at most LARGEST_DATA_BYTES."""
    return HEAD.pack(stream_id, FIN if is_final else 0, len(data).to_bytes(3, "big")) + data


def encode_reply(stream_id: int, headers: HeaderCompressor) -> bytes:
    """Accepts a stream, without headers of our own."""
    return encode_control(FrameType.SYN_REPLY, struct.pack(">I", stream_id) + headers.compress({}))


def encode_reset(stream_id: int, error: StreamError) -> bytes:
    return encode_control(FrameType.RST_STREAM, struct.pack(">II", stream_id, error))


def encode_ping(ping_id: int) -> bytes:
    return encode_control(FrameType.PING, struct.pack(">I", ping_id))


def encode_go_away(last_stream_id: int, status: GoAwayStatus) -> bytes:
    return encode_control(FrameType.GOAWAY, struct.pack(">II", last_stream_id, status))


def encode_window_update(stream_id: int, size: int) -> bytes:
    """The client may send so many bytes more on the stream."""
    return encode_control(FrameType.WINDOW_UPDATE, struct.pack(">II", stream_id, size))
