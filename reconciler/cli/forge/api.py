"""Reads a forge's JSON API: GET only, page by page, with an administrator's token.

    the answer                                   becomes
    200 with JSON of the expected form           the value
    404                                          MissingError: there is none, or the token may not see it
    401, 403, 5xx, a redirect, other JSON        UnreadableError, with the reason
    429, or 403 with a rate limit                waited for, as long as the forge says, up to MOST_SECONDS; then UnreadableError

Must never happen: the token is printed, is sent to another host (no redirect is followed, and a next page must be of the same host), or goes over
plain http to another machine.
"""

from __future__ import annotations

import json
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar
from urllib.parse import urljoin, urlsplit

from reconciler.cli.exits import CommandError, Exit
from reconciler.cli.terminal import printable

SECONDS = 30.0
MOST_SECONDS = 60.0  # of waiting for a rate limit, for one call
MOST_PAGES = 100
LARGEST = 16 << 20  # bytes of one answer
Field = TypeVar("Field")

LOCAL = ("localhost", "127.0.0.1", "::1")


class UnreadableError(Exception):
    """Why something could not be read or understood; ends in "cannot tell"."""


class MissingError(UnreadableError):
    """The forge says that there is none."""


class _Redirects(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_: object, **__: object) -> None:
        """None makes the redirect an error: the token stays with the host that it is for."""


def _find_next(link: str) -> str:
    """The address of the next page, of a header `Link: <...>; rel="next", ...`."""
    for part in link.split(","):
        address, _, rest = part.strip().partition(">")
        if 'rel="next"' in rest and address.startswith("<"):
            return address[1:]
    return ""


@dataclass(frozen=True, slots=True)
class Api:
    """`base` ends without a slash; `header` has the token."""

    base: str
    header: tuple[str, str]
    sleep: Callable[[float], None] = time.sleep

    def __post_init__(self) -> None:
        parts = urlsplit(self.base)
        if parts.scheme != "https" and not (parts.scheme == "http" and parts.hostname in LOCAL):
            cause = f"{printable(self.base)} is not an https address"
            raise CommandError(cause, "the token would cross the network in plain text", Exit.USAGE)

    def get(self, path: str) -> Any:
        """The value at a path below the base."""
        return self._get(self.base + path)[0]

    def get_list(self, path: str) -> list[Any]:
        """All pages of a list, or UnreadableError: half a list of rules is none."""
        url = f"{self.base}{path}{'&' if '?' in path else '?'}per_page=100"
        found: list[Any] = []
        for _ in range(MOST_PAGES):
            page, link = self._get(url)
            if not isinstance(page, list):
                raise UnreadableError(f"{path} is not a list")
            found += page
            following = _find_next(link)
            if not following:
                return found
            url = urljoin(url, following)
            if urlsplit(url)[:2] != urlsplit(self.base)[:2]:
                raise UnreadableError(f"the next page of {path} is on another host")
        raise UnreadableError(f"{path} has more than {MOST_PAGES} pages")

    def _get(self, url: str) -> tuple[Any, str]:
        waited = 0.0
        while True:
            try:
                return self._ask(url)
            except urllib.error.HTTPError as error:
                with error:
                    seconds = _wait_of(error)
                    if seconds is None or waited + seconds > MOST_SECONDS:
                        raise _unreadable(url, error, seconds) from None
                waited += max(seconds, 1.0)
                self.sleep(max(seconds, 1.0))
            except (OSError, ValueError) as error:
                raise UnreadableError(f"GET {urlsplit(url).path}: {printable(str(error))}") from None

    def _ask(self, url: str) -> tuple[Any, str]:
        name, value = self.header
        headers = {name: value, "Accept": "application/json", "User-Agent": "gitvirt"}
        request = urllib.request.Request(url, headers=headers)  # noqa: S310 - the scheme was checked
        with urllib.request.build_opener(_Redirects()).open(request, timeout=SECONDS) as answer:
            data = answer.read(LARGEST + 1)
            if len(data) > LARGEST:
                raise UnreadableError(f"GET {urlsplit(url).path}: the answer is too large")
            return json.loads(data), answer.headers.get("Link") or ""


def _wait_of(error: urllib.error.HTTPError) -> float | None:
    """How long the forge asks to wait; None where waiting does not help."""
    if error.code not in (403, 429):
        return None
    headers = error.headers
    if (after := headers.get("Retry-After", "")).isdigit():
        return float(after)
    reset = headers.get("X-RateLimit-Reset") or headers.get("RateLimit-Reset") or ""
    left = headers.get("X-RateLimit-Remaining") or headers.get("RateLimit-Remaining") or ""
    if left == "0" and reset.isdigit():
        return max(0.0, float(reset) - time.time())
    return 1.0 if error.code == 429 else None


def _unreadable(url: str, error: urllib.error.HTTPError, seconds: float | None) -> UnreadableError:
    path = urlsplit(url).path
    match error.code:
        case 404:
            return MissingError(f"GET {path}: 404, there is none, or the token may not see it")
        case 401:
            return UnreadableError(f"GET {path}: 401, the forge does not accept the token")
        case _ if seconds is not None:
            return UnreadableError(
                f"GET {path}: {error.code}, the forge limits the rate of calls; try again later"
            )
        case 403:
            return UnreadableError(
                f"GET {path}: 403, the token needs the rights of an administrator of the repository"
            )
        case code:
            return UnreadableError(f"GET {path}: {code}")


def read_field(value: Any, name: str, type: type[Field]) -> Field:
    """A field of an object in an answer. One that is missing, or of another type, is not taken for false, none or zero."""
    found = value.get(name) if isinstance(value, Mapping) else None
    if isinstance(found, type) and not (type is int and isinstance(found, bool)):
        return found
    raise UnreadableError(f"the field {name} of the answer is missing or has another form")


def read_names(value: Any, name: str) -> frozenset[str]:
    """A field with a list of names; null is an empty list, as forges written in Go print it."""
    if isinstance(value, Mapping) and name in value and value[name] is None:
        return frozenset()
    found = read_field(value, name, list)
    if all(isinstance(each, str) for each in found):
        return frozenset(found)
    raise UnreadableError(f"the field {name} of the answer is not a list of names")
