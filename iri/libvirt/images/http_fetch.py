"""Fetches one resource over HTTP into one file, and continues an interrupted transfer. Knows no images and no cache.

    partial file   its validator   request                    answer            outcome
    none           none            whole                      200               write from the start
    none           cached copy's   whole, if changed          304               nothing is fetched: the cached copy is current
    some bytes     noted           the rest, if unchanged     206               append
    some bytes     noted           the rest, if unchanged     200               it has changed: write from the start
    some bytes     noted           the rest, if unchanged     416               the partial file is of something else: start again
    some bytes     none            whole                      200               write from the start

The validator is an ETag or a Last-Modified date. It is noted before the first byte is written, so that a partial file never has the
validator of other content. Must never happen: bytes of two versions are mixed in one file; credentials go to another host or over
a connection without TLS after a redirect.

    error                          class                 the partial file
    the server is away, or slow    Unavailable           stays: the next attempt continues it
    401, 403, a bad certificate    FailedPrecondition    stays
    404, 410                       NotFound              stays
    too large                      InvalidArgument       the caller discards it
    no space left                  ResourceExhausted     the caller discards it
"""

from __future__ import annotations

import errno
import http.client
import os
import shutil
import ssl
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from email.message import Message
from http import HTTPStatus
from pathlib import Path
from typing import IO, cast

import msgspec

from iri.errors import FailedPrecondition, InvalidArgument, IRIError, NotFound, ResourceExhausted, Unavailable

CHUNK = 1 << 20
READ = (HTTPStatus.NOT_MODIFIED, HTTPStatus.UNAUTHORIZED, HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE)
Progress = Callable[[int, int], None]
"""Takes the bytes fetched and the bytes in total, 0 when the server does not say."""


class FetchLimits(msgspec.Struct, frozen=True):
    """For one transfer. `timeout_seconds`: without a byte, not for the whole."""

    max_bytes: int
    timeout_seconds: float


class Fetched(msgspec.Struct, frozen=True):
    """`is_same`: the server still has what `validator` names, and nothing was fetched."""

    size: int
    validator: str = ""
    is_same: bool = False


class _Redirects(urllib.request.HTTPRedirectHandler):
    """Follows no redirect from TLS to plain HTTP, and sends no credentials to another host."""

    def redirect_request(
        self, req: urllib.request.Request, fp: IO[bytes], code: int, msg: str, headers: http.client.HTTPMessage, newurl: str
    ) -> urllib.request.Request | None:  # fmt: skip
        """Called by urllib for each redirect of a chain."""
        if req.full_url.startswith("https://") and not newurl.startswith("https://"):
            raise FailedPrecondition(f"{_host(req.full_url)} redirects to a URL without TLS")
        redirected = super().redirect_request(req, fp, code, msg, headers, newurl)
        if redirected is not None and _host(newurl) != _host(req.full_url):
            redirected.remove_header("Authorization")
        return redirected


def _host(url: str) -> str:
    """With its port: two ports of one machine are two servers."""
    return urllib.request.Request(url).host or ""  # noqa: S310 -- parsed, not opened


def open_url(
    url: str, headers: Mapping[str, str], timeout_seconds: float, data: bytes | None = None
) -> http.client.HTTPResponse:
    """Returns the response, or raises an IRIError. The caller handles statuses in READ."""
    opener = urllib.request.build_opener(_Redirects)
    request = urllib.request.Request(url, data=data, headers=dict(headers))  # noqa: S310 -- http and https alone
    try:
        response: http.client.HTTPResponse = opener.open(request, timeout=timeout_seconds)
    except urllib.error.HTTPError as error:
        if error.code in READ:
            return cast(http.client.HTTPResponse, error)
        with error:
            raise _refusal(url, error.code) from None
    except urllib.error.URLError as error:
        raise _unreachable(url, error.reason) from None
    except (OSError, http.client.HTTPException) as error:
        raise _unreachable(url, error) from None
    return response


def _refusal(url: str, code: int) -> IRIError:
    """The message names host and path, never the query, which may hold a key."""
    status = f"{code} {http.client.responses.get(code, '')}".rstrip()
    message = f"{_host(url)} answers {status} for {path_of(url)}"
    if code in (HTTPStatus.NOT_FOUND, HTTPStatus.GONE):
        return NotFound(message)
    if code in (HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN):
        return FailedPrecondition(message)
    return Unavailable(message)


def _unreachable(url: str, reason: object) -> IRIError:
    """An untrusted certificate is a matter for a person, so it is not Unavailable, which is retried for ever."""
    if isinstance(reason, ssl.SSLCertVerificationError):
        return FailedPrecondition(f"{_host(url)} is not trusted: {reason.verify_message}")
    return Unavailable(f"{_host(url)} does not answer: {reason}")


def path_of(url: str) -> str:
    """The URL without its query, in which signed URLs have their keys."""
    return url.partition("?")[0]


