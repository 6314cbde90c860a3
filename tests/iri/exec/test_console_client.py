"""A user at a real terminal on one side, a process on a real pty on the other, and the server of consoles between."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
from collections.abc import Iterator

import pytest

from iri.exec.exec_server import ExecServer
from iri.exec.websocket import websocket_url
from iri.runtime import Console
from tests.iri.exec.screen import Screen
from tests.iri.exec.shell_console import process_console

PERSON = (sys.executable, "-m", "tests.iri.exec.person")


@pytest.fixture
def server() -> Iterator[ExecServer]:
    server = ExecServer()
    server.start()
    yield server
    server.stop()


@pytest.fixture
def screens() -> Iterator[list[Screen]]:
    screens: list[Screen] = []
    yield screens
    for screen in screens:
        screen.close()


def shell() -> Console:
    return process_console("sh", "-i")


def test_a_shell_is_used_and_left(server: ExecServer, screens: list[Screen]) -> None:
    screen = Screen([*PERSON, server.offer("m1", shell), "2"])
    screens.append(screen)
    screen.expect(b"$ ")
    assert screen.is_raw()
    screen.type(b"echo $((6*7))\r")
    screen.expect(b"42\r\n")
    screen.type(b"sleep 60\r")
    screen.type(b"\x03")  # goes to the guest, not to us
    screen.expect(b"$ ")
    screen.type(b"\x1d")
    screen.expect(b"<SessionLeft()>")
    assert screen.end() == 0
    assert screen.is_restored()


def test_the_exit_status_reaches_the_caller(server: ExecServer, screens: list[Screen]) -> None:
    screen = Screen([*PERSON, server.offer("m1", shell), "2"])
    screens.append(screen)
    screen.expect(b"$ ")
    screen.type(b"exit 3\r")
    screen.expect(b"<SessionEnded(exit_status=3)>")
    assert screen.end() == 0
    assert screen.is_restored()


def test_the_window_and_its_changes_reach_the_guest(server: ExecServer, screens: list[Screen]) -> None:
    screen = Screen([*PERSON, server.offer("m1", shell), "2"])
    screens.append(screen)
    screen.expect(b"$ ")
    screen.type(b"stty size\r")
    screen.expect(b"24 80")
    screen.resize(132, 50)
    screen.type(b"until stty size | grep '^50 132'; do sleep 0.05; done\r")
    screen.expect(b"50 132\r\n")  # perhaps behind a prompt, when the keys came before it
    screen.type(b"\x1d")
    screen.expect(b"<SessionLeft()>")


def test_a_closed_window_leaves_the_terminal_as_it_was(server: ExecServer, screens: list[Screen]) -> None:
    screen = Screen([*PERSON, server.offer("m1", shell), "2"])
    screens.append(screen)
    screen.expect(b"$ ")
    screen.process.send_signal(signal.SIGTERM)
    screen.expect(b"<SessionLeft()>")
    assert screen.end() == 0
    assert screen.is_restored()


def test_a_runtime_that_stops_is_named(server: ExecServer, screens: list[Screen]) -> None:
    screen = Screen([*PERSON, server.offer("m1", shell), "2"])
    screens.append(screen)
    screen.expect(b"$ ")
    stopping = threading.Thread(target=server.stop)
    stopping.start()
    screen.expect(b"<SessionBroken(reason='the runtime is stopping')>")
    stopping.join()
    assert screen.is_restored()


def run_piped(url: str, keys: bytes, linger: str = "2") -> bytes:
    return subprocess.run(
        [*PERSON, url, linger], input=keys, capture_output=True, timeout=90, check=True
    ).stdout


def test_input_from_a_pipe_ends_as_if_typed(server: ExecServer) -> None:
    answer = run_piped(server.offer("m1", shell), b"echo $((6*7))\nexit 4\n")
    assert b"42\r\n" in answer
    assert answer.endswith(b"<SessionEnded(exit_status=4)>\n")


def test_the_end_of_a_pipe_ends_the_shell(server: ExecServer) -> None:
    answer = run_piped(server.offer("m1", shell), b"echo $((6*7))\n")
    assert b"42\r\n" in answer
    assert answer.endswith(b"<SessionEnded(exit_status=0)>\n")


def test_a_session_with_piped_input_ends_after_a_silence(server: ExecServer) -> None:
    # It goes on after the end of its input, and ends although no client is left.
    program = "echo ready; n=0; while [ $n -lt 99 ]; do read line || n=$((n + 1)); echo got $line; done"
    url = server.offer("m1", lambda: process_console("sh", "-c", program))
    answer = run_piped(url, b"", linger="0.3")
    assert b"ready" in answer
    assert answer.endswith(b"<SessionLeft()>\n")


def test_a_console_that_cannot_be_attached_gives_the_reason(server: ExecServer) -> None:
    assert b"request another" in run_piped(server.offer("m1", shell).rsplit("/", 1)[0] + "/made-up", b"")
    host, port = server.address
    server.stop()
    answer = run_piped(f"http://{host}:{port}/exec/secret-token", b"")
    assert b"<SessionBroken(reason='no console answers at" in answer
    assert b"secret-token" not in answer


@pytest.mark.parametrize(
    "url", ["ftp://x/secret-token", "http://[::1/secret-token", "http://x:99999/secret-token"]
)
def test_an_invalid_url_is_reported_without_its_token(url: str) -> None:
    answer = run_piped(url, b"")
    assert b"<SessionBroken(reason='the runtime answered with an invalid console URL')>" in answer
    assert b"secret-token" not in answer


@pytest.mark.parametrize(
    ("url", "wanted"),
    [
        ("http://127.0.0.1:20251/exec/t", "ws://127.0.0.1:20251/exec/t"),
        ("https://host/exec/t?x=1", "wss://host/exec/t?x=1"),
        ("http://:20251/exec/t", "ws://127.0.0.1:20251/exec/t"),
        ("ws://127.0.0.1:1/exec/t", "ws://127.0.0.1:1/exec/t"),
    ],
)
def test_a_providers_url_becomes_one_of_a_websocket(url: str, wanted: str) -> None:
    assert websocket_url(url) == wanted
