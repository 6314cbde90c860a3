"""The HTTP request that opens a console, and the answers to it. Pure.

Only what an upgrade needs is read: method, path and headers. A client may send nothing else before the answer, so a request
is its head, with at most HEAD_LIMIT_BYTES; a body is not read.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from http import HTTPStatus

from iri.exec.channels import ProtocolError

HEAD_LIMIT_BYTES = 16 * 1024
HEAD_END = b"\r\n\r\n"


@dataclass(frozen=True, slots=True)
class UpgradeRequest:
    """`path` is without a query. Names of `headers` are in small letters; values of equal names are joined by commas."""

    method: str
    path: str
    headers: Mapping[str, str]

    def values(self, name: str) -> tuple[str, ...]:
        """The elements of a header that is a list, in the client's order."""
        return tuple(part.strip() for part in self.headers.get(name, "").split(",") if part.strip())


def parse_request(head: bytes) -> UpgradeRequest:
    """`head` ends with HEAD_END. Raises ProtocolError for what is not HTTP/1.1."""
    first, *lines = head.removesuffix(HEAD_END).decode("latin-1").split("\r\n")
    words = first.split(" ")
    if len(words) != 3 or words[2] != "HTTP/1.1":
        raise ProtocolError("not a request of HTTP/1.1")
    headers: dict[str, str] = {}
    for line in lines:
        name, colon, value = line.partition(":")
        if not colon or not name or name != name.strip():
            raise ProtocolError("a header without name or colon")
        key = name.lower()
        headers[key] = f"{headers[key]}, {value.strip()}" if key in headers else value.strip()
    return UpgradeRequest(words[0], words[1].partition("?")[0], headers)


def encode_response(status: HTTPStatus, text: str = "", headers: Mapping[str, str] | None = None) -> bytes:
    """A whole response. That of an upgrade has no body; every other one ends the connection after its text."""
    all_headers = dict(headers or {})
    body = text.encode()
    if status is not HTTPStatus.SWITCHING_PROTOCOLS:
        all_headers |= {
            "Connection": "close",
            "Content-Type": "text/plain; charset=utf-8",
            "Content-Length": str(len(body)),
        }
    lines = [
        f"HTTP/1.1 {status.value} {status.phrase}",
        *(f"{name}: {value}" for name, value in all_headers.items()),
    ]
    return "\r\n".join(lines).encode("latin-1") + HEAD_END + body
