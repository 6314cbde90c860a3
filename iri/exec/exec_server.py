"""Serves consoles to whoever has a ticket: HTTP, upgraded to a WebSocket or to SPDY/3.1.

Theory of operation. Exec answers with a URL; opening it is a second connection, which proves nothing but the ticket in
its path. The steps, and what each refuses:

    step                       refused when                                     answer
    `offer` issues a ticket    another session is on; too many tickets          an IRIError of Exec
    a connection               CONNECTIONS are open                             closed
    GET or POST /exec/TOKEN    no complete request within OPEN_SECONDS          closed
                               not HTTP                                         400
                               another path; a wrong token                      404
                               no upgrade, or none to a protocol of consoles    426, 403; the ticket stays valid
                               another session is on                            409; the ticket is spent
    the ticket is redeemed     it was used, or is older than a minute           404
    the session begins         another one came first; the console fails        a status

The session is checked twice, because another client may come between the upgrade and the start. Each connection has a
thread; a session has two more (attached_session).

Must never happen: a ticket attaches twice; two sessions are at one machine; a URL or a byte of a session is logged,
because a URL is a key and a console shows passwords; a connection that does nothing is kept.
"""

from __future__ import annotations

import contextlib
import logging
import os
import select
import socket
import threading
import time
from collections.abc import Callable

from iri import errors
from iri.exec import channels
from iri.exec.admission import Admission, Admitted
from iri.exec.attached_session import AttachedSession
from iri.exec.console_connection import FAREWELL_SECONDS, ConsoleConnection, Patience, drain
from iri.exec.console_protocol import ClientEvent, ClientLeft
from iri.exec.sessions import Sessions
from iri.exec.streaming_address import StreamingAddress
from iri.exec.tickets import Ticket, Tickets
from iri.exec.upgrade_request import HEAD_END, HEAD_LIMIT_BYTES
from iri.runtime import Console

log = logging.getLogger(__name__)

OPEN_SECONDS = 5.0
STOP_SECONDS = 5.0  # until clients have got the reason, and until all threads have ended
CONNECTIONS = 512
BACKLOG = 128
# When the process has no descriptor left for another connection.
ACCEPT_PAUSE_MS = 1000.0


