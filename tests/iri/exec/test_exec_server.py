"""The contract of a console session, over a real socket in each protocol: what is admitted, streamed, refused and ended."""

from __future__ import annotations

import http.client
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from urllib.parse import urlsplit

import pytest

from iri import errors
from iri.exec.channels import V4, V5
from iri.exec.console_protocol import ESCAPE
from iri.exec.exec_server import ExecServer
from iri.exec.sessions import Sessions
from iri.exec.streaming_address import StreamingAddress
from iri.exec.tickets import Tickets
from iri.runtime import Console
from tests.iri.exec.console_users import (
    USERS,
    RefusedError,
    SpdyUser,
    WebSocketUser,
    open_spdy,
    user_at,
)
from tests.iri.exec.shell_console import process_console

Open = Callable[[str], AbstractContextManager[WebSocketUser | SpdyUser]]


@pytest.fixture
def server() -> Iterator[ExecServer]:
    server = ExecServer()
    server.start()
    yield server
    server.stop()


@pytest.fixture(params=USERS)
def protocol(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def open_session(protocol: str) -> Open:
    return lambda url: user_at(url, protocol)


def cat() -> Console:
    return process_console("cat")


def shell(program: str) -> Callable[[], Console]:
    return lambda: process_console("sh", "-c", program)


def answer(url: str, method: str = "GET", headers: dict[str, str] | None = None) -> tuple[int, str]:
    parts = urlsplit(url)
    connection = http.client.HTTPConnection(parts.netloc, timeout=60)
    connection.request(method, parts.path, headers=headers or {})
    response = connection.getresponse()
    body = response.read().decode()
    connection.close()
    return response.status, body


def eventually_offers(server: ExecServer, machine_id: str) -> None:
    patience = threading.Event()
    for _ in range(1200):
        try:
            server.offer(machine_id, cat)
            return
        except errors.FailedPrecondition:
            patience.wait(0.05)
    raise AssertionError(f"the session of {machine_id} never ended")


def test_keys_reach_the_console_and_output_comes_back(server: ExecServer, open_session: Open) -> None:
    with open_session(server.offer("m1", cat)) as user:
        user.await_attached()
        user.type(b"hello\n")
        user.until(b"hello\r\nhello\r\n")
        user.type(b"\x04")
        assert user.the_end()[1] == (0, "")


def test_the_exit_status_arrives(server: ExecServer, open_session: Open) -> None:
    with open_session(server.offer("m1", shell("echo bye; exit 7"))) as user:
        assert user.the_end() == (b"bye\r\n", (7, ""))


def test_a_resize_reaches_the_pty(server: ExecServer, open_session: Open) -> None:
    program = "trap 'stty size; exit' WINCH; echo ready; while :; do sleep 0.05; done"
    with open_session(server.offer("m1", shell(program))) as user:
        user.until(b"ready")
        user.resize(132, 43)
        user.until(b"43 132")


def test_a_resize_without_size_changes_nothing(server: ExecServer, open_session: Open) -> None:
    with open_session(server.offer("m1", cat)) as user:
        user.resize(0, 0)
        user.type(b"still there\n\x04")
        assert b"still there" in user.the_end()[0]


def test_control_characters_act_on_the_guest(server: ExecServer, open_session: Open) -> None:
    program = "trap 'echo interrupted; exit 5' INT; echo ready; while :; do sleep 0.05; done"
    with open_session(server.offer("m1", shell(program))) as user:
        user.until(b"ready")
        user.type(b"\x03")
        answer, status = user.the_end()
        assert b"interrupted" in answer
        assert status == (5, "")


def test_much_output_arrives_whole(server: ExecServer, open_session: Open) -> None:
    with open_session(server.offer("m1", shell("seq 100000"))) as user:
        answer, status = user.the_end()
    assert answer == b"".join(b"%d\r\n" % number for number in range(1, 100_001))
    assert status == (0, "")


def test_much_input_arrives_whole(server: ExecServer, open_session: Open) -> None:
    """More than waits in the pipe between client and guest, so the guest holds the client back."""
    program = "stty raw -echo; echo ready; head -c 300000 | cksum"
    with open_session(server.offer("m1", shell(program))) as user:
        user.until(b"ready")
        for _ in range(30):
            user.type(b"x" * 10_000)
        answer, status = user.the_end()
    assert answer.split()[-2:] == [b"2685198886", b"300000"]
    assert status == (0, "")


def test_the_end_of_input_does_not_end_the_output(
    server: ExecServer, open_session: Open, protocol: str
) -> None:
    """v4 of the WebSocket has no end of input: clients send it all the same, and it is ignored."""
    program = "stty -echo; echo ready; read line; echo got $line; sleep 0.2; echo more; exit 4"
    with open_session(server.offer("m1", shell(program))) as user:
        user.until(b"ready\r\n")
        user.type(b"line\n")
        user.end_input()
        if protocol == "websocket-v5":
            user.type(b"after the end\n")
        assert user.the_end() == (b"got line\r\nmore\r\n", (4, ""))


def test_the_escape_key_ends_a_session_of_clients_that_have_none(server: ExecServer, protocol: str) -> None:
    """gitvirt's own client speaks v4 and knows the key itself: there, every byte reaches the guest."""
    program = "stty raw -echo; echo ready; head -c 4 | od -An -tx1"
    with user_at(server.offer("m1", shell(program)), protocol) as user:
        user.until(b"ready")
        user.type(b"ab" + ESCAPE + b"d")
        answer, status = user.the_end()
        assert status == (0, "")
        assert (b"61 62 1d 64" in answer) is (protocol == "websocket-v4")
    eventually_offers(server, "m1")


def test_a_url_is_valid_once(server: ExecServer, open_session: Open) -> None:
    url = server.offer("m1", cat)
    with open_session(url), pytest.raises(RefusedError, match=r"404: .*request another"), open_session(url):
        pass


def test_other_requests_learn_the_protocols_and_keep_the_ticket(
    server: ExecServer, open_session: Open
) -> None:
    url = server.offer("m1", cat)
    status, body = answer(url)
    assert status == 426
    assert V4 in body
    assert V5 in body
    assert "SPDY/3.1" in body
    status, _ = answer(url, headers={"Upgrade": "h2c", "Connection": "Upgrade"})
    assert status == 426
    with pytest.raises(RefusedError, match=r"426: .*subprotocol"):
        WebSocketUser(url, "chat")
    with pytest.raises(RefusedError, match=r"403: .*X-Stream-Protocol-Version: v4\.channel"):
        open_spdy(url, protocol="v3.channel.k8s.io")
    status, _ = answer(url, headers={"Upgrade": "websocket", "Sec-WebSocket-Protocol": V5})
    assert status == 400
    with open_session(url):
        pass


def test_spdy_is_opened_by_post_too(server: ExecServer) -> None:
    """API servers forward the method of their own client."""
    open_spdy(server.offer("m1", cat), method="POST").close()


@pytest.mark.parametrize("path", ["/", "/exec", "/exec/", "/exec/made-up", "/exec/..", "/metrics"])
def test_every_other_path_is_not_found(server: ExecServer, open_session: Open, path: str) -> None:
    host, port = server.address
    with pytest.raises(RefusedError, match="404: "), open_session(f"http://{host}:{port}{path}"):
        pass


def test_a_second_session_of_a_machine_is_refused_until_the_first_ends(
    server: ExecServer, open_session: Open
) -> None:
    early = server.offer("m1", cat)
    with open_session(server.offer("m1", shell("echo on; cat"))) as first:
        first.until(b"on")
        with pytest.raises(
            errors.FailedPrecondition, match="another session is at the console of machine m1"
        ):
            server.offer("m1", cat)
        with pytest.raises(RefusedError, match="409: "), open_session(early):
            pass
        with open_session(server.offer("m2", cat)):
            pass
        first.type(b"\x04")
        first.the_end()
    eventually_offers(server, "m1")


def test_two_racing_clients_get_one_console(server: ExecServer) -> None:
    """Of all protocols."""
    urls = [server.offer("m1", shell("echo in; cat")) for _ in range(9)]
    outcomes: list[str] = []
    start, decided, finish = threading.Barrier(len(urls)), threading.Semaphore(0), threading.Event()

    def race(url: str, protocol: str) -> None:
        start.wait()
        try:
            with user_at(url, protocol) as user:
                try:
                    user.until(b"in\r\n")
                    outcomes.append("in")
                except AssertionError:
                    outcomes.append("refused")
                decided.release()
                finish.wait(60)
        except RefusedError:
            outcomes.append("refused")
            decided.release()

    threads = [
        threading.Thread(target=race, args=(url, [*USERS][number % len(USERS)]))
        for number, url in enumerate(urls)
    ]
    for thread in threads:
        thread.start()
    for _ in threads:
        assert decided.acquire(timeout=60)
    finish.set()
    for thread in threads:
        thread.join()
    assert sorted(outcomes) == ["in", *["refused"] * (len(urls) - 1)]


def test_a_client_that_vanishes_frees_the_machines_session(server: ExecServer, open_session: Open) -> None:
    with open_session(server.offer("m1", shell("echo on; cat"))) as user:
        user.until(b"on")
        user.raw.close()
        eventually_offers(server, "m1")


def test_a_console_that_cannot_be_opened_gives_the_reason(server: ExecServer, open_session: Open) -> None:
    def fail() -> Console:
        raise errors.FailedPrecondition("machine m1 is off")

    with open_session(server.offer("m1", fail)) as user:
        assert user.the_end()[1] == (1, "machine m1 is off")
    eventually_offers(server, "m1")


def test_a_bug_of_a_console_stays_in_the_log_and_frees_the_session(
    server: ExecServer, open_session: Open, caplog: pytest.LogCaptureFixture
) -> None:
    def fail() -> Console:
        raise ZeroDivisionError("a bug")

    with open_session(server.offer("m1", fail)) as user:
        assert user.the_end()[1] == (1, "the console failed; the runtime's log has the error")
    eventually_offers(server, "m1")
    assert "a bug" in caplog.text


def test_no_session_begins_beyond_the_limit(open_session: Open) -> None:
    server = ExecServer(sessions=Sessions(limit=1))
    server.start()
    try:
        late = server.offer("m2", cat)
        with open_session(server.offer("m1", shell("echo on; cat"))) as first:
            first.until(b"on")
            with pytest.raises(RefusedError, match="which is the limit"), open_session(late):
                pass
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


def test_stopping_ends_the_sessions_and_gives_the_reason(open_session: Open) -> None:
    server = ExecServer()
    server.start()
    with open_session(server.offer("m1", shell("stty -echo; echo on; cat"))) as user:
        user.until(b"on\r\n")
        stopping = threading.Thread(target=server.stop)
        stopping.start()
        assert user.the_end()[1] == (1, "the runtime is stopping")
        stopping.join(60)
        assert not stopping.is_alive()


@pytest.mark.parametrize("prefix", ["", "/consoles"])
def test_a_proxy_may_keep_or_remove_the_path_of_the_base_url(open_session: Open, prefix: str) -> None:
    server = ExecServer(address=StreamingAddress(base_url="https://host-1.example.org/consoles"))
    server.start()
    try:
        url = server.offer("m1", cat)
        assert url.startswith("https://host-1.example.org/consoles/exec/")
        host, port = server.address
        token = url.rpartition("/")[2]
        with open_session(f"http://{host}:{port}{prefix}/exec/{token}") as user:
            user.type(b"\x04")
            assert user.the_end()[1] == (0, "")
    finally:
        server.stop()


@pytest.mark.parametrize("host", ["127.0.0.1", "::1"])
def test_an_address_is_bound_and_named_in_urls(open_session: Open, host: str) -> None:
    first = ExecServer(address=StreamingAddress(host))
    first.start()
    try:
        port = first.address[1]
        url = first.offer("m1", cat)
        assert urlsplit(url).hostname == host
        assert urlsplit(url).port == port
        with pytest.raises(errors.StartupError, match=f"cannot serve consoles at {host} port {port}"):
            ExecServer(address=StreamingAddress(host, port)).start()
        with open_session(url) as user:
            user.type(b"\x04")
            assert user.the_end()[1] == (0, "")
    finally:
        first.stop()
