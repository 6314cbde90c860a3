"""Where a runtime listens: a unix socket, or TCP on the loopback interface of this host.

Nothing else is accepted, because the interface has no authentication: the file mode of the socket protects it.
"""

from __future__ import annotations

import ipaddress
import re
from dataclasses import dataclass
from pathlib import Path

from iri.errors import InvalidArgument

# What the kernel's sockaddr_un holds, without the terminating zero.
LONGEST_SOCKET_PATH = 107


@dataclass(frozen=True, slots=True)
class UnixAddress:
    """Always absolute, so that it means the same after a change of directory."""

    path: Path

    def __str__(self) -> str:
        return f"unix://{self.path}"


@dataclass(frozen=True, slots=True)
class TcpAddress:
    """Always on the loopback interface; port 0 lets a server choose."""

    host: str
    port: int

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


Address = UnixAddress | TcpAddress


def parse(text: str) -> Address:
    """`/path`, `unix:path`, `unix:///path`, `127.0.0.1:port`, `[::1]:port` or `localhost:port`."""
    if "\0" in text:
        raise InvalidArgument("an address cannot hold a zero byte")
    if text.startswith("unix:"):
        return parse_unix(text.removeprefix("unix:").removeprefix("//"), text)
    if "/" in text:
        return parse_unix(text, text)
    match = re.fullmatch(r"(?:\[([^\]]+)\]|([^:]+)):(\d{1,5})", text)
    if match is None or int(match[3]) > 65535:
        raise InvalidArgument(f"not an address: {text!r}; write /path/to/socket or 127.0.0.1:PORT")
    return parse_tcp(match[1] or match[2], int(match[3]))


def parse_unix(path: str, text: str) -> UnixAddress:
    """The absolute address; `text` is what was written, for messages."""
    if not path:
        raise InvalidArgument(f"not an address: {text!r} does not name a socket")
    try:
        absolute = Path(path).absolute()
        size = len(str(absolute).encode())
    except FileNotFoundError:
        raise InvalidArgument(
            f"the current directory was removed, so the relative path {text!r} cannot be resolved"
        ) from None
    except UnicodeEncodeError:
        raise InvalidArgument(f"not an address: {text!r} is not UTF-8") from None
    if size > LONGEST_SOCKET_PATH:
        raise InvalidArgument(f"{absolute} is longer than the {LONGEST_SOCKET_PATH} bytes of a socket's path")
    return UnixAddress(absolute)


def parse_tcp(host: str, port: int) -> TcpAddress:
    """Refuses every host that is not the loopback."""
    if host == "localhost":
        return TcpAddress("127.0.0.1", port)
    try:
        is_loopback = ipaddress.ip_address(host).is_loopback
    except ValueError:
        is_loopback = False
    if not is_loopback:
        raise InvalidArgument(f"{host} is not the loopback address: use a unix socket, 127.0.0.1 or [::1]")
    return TcpAddress(host, port)
