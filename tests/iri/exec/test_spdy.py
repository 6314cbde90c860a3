"""SPDY's frames as bytes of the specification, and what each does at a console. Without a socket."""

from __future__ import annotations

import struct
import zlib

import pytest

from iri.exec import channels
from iri.exec.channels import ProtocolError
from iri.exec.console_protocol import ClientEvent, ClientLeft, InputEnded, Keys, WindowSize
from iri.exec.spdy import frames
from iri.exec.spdy.frames import (
    Frame,
    FrameReader,
    FrameType,
    GoAway,
    Ping,
    StreamData,
    StreamHeaders,
    StreamOpened,
    StreamReset,
)
from iri.exec.spdy.header_block import (
    BLOCK_LIMIT_BYTES,
    DICTIONARY,
    HeaderCompressor,
    HeaderDecompressor,
    parse_headers,
)
from iri.exec.spdy.spdy_protocol import REFUSALS, SpdyProtocol
from tests.iri.exec.console_users import syn_stream

# Frames written by hand from the specification: 8 bytes of head, then the payload.
RST_3 = bytes.fromhex("80030003 00000008 00000003 00000005")
PING_7 = bytes.fromhex("80030006 00000004 00000007")
GOAWAY_OK = bytes.fromhex("80030007 00000008 00000000 00000000")
SETTINGS = bytes.fromhex("80030004 0000000c 00000001 00000004 00000064")
WINDOW = bytes.fromhex("80030009 00000008 00000003 7fffffff")
NOOP = bytes.fromhex("80030005 00000000")
UNKNOWN = bytes.fromhex("8003ffff 00000002 abcd")
DATA_3 = bytes.fromhex("00000003 00000002 6869")
DATA_3_FIN = bytes.fromhex("00000003 01000002 6869")
END_3 = bytes.fromhex("00000003 01000000")


def block(count: int, *texts: bytes) -> bytes:
    return struct.pack(">I", count) + b"".join(struct.pack(">I", len(text)) + text for text in texts)


def open_stream(stream_id: int, **headers: str) -> bytes:
    return syn_stream(stream_id, headers, HeaderCompressor())


def test_the_dictionary_is_that_of_the_specification() -> None:
    """zlib names a dictionary by this number in each stream; another one byte, and no client could read us."""
    assert len(DICTIONARY) == 1423
    assert zlib.adler32(DICTIONARY) == 0xE3C6A7C2


@pytest.mark.parametrize(
    ("received", "wanted"),
    [
        (RST_3, [StreamReset(3)]),
        (PING_7, [Ping(7)]),
        (GOAWAY_OK, [GoAway()]),
        (SETTINGS + WINDOW + NOOP + UNKNOWN, []),
        (DATA_3, [StreamData(3, b"hi")]),
        (DATA_3_FIN, [StreamData(3, b"hi", True)]),
        (END_3, [StreamData(3, b"", True)]),
        (open_stream(1, streamtype="error"), [StreamOpened(1, {"streamtype": "error"})]),
        (PING_7 + DATA_3_FIN + RST_3, [Ping(7), StreamData(3, b"hi", True), StreamReset(3)]),
    ],
)
def test_frames_are_read_wherever_they_are_split(received: bytes, wanted: list[Frame]) -> None:
    assert list(FrameReader().feed(received)) == wanted
    reader = FrameReader()
    singly = [frame for byte in received for frame in reader.feed(bytes((byte,)))]
    assert join_data(singly) == wanted
    assert reader.pending_bytes == 0


def join_data(parts: list[Frame]) -> list[Frame]:
    """Data come as they arrive; joined they are those of the frame."""
    joined: list[Frame] = []
    for part in parts:
        last = joined[-1] if joined else None
        if isinstance(part, StreamData) and isinstance(last, StreamData):
            joined[-1] = StreamData(part.stream_id, last.data + part.data, part.is_final)
        else:
            joined.append(part)
    return joined


def test_headers_of_a_connection_share_one_compression() -> None:
    compressor, decompressor = HeaderCompressor(), HeaderDecompressor()
    for headers in ({"StreamType": "stdin"}, {}, {"streamtype": "stdin", "port": "80"}):
        block = compressor.compress(headers)
        assert decompressor.decompress(block) == {name.lower(): text for name, text in headers.items()}


@pytest.mark.parametrize(
    "plain",
    [
        b"",
        b"\0\0\0",
        block(1),
        block(0, b"name"),
        block(1, b"name"),
        block(2, b"name", b"value"),
        block(2, b"name", b"1", b"NAME", b"2"),
        block(1, b"name", b"value") + b"\0",
        block(1, b"name") + b"\xff\xff\xff\xff",
        b"\xff\xff\xff\xff",
    ],
)
def test_headers_whose_lengths_do_not_fit_are_refused(plain: bytes) -> None:
    with pytest.raises(ProtocolError):
        parse_headers(plain)


