"""The wire format: our messages, those of Kubernetes' clients and servers, and invalid ones."""

from __future__ import annotations

import contextlib
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from iri.exec import channels
from iri.exec.channels import Channel, ProtocolError


@given(st.sampled_from(Channel), st.binary())
def test_a_message_is_split_into_what_it_was_encoded_from(channel: Channel, data: bytes) -> None:
    assert channels.split_message(channels.encode_message(channel, data)) == (channel, data)


@given(st.integers(1, 0xFFFF), st.integers(1, 0xFFFF))
def test_a_resize_is_decoded_as_it_was_encoded(columns: int, rows: int) -> None:
    channel, data = channels.split_message(channels.encode_resize(columns, rows))
    assert channel is Channel.RESIZE
    assert channels.decode_resize(data) == (columns, rows)


@pytest.mark.parametrize(
    "data",
    [
        b'{"Width":120,"Height":40}',
        b'{"width":120,"height":40}',
        b'{"Height":40,"Width":120,"PixelWidth":0}',
    ],
)
def test_a_resize_of_other_clients_is_understood(data: bytes) -> None:
    assert channels.decode_resize(data) == (120, 40)


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"no json",
        b"[80, 24]",
        b'{"Width":-1,"Height":24}',
        b'{"Width":80,"Height":65536}',
        b'{"Width":true,"Height":24}',
        b'{"Width":80.5,"Height":24}',
        b'{"Width":' + b"9" * 5000 + b',"Height":24}',
        b"[" * 1000,
        b'{"Width":80,"Height":24}' + b" " * 1024,
    ],
)
def test_an_invalid_resize_is_a_protocol_error(data: bytes) -> None:
    with pytest.raises(ProtocolError):
        channels.decode_resize(data)


@pytest.mark.parametrize("data", [b"{}", b'{"Width":80}', b'{"Width":0,"Height":24}'])
def test_a_resize_of_a_terminal_without_size_changes_nothing(data: bytes) -> None:
    assert channels.decode_resize(data) is None


@pytest.mark.parametrize(
    ("pieces", "sizes"),
    [
        ([b'{"Width":80,"Height":24}\n{"Width":81,"Height":25}\n'], [(80, 24), (81, 25)]),
        ([b'{"Width":80,"Height":24}{"Width":81,"Height":25}'], [(80, 24), (81, 25)]),
        ([b'{"Wid', b'th":80,', b'"Height":24', b"}"], [(80, 24)]),
        ([b'{"Width":0,"Height":0}\n'], []),
        ([b"\n" * 5000, b'{"Width":80,"Height":24}'], [(80, 24)]),
    ],
)
def test_resizes_of_a_stream_are_split(pieces: list[bytes], sizes: list[tuple[int, int]]) -> None:
    decoder = channels.ResizeDecoder()
    assert [size for piece in pieces for size in decoder.feed(piece)] == sizes


@pytest.mark.parametrize("data", [b"}", b"{" * 2000, b'{"Width":"80"}', b"7}"])
def test_an_invalid_resize_of_a_stream_is_a_protocol_error(data: bytes) -> None:
    with pytest.raises(ProtocolError):
        list(channels.ResizeDecoder().feed(data))


@pytest.mark.parametrize("received", [b"\x05x", b"\x09", b"\xfe"])
def test_an_unknown_channel_is_none(received: bytes) -> None:
    assert channels.split_message(received) == (None, received[1:])


@pytest.mark.parametrize("received", [b"", "text"])
def test_an_invalid_message_is_a_protocol_error(received: bytes | str) -> None:
    with pytest.raises(ProtocolError):
        channels.split_message(received)


@pytest.mark.parametrize("status", [None, 0, 1, 130, 255])
def test_an_exit_status_is_decoded_as_it_was_encoded(status: int | None) -> None:
    assert channels.decode_status(channels.encode_end(status)) == (status or 0, "")


def test_a_failure_keeps_its_text() -> None:
    assert channels.decode_status(channels.encode_failure("the guest is off")) == (1, "the guest is off")


def test_a_status_of_kubernetes_is_understood() -> None:
    status = json.loads(channels.encode_end(3))
    assert (status["status"], status["reason"]) == ("Failure", "NonZeroExitCode")
    assert status["details"]["causes"] == [{"reason": "ExitCode", "message": "3"}]


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"7",
        b'{"status":"Failure","reason":"NonZeroExitCode"}',
        b'{"status":"Failure","reason":"NonZeroExitCode","details":{"causes":[{"reason":"ExitCode","message":"x"}]}}',
        b'{"status":"Failure","reason":"NonZeroExitCode","details":{"causes":7}}',
        '{"status":"Failure","reason":"NonZeroExitCode","details":{"causes":[{"reason":"ExitCode","message":"²"}]}}'.encode(),
        b'{"status":"Failure","reason":"NonZeroExitCode","details":{"causes":[{"reason":"ExitCode","message":"'
        + b"7" * 5000
        + b'"}]}}',
        b"[" * 100_000,
    ],
)
def test_an_invalid_status_is_a_protocol_error(data: bytes) -> None:
    with pytest.raises(ProtocolError):
        channels.decode_status(data)


@given(st.binary(max_size=64))
def test_any_status_or_resize_is_decoded_or_refused(data: bytes) -> None:
    for parse in (channels.decode_status, channels.decode_resize):
        with contextlib.suppress(ProtocolError):
            parse(data)
