"""The server of consoles with a bare WebSocket client: what it admits, streams, refuses and ends."""

from __future__ import annotations

import contextlib
import http.client
import threading
from collections.abc import Iterator
from urllib.parse import urlsplit

import pytest
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import ClientConnection, connect
from websockets.typing import Subprotocol

from iri import errors
from iri.exec import channels
from iri.exec.channels import Channel
from iri.exec.exec_server import ExecServer
from iri.exec.sessions import Sessions
from iri.exec.tickets import Tickets
from iri.exec.websocket import websocket_url
from iri.runtime import Console
from tests.iri.exec.shell_console import process_console


@pytest.fixture
def server() -> Iterator[ExecServer]:
    server = ExecServer()
    server.start()
    yield server
    server.stop()


def open_session(url: str, protocol: str = channels.PROTOCOL) -> ClientConnection:
    return connect(
        websocket_url(url),
        subprotocols=[Subprotocol(protocol)],
        proxy=None,
        compression=None,
        open_timeout=60,
    )


def cat() -> Console:
    return process_console("cat")


def until(connection: ClientConnection, wanted: bytes) -> bytes:
    answer = b""
    while wanted not in answer:
        channel, data = channels.split_message(connection.recv(timeout=60))
        assert channel is Channel.STDOUT, (channel, data, answer)
        answer += data
    return answer


def await_attached(connection: ClientConnection) -> None:
    assert connection.recv(timeout=60) == channels.encode_message(Channel.STDOUT)


def the_end(connection: ClientConnection) -> tuple[bytes, tuple[int, str]]:
    """The output before the status, and the status; nothing may follow it."""
    answer = b""
    while True:
        channel, data = channels.split_message(connection.recv(timeout=60))
        if channel is Channel.STATUS:
            with pytest.raises(ConnectionClosed):
                connection.recv(timeout=60)
            return answer, channels.decode_status(data)
        answer += data


def answer(url: str, method: str = "GET", headers: dict[str, str] | None = None) -> tuple[int, str]:
    parts = urlsplit(url)
    connection = http.client.HTTPConnection(parts.netloc, timeout=60)
    connection.request(method, parts.path, headers=headers or {})
    response = connection.getresponse()
    body = response.read().decode()
    connection.close()
    return response.status, body


def test_keys_reach_the_console_and_output_comes_back(server: ExecServer) -> None:
    with open_session(server.offer("m1", cat)) as connection:
        await_attached(connection)
        connection.send(channels.encode_message(Channel.STDIN, b"hello\n"))
        until(connection, b"hello\r\nhello\r\n")
        connection.send(channels.encode_message(Channel.STDIN, b"\x04"))
        assert the_end(connection)[1] == (0, "")


def test_the_exit_status_arrives(server: ExecServer) -> None:
    with open_session(
        server.offer("m1", lambda: process_console("sh", "-c", "echo bye; exit 7"))
    ) as connection:
        assert the_end(connection) == (b"bye\r\n", (7, ""))


def test_a_resize_reaches_the_pty(server: ExecServer) -> None:
    program = "trap 'stty size; exit' WINCH; echo ready; while :; do sleep 0.05; done"
    with open_session(server.offer("m1", lambda: process_console("sh", "-c", program))) as connection:
        until(connection, b"ready")
        connection.send(channels.encode_resize(132, 43))
        until(connection, b"43 132")


def test_control_characters_act_on_the_guest(server: ExecServer) -> None:
    program = "trap 'echo interrupted; exit 5' INT; echo ready; while :; do sleep 0.05; done"
    with open_session(server.offer("m1", lambda: process_console("sh", "-c", program))) as connection:
        until(connection, b"ready")
        connection.send(channels.encode_message(Channel.STDIN, b"\x03"))
        answer, status = the_end(connection)
        assert b"interrupted" in answer
        assert status == (5, "")


def test_much_output_arrives_whole(server: ExecServer) -> None:
    with open_session(server.offer("m1", lambda: process_console("sh", "-c", "seq 100000"))) as connection:
        answer, status = the_end(connection)
    assert answer == b"".join(b"%d\r\n" % number for number in range(1, 100_001))
    assert status == (0, "")


def test_a_url_is_valid_once(server: ExecServer) -> None:
    url = server.offer("m1", cat)
    with open_session(url):
        with pytest.raises(InvalidStatus) as refused:
            open_session(url)
        assert refused.value.response.status_code == 404
        assert b"request another" in (refused.value.response.body or b"")


def test_a_plain_request_learns_the_protocol_and_keeps_its_ticket(server: ExecServer) -> None:
    url = server.offer("m1", cat)
    status, body = answer(url)
    assert status == 426
    assert channels.PROTOCOL in body
    status, _ = answer(url, headers={"Upgrade": "SPDY/3.1", "Connection": "Upgrade"})
    assert status == 426
    with pytest.raises(InvalidStatus):
        open_session(url, protocol="chat")
    with open_session(url):
        pass


