"""The value of `--listen`, for `gitvirt run` and `gitvirt poollet`."""

from __future__ import annotations

import argparse
from urllib.parse import urlsplit


def listening(text: str) -> tuple[str, int]:
    """HOST:PORT; without a host this machine alone."""
    parts = urlsplit(f"//{text}")
    try:
        host, port = parts.hostname or "127.0.0.1", parts.port
    except ValueError:
        host, port = "", None
    if port is None or parts.path or parts.query or parts.username:
        raise argparse.ArgumentTypeError(f"{text!r} is not an address; write 127.0.0.1:9100")
    return host, port
