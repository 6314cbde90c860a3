"""Opens the WebSocket of a console from its one-time URL. Used by both clients: a terminal, and a Console object.

The URL is a key: whoever has it may attach. So no error quotes it; at most scheme and host are named.
"""

from __future__ import annotations

from urllib.parse import urlsplit, urlunsplit

from websockets.exceptions import InvalidHandshake, InvalidMessage, InvalidStatus, InvalidURI
from websockets.sync.client import ClientConnection, connect
from websockets.typing import Subprotocol

from iri.errors import FailedPrecondition, Unavailable
from iri.exec import channels

OPEN_SECONDS = 10.0
CLOSE_SECONDS = 2.0


def open_websocket(url: str) -> ClientConnection:
    """FailedPrecondition when the server refuses, with its reason; Unavailable when no server answers."""
    try:
        return connect(
            websocket_url(url),
            subprotocols=[Subprotocol(channels.V4)],
            compression=None,
            proxy=None,
            max_size=channels.MESSAGE_LIMIT_BYTES,
            open_timeout=OPEN_SECONDS,
            close_timeout=CLOSE_SECONDS,
        )
    except (InvalidURI, ValueError):
        raise FailedPrecondition("the runtime answered with an invalid console URL") from None
    except InvalidStatus as error:
        reason = (error.response.body or b"").decode("utf-8", "replace").strip()
        status = error.response.status_code
        raise FailedPrecondition(reason or f"the console was refused with HTTP status {status}") from None
    except (OSError, InvalidHandshake, InvalidMessage, TimeoutError) as error:
        raise Unavailable(
            f"no console answers at {_without_token(url)}: {error or type(error).__name__}"
        ) from None


def websocket_url(url: str) -> str:
    """A provider's URL as one of a WebSocket. Some providers leave the host out and mean their own."""
    parts = urlsplit(url)
    scheme = {"http": "ws", "https": "wss"}.get(parts.scheme, parts.scheme)
    host = f"127.0.0.1{parts.netloc}" if parts.netloc.startswith(":") else parts.netloc
    return urlunsplit((scheme, host, parts.path, parts.query, ""))


def _without_token(url: str) -> str:
    """Scheme and host alone; the path is the key."""
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc}"
