"""Serves consoles to whoever has a ticket: HTTP on the loopback interface, upgraded to a WebSocket.

Theory of operation. Exec answers with a URL; opening it is a second connection, which proves nothing but the ticket in
its path. The steps, and what each refuses:

    step                       refused when                                   answer
    `offer` issues a ticket    another session is on; too many tickets        an IRIError of Exec
    GET /exec/TOKEN            another path; a wrong token                    404
                               no WebSocket upgrade, or another subprotocol   426, and the ticket stays valid
                               another session is on                          409; the ticket is spent
    the ticket is redeemed     it was used, or is older than a minute         404
    the session begins         another one came first; the console fails      a status message, then close

The session is checked twice, because another client may come between the upgrade and the start. Two threads serve a
session: one copies the console's output to the client, the other the client's input to the console. Output ends first in
an ordinary session, and its last message is the exit status.

Must never happen: a ticket attaches twice; two sessions are at one machine; a URL or a byte of a session is logged,
because a URL is a key and a console shows passwords.
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
    """Start it, `offer` URLs, stop it. Listens on loopback only, because the URL is the only proof of the right to attach."""

    def __init__(self, sessions: Sessions | None = None, tickets: Tickets | None = None) -> None:
        self._sessions = sessions or Sessions()
        self._tickets = tickets or Tickets()
        # Weak: a client may disconnect between upgrade and session, and no callback reports that.
        self._granted: weakref.WeakKeyDictionary[ServerConnection, Ticket] = weakref.WeakKeyDictionary()
        self._server: Server | None = None
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        """Binds a free port of the loopback interface."""
        self._server = serve(
            self._session,
            "127.0.0.1",
            0,
            subprotocols=[Subprotocol(channels.PROTOCOL)],
            process_request=self._admit,
            compression=None,
            max_size=channels.MESSAGE_LIMIT_BYTES,
            open_timeout=OPEN_SECONDS,
            close_timeout=OPEN_SECONDS,
            server_header="gitvirt",
            logger=_silent_logger(),
        )
        self._thread = threading.Thread(target=self._server.serve_forever, name="exec-accept", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Ends every session, with a status that names the reason."""
        if self._server is None or self._thread is None:
            return
        self._sessions.end_all(FAREWELL_SECONDS)
        self._server.shutdown()
        self._thread.join()
        self._server = self._thread = None

    @property
    def address(self) -> tuple[str, int]:
        """Host and port; only after `start`."""
        assert self._server is not None, "call start() first"
        host, port = self._server.socket.getsockname()[:2]
        return host, port

    def offer(self, machine_id: str, open_console: Callable[[], Console]) -> str:
        """A URL that attaches to the machine's console once, within a minute."""
        host, port = self.address
        refusal = self._sessions.refusal(machine_id)
        if refusal:
            raise errors.FailedPrecondition(refusal)
        token = self._tickets.issue(machine_id, open_console, time.monotonic())
        if token is None:
            raise errors.ResourceExhausted(
                "too many console URLs were requested and not used; try again in a minute"
            )
        return f"http://{host}:{port}{PATH}{token}"

    def _admit(self, connection: ServerConnection, request: Request) -> Response | None:
        """Decides about the upgrade; None accepts it. A ticket is redeemed only for a correct request."""
        if not request.path.startswith(PATH):
            return connection.respond(
                HTTPStatus.NOT_FOUND, "only consoles are served here, under /exec/TOKEN\n"
            )
        if not _offers_protocol(request):
            text = f"a console needs a WebSocket with subprotocol {channels.PROTOCOL}\n"
            response = connection.respond(HTTPStatus.UPGRADE_REQUIRED, text)
            response.headers["Upgrade"] = "websocket"
            return response
        ticket = self._tickets.redeem(request.path[len(PATH) :], time.monotonic())
        if ticket is None:
            text = "this URL was used already, or is older than a minute: request another one\n"
            return connection.respond(HTTPStatus.NOT_FOUND, text)
        refusal = self._sessions.refusal(ticket.machine_id)
        if refusal:
            return connection.respond(HTTPStatus.CONFLICT, refusal + "\n")
        self._granted[connection] = ticket
        return None

    def _session(self, connection: ServerConnection) -> None:
        """Runs in a thread of its own, for as long as the session lasts."""
        ticket = self._granted.pop(connection)
        try:
            # Checked again: between the upgrade and here another client may have come first.
            with self._sessions.reserve(ticket.machine_id) as refusal:
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
        """Opens the console only now: a URL that is never used costs nothing."""
        try:
            console = ticket.open_console()
        except errors.IRIError as error:
            connection.send(channels.encode_failure(str(error)))
            return
        self._sessions.attach(ticket.machine_id, console)
        log.info("console attached machine=%s", ticket.machine_id)
        output = threading.Thread(
            target=self._send_output, args=(connection, console), name="exec-output", daemon=True
        )
        output.start()
        try:
            _copy_input(connection, console)
        finally:
            console.close()
            output.join()

    def _send_output(self, connection: ServerConnection, console: Console) -> None:
        """Copies output until the console ends; the last message is its exit status."""
        try:
            connection.send(
                channels.encode_message(Channel.STDOUT)
            )  # tells a client that the console is attached
            while data := console.read(CHUNK_BYTES):
                connection.send(channels.encode_message(Channel.STDOUT, data))
            if self._sessions.is_ended:
                connection.send(channels.encode_failure("the runtime is stopping"))
            else:
                connection.send(channels.encode_end(console.exit_status()))
            connection.close()
        except ConnectionClosed:
            console.close()


def _offers_protocol(request: Request) -> bool:
    """Clients may offer several subprotocols, in one header or in several."""
    offered = ",".join(request.headers.get_all("Sec-WebSocket-Protocol")).split(",")
    upgrade = ",".join(request.headers.get_all("Upgrade")).lower()
    return upgrade == "websocket" and channels.PROTOCOL in {name.strip() for name in offered}


def _copy_input(connection: ServerConnection, console: Console) -> None:
    """Copies keys and window sizes until the client leaves; channels that are the server's are ignored."""
    try:
        for received in connection:
            channel, data = channels.split_message(received)
            if channel is Channel.STDIN:
                console.write(data)
            elif channel is Channel.RESIZE:
                console.resize(*channels.decode_resize(data))
    except ProtocolError as error:
        connection.close(PROTOCOL_ERROR, str(error))


def _silent_logger() -> logging.Logger:
    """The library logs request lines and tracebacks when clients disconnect; a request line contains the ticket."""
    logger = logging.getLogger("iri.exec.websocket")
    logger.propagate = False
    logger.setLevel(logging.CRITICAL + 1)
    return logger
