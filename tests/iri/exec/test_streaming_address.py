"""Where consoles are served: what operators write, and what URLs become of it."""

from __future__ import annotations

import pytest

from iri.errors import InvalidArgument
from iri.exec.streaming_address import StreamingAddress, parse_streaming_address


@pytest.mark.parametrize(
    ("address", "base_url", "wanted", "url", "is_exposed"),
    [
        ("127.0.0.1:0", "", StreamingAddress(), "http://127.0.0.1:4711", False),
        ("localhost:80", "", StreamingAddress("127.0.0.1", 80), "http://127.0.0.1:4711", False),
        ("[::1]:0", "", StreamingAddress("::1", 0), "http://[::1]:4711", False),
        ("192.0.2.1:20251", "", StreamingAddress("192.0.2.1", 20251), "http://192.0.2.1:4711", True),
        (
            "127.0.0.1:20251",
            "https://host-1.example.org/consoles/",
            StreamingAddress("127.0.0.1", 20251, "https://host-1.example.org/consoles"),
            "https://host-1.example.org/consoles",
            False,
        ),
        (
            "0.0.0.0:20251",
            "http://host-1:20251",
            StreamingAddress("0.0.0.0", 20251, "http://host-1:20251"),
            "http://host-1:20251",
            True,
        ),
    ],
)
def test_an_address_gives_the_beginning_of_urls(
    address: str, base_url: str, wanted: StreamingAddress, url: str, is_exposed: bool
) -> None:
    streaming = parse_streaming_address(address, base_url)
    assert streaming == wanted
    assert streaming.url(4711) == url
    assert streaming.is_exposed is is_exposed


@pytest.mark.parametrize(
    ("address", "base_url", "reason"),
    [
        ("", "", "not an address"),
        ("127.0.0.1", "", "not an address"),
        ("127.0.0.1:65536", "", "not an address"),
        ("/run/socket", "", "not an address"),
        ("host-1:80", "", "'host-1' is not an IP address"),
        ("0.0.0.0:0", "", "no client can connect to 0.0.0.0"),
        ("[::]:0", "", "no client can connect to ::"),
        ("127.0.0.1:0", "host-1", "not a base URL"),
        ("127.0.0.1:0", "ftp://host-1", "not a base URL"),
        ("127.0.0.1:0", "https://", "not a base URL"),
        ("127.0.0.1:0", "https://host-1:x", "not a base URL"),
        ("127.0.0.1:0", "https://host-1/?a=b", "not a base URL"),
        ("127.0.0.1:0", "https://user@host-1/", "not a base URL"),
        ("127.0.0.1:0", "https://host-1/a b", "not a base URL"),
        ("127.0.0.1:0", "https://[::1", "not a base URL"),
    ],
)
def test_what_cannot_work_is_refused(address: str, base_url: str, reason: str) -> None:
    with pytest.raises(InvalidArgument, match=reason):
        parse_streaming_address(address, base_url)
