"""/metrics and /healthz, asked over a real socket."""

import json
import socket
from collections.abc import Iterator
from urllib.error import HTTPError
from urllib.request import urlopen

import pytest

from reconciler.loop.health import Health, HealthCause, HealthProblem
from reconciler.loop.http_server import HttpServer
from reconciler.loop.webhook import Webhook


class Site:
    def __init__(self) -> None:
        self.health = Health(True, "wrote 1f2e")
        self.is_live = True
        self.listener = HttpServer(
            "127.0.0.1", 0, lambda: b"gitvirt_pending_approvals 1.0\n", lambda: self.health
        )
        self.listener.is_live = lambda: self.is_live

    def get(self, path: str) -> tuple[int, bytes]:
        try:
            with urlopen(f"http://{self.listener.address}{path}", timeout=60) as answer:
                return answer.status, answer.read()
        except HTTPError as error:
            with error:
                return error.code, error.read()


@pytest.fixture
def site() -> Iterator[Site]:
    site = Site()
    with site.listener:
        yield site


def test_metrics(site: Site) -> None:
    assert site.get("/metrics?x=1") == (200, b"gitvirt_pending_approvals 1.0\n")


def test_health(site: Site) -> None:
    status, body = site.get("/healthz")
    assert (status, json.loads(body)) == (200, {"ok": True, "reason": "wrote 1f2e", "problems": []})
    held = HealthProblem(HealthCause.SOURCE_HELD, "main was force-pushed", "Gitvirt-Approve: 1f2e")
    site.health = Health(False, "main was force-pushed, 1m30s ago", (held,))
    status, body = site.get("/healthz")
    assert (status, json.loads(body)) == (
        503,
        {
            "ok": False,
            "reason": "main was force-pushed, 1m30s ago",
            "problems": [
                {"cause": "SourceHeld", "message": "main was force-pushed", "cure": "Gitvirt-Approve: 1f2e"}
            ],
        },
    )


def test_a_probe_that_restarts_asks_whether_ticks_end_and_nothing_else(site: Site) -> None:
    site.health = Health(False, "main was force-pushed")
    assert site.get("/livez") == (200, b'{"ok": true}\n')
    site.is_live = False
    assert site.get("/livez") == (503, b'{"ok": false}\n')


def test_anything_else_is_not_there(site: Site) -> None:
    assert site.get("/")[0] == 404


def test_a_client_that_sends_nothing_delays_no_other(site: Site) -> None:
    host, _, port = site.listener.address.rpartition(":")
    with socket.create_connection((host, int(port))):
        assert site.get("/metrics")[0] == 200


def test_an_address_in_use_is_an_error_that_says_so(site: Site) -> None:
    _, _, port = site.listener.address.rpartition(":")
    with pytest.raises(OSError, match="in use"):
        HttpServer("127.0.0.1", int(port), lambda: b"", lambda: site.health)


@pytest.mark.parametrize(
    "begin",
    [b"GET /metrics HTTP/1.1\r\nX: ", b"POST /webhook HTTP/1.1\r\nContent-Length: 1000000\r\n\r\n"],
    ids=["headers", "body"],
)
def test_a_client_that_sends_a_byte_now_and_then_is_hung_up_on(begin: bytes) -> None:
    woken: list[int] = []
    webhook = Webhook(lambda: woken.append(1))
    listener = HttpServer("127.0.0.1", 0, lambda: b"", lambda: Health(True, ""), webhook, seconds=0.5)
    host, _, port = listener.address.rpartition(":")
    with listener, socket.create_connection((host, int(port)), timeout=0.05) as line:
        line.sendall(begin)
        for _ in range(1000):
            try:
                line.sendall(b"x")
                if not line.recv(65536):
                    break
            except TimeoutError:
                continue
            except ConnectionError:
                break
        else:
            pytest.fail("it is still heard")
    assert not woken
