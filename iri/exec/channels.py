"""The messages of a console's WebSocket: Kubernetes' `v4.channel.k8s.io`, where each starts with its channel. Pure.

    channel    from      data
    0 STDIN    client    keys
    1 STDOUT   server    output; an empty first message says that the console is attached
    2 STDERR   server    unused by our server, printed by our client
    3 STATUS   server    the last message: a metav1.Status with the exit status, or with what broke
    4 RESIZE   client    {"Width": columns, "Height": rows}

kubectl and other Kubernetes clients speak the same protocol, so nothing in it is ours to change.
"""

from __future__ import annotations

import enum
import json

PROTOCOL = "v4.channel.k8s.io"
MESSAGE_LIMIT_BYTES = 1024 * 1024
LARGEST_SIDE = 0xFFFF


class Channel(enum.IntEnum):
    """The first byte of each message."""

    STDIN = 0
    STDOUT = 1
    STDERR = 2
    STATUS = 3
    RESIZE = 4


class ProtocolError(Exception):
    """The other side does not use the protocol."""


def encode_message(channel: Channel, data: bytes = b"") -> bytes:
    return bytes((channel,)) + data


def split_message(received: bytes | str) -> tuple[Channel, bytes]:
    """Channel and data of a message. A text message is a ProtocolError: the protocol is binary."""
    if isinstance(received, str):
        raise ProtocolError("a text message; the protocol has only binary ones")
    if not received:
        raise ProtocolError("an empty message without a channel")
    try:
        return Channel(received[0]), received[1:]
    except ValueError:
        raise ProtocolError(f"channel {received[0]}; there are 0 to {max(Channel)}") from None


def encode_resize(columns: int, rows: int) -> bytes:
    return encode_message(Channel.RESIZE, json.dumps({"Width": columns, "Height": rows}).encode())


def decode_resize(data: bytes) -> tuple[int, int]:
    """Columns and rows of a resize. Keys in any letter case, as Go's decoder accepts them."""
    try:
        fields = json.loads(data)
    except ValueError:
        raise ProtocolError("a resize that is not JSON") from None
    if not isinstance(fields, dict):
        raise ProtocolError("a resize that is not a JSON object")
    size = {str(key).lower(): value for key, value in fields.items()}
    columns, rows = size.get("width"), size.get("height")
    for side in (columns, rows):
        if not isinstance(side, int) or isinstance(side, bool) or not 0 < side <= LARGEST_SIDE:
            raise ProtocolError(f"a resize without Width and Height between 1 and {LARGEST_SIDE}")
    assert isinstance(columns, int)
    assert isinstance(rows, int)
    return columns, rows


def encode_end(exit_status: int | None) -> bytes:
    """The last message of a session that ended. A console without an exit status ends with success."""
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
    """The last message of a session that broke: the server's reason, not the guest's status."""
    return _status(
        {"metadata": {}, "status": "Failure", "message": text, "reason": "InternalError", "code": 500}
    )


def _status(fields: dict[str, object]) -> bytes:
    return encode_message(Channel.STATUS, json.dumps(fields).encode())


def decode_status(data: bytes) -> tuple[int, str]:
    """(exit status, "") when the console ended; (1, reason) when the session broke."""
    try:
        fields = json.loads(data)
    except ValueError:
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
        if (
            isinstance(cause, dict)
            and cause.get("reason") == "ExitCode"
            and str(cause.get("message")).isdigit()
        ):
            return int(cause["message"]) & 0xFF, ""
    raise ProtocolError("a NonZeroExitCode status without its ExitCode")
