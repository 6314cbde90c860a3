"""Decides about a request for a console: who may attach, and in which protocol. No socket, no thread.

    request                                         answer
    /exec/TOKEN, with the base URL's path or not    goes on; else 404
    Upgrade: websocket                              one of v5 and v4 of the subprotocol; else 426
    Upgrade: SPDY/3.1                               v4 in X-Stream-Protocol-Version; else 403, with what is accepted
    another upgrade, or none                        426, with both names
    the ticket                                      404 when it was used or is too old; 409 while a session is on

A ticket is redeemed only for a request that is correct otherwise, so a client may try one protocol after the other.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from http import HTTPStatus

from iri.exec import upgrade_request, websocket_protocol
from iri.exec.channels import V4, ProtocolError
from iri.exec.console_protocol import ConsoleProtocol
from iri.exec.sessions import Sessions
from iri.exec.spdy import spdy_protocol
from iri.exec.spdy.spdy_protocol import SpdyProtocol
from iri.exec.tickets import Ticket, Tickets
from iri.exec.upgrade_request import UpgradeRequest, encode_response
from iri.exec.websocket_protocol import WebSocketProtocol

PROTOCOL_HEADER = "X-Stream-Protocol-Version"
ACCEPTED_HEADER = "X-Accepted-Stream-Protocol-Versions"


@dataclass(frozen=True, slots=True)
class Admitted:
    """`response` upgrades the connection; after it, everything is of `protocol`."""

    ticket: Ticket
    protocol: ConsoleProtocol
    response: bytes


class Admission:
    """`base_path` is the path of the base URL, which a proxy may leave in requests."""

    PATH = "/exec/"

    def __init__(self, tickets: Tickets, sessions: Sessions, base_path: str) -> None:
        self._tickets = tickets
        self._sessions = sessions
        self._base_path = base_path

    def decide(self, head: bytes) -> Admitted | bytes:
        """Bytes are the response to a request that is refused."""
        try:
            request = upgrade_request.parse_request(head)
        except ProtocolError as error:
            return encode_response(HTTPStatus.BAD_REQUEST, f"{error}\n")
        path = request.path.removeprefix(self._base_path)
        if not path.startswith(self.PATH):
            return encode_response(HTTPStatus.NOT_FOUND, "only consoles are served here, under /exec/TOKEN\n")
        match choose_protocol(request, head):
            case bytes() as refused:
                return refused
            case protocol, response:
                ticket = self._redeem(path.removeprefix(self.PATH))
                return ticket if isinstance(ticket, bytes) else Admitted(ticket, protocol, response)

    def _redeem(self, token: str) -> Ticket | bytes:
        ticket = self._tickets.redeem(token, time.monotonic())
        if ticket is None:
            text = "this URL was used already, or is older than a minute: request another one\n"
            return encode_response(HTTPStatus.NOT_FOUND, text)
        refusal = self._sessions.refusal(ticket.machine_id)
        if refusal:
            return encode_response(HTTPStatus.CONFLICT, f"{refusal}\n")
        return ticket


def choose_protocol(request: UpgradeRequest, head: bytes) -> tuple[ConsoleProtocol, bytes] | bytes:
    """The protocol and the response that upgrades to it; or the response that refuses."""
    upgrades = {name.lower() for name in request.values("upgrade")}
    if websocket_protocol.UPGRADE in upgrades:
        return _choose_websocket(request, head)
    if spdy_protocol.UPGRADE.lower() in upgrades:
        return _choose_spdy(request)
    text = f"a console needs a WebSocket with subprotocol {_names()}, or SPDY/3.1 with {V4}\n"
    return _require_upgrade(text)


def _choose_websocket(request: UpgradeRequest, head: bytes) -> tuple[ConsoleProtocol, bytes] | bytes:
    if not set(request.values("sec-websocket-protocol")) & set(websocket_protocol.PROTOCOLS):
        return _require_upgrade(f"a console needs a WebSocket with subprotocol {_names()}\n")
    websocket = WebSocketProtocol(head)
    if websocket.refusal:
        return encode_response(HTTPStatus.BAD_REQUEST, f"{websocket.refusal}\n")
    websocket.accept()
    return websocket, websocket.take_outgoing()


def _choose_spdy(request: UpgradeRequest) -> tuple[ConsoleProtocol, bytes] | bytes:
    if V4 not in request.values(PROTOCOL_HEADER.lower()):
        text = f"a console over SPDY needs {PROTOCOL_HEADER}: {V4}\n"
        return encode_response(HTTPStatus.FORBIDDEN, text, {ACCEPTED_HEADER: V4})
    headers = {"Connection": "Upgrade", "Upgrade": spdy_protocol.UPGRADE, PROTOCOL_HEADER: V4}
    return SpdyProtocol(), encode_response(HTTPStatus.SWITCHING_PROTOCOLS, headers=headers)


def _require_upgrade(text: str) -> bytes:
    headers = {"Upgrade": f"{websocket_protocol.UPGRADE}, {spdy_protocol.UPGRADE}"}
    return encode_response(HTTPStatus.UPGRADE_REQUIRED, text, headers)


def _names() -> str:
    return " or ".join(websocket_protocol.PROTOCOLS)
