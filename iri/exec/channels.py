"""The messages of a console: Kubernetes' `v4.channel.k8s.io` and `v5.channel.k8s.io`. Pure.

In a WebSocket each message starts with its channel. Over SPDY each channel is a stream, with the same data.

    channel       from      data
      0 STDIN     client    keys
      1 STDOUT    server    output; an empty first message says that the console is attached
      2 STDERR    server    unused by our server, printed by our client
      3 STATUS    server    the last message: a metav1.Status with the exit status, or with what broke
      4 RESIZE    client    {"Width": columns, "Height": rows}
    255 CLOSE     client    the channel that gets no more data; part of v5 alone

Either side ignores a message of any other channel, as the kubelet does. Clients of v5 that are made to speak v4 send CLOSE
there too. kubectl and other Kubernetes clients speak these protocols, so nothing in them is ours to change.
"""

from __future__ import annotations

import enum
import json
from collections.abc import Iterator

V4 = "v4.channel.k8s.io"
V5 = "v5.channel.k8s.io"
MESSAGE_LIMIT_BYTES = 1024 * 1024
RESIZE_LIMIT_BYTES = 1024
LARGEST_SIDE = 0xFFFF
EXIT_STATUS_DIGITS = 10


class Channel(enum.IntEnum):
    """The first byte of each message."""

    STDIN = 0
    STDOUT = 1
    STDERR = 2
    STATUS = 3
    RESIZE = 4
    CLOSE = 255


class ProtocolError(Exception):
    """The other side does not use the protocol."""


def encode_message(channel: Channel, data: bytes = b"") -> bytes:
    return bytes((channel,)) + data


def split_message(received: bytes | str) -> tuple[Channel | None, bytes]:
    """Channel and data of a message; None for an unknown channel. A text message is a ProtocolError: the protocol is binary."""
    if isinstance(received, str):
        raise ProtocolError("a text message; the protocol has only binary ones")
    if not received:
        raise ProtocolError("an empty message without a channel")
    try:
        return Channel(received[0]), received[1:]
    except ValueError:
        return None, received[1:]


def encode_resize(columns: int, rows: int) -> bytes:
    return encode_message(Channel.RESIZE, json.dumps({"Width": columns, "Height": rows}).encode())


def decode_resize(data: bytes) -> tuple[int, int] | None:
    """Columns and rows of a resize. Keys in any letter case, as Go's decoder accepts them.

    None when a side is 0 or missing: clients without a terminal of known size send that, and it changes nothing.
    """
    if len(data) > RESIZE_LIMIT_BYTES:
        raise ProtocolError(f"a resize of more than {RESIZE_LIMIT_BYTES} bytes")
    try:
        fields = json.loads(data)
    except (ValueError, RecursionError):
        raise ProtocolError("a resize that is not JSON") from None
    if not isinstance(fields, dict):
        raise ProtocolError("a resize that is not a JSON object")
    size = {str(key).lower(): value for key, value in fields.items()}
    columns, rows = size.get("width", 0), size.get("height", 0)
    for side in (columns, rows):
        if not isinstance(side, int) or isinstance(side, bool) or not 0 <= side <= LARGEST_SIDE:
            raise ProtocolError(f"a resize without Width and Height up to {LARGEST_SIDE}")
    return (columns, rows) if columns and rows else None


class ResizeDecoder:
    """Resizes of a stream, which has no messages: one JSON object after the other, split anywhere."""

    def __init__(self) -> None:
        self._rest = b""

    def feed(self, data: bytes) -> Iterator[tuple[int, int]]:
        """The sizes that are complete, without those that change nothing. An object ends with its first `}`: it has no others."""
        *objects, rest = (self._rest + data).split(b"}")
        self._rest = rest.lstrip()
        if len(self._rest) > RESIZE_LIMIT_BYTES:
            raise ProtocolError(f"a resize of more than {RESIZE_LIMIT_BYTES} bytes")
        yield from (size for text in objects if (size := decode_resize(text + b"}")))


def encode_end(exit_status: int | None) -> bytes:
    """The status of a session that ended. A console without an exit status ends with success."""
    if not exit_status:
        return _status({"metadata": {}, "status": "Success"})
    return _status(
        {
            "metadata": {},
            "status": "Failure",
            "message": f"the console ended with exit status {exit_status}",
            "reason": "NonZeroExitCode",
            "details": {"causes": [{"reason": "ExitCode", "message": str(exit_status)}]},
        }
    )


def encode_failure(text: str) -> bytes:
    """The status of a session that broke: the server's reason, not the guest's status."""
    return _status(
        {"metadata": {}, "status": "Failure", "message": text, "reason": "InternalError", "code": 500}
    )


def _status(fields: dict[str, object]) -> bytes:
    return json.dumps(fields).encode()


def decode_status(data: bytes) -> tuple[int, str]:
    """(exit status, "") when the console ended; (1, reason) when the session broke."""
    try:
        fields = json.loads(data)
    except (ValueError, RecursionError):
        raise ProtocolError("a status that is not JSON") from None
    if not isinstance(fields, dict):
        raise ProtocolError("a status that is not a JSON object")
    if fields.get("status") == "Success":
        return 0, ""
    text = str(fields.get("message") or "the console failed without a reason")
    if fields.get("reason") != "NonZeroExitCode":
        return 1, text
    details = fields.get("details")
    causes = details.get("causes") if isinstance(details, dict) else None
    for cause in causes if isinstance(causes, list) else []:
        if isinstance(cause, dict) and cause.get("reason") == "ExitCode":
            number = str(cause.get("message"))
            if number.isdecimal() and len(number) <= EXIT_STATUS_DIGITS:
                return int(number) & 0xFF, ""
    raise ProtocolError("a NonZeroExitCode status without its ExitCode")
