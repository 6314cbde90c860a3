"""Requests as bytes, and what is read of them."""

from __future__ import annotations

import contextlib
from http import HTTPStatus

import pytest
from hypothesis import given
from hypothesis import strategies as st

from iri.exec.channels import ProtocolError
from iri.exec.upgrade_request import encode_response, parse_request


def test_a_request_has_a_path_and_headers() -> None:
    request = parse_request(
        b"POST /exec/token?stdin=true HTTP/1.1\r\nHost: h:1\r\nUPGRADE: SPDY/3.1\r\n"
        b"X-Stream-Protocol-Version: v5.channel.k8s.io\r\nX-Stream-Protocol-Version: v4.channel.k8s.io,v3\r\n\r\n"
    )
    assert (request.method, request.path) == ("POST", "/exec/token")
    assert request.values("upgrade") == ("SPDY/3.1",)
    assert request.values("x-stream-protocol-version") == ("v5.channel.k8s.io", "v4.channel.k8s.io", "v3")
    assert request.values("missing") == ()


@pytest.mark.parametrize(
    "head",
    [
        b"\r\n\r\n",
        b"GET /\r\n\r\n",
        b"GET / HTTP/1.0\r\n\r\n",
        b"GET / x HTTP/1.1\r\n\r\n",
        b"GET / HTTP/1.1\r\nname\r\n\r\n",
        b"GET / HTTP/1.1\r\n: value\r\n\r\n",
        b"GET / HTTP/1.1\r\n continued: x\r\n\r\n",
    ],
)
def test_what_is_not_a_request_is_refused(head: bytes) -> None:
    with pytest.raises(ProtocolError):
        parse_request(head)


@given(st.binary(max_size=200))
def test_any_bytes_are_a_request_or_refused(data: bytes) -> None:
    for head in (data + b"\r\n\r\n", b"GET / HTTP/1.1\r\n" + data + b"\r\n\r\n"):
        with contextlib.suppress(ProtocolError):
            assert "?" not in parse_request(head).path


def test_an_answer_ends_the_connection_unless_it_upgrades() -> None:
    assert encode_response(HTTPStatus.NOT_FOUND, "gone\n") == (
        b"HTTP/1.1 404 Not Found\r\nConnection: close\r\nContent-Type: text/plain; charset=utf-8\r\n"
        b"Content-Length: 5\r\n\r\ngone\n"
    )
    upgrade = encode_response(HTTPStatus.SWITCHING_PROTOCOLS, headers={"Upgrade": "SPDY/3.1"})
    assert upgrade == b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: SPDY/3.1\r\n\r\n"
