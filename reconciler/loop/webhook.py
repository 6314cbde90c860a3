"""What a forge sends after a push: look now. Owns who is believed; what the message tells is never read.

With a secret a message must prove that its sender knows it, as GitHub does (and Gitea and Forgejo with it), or GitLab.

A webhook is a hint and never a source of truth: it ends a rest early, and the tick then asks the remote what is there. So a forged, repeated
or lost message can cost a request to the remote, and can change nothing. `Paced` bounds that cost. The body is read for its signature
only and thrown away in pieces, so a large message uses no memory.

Must never happen: a proof compared in a time that depends on the secret; a message that waits for a tick, since forges give up within seconds.
"""

from __future__ import annotations

import hmac
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from hashlib import sha256
from http import HTTPStatus
from typing import NamedTuple, Protocol

SIGNATURE = "X-Hub-Signature-256"  # of the body, by the secret
TOKEN = "X-Gitlab-Token"  # the secret itself
MOST_BYTES = 32 << 20  # forges send at most 25 MiB
CHUNK = 1 << 16
LEAST_SECONDS = 1.0  # from one wake to the next: who floods it must not drive requests to the forge


class Body(Protocol):
    def read(self, most: int, /) -> bytes: ...


class Answer(NamedTuple):
    status: HTTPStatus
    words: str


class Paced:
    """Calls `wake` at once, and then no sooner than `least` seconds later: what comes meanwhile is one call, and none is lost."""

    def __init__(self, wake: Callable[[], None], least: float = LEAST_SECONDS) -> None:
        self._wake, self._least = wake, least
        self._lock = threading.Lock()
        self._last: float | None = None
        self._is_due = False

    def __call__(self) -> None:
        with self._lock:
            if self._is_due:
                return
            self._is_due = True
            pause = 0.0 if self._last is None else self._last + self._least - time.monotonic()
        if pause > 0:
            later = threading.Timer(pause, self._now)
            later.daemon = True
            later.start()
        else:
            self._now()

    def _now(self) -> None:
        """In the caller's thread or the timer's. The lock is free when `wake` is called: that may come back here."""
        with self._lock:
            self._is_due, self._last = False, time.monotonic()
        self._wake()


@dataclass(frozen=True, slots=True)
class Webhook:
    """Without a secret every sender is believed, which is acceptable because a message can only wake."""

    wake: Callable[[], None]
    secret: bytes = b""

    def answer(self, headers: Mapping[str, str], body: Body) -> Answer:
        """The body is read to its end, so that the sender hears the answer, and never kept."""
        headers = {name.lower(): value for name, value in headers.items()}  # proxies write them as they like
        length = headers.get("content-length", "")
        if not (length.isascii() and length.isdigit()):
            return Answer(HTTPStatus.LENGTH_REQUIRED, "Content-Length is required")
        if len(length) > len(str(MOST_BYTES)) or int(length) > MOST_BYTES:
            return Answer(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, "the message is too large")
        signature = hmac.new(self.secret, digestmod=sha256)
        left = int(length)
        while left and (read := body.read(min(left, CHUNK))):
            signature.update(read)
            left -= len(read)
        if left:
            return Answer(HTTPStatus.BAD_REQUEST, "the message ended early")
        if self.secret and not self._is_known(headers, signature.hexdigest()):
            return Answer(
                HTTPStatus.UNAUTHORIZED, f"{SIGNATURE} or {TOKEN} must prove that you know the secret"
            )
        self.wake()
        return Answer(HTTPStatus.ACCEPTED, "looking")

    def _is_known(self, headers: Mapping[str, str], digest: str) -> bool:
        """Of two proofs each must be right. Compared in constant time."""
        proofs = []
        if (given := headers.get(SIGNATURE.lower())) is not None:
            proofs.append(hmac.compare_digest(given.encode(), f"sha256={digest}".encode()))
        if (given := headers.get(TOKEN.lower())) is not None:
            proofs.append(hmac.compare_digest(given.encode(), self.secret))
        return bool(proofs) and all(proofs)
