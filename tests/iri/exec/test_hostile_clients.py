"""Clients that break the protocol, send too much or read nothing: each is ended, its session is freed, and others go on."""

from __future__ import annotations

import os
import resource
import socket
import struct
import threading
import time
import tracemalloc
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from urllib.parse import urlsplit

import pytest
from websockets.exceptions import ConnectionClosedError
from websockets.frames import Frame, Opcode

from iri.exec import exec_server
from iri.exec.console_connection import Patience
from iri.exec.exec_server import ExecServer
from iri.exec.spdy import frames
from iri.exec.spdy.frames import FrameReader, FrameType, StreamData
from iri.exec.spdy.header_block import HeaderCompressor
from iri.runtime import Console
from tests.iri.exec.console_users import (
    SpdyUser,
    WebSocketUser,
    open_spdy,
    syn_stream,
    user_at,
)
from tests.iri.exec.shell_console import process_console
from tests.iri.exec.test_exec_server import cat, eventually_offers, shell
from tests.iri.exec.test_spdy import deflate

SHORT = Patience(send=1.0, ping=0.5, streams=0.5, keys=1.0)


@pytest.fixture
def server() -> Iterator[ExecServer]:
    server = ExecServer()
    server.start()
    yield server
    server.stop()


@pytest.fixture
def impatient() -> Iterator[ExecServer]:
    server = ExecServer(patience=SHORT)
    server.start()
    yield server
    server.stop()


@pytest.fixture
def bystander(request: pytest.FixtureRequest) -> Iterator[Callable[[], None]]:
    """Another session at the same server, which must not notice anything."""
    name = "impatient" if "impatient" in request.fixturenames else "server"
    at: ExecServer = request.getfixturevalue(name)
    with user_at(
        at.offer("bystander", lambda: process_console("sh", "-c", "stty -echo; echo on; cat"))
    ) as user:
        user.until(b"on\r\n")

        def works() -> None:
            user.type(b"works\n")
            user.until(b"works\r\n")

        yield works
        works()


def read_to_the_end(line: socket.socket) -> bytes:
    line.settimeout(60)
    received = b""
    try:
        while data := line.recv(65536):
            received += data
    except ConnectionResetError:
        pass
    return received


def bomb(stream_id: int) -> bytes:
    payload = struct.pack(">IIH", stream_id, 0, 0) + deflate(b"\0" * 50_000_000)
    return frames.encode_control(FrameType.SYN_STREAM, payload)


BROKEN_SPDY = {
    "not SPDY": b"GET / HTTP/1.1\r\n\r\n",
    "another version": bytes.fromhex("80020006 00000004 00000007"),
    "an oversized control frame": bytes.fromhex("80030001 00ffffff"),
    "a bomb of headers": bomb(9),
    "no zlib": frames.encode_control(FrameType.SYN_STREAM, b"\0\0\0\x09\0\0\0\0\0\0no zlib"),
    "an even stream": syn_stream(10, {"streamtype": "stderr"}, HeaderCompressor()),
    "data of no stream": frames.encode_data(99, b"x"),
    "resizes without end": frames.encode_data(7, b"{" * 100_000),
    "a resize that is none": frames.encode_data(7, b"[[[[}"),
}


@pytest.mark.parametrize("received", BROKEN_SPDY.values(), ids=BROKEN_SPDY)
def test_a_mistake_over_spdy_ends_only_its_own_session(
    server: ExecServer, bystander: Callable[[], None], received: bytes
) -> None:
    user = SpdyUser(server.offer("m1", cat))
    user.raw.sendall(received)
    last = read_to_the_end(user.raw)
    user.close()
    assert last[-16:] == frames.encode_go_away(7, frames.GoAwayStatus.PROTOCOL_ERROR)
    bystander()
    eventually_offers(server, "m1")


@pytest.mark.parametrize(
    "wrong", [b"", "text", b"\x04no JSON", b"\x04" + b"[" * 1000, b"\x04{}" + b" " * 2000]
)
def test_a_mistake_in_a_websocket_is_answered_with_its_reason(server: ExecServer, wrong: bytes | str) -> None:
    with user_at(server.offer("m1", cat)) as user:
        assert isinstance(user, WebSocketUser)
        user.connection.send(wrong)
        with pytest.raises(ConnectionClosedError):
            for _ in user.connection:
                pass
        assert user.connection.close_code == 1002
        assert user.connection.close_reason
    eventually_offers(server, "m1")


@pytest.mark.parametrize("protocol", ["websocket-v4", "websocket-v5"])
def test_unknown_channels_are_ignored(server: ExecServer, protocol: str) -> None:
    with user_at(server.offer("m1", cat), protocol) as user:
        assert isinstance(user, WebSocketUser)
        for message in (
            b"\x05x",
            b"\x09",
            b"\xfe",
            b"\x01x",
            b"\x03{}",
            b"\xff",
            b"\xff\x01",
            b"\xff\x00\x00",
        ):
            user.connection.send(message)
        user.type(b"still there\n")
        user.until(b"still there\r\nstill there")


