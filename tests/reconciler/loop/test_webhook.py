"""POST /webhook over a real socket: who knows the secret wakes the loop, and can do no more than that."""

from __future__ import annotations

import hmac
import http.client
import io
import queue
import time
from collections.abc import Iterator, Mapping
from hashlib import sha256

import pytest

from reconciler.loop.health import Health
from reconciler.loop.http_server import HttpServer
from reconciler.loop.webhook import MOST_BYTES, SIGNATURE, TOKEN, Paced, Webhook

pytestmark = pytest.mark.clock

SECRET = b"correct horse"
BODY = b'{"ref": "refs/heads/main"}' * 5000


def sign(body: bytes, secret: bytes = SECRET) -> str:
    return "sha256=" + hmac.new(secret, body, sha256).hexdigest()


class Site:
    def __init__(self, secret: bytes) -> None:
        self.wakes = 0
        webhook = Webhook(self.wake, secret)
        self.listener = HttpServer("127.0.0.1", 0, lambda: b"", lambda: Health(True, ""), webhook)

    def wake(self) -> None:
        self.wakes += 1

    def post(self, body: bytes, headers: Mapping[str, str], path: str = "/webhook") -> tuple[int, str]:
        connection = http.client.HTTPConnection(self.listener.address, timeout=60)
        try:
            connection.request("POST", path, body, dict(headers))
            answer = connection.getresponse()
            return answer.status, answer.read().decode()
        finally:
            connection.close()


@pytest.fixture
def site() -> Iterator[Site]:
    made = Site(SECRET)
    with made.listener:
        yield made


def test_github_proves_it_by_a_signature_of_the_body(site: Site) -> None:
    assert site.post(BODY, {SIGNATURE: sign(BODY)}) == (202, "looking\n")
    assert site.wakes == 1


def test_names_of_headers_are_written_in_any_case(site: Site) -> None:
    assert site.post(BODY, {SIGNATURE.lower(): sign(BODY)})[0] == 202
    assert site.wakes == 1


def test_gitlab_says_the_secret(site: Site) -> None:
    assert site.post(BODY, {TOKEN: SECRET.decode()})[0] == 202
    assert site.wakes == 1


@pytest.mark.parametrize(
    "headers",
    [
        pytest.param({}, id="no proof"),
        pytest.param({SIGNATURE: sign(BODY + b" ")}, id="signature of another body"),
        pytest.param({SIGNATURE: sign(BODY, b"guessed")}, id="signature by another secret"),
        pytest.param({SIGNATURE: sign(BODY).removeprefix("sha256=")}, id="signature of no kind"),
        pytest.param({SIGNATURE: ""}, id="empty signature"),
        pytest.param({TOKEN: "guessed"}, id="another token"),
        pytest.param({TOKEN: ""}, id="empty token"),
        pytest.param({TOKEN: "s\u00e9cret"}, id="a token that is not ASCII"),
        pytest.param({TOKEN: SECRET.decode(), SIGNATURE: sign(b"")}, id="one of two proofs is wrong"),
    ],
)
def test_a_request_without_the_secret_wakes_nothing(site: Site, headers: dict[str, str]) -> None:
    status, words = site.post(BODY, headers)
    assert status == 401
    assert SECRET.decode() not in words
    assert site.wakes == 0


def test_without_a_secret_anybody_wakes() -> None:
    site = Site(b"")
    with site.listener:
        assert site.post(b"", {})[0] == 202
        assert site.post(b"\x00 not json", {})[0] == 202
    assert site.wakes == 2


def test_other_paths_are_not_there(site: Site) -> None:
    assert site.post(b"", {TOKEN: SECRET.decode()}, "/metrics")[0] == 404
    assert site.wakes == 0


def test_without_a_webhook_there_is_none() -> None:
    listener = HttpServer("127.0.0.1", 0, lambda: b"", lambda: Health(True, ""))
    with listener:
        connection = http.client.HTTPConnection(listener.address, timeout=60)
        connection.request("POST", "/webhook", b"")
        assert connection.getresponse().status == 404
        connection.close()


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 411),
        ({"Content-Length": "-1"}, 411),
        ({"Content-Length": "\u0665"}, 411),
        ({"Content-Length": str(MOST_BYTES + 1)}, 413),
        ({"Content-Length": "9" * 5000}, 413),
        ({"Content-Length": "5"}, 400),
    ],
)
def test_a_message_that_is_none(headers: dict[str, str], status: int) -> None:
    woken: list[int] = []
    answer = Webhook(lambda: woken.append(1)).answer(headers, io.BytesIO(b"abc"))
    assert (answer.status, woken) == (status, [])


def test_a_flood_wakes_once_at_once_and_once_more_when_the_pause_is_over() -> None:
    wakes: queue.SimpleQueue[float] = queue.SimpleQueue()
    call = Paced(lambda: wakes.put(time.monotonic()), least=0.5)
    for _ in range(1000):
        call()
    assert wakes.qsize() >= 1
    first, second = wakes.get(timeout=60), wakes.get(timeout=60)
    assert second - first >= 0.5
    call()
    assert wakes.get(timeout=60) - second >= 0.5