@pytest.mark.parametrize("path", ["/", "/exec", "/exec/", "/exec/made-up", "/exec/..", "/metrics"])
def test_every_other_path_is_not_found(server: ExecServer, path: str) -> None:
    host, port = server.address
    with pytest.raises(InvalidStatus) as refused:
        open_session(f"http://{host}:{port}{path}")
    assert refused.value.response.status_code == 404


def test_a_second_session_of_a_machine_is_refused_until_the_first_ends(server: ExecServer) -> None:
    early = server.offer("m1", cat)
    with open_session(server.offer("m1", cat)) as first:
        await_attached(first)
        with pytest.raises(
            errors.FailedPrecondition, match="another session is at the console of machine m1"
        ):
            server.offer("m1", cat)
        with pytest.raises(InvalidStatus) as refused:
            open_session(early)
        assert refused.value.response.status_code == 409
        with open_session(server.offer("m2", cat)):
            pass
        first.send(channels.encode_message(Channel.STDIN, b"\x04"))
        the_end(first)
    _eventually_offers(server, "m1")


def _eventually_offers(server: ExecServer, machine_id: str) -> None:
    patience = threading.Event()
    for _ in range(100):
        try:
            server.offer(machine_id, cat)
            return
        except errors.FailedPrecondition:
            patience.wait(0.05)
    raise AssertionError(f"the session of {machine_id} never ended")


def test_two_racing_clients_get_one_console(server: ExecServer) -> None:
    urls = [server.offer("m1", cat) for _ in range(8)]
    outcomes: list[str] = []
    start = threading.Barrier(len(urls))

    def race(url: str) -> None:
        start.wait()
        try:
            with open_session(url) as connection:
                channel, _ = channels.split_message(connection.recv(timeout=60))
                outcomes.append("in" if channel is Channel.STDOUT else "refused")
                if channel is Channel.STDOUT:
                    finish.wait(60)
        except InvalidStatus:
            outcomes.append("refused")

    finish = threading.Event()
    threads = [threading.Thread(target=race, args=(url,)) for url in urls]
    for thread in threads:
        thread.start()
    for _ in range(3000):
        if len(outcomes) == len(urls):
            break
        threading.Event().wait(0.02)
    finish.set()
    for thread in threads:
        thread.join()
    assert outcomes.count("in") == 1
    assert len(outcomes) == len(urls)


def test_a_client_that_vanishes_frees_the_machines_session(server: ExecServer) -> None:
    with open_session(server.offer("m1", cat)) as connection:
        connection.socket.close()
        _eventually_offers(server, "m1")


def test_a_console_that_cannot_be_opened_gives_the_reason(server: ExecServer) -> None:
    def fail() -> Console:
        raise errors.FailedPrecondition("machine m1 is off")

    with open_session(server.offer("m1", fail)) as connection:
        assert the_end(connection)[1] == (1, "machine m1 is off")
    _eventually_offers(server, "m1")


@pytest.mark.parametrize("wrong", [b"", b"\x09x", "text", b"\x04{}"])
def test_a_client_with_another_protocol_is_disconnected(server: ExecServer, wrong: bytes | str) -> None:
    with open_session(server.offer("m1", cat)) as connection:
        connection.send(wrong)
        with contextlib.suppress(ConnectionClosed):
            while True:
                connection.recv(timeout=60)
        assert connection.close_code == 1002
        assert connection.close_reason


def test_no_session_begins_beyond_the_limit() -> None:
    server = ExecServer(sessions=Sessions(limit=1))
    server.start()
    try:
        late = server.offer("m2", cat)
        with open_session(server.offer("m1", cat)) as first:
            await_attached(first)
            with pytest.raises(InvalidStatus) as refused:
                open_session(late)
            assert b"which is the limit" in (refused.value.response.body or b"")
            with pytest.raises(errors.FailedPrecondition, match="which is the limit"):
                server.offer("m3", cat)
    finally:
        server.stop()


def test_no_url_is_offered_beyond_the_limit() -> None:
    server = ExecServer(tickets=Tickets(limit=2))
    server.start()
    try:
        server.offer("m1", cat)
        server.offer("m1", cat)
        with pytest.raises(errors.ResourceExhausted):
            server.offer("m1", cat)
    finally:
        server.stop()


def test_stopping_ends_the_sessions_and_gives_the_reason() -> None:
    server = ExecServer()
    server.start()
    with open_session(server.offer("m1", cat)) as connection:
        await_attached(connection)
        stopping = threading.Thread(target=server.stop)
        stopping.start()
        assert the_end(connection)[1] == (1, "the runtime is stopping")
        stopping.join(60)
        assert not stopping.is_alive()