@pytest.mark.parametrize("parts", [[b"\0" * (2 << 20)], [b"\0" * (400 << 10)] * 4], ids=["one", "fragments"])
def test_a_message_that_is_too_large_ends_the_session(server: ExecServer, parts: list[bytes]) -> None:
    with user_at(server.offer("m1", shell("sleep 60"))) as user:
        assert isinstance(user, WebSocketUser)
        try:
            for number, part in enumerate(parts):
                opcode = Opcode.CONT if number else Opcode.BINARY
                frame = Frame(opcode, part, fin=number == len(parts) - 1)
                user.raw.sendall(frame.serialize(mask=True))
        except ConnectionError:
            pass
        eventually_offers(server, "m1")


def test_a_flood_of_small_frames_costs_no_memory(server: ExecServer, bystander: Callable[[], None]) -> None:
    """Pings, settings, window updates, resizes, data after the end of the stream: none of them adds up."""
    user = SpdyUser(server.offer("m1", shell("sleep 60")))
    user.end_input()
    flood = b"".join(
        (
            frames.encode_window_update(3, 0x7FFFFFFF),
            frames.encode_control(FrameType.SETTINGS, b"\0\0\0\0"),
            frames.encode_data(7, b'{"Width":90,"Height":30}\n'),
            frames.encode_data(3, b"after the end"),
            frames.encode_ping(7),
        )
    )
    answers = threading.Thread(target=lambda: read_to_the_end(user.raw))
    answers.start()
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    for _ in range(40):
        user.raw.sendall(flood * 100)
        bystander()
    user.raw.shutdown(socket.SHUT_WR)
    eventually_offers(server, "m1")
    kept = tracemalloc.get_traced_memory()[0] - before
    tracemalloc.stop()
    answers.join(60)
    user.close()
    assert kept < 2_000_000


def test_thousands_of_streams_end_the_connection(server: ExecServer, bystander: Callable[[], None]) -> None:
    line = open_spdy(server.offer("m1", cat))
    compressor = HeaderCompressor()
    try:
        for number in range(5000):
            line.sendall(syn_stream(2 * number + 1, {"streamtype": f"x{number}"}, compressor))
    except ConnectionError:
        pass
    received = read_to_the_end(line)
    line.close()
    assert received.count(b"\x80\x03\x00\x03") <= 16
    eventually_offers(server, "m1")


@pytest.mark.parametrize("streams", [(), ("error",), ("stdin", "stdout")])
def test_a_client_that_opens_no_console_gives_its_place_back(
    impatient: ExecServer, bystander: Callable[[], None], streams: tuple[str, ...]
) -> None:
    user = SpdyUser(impatient.offer("m1", cat), streams)
    began = time.monotonic()
    read_to_the_end(user.raw)
    user.close()
    assert time.monotonic() - began < 30
    eventually_offers(impatient, "m1")


def test_a_client_that_does_not_read_is_cut_off(impatient: ExecServer, bystander: Callable[[], None]) -> None:
    """In every protocol: the guest writes without end, and nothing of it is kept for the client."""
    users = [
        user_at(impatient.offer(f"m-{protocol}", shell("echo on; exec yes")), protocol)
        for protocol in ("websocket-v4", "spdy")
    ]
    with users[0] as first, users[1] as second:
        first.raw.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        assert isinstance(second, SpdyUser)
        bystander()
        for protocol in ("websocket-v4", "spdy"):
            eventually_offers(impatient, f"m-{protocol}")
        first.raw.close()


def test_a_client_that_is_silent_and_dead_is_noticed(impatient: ExecServer) -> None:
    """Its host has vanished, so no packet says that it is gone. Here it only does not answer pings."""
    user = SpdyUser(impatient.offer("m1", shell("sleep 60")))
    eventually_offers(impatient, "m1")
    user.close()


def test_a_silent_client_that_answers_pings_stays(impatient: ExecServer) -> None:
    with user_at(impatient.offer("m1", shell("stty -echo; echo on; sleep 3; cat")), "websocket-v5") as user:
        user.until(b"on\r\n")
        user.type(b"still there\n")
        user.until(b"still there")


class DeafConsole:
    """A guest that never takes a key and never writes; it ends when it is closed."""

    def __init__(self) -> None:
        self.closed = threading.Event()

    def read(self, size: int) -> bytes:
        self.closed.wait()
        return b""

    def write(self, data: bytes) -> None:
        self.closed.wait()

    def resize(self, columns: int, rows: int) -> None: ...

    def close(self) -> None:
        self.closed.set()

    def exit_status(self) -> int | None:
        return None


@pytest.mark.parametrize("protocol", ["websocket-v4", "websocket-v5", "spdy"])
def test_a_guest_that_takes_no_keys_does_not_keep_a_client_that_left(
    server: ExecServer, protocol: str
) -> None:
    deaf: Console = DeafConsole()
    with user_at(server.offer("m1", lambda: deaf), protocol) as user:
        user.type(b"x" * 60_000)
        user.raw.close()
        eventually_offers(server, "m1")


