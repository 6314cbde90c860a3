"""Which addresses are accepted, and which are refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from iri.address import Address, TcpAddress, UnixAddress, parse
from iri.errors import InvalidArgument

ACCEPTED: list[tuple[str, Address]] = [
    ("/run/a.sock", UnixAddress(Path("/run/a.sock"))),
    ("unix:///run/a.sock", UnixAddress(Path("/run/a.sock"))),
    ("unix:/run/a.sock", UnixAddress(Path("/run/a.sock"))),
    ("127.0.0.1:8080", TcpAddress("127.0.0.1", 8080)),
    ("127.9.9.9:1", TcpAddress("127.9.9.9", 1)),
    ("localhost:0", TcpAddress("127.0.0.1", 0)),
    ("[::1]:443", TcpAddress("::1", 443)),
]
REFUSED = [
    ("", "not an address"),
    ("unix:", "does not name a socket"),
    ("a", "not an address"),
    ("/tmp/\udcff.sock", "is not UTF-8"),
    ("0.0.0.0:1", "loopback"),
    ("10.0.0.1:1", "loopback"),
    ("example.org:1", "loopback"),
    ("[::]:1", "loopback"),
    (":1", "not an address"),
    ("127.0.0.1:65536", "not an address"),
    ("127.0.0.1:-1", "not an address"),
    ("127.0.0.1", "not an address"),
    ("/run/" + "a" * 103, "107 bytes"),
    ("/run/\0", "zero byte"),
]


@pytest.mark.parametrize(("text", "address"), ACCEPTED, ids=[text for text, _ in ACCEPTED])
def test_address(text: str, address: Address) -> None:
    assert parse(text) == address
    assert parse(str(address)) == address


@pytest.mark.parametrize(("text", "words"), REFUSED, ids=[repr(text)[:20] for text, _ in REFUSED])
def test_address_that_is_not_of_this_host_is_refused(text: str, words: str) -> None:
    with pytest.raises(InvalidArgument, match=words):
        parse(text)


def test_relative_path_is_made_absolute(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert parse("./s") == UnixAddress(tmp_path / "s")
