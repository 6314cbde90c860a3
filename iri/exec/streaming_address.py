"""Where consoles are served, and how their URLs begin.

By default that is a free port of the loopback interface, and URLs name it. An operator may choose another address, and
what a URL begins with: behind a proxy that adds TLS, clients see the proxy's address.

A URL is a key, and a console shows passwords. Beyond the loopback interface both travel in clear text unless a proxy adds
TLS, so `is_exposed` is there for a warning.
"""

from __future__ import annotations

import ipaddress
import re
from dataclasses import dataclass
from urllib.parse import urlsplit

from iri.errors import InvalidArgument

LARGEST_PORT = 0xFFFF


@dataclass(frozen=True, slots=True)
class StreamingAddress:
    """Port 0 lets the server choose. `base_url` is without a slash at its end; empty: http and the address."""

    host: str = "127.0.0.1"
    port: int = 0
    base_url: str = ""

    @property
    def is_exposed(self) -> bool:
        """Whether other hosts can connect."""
        return not ipaddress.ip_address(self.host).is_loopback

    @property
    def path(self) -> str:
        """Of the base URL. A proxy may keep it in front of the path of a request, or remove it."""
        return urlsplit(self.base_url).path

    def url(self, port: int) -> str:
        """What URLs begin with, once the server has its port."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return self.base_url or f"http://{host}:{port}"


def parse_streaming_address(address: str, base_url: str) -> StreamingAddress:
    """`HOST:PORT` with an IP address or `localhost`, and `http(s)://HOST[:PORT][/PATH]` or an empty text."""
    match = re.fullmatch(r"(?:\[([^\]]+)\]|([^:]+)):(\d{1,5})", address)
    if match is None or int(match[3]) > LARGEST_PORT:
        raise InvalidArgument(f"not an address for consoles: {address!r}; write 127.0.0.1:PORT")
    host = "127.0.0.1" if match[2] == "localhost" else match[1] or match[2]
    try:
        ip = ipaddress.ip_address(host)
    except ValueError:
        raise InvalidArgument(
            f"{host!r} is not an IP address; consoles are served at one such as 127.0.0.1"
        ) from None
    if ip.is_unspecified and not base_url:
        raise InvalidArgument(f"no client can connect to {host}: set the base URL that clients use")
    return StreamingAddress(str(ip), int(match[3]), parse_base_url(base_url))


def parse_base_url(text: str) -> str:
    """Without the slash at its end. A query or a user would end up in every URL, so they are refused."""
    if not text:
        return ""
    try:
        parts = urlsplit(text)
        is_valid = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        is_valid = False
    if not is_valid or not re.fullmatch(r"[!-~]+", text) or any(char in text for char in "?#@"):
        raise InvalidArgument(
            f"not a base URL: {text!r}; write one such as https://host-1.example.org/consoles"
        )
    return text.rstrip("/")
