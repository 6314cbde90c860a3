"""Addresses of remotes: what git accepts, minus addresses that would leak a credential or run a program.

Pure. A parsed address never holds a password, so it can appear in arguments, logs and errors.

Refused are forms that git would take and that are dangerous in the settings of a service: `ext::` and its like, which run a program; a leading `-`,
which is an option to git or ssh; a password or a query in a URL, which every process list shows. A refusal does not repeat the text that it refuses.
"""

from __future__ import annotations

import ipaddress
import re
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from urllib.parse import SplitResult, unquote, urlsplit

from reconciler.gitstore.errors import RepoError

SCP_LIKE = re.compile(r"(?:(?P<user>[^@:/\s]+)@)?(?P<host>\[[0-9A-Fa-f:.%]+\]|[^:/\[\]\s]+):(?P<path>.+)")


SUPPORTED = "use a path, file://, ssh:// or https://"


class AddressError(RepoError):
    code = "GV820"


class Scheme(StrEnum):
    PATH = "path"
    FILE = "file"
    SSH = "ssh"
    HTTP = "http"
    HTTPS = "https"

    @property
    def is_web(self) -> bool:
        return self in (Scheme.HTTP, Scheme.HTTPS)

    @property
    def is_local(self) -> bool:
        return self in (Scheme.PATH, Scheme.FILE)


@dataclass(frozen=True, slots=True)
class RemoteAddress:
    """`url` is what git is given. `origin` is `scheme://host:port` of a web address: the only place that its
    credentials may go to. `username` came with a web address and was taken out of it."""

    scheme: Scheme
    url: str
    host: str = ""
    origin: str = ""
    username: str = ""

    def __str__(self) -> str:
        return self.url

    @property
    def is_this_machine(self) -> bool:
        if self.scheme.is_local or self.host == "localhost":
            return True
        try:
            return ipaddress.ip_address(self.host).is_loopback
        except ValueError:
            return False


def parse_address(text: str, here: Path) -> RemoteAddress:
    """A path is taken from `here`. Raises AddressError, whose text never repeats a credential."""
    if not text or not text.isprintable() or text != text.strip():
        raise AddressError("the address of the repo is empty or contains blanks", "give a path or a URL")
    if text.startswith("-"):
        raise AddressError("the address of the repo looks like an option", "give a path or a URL")
    if "://" in text:
        return _url(text)
    if re.match(r"[A-Za-z0-9]+::", text):
        raise AddressError(f"{text.partition('::')[0]}:: addresses run a program", SUPPORTED)
    scp = SCP_LIKE.fullmatch(text)
    if scp is None or text.startswith(("/", ".", "~")):
        return RemoteAddress(Scheme.PATH, str((here / Path(text).expanduser()).resolve()))
    host = scp["host"].strip("[]")
    if host.startswith("-") or (scp["user"] or "").startswith("-"):
        raise AddressError("the host looks like an option", "write user@host:path")
    return RemoteAddress(Scheme.SSH, text, host)


def _url(text: str) -> RemoteAddress:
    try:
        parts = urlsplit(text)
        port = parts.port
    except ValueError:
        raise AddressError("the URL of the repo is not well formed", "check host and port") from None
    if parts.scheme not in ("file", "ssh", "http", "https"):
        raise AddressError(f"{parts.scheme}:// is not supported", SUPPORTED)
    scheme = Scheme(parts.scheme)
    if parts.password is not None:
        raise AddressError(
            f"the {scheme}:// URL of the repo contains a password",
            "remove it and give it in a file or in the environment: see docs/git.md",
        )
    if scheme is Scheme.FILE:
        if parts.netloc not in ("", "localhost"):
            raise AddressError("a file:// URL cannot name a host", "write file:///path, or use ssh://")
        return RemoteAddress(scheme, text)
    host = parts.hostname or ""
    if not host or host.startswith("-") or (parts.username or "").startswith("-"):
        raise AddressError("the URL of the repo names no host", f"write {scheme}://host/path")
    if scheme is Scheme.SSH:
        return RemoteAddress(scheme, text, host)
    return _web(scheme, parts, host, port)


def _web(scheme: Scheme, parts: SplitResult, host: str, port: int | None) -> RemoteAddress:
    if parts.query or parts.fragment:
        raise AddressError(
            "the URL of the repo has a query",
            "remove everything after ? or #; for credentials see docs/git.md",
        )
    place = f"[{host}]" if ":" in host else host
    if port is not None:
        place += f":{port}"
    origin = f"{scheme}://{place}"
    return RemoteAddress(scheme, origin + parts.path, host, origin, unquote(parts.username or ""))