def deflate(plain: bytes, mode: int = zlib.Z_SYNC_FLUSH, dictionary: bytes = DICTIONARY) -> bytes:
    compressor = zlib.compressobj(9, zdict=dictionary)
    return compressor.compress(plain) + compressor.flush(mode)


@pytest.mark.parametrize(
    ("compressed", "reason"),
    [
        (b"no zlib", "zlib cannot read"),
        (deflate(block(0), dictionary=b"another"), "zlib cannot read"),
        (deflate(block(0), zlib.Z_FINISH), "end the compression"),
        (deflate(b"\0" * 60_000_000), "headers of more than"),
        (deflate(block(1, b"name", b"x" * BLOCK_LIMIT_BYTES)), "headers of more than"),
    ],
)
def test_headers_that_cannot_be_unpacked_are_refused(compressed: bytes, reason: str) -> None:
    assert len(compressed) <= frames.CONTROL_LIMIT_BYTES
    with pytest.raises(ProtocolError, match=reason):
        HeaderDecompressor().decompress(compressed)


@pytest.mark.parametrize(
    ("received", "reason"),
    [
        (bytes.fromhex("80020006 00000004 00000007"), "SPDY 2"),
        (bytes.fromhex("ffff0006 00000004 00000007"), "SPDY 32767"),
        (bytes.fromhex("80030001 00ffffff"), "a control frame of more than"),
        (bytes.fromhex("80030003 00000003 000000"), "too short"),
        (bytes.fromhex("80030006 00000000"), "too short"),
        (bytes.fromhex("80030001 00000004 00000001"), "headers without"),
        (bytes.fromhex("80030008 00000002 0000"), "too short"),
    ],
)
def test_a_broken_frame_is_refused(received: bytes, reason: str) -> None:
    with pytest.raises(ProtocolError, match=reason):
        list(FrameReader().feed(received))


def test_a_large_data_frame_is_handed_on_and_not_kept() -> None:
    reader = FrameReader()
    total = 0
    for piece in (bytes.fromhex("00000003 01ffffff"), *[b"x" * 65536] * 255, b"x" * 65535):
        total += sum(len(frame.data) for frame in reader.feed(piece) if isinstance(frame, StreamData))
        assert reader.pending_bytes == 0
    assert total == frames.LARGEST_DATA_BYTES


class Client:
    """Hands bytes to a protocol, and reads its answers."""

    def __init__(self, *streams: str) -> None:
        self.protocol = SpdyProtocol()
        self.compressor = HeaderCompressor()
        self.reader = FrameReader()
        self.ids: dict[str, int] = {}
        for number, kind in enumerate(streams):
            self.ids[kind] = 2 * number + 1
            self.open(2 * number + 1, kind)
        self.answers()

    def open(self, stream_id: int, kind: str, flags: int = 0) -> list[ClientEvent]:
        return self.send(syn_stream(stream_id, {"streamtype": kind}, self.compressor, flags))

    def send(self, received: bytes) -> list[ClientEvent]:
        return list(self.protocol.receive(received))

    def answers(self) -> list[Frame]:
        return list(self.reader.feed(self.protocol.take_outgoing()))


ALL = ("error", "stdin", "stdout", "resize")


def test_a_session_is_ready_with_error_and_stdout() -> None:
    client = Client("error", "stdin")
    assert not client.protocol.is_ready()
    client.open(5, "stdout")
    assert client.answers() == [StreamHeaders(5, False)]
    assert client.protocol.is_ready()


@pytest.mark.parametrize(
    ("received", "events", "answers"),
    [
        (frames.encode_data(3, b"ls\r"), [Keys(b"ls\r")], []),
        (frames.encode_data(7, b'{"Width":90,"Height":30}\n'), [WindowSize(90, 30)], []),
        (frames.encode_data(3, b"ls", True), [Keys(b"ls"), InputEnded()], []),
        (frames.encode_data(3, b"", True), [InputEnded()], []),
        (frames.encode_data(3, b"", True) + frames.encode_data(3, b"late"), [InputEnded()], []),
        (RST_3, [InputEnded()], []),
        (RST_3 + RST_3 + DATA_3, [InputEnded()], []),
        (frames.encode_data(7, b"", True) + frames.encode_data(7, b'{"Width":9,"Height":3}'), [], []),
        (frames.encode_data(1, b"to error") + frames.encode_data(5, b"to stdout"), [], []),
        (frames.encode_reset(5, frames.StreamError.PROTOCOL_ERROR), [ClientLeft()], []),
        (frames.encode_reset(99, frames.StreamError.PROTOCOL_ERROR), [], []),
        (GOAWAY_OK, [ClientLeft()], []),
        (PING_7, [], [Ping(7)]),
        (frames.encode_ping(8), [], []),
        (SETTINGS + WINDOW * 3 + NOOP + UNKNOWN, [], []),
    ],
)
def test_what_a_client_sends_becomes_events_and_answers(
    received: bytes, events: list[ClientEvent], answers: list[Frame]
) -> None:
    client = Client(*ALL)
    assert client.send(received) == events
    assert client.answers() == answers


