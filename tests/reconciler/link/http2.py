"""One gRPC call, frame by frame: no gRPC library here can be told to use an older TLS."""

from __future__ import annotations

import ssl
import struct

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
DATA, HEADERS, SETTINGS, ACK, END_HEADERS, END_STREAM = 0x0, 0x1, 0x4, 0x1, 0x4, 0x1
STATUS = b"\x0bgrpc-status"  # a name of eleven octets, as gRPC writes it: not compressed


def call_status(connection: ssl.SSLSocket, path: str, *, has_message: bool = False) -> int:
    """The grpc-status that the server ends a call with, whose client sends nothing but its headers, or an empty message after them."""
    fields: tuple[tuple[str, str], ...] = (
        (":method", "POST"),
        (":scheme", "https"),
        (":path", path),
        (":authority", "gitvirt-link"),
    )
    fields += (("content-type", "application/grpc"), ("te", "trailers"))
    block = b"".join(_literal(name, value) for name, value in fields)
    message = _frame(DATA, END_STREAM, 1, bytes(5)) if has_message else b""
    connection.sendall(
        PREFACE + _frame(SETTINGS, 0, 0, b"") + _frame(HEADERS, END_HEADERS, 1, block) + message
    )
    received = b""
    while STATUS not in received or received.index(STATUS) + len(STATUS) + 3 > len(received):
        data = connection.recv(65536)
        assert data, f"the server closed the connection after {received!r}"
        received += data
        if data[3:4] == bytes([SETTINGS]) and not data[4] & ACK:
            connection.sendall(_frame(SETTINGS, ACK, 0, b""))
    at = received.index(STATUS) + len(STATUS)
    return int(received[at + 1 : at + 1 + received[at]])


def _frame(kind: int, flags: int, stream: int, payload: bytes) -> bytes:
    return struct.pack(">I", len(payload))[1:] + bytes([kind, flags]) + struct.pack(">I", stream) + payload


def _literal(name: str, value: str) -> bytes:
    """A field that is neither indexed nor compressed."""
    return b"\x00" + bytes([len(name)]) + name.encode("ascii") + bytes([len(value)]) + value.encode("ascii")
