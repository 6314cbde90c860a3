"""Bytes of a client of SPDY: whatever comes in, events and answers come out, or a ProtocolError; and little is kept."""

from __future__ import annotations

from iri.exec.channels import ProtocolError
from iri.exec.spdy import frames
from iri.exec.spdy.frames import FrameReader, FrameType
from iri.exec.spdy.header_block import HeaderCompressor
from iri.exec.spdy.spdy_protocol import SpdyProtocol
from tests.iri.exec.console_users import syn_stream


def _streams() -> bytes:
    compressor = HeaderCompressor()
    kinds = ("error", "stdin", "stdout", "resize")
    return b"".join(
        syn_stream(2 * number + 1, {"streamtype": kind}, compressor) for number, kind in enumerate(kinds)
    )


OPENED = _streams()
SEEDS = [
    OPENED,
    OPENED + frames.encode_data(3, b"ls\r") + frames.encode_data(7, b'{"Width":80,"Height":24}\n'),
    OPENED
    + frames.encode_data(3, b"", True)
    + frames.encode_ping(1)
    + frames.encode_window_update(3, 1 << 31 - 1),
    frames.encode_control(FrameType.SETTINGS, b"\0" * 12) + frames.encode_go_away(0, frames.GoAwayStatus.OK),
    frames.encode_reset(5, frames.StreamError.PROTOCOL_ERROR) + b"\x80\x03\x00\x01\x00\xff\xff\xff",
]


def once(data: bytes) -> None:
    """Whole, and behind the opened streams in two pieces; what is sent can be read as frames."""
    for pieces in ((data,), (OPENED, data[: len(data) // 2], data[len(data) // 2 :])):
        protocol, answers = SpdyProtocol(), FrameReader()
        for piece in pieces:
            try:
                protocol.receive(piece)
            except ProtocolError as error:
                protocol.fail(str(error))
                break
        list(answers.feed(protocol.take_outgoing()))
        assert answers.pending_bytes == 0
    reader = FrameReader()
    try:
        for _ in reader.feed(data):
            pass
    except ProtocolError:
        return
    assert reader.pending_bytes <= frames.CONTROL_LIMIT_BYTES + frames.HEAD.size
