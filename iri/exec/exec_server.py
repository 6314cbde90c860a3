"""Serves consoles to whoever holds a ticket: HTTP on loopback, upgraded to a WebSocket.

A ticket is spent by the upgrade, not by a plain GET, which is told what to do instead. URLs and bytes are never
logged: a URL is a key.
"""

from __future__ import annotations

import logging
import threading
import time
import weakref
from collections.abc import Callable
from http import HTTPStatus

from websockets.exceptions import ConnectionClosed
from websockets.http11 import Request, Response
from websockets.sync.server import Server, ServerConnection, serve
from websockets.typing import Subprotocol

from iri import errors
from iri.exec import channels
from iri.exec.channels import Channel, ProtocolError
from iri.exec.sessions import Sessions
from iri.exec.tickets import Ticket, Tickets
from iri.runtime import Console

log = logging.getLogger(__name__)

PATH = "/exec/"
CHUNK_BYTES = 32 * 1024
OPEN_SECONDS = 5.0
FAREWELL_SECONDS = 1.0
PROTOCOL_ERROR = 1002


class ExecServer:
    """Start it, `offer` URLs, stop it. Listens on loopback only: the URL is all the proof it asks for."""

    def __init__(
        self, port: int = 0, sessions: Sessions | None = None, tickets: Tickets | None = None
    ) -> None:
        self._port = port
        self._sessions = sessions or Sessions()
        self._tickets = tickets or Tickets()
        # Weak: a client may hang up between the ticket and the session, and nobody tells us.
        self._granted: weakref.WeakKeyDictionary[ServerConnection, Ticket] = weakref.WeakKeyDictionary()
        self._server: Server | None = None
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        self._server = serve(
            self._session,
            "127.0.0.1",
            self._port,
            subprotocols=[Subprotocol(channels.PROTOCOL)],
            process_request=self._admit,
            compression=None,
            max_size=channels.MESSAGE_LIMIT_BYTES,
            open_timeout=OPEN_SECONDS,
            close_timeout=OPEN_SECONDS,
            server_header="gitvirt",
            logger=_silent(),
        )
        self._thread = threading.Thread(target=self._server.serve_forever, name="exec-accept", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Ends the sessions that are on."""
        if self._server is None or self._thread is None:
            return
        self._sessions.end(FAREWELL_SECONDS)
        self._server.shutdown()
        self._thread.join()
        self._server = self._thread = None

    @property
    def address(self) -> tuple[str, int]:
        assert self._server is not None, "start() it first"
        host, port = self._server.socket.getsockname()[:2]
        return host, port

    def offer(self, machine_id: str, open_console: Callable[[], Console]) -> str:
        """A URL that attaches to the machine's console, once, within a minute."""
        host, port = self.address
        refusal = self._sessions.refusal(machine_id)
        if refusal:
            raise errors.FailedPrecondition(refusal)
        token = self._tickets.issue(machine_id, open_console, time.monotonic())
        if token is None:
            raise errors.ResourceExhausted("too many consoles were asked for and not opened; try in a minute")
        return f"http://{host}:{port}{PATH}{token}"

    def _admit(self, connection: ServerConnection, request: Request) -> Response | None:
        if not request.path.startswith(PATH):
            return connection.respond(HTTPStatus.NOT_FOUND, "there are consoles only, under /exec/TOKEN\n")
        if not _speaks_our_protocol(request):
            text = f"a console speaks WebSocket, subprotocol {channels.PROTOCOL}\n"
            response = connection.respond(HTTPStatus.UPGRADE_REQUIRED, text)
            response.headers["Upgrade"] = "websocket"
            return response
        ticket = self._tickets.redeem(request.path[len(PATH) :], time.monotonic())
        if ticket is None:
            text = "this URL was used already, or is older than a minute: ask for another\n"
            return connection.respond(HTTPStatus.NOT_FOUND, text)
        refusal = self._sessions.refusal(ticket.machine_id)
        if refusal:
            return connection.respond(HTTPStatus.CONFLICT, refusal + "\n")
        self._granted[connection] = ticket
        return None

    def _session(self, connection: ServerConnection) -> None:
        ticket = self._granted.pop(connection)
        try:
            # Asked again: between the upgrade and here another may have come first.
            with self._sessions.entered(ticket.machine_id) as refusal:
                if refusal:
                    connection.send(channels.encode_failure(refusal))
                else:
                    self._attach(connection, ticket)
        except ConnectionClosed:
            log.debug("console left machine=%s", ticket.machine_id)
        except Exception:
            log.exception("console failed machine=%s", ticket.machine_id)
            raise

    def _attach(self, connection: ServerConnection, ticket: Ticket) -> None:
        try:
            console = ticket.open_console()
        except errors.IRIError as error:
            connection.send(channels.encode_failure(str(error)))
            return
        self._sessions.attached(ticket.machine_id, console)
        log.info("console attached machine=%s", ticket.machine_id)
        output = threading.Thread(
            target=self._send_output, args=(connection, console), name="exec-output", daemon=True
        )
        output.start()
        try:
            _take_input(connection, console)
        finally:
            console.close()
            output.join()

    def _send_output(self, connection: ServerConnection, console: Console) -> None:
        """Until the console ends; its exit status is the last thing said."""
        try:
            connection.send(
                channels.encode_message(Channel.STDOUT)
            )  # tells a client that the console is attached
            while data := console.read(CHUNK_BYTES):
                connection.send(channels.encode_message(Channel.STDOUT, data))
            if self._sessions.is_over:
                connection.send(channels.encode_failure("the runtime is stopping"))
            else:
                connection.send(channels.encode_end(console.exit_status()))
            connection.close()
        except ConnectionClosed:
            console.close()


def _speaks_our_protocol(request: Request) -> bool:
    offered = ",".join(request.headers.get_all("Sec-WebSocket-Protocol")).split(",")
    upgrade = ",".join(request.headers.get_all("Upgrade")).lower()
    return upgrade == "websocket" and channels.PROTOCOL in {name.strip() for name in offered}


def _take_input(connection: ServerConnection, console: Console) -> None:
    try:
        for received in connection:
            channel, data = channels.split_message(received)
            if channel is Channel.STDIN:
                console.write(data)
            elif channel is Channel.RESIZE:
                console.resize(*channels.decode_resize(data))
    except ProtocolError as error:
        connection.close(PROTOCOL_ERROR, str(error))


def _silent() -> logging.Logger:
    """The library logs request lines and tracebacks of clients that hang up; a request line holds the ticket."""
    logger = logging.getLogger("iri.exec.websocket")
    logger.propagate = False
    logger.setLevel(logging.CRITICAL + 1)
    return logger