def test_a_client_that_leaves_while_its_keys_wait_is_noticed(server: ExecServer) -> None:
    with user_at(server.offer("m1", DeafConsole), "spdy") as user:
        user.type(b"x" * 200_000)
        user.raw.close()
        eventually_offers(server, "m1")


@pytest.mark.parametrize("protocol", ["websocket-v4", "spdy"])
def test_a_guest_that_takes_no_keys_ends_the_session_with_the_reason(
    impatient: ExecServer, protocol: str
) -> None:
    with user_at(impatient.offer("m1", DeafConsole), protocol) as user:
        for _ in range(20):
            user.type(b"x" * 10_000)
        assert user.the_end()[1] == (1, "the guest took no keys for 1s; the session ends")
    eventually_offers(impatient, "m1")


@pytest.mark.parametrize(
    ("head", "status"),
    [
        (b"nonsense\r\n\r\n", b"400"),
        (b"GET /exec/x HTTP/9.9\r\n\r\n", b"400"),
        (b"GET /exec/x HTTP/1.1\r\nno colon\r\n\r\n", b"400"),
        (b"\x16\x03\x01" + b"\0" * 100 + b"\r\n\r\n", b"400"),
        (b"GET /exec/x HTTP/1.1\r\nHost: x\r\n\r\n", b"426"),
        (b"GET /exec/x HTTP/1.1\r\nX: " + b"y" * 40_000 + b"\r\n\r\n", b""),
    ],
)
def test_a_request_that_is_none_is_answered_or_closed(server: ExecServer, head: bytes, status: bytes) -> None:
    with socket.create_connection(server.address, 60) as line:
        line.sendall(head)
        answer = read_to_the_end(line)
    assert answer[9:12] == status


def test_half_open_requests_are_closed_and_disturb_no_session(
    server: ExecServer, bystander: Callable[[], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    """More than may be open at once: those in excess are closed, and places are free again after a while."""
    monkeypatch.setattr(exec_server, "OPEN_SECONDS", 1.0)
    monkeypatch.setattr(exec_server, "CONNECTIONS", 20)
    lines = [socket.create_connection(server.address, 60) for _ in range(40)]
    for line in lines[::2]:
        line.sendall(b"GET /exec/x HTTP/1.1\r\n")
    bystander()
    for line in lines:
        assert read_to_the_end(line) == b""
        line.close()
    with user_at(server.offer("m1", cat), "spdy") as user:
        user.type(b"\x04")
        assert user.the_end()[1] == (0, "")


@contextmanager
def all_descriptors_used() -> Iterator[None]:
    """The process can open no other file for the block. A real limit, a little above what is open."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    highest = max(int(number) for number in os.listdir("/proc/self/fd"))  # noqa: PTH208
    fillers: list[int] = []
    resource.setrlimit(resource.RLIMIT_NOFILE, (highest + 4, hard))
    try:
        with suppress(OSError):
            while True:
                fillers.append(os.open(os.devnull, os.O_RDONLY))
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
        for filler in fillers:
            os.close(filler)


def test_a_process_without_free_descriptors_accepts_again_later(
    server: ExecServer, bystander: Callable[[], None]
) -> None:
    with socket.socket() as line:
        with all_descriptors_used():
            line.connect(server.address)
            line.sendall(b"nonsense\r\n\r\n")
            bystander()
        assert read_to_the_end(line)[9:12] == b"400"


def test_a_session_for_which_no_descriptor_is_left_closes_its_console(server: ExecServer) -> None:
    deaf, block = DeafConsole(), ExitStack()

    def open_last() -> Console:
        block.enter_context(all_descriptors_used())
        return deaf

    with user_at(server.offer("m1", open_last), "spdy") as user:
        try:
            assert user.the_end()[1] == (1, "the console failed; the runtime's log has the error")
        finally:
            block.close()
    assert deaf.closed.is_set()
    eventually_offers(server, "m1")


def test_a_client_that_sends_before_the_answer_loses_nothing(server: ExecServer) -> None:
    parts = urlsplit(server.offer("m1", cat))
    compressor = HeaderCompressor()
    with socket.create_connection(server.address, 60) as line:
        line.sendall(
            f"GET {parts.path} HTTP/1.1\r\nUpgrade: SPDY/3.1\r\nX-Stream-Protocol-Version: v4.channel.k8s.io\r\n\r\n".encode()
            + b"".join(
                syn_stream(number, {"streamtype": kind}, compressor)
                for number, kind in ((1, "error"), (3, "stdin"), (5, "stdout"))
            )
            + frames.encode_data(3, b"early\n\x04")
        )
        head, output, reader = b"", b"", FrameReader()
        while not head.endswith(b"\r\n\r\n"):
            head += line.recv(1)
        while b"early\r\nearly\r\n" not in output:
            received = line.recv(65536)
            assert received, output
            parts_of_output = [frame for frame in reader.feed(received) if isinstance(frame, StreamData)]
            output += b"".join(frame.data for frame in parts_of_output if frame.stream_id == 5)