def test_what_was_read_may_be_sent_again() -> None:
    """For clients that obey windows."""
    client = Client(*ALL)
    client.send(frames.encode_data(3, b"12345"))
    assert client.protocol.take_outgoing() == bytes.fromhex("80030009 00000008 00000003 00000005")


@pytest.mark.parametrize(
    ("stream_id", "kind", "flags"),
    [(9, "stdin", 0), (9, "port-forward", 0), (9, "", 0), (9, "stderr", frames.UNIDIRECTIONAL)],
)
def test_a_stream_that_a_console_does_not_have_is_refused(stream_id: int, kind: str, flags: int) -> None:
    client = Client(*ALL)
    assert client.open(stream_id, kind, flags) == []
    assert client.answers() == [StreamReset(stream_id)]
    assert client.send(frames.encode_data(stream_id, b"on its way before the refusal")) == []
    assert client.send(frames.encode_data(3, b"others go on")) == [Keys(b"others go on")]


def test_many_refused_streams_end_the_connection() -> None:
    client = Client(*ALL)
    for number in range(REFUSALS):
        client.open(9 + 2 * number, "x")
    with pytest.raises(ProtocolError, match="streams that a console does not have"):
        client.open(9 + 2 * REFUSALS, "x")


@pytest.mark.parametrize(
    "received",
    [
        open_stream(2, streamtype="stderr"),
        open_stream(0, streamtype="stderr"),
        frames.encode_data(9, b"never opened"),
        frames.encode_data(0, b"x"),
        frames.encode_data(2, b"x"),
        frames.encode_data(7, b"no JSON}"),
        frames.encode_data(7, b"{" * 5000),
    ],
)
def test_a_mistake_ends_the_connection_with_its_reason(received: bytes) -> None:
    client = Client("error", "stdin", "stdout")
    client.protocol = SpdyProtocol()
    client.compressor = HeaderCompressor()
    for number, kind in enumerate(ALL):
        if received[:2] != b"\x80\x03" or number:
            client.open(2 * number + 1, kind)
    client.protocol.take_outgoing()
    with pytest.raises(ProtocolError):
        client.send(received)
    client.protocol.fail("the reason")
    assert client.protocol.take_outgoing()[-16:] == frames.encode_go_away(
        7, frames.GoAwayStatus.PROTOCOL_ERROR
    )


def test_a_stream_id_must_grow() -> None:
    client = Client(*ALL)
    with pytest.raises(ProtocolError, match="stream 7 after stream 7"):
        client.open(7, "stderr")


def test_the_status_is_the_last_of_a_session() -> None:
    client = Client("error", "stdin", "stdout", "stderr", "resize")
    status = channels.encode_end(3)
    client.protocol.send_output(b"bye")
    client.protocol.send_status(status)
    client.protocol.send_output(b"late")
    client.protocol.send_status(channels.encode_end(None))
    client.protocol.send_ping()
    assert client.answers() == [
        StreamData(client.ids["stdout"], b"bye"),
        StreamData(client.ids["stdout"], b"", True),
        StreamData(client.ids["stderr"], b"", True),
        StreamData(client.ids["error"], status, True),
        StreamData(client.ids["stdin"], b"", True),
        StreamData(client.ids["resize"], b"", True),
    ]


def test_a_stream_that_comes_after_the_end_is_accepted_and_ended() -> None:
    """Clients read the status only when each of their streams was answered."""
    client = Client("error", "stdin", "stdout")
    client.protocol.send_status(channels.encode_end(None))
    client.answers()
    client.open(7, "resize")
    assert client.answers() == [StreamHeaders(7, False), StreamData(7, b"", True)]


def test_pings_of_the_server_have_even_ids() -> None:
    client = Client(*ALL)
    client.protocol.send_ping()
    client.protocol.send_ping()
    assert client.answers() == [Ping(2), Ping(4)]


def test_control_frames_are_written_as_specified() -> None:
    assert frames.encode_ping(7) == PING_7
    assert frames.encode_reset(3, frames.StreamError.REFUSED_STREAM) == bytes.fromhex(
        "80030003 00000008 00000003 00000003"
    )
    assert frames.encode_go_away(0, frames.GoAwayStatus.OK) == GOAWAY_OK
    assert frames.encode_data(3, b"hi", True) == DATA_3_FIN
    assert frames.encode_control(FrameType.SETTINGS, b"", 1) == bytes.fromhex("80030004 01000000")