def fetch(
    url: str,
    into: Path,
    *,
    headers: Mapping[str, str],
    limits: FetchLimits,
    known_validator: str,
    progress: Progress,
) -> Fetched:
    """Fetches what `into` lacks. `known_validator`: that of a cached copy, or empty."""
    fetched_bytes = into.stat().st_size if into.exists() else 0
    note = into.with_name(f"{into.name}.validator")
    validator = note.read_text() if fetched_bytes and note.exists() else ""
    request_headers = {**headers, **_conditions(fetched_bytes, validator, known_validator)}
    with open_url(url, request_headers, limits.timeout_seconds) as response:
        if response.status == HTTPStatus.NOT_MODIFIED:
            return Fetched(0, known_validator, is_same=True)
        if response.status == HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE and fetched_bytes:
            # The server has less than the partial file, so the partial file is of something else.
            into.unlink()
            return fetch(
                url, into, headers=headers, limits=limits, known_validator=known_validator, progress=progress
            )
        if response.status not in (HTTPStatus.OK, HTTPStatus.PARTIAL_CONTENT):
            raise _refusal(url, response.status)
        start = fetched_bytes if _continues(response, fetched_bytes) else 0
        length = response.headers.get("Content-Length", "")
        total = start + int(length) if length.isdigit() else 0
        _refuse_size(total, start, limits, into)
        new_validator = _validator(response.headers)
        with translate_os_errors():
            if not start:
                # Old bytes must never be found beside the validator of new content.
                into.unlink(missing_ok=True)
            note.write_text(new_validator)
        size = _receive(response, into, start, total, limits, progress)
    if total and size < total:
        raise Unavailable(f"{_host(url)} interrupted the transfer after {size} of {total} bytes")
    return Fetched(size, new_validator)


def _conditions(fetched_bytes: int, validator: str, known_validator: str) -> dict[str, str]:
    """The headers of the request's row in the table above."""
    if fetched_bytes and validator:
        return {"Range": f"bytes={fetched_bytes}-", "If-Range": validator}
    if not known_validator:
        return {}
    # An ETag is quoted; else it is a date.
    return {"If-None-Match" if '"' in known_validator else "If-Modified-Since": known_validator}


def _continues(response: http.client.HTTPResponse, fetched_bytes: int) -> bool:
    """Whether the body is the rest of the partial file. A server may answer 206 with another range than the one it was asked for."""
    content_range = response.headers.get("Content-Range", "")
    return response.status == HTTPStatus.PARTIAL_CONTENT and content_range.startswith(
        f"bytes {fetched_bytes}-"
    )


def _validator(headers: Message) -> str:
    """The text by which a server later says whether an image's bytes are still the same: a strong ETag, else the date. A weak ETag does not
    promise the same bytes. Empty: a transfer that broke off begins again."""
    etag = headers.get("ETag", "")
    if etag and not etag.startswith("W/"):
        return str(etag)
    return str(headers.get("Last-Modified", ""))


def _refuse_size(total: int, start: int, limits: FetchLimits, into: Path) -> None:
    """Before the first byte is fetched, where the server says how many there will be. `total` is 0 where it does not."""
    if total > limits.max_bytes:
        raise InvalidArgument(f"the image has {total} bytes; at most {limits.max_bytes} are allowed")
    free = shutil.disk_usage(into.parent).free
    if total - start > free:
        raise ResourceExhausted(f"the image cache is full: {total - start} bytes needed, {free} free")


def _receive(
    response: http.client.HTTPResponse,
    into: Path,
    start: int,
    total: int,
    limits: FetchLimits,
    progress: Progress,
) -> int:
    """Writes behind the bytes that are there. The limit is checked at each piece: a server may send more than it announced."""
    with translate_os_errors(), into.open("r+b" if start else "wb") as file:
        file.seek(start)
        size = start
        while chunk := _read_chunk(response):
            size += len(chunk)
            if size > limits.max_bytes:
                raise InvalidArgument(f"the image has more than the allowed {limits.max_bytes} bytes")
            file.write(chunk)
            progress(size, total)
        file.truncate()
        file.flush()
        os.fsync(file.fileno())
    return size


def _read_chunk(response: http.client.HTTPResponse) -> bytes:
    """What has arrived, up to CHUNK bytes; empty at the end of the body."""
    with translate_interruptions():
        return response.read1(CHUNK)


@contextmanager
def translate_os_errors() -> Iterator[None]:
    """Turns errors of the filesystem into IRIErrors, also those of a late flush or close."""
    try:
        yield
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise ResourceExhausted("the image cache is full: no space left") from None
        raise Unavailable(f"the image cache cannot be used: {error.strerror}") from None


def read(response: http.client.HTTPResponse, limit: int) -> bytes:
    """At most so many bytes of a small body, such as a manifest."""
    with translate_interruptions():
        return response.read(limit)


@contextmanager
def translate_interruptions() -> Iterator[None]:
    """A transfer that breaks off can be continued: Unavailable."""
    try:
        yield
    except (OSError, http.client.HTTPException) as error:
        raise Unavailable(f"the transfer was interrupted: {error or type(error).__name__}") from None


def copy_file(source: Path, into: Path, limits: FetchLimits) -> None:
    """Copies a file of this host, with the same limits."""
    size = source.stat().st_size
    _refuse_size(size, 0, limits, into)
    try:
        with translate_os_errors(), source.open("rb") as file, into.open("wb") as copy:
            while chunk := file.read(CHUNK):
                copy.write(chunk)
            copy.flush()
            os.fsync(copy.fileno())
    except ResourceExhausted:
        into.unlink(missing_ok=True)
        raise