class ExecServer:
    """Start it, `offer` URLs, stop it."""

    def __init__(
        self,
        sessions: Sessions | None = None,
        tickets: Tickets | None = None,
        address: StreamingAddress | None = None,
        patience: Patience | None = None,
    ) -> None:
        self._sessions = sessions or Sessions()
        self._tickets = tickets or Tickets()
        self._streaming = address or StreamingAddress()
        self._patience = patience or Patience()
        self._admission = Admission(self._tickets, self._sessions, self._streaming.path)
        self._listener: socket.socket | None = None
        self._thread: threading.Thread | None = None
        self._wake_reader = self._wake_writer = -1
        self._connections: set[socket.socket] = set()
        self._changed = threading.Condition()

    def start(self) -> None:
        """Binds the address. StartupError when that is not possible."""
        host, port = self._streaming.host, self._streaming.port
        try:
            family = socket.AF_INET6 if ":" in host else socket.AF_INET
            self._listener = socket.create_server((host, port), family=family, backlog=BACKLOG)
        except OSError as error:
            cause = f"cannot serve consoles at {host} port {port}: {error.strerror}"
            raise errors.StartupError(cause, "choose another --streaming-address") from None
        self._listener.setblocking(False)
        self._wake_reader, self._wake_writer = os.pipe()
        self._thread = threading.Thread(
            target=self._accept, args=(self._listener,), name="exec-accept", daemon=True
        )
        self._thread.start()

    def stop(self) -> None:
        """Ends every session, with a status that names the reason."""
        if self._listener is None or self._thread is None:
            return
        self._sessions.end_all(STOP_SECONDS)
        os.write(self._wake_writer, b"x")
        self._thread.join()
        for descriptor in (self._wake_reader, self._wake_writer):
            os.close(descriptor)
        self._listener.close()
        with self._changed:
            # Clients that have got the reason leave by themselves.
            self._changed.wait_for(lambda: not self._connections, FAREWELL_SECONDS)
            for connection in self._connections:
                with contextlib.suppress(OSError):
                    connection.shutdown(socket.SHUT_RDWR)
            self._changed.wait_for(lambda: not self._connections, STOP_SECONDS)
        self._listener = self._thread = None

    @property
    def address(self) -> tuple[str, int]:
        """Host and port; only after `start`."""
        assert self._listener is not None, "call start() first"
        host, port = self._listener.getsockname()[:2]
        return host, port

    def offer(self, machine_id: str, open_console: Callable[[], Console]) -> str:
        """A URL that attaches to the machine's console once, within a minute."""
        base = self._streaming.url(self.address[1])
        refusal = self._sessions.refusal(machine_id)
        if refusal:
            raise errors.FailedPrecondition(refusal)
        token = self._tickets.issue(machine_id, open_console, time.monotonic())
        if token is None:
            raise errors.ResourceExhausted(
                "too many console URLs were requested and not used; try again in a minute"
            )
        return f"{base}{Admission.PATH}{token}"

    def _accept(self, listener: socket.socket) -> None:
        """Until `stop`. A process without a free descriptor accepts again later."""
        poll, stop = select.poll(), select.poll()
        for each in (poll, stop):
            each.register(self._wake_reader, select.POLLIN)
        poll.register(listener, select.POLLIN)
        while self._wake_reader not in dict(poll.poll()):
            try:
                line, _ = listener.accept()
            except (BlockingIOError, ConnectionAbortedError):
                continue
            except OSError as error:
                log.warning("no console can be opened now: %s", error.strerror)
                stop.poll(ACCEPT_PAUSE_MS)
                continue
            self._begin(line)

    def _begin(self, line: socket.socket) -> None:
        with self._changed:
            if len(self._connections) >= CONNECTIONS:
                line.close()
                return
            self._connections.add(line)
        try:
            threading.Thread(target=self._serve, args=(line,), name="exec-session", daemon=True).start()
        except RuntimeError as error:  # no thread is left; others go on
            log.warning("no console can be opened now: %s", error)
            line.close()
            with self._changed:
                self._connections.discard(line)

    def _serve(self, line: socket.socket) -> None:
        """A connection from its first byte to its last."""
        try:
            line.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)  # keys are echoed one by one
            head, rest = read_head(line)
            admitted = self._admission.decide(head) if head else b""
            if isinstance(admitted, Admitted):
                self._run(line, admitted, rest)
            elif admitted:
                line.sendall(admitted)
        except OSError:
            log.debug("a client disconnected before its console was attached")
        finally:
            with contextlib.suppress(OSError):
                line.shutdown(socket.SHUT_WR)
                drain(line, FAREWELL_SECONDS)
            line.close()
            with self._changed:
                self._connections.discard(line)
                self._changed.notify_all()

    def _run(self, line: socket.socket, admitted: Admitted, rest: bytes) -> None:
        """The machine's session is free again before the connection is closed."""
        machine_id = admitted.ticket.machine_id
        line.sendall(admitted.response)
        connection = ConsoleConnection(line, admitted.protocol, self._patience)
        early = [*connection.feed(rest), *connection.await_ready()]
        if ClientLeft() in early:
            connection.send_status(channels.encode_failure("the client opened no console in time"))
            return
        # Checked again: between the upgrade and here another client may have come first.
        with self._sessions.reserve(machine_id) as refusal:
            if refusal:
                connection.send_status(channels.encode_failure(refusal))
            else:
                self._attach(connection, admitted.ticket, early)
        connection.linger()

    def _attach(self, connection: ConsoleConnection, ticket: Ticket, early: list[ClientEvent]) -> None:
        """Opens the console only now: a URL that is never used costs nothing."""
        try:
            console = ticket.open_console()
            self._sessions.attach(ticket.machine_id, console)
            log.info("console attached machine=%s", ticket.machine_id)
            with contextlib.closing(console):
                AttachedSession(connection, console, self._stop_reason).run(early)
        except errors.IRIError as error:
            connection.send_status(channels.encode_failure(str(error)))
        except Exception:
            log.exception("console failed machine=%s", ticket.machine_id)
            reason = "the console failed; the runtime's log has the error"
            connection.send_status(channels.encode_failure(reason))

    def _stop_reason(self) -> str:
        return "the runtime is stopping" if self._sessions.is_ended else ""


def read_head(line: socket.socket) -> tuple[bytes, bytes]:
    """A request up to the end of its headers, and what came after it. Both empty when it is not complete in time, or too long."""
    deadline, received = time.monotonic() + OPEN_SECONDS, b""
    while HEAD_END not in received:
        left = deadline - time.monotonic()
        if left <= 0 or len(received) > HEAD_LIMIT_BYTES:
            return b"", b""
        line.settimeout(left)
        data = line.recv(HEAD_LIMIT_BYTES)
        if not data:
            return b"", b""
        received += data
    head, end, rest = received.partition(HEAD_END)
    return head + end, rest
