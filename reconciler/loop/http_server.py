"""/metrics, /healthz, /livez and /webhook over HTTP. Owns the socket and its threads; reads and decides nothing.

Each request has a thread, and a client may not hold one for ever: SECONDS_FOR_A_WORD bounds the silence between two of its bytes, and a
timer ends the connection after the whole time of a request, however slowly it goes on. The loop never waits for a client: metrics and health
are read from other threads while a tick runs, and the webhook only wakes it.

Limits: plain HTTP, without TLS and without accounts. /metrics and /healthz tell no content of the repo beyond counts and the last
error; whoever may not know these must not reach the address.
"""

from __future__ import annotations

import json
import socket
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType

from reconciler.loop.health import Health
from reconciler.loop.webhook import Webhook

SECONDS_FOR_A_WORD = 5  # between two of a client's
SECONDS_FOR_A_REQUEST = 60.0  # from its first to our last
METRICS_TYPE = "text/plain; version=0.0.4; charset=utf-8"


class HttpServer:
    """Serves until closed. Raises OSError when the address cannot be had."""

    def __init__(
        self,
        host: str,
        port: int,
        metrics: Callable[[], bytes],
        health: Callable[[], Health],
        webhook: Webhook | None = None,
        seconds: float = SECONDS_FOR_A_REQUEST,
    ) -> None:
        self.metrics, self.health, self.webhook, self.seconds = metrics, health, webhook, seconds
        self.is_live: Callable[[], bool] = lambda: True  # what /livez asks
        self._server = _Server((host, port), self)
        self._thread = threading.Thread(
            target=self._server.serve_forever, args=(0.1,), name="listen", daemon=True
        )

    @property
    def address(self) -> str:
        host, port = self._server.server_address[:2]
        return f"{host!s}:{port}"

    def __enter__(self) -> HttpServer:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False  # a client that dawdles must not hold up the end of the process

    def __init__(self, address: tuple[str, int], owner: HttpServer) -> None:
        super().__init__(address, _Answers)
        self.owner = owner

    def handle_error(self, request: object, client_address: object) -> None:
        """A client that went away is not worth a line of the log."""
        if not isinstance(sys.exception(), ConnectionError | TimeoutError):
            super().handle_error(request, client_address)  # type: ignore[arg-type]


class _Answers(BaseHTTPRequestHandler):
    server: _Server
    timeout = SECONDS_FOR_A_WORD
    server_version = "gitvirt"
    sys_version = ""

    def setup(self) -> None:
        """Who sends a byte now and then would have a thread for ever."""
        super().setup()
        self._end = threading.Timer(self.server.owner.seconds, self._hang_up)
        self._end.daemon = True
        self._end.start()

    def finish(self) -> None:
        self._end.cancel()
        super().finish()

    def _hang_up(self) -> None:
        with suppress(OSError):  # it has gone
            self.connection.shutdown(socket.SHUT_RDWR)

    def do_GET(self) -> None:
        match self.path.partition("?")[0]:
            case "/metrics":
                self._answer(HTTPStatus.OK, METRICS_TYPE, self.server.owner.metrics())
            case "/healthz":
                found = self.server.owner.health()
                problems = [each._asdict() for each in found.problems]
                self._answer_health(found.is_well, reason=found.words, problems=problems)
            case "/livez":
                self._answer_health(self.server.owner.is_live())
            case _:
                self._answer(HTTPStatus.NOT_FOUND, "text/plain", b"there are /metrics, /healthz and /livez\n")

    def _answer_health(self, is_well: bool, **more: object) -> None:
        status = HTTPStatus.OK if is_well else HTTPStatus.SERVICE_UNAVAILABLE
        self._answer(status, "application/json", json.dumps({"ok": is_well, **more}).encode() + b"\n")

    def do_POST(self) -> None:
        webhook = self.server.owner.webhook
        if webhook is None or self.path.partition("?")[0] != "/webhook":
            self._answer(
                HTTPStatus.NOT_FOUND, "text/plain", b"there is /webhook to post to, where it is on\n"
            )
            return
        try:
            status, words = webhook.answer(dict(self.headers.items()), self.rfile)
        except OSError:  # whoever it was says nothing any more
            self.close_connection = True
            return
        self._answer(status, "text/plain", words.encode() + b"\n")

    def _answer(self, status: HTTPStatus, kind: str, body: bytes) -> None:
        """The whole answer at once, with its length: a client need not wait for the connection to end."""
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Scrapes are not worth a line of the log."""
