"""A socket replaces a dead one, never a live one, and only its owner removes it."""

from __future__ import annotations

import os
import socket
import stat
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from iri.errors import FailedPrecondition, InvalidArgument
from iri.server.listening_socket import ListeningSocket


class Sockets:
    """Binds real sockets, and closes them when the test is over."""

    def __init__(self) -> None:
        self.open: list[socket.socket] = []

    def bind(self, path: Path) -> None:
        made = socket.socket(socket.AF_UNIX)
        made.bind(str(path))
        made.listen()
        self.open.append(made)

    def close(self) -> None:
        for made in self.open:
            made.close()


@pytest.fixture
def sockets() -> Iterator[Sockets]:
    made = Sockets()
    yield made
    made.close()


def can_connect(path: Path) -> bool:
    with socket.socket(socket.AF_UNIX) as probe:
        return probe.connect_ex(str(path)) == 0


@pytest.mark.parametrize("mode", [0o600, 0o660])
def test_socket_has_its_mode_whatever_the_umask(socket_directory: Path, sockets: Sockets, mode: int) -> None:
    path = socket_directory / "s"
    before = os.umask(0)
    try:
        ListeningSocket(path, mode, sockets.bind)
    finally:
        os.umask(before)
    assert stat.S_IMODE(path.stat().st_mode) == mode
    assert can_connect(path)
    assert list(socket_directory.iterdir()) == [path], "nothing else is left in the directory"


def test_dead_socket_is_replaced(socket_directory: Path, sockets: Sockets) -> None:
    path = socket_directory / "s"
    sockets.bind(path)
    sockets.close()
    assert not can_connect(path)
    ListeningSocket(path, 0o600, sockets.bind)
    assert can_connect(path)


def test_live_socket_is_left_alone_and_its_owner_named(socket_directory: Path, sockets: Sockets) -> None:
    path = socket_directory / "s"
    sockets.bind(path)
    with pytest.raises(FailedPrecondition, match=f"{path} is in use by process {os.getpid()}"):
        ListeningSocket(path, 0o600, sockets.bind)
    assert can_connect(path)


def test_file_is_left_alone(socket_directory: Path, sockets: Sockets) -> None:
    path = socket_directory / "s"
    path.write_text("precious")
    with pytest.raises(FailedPrecondition, match="not a socket"):
        ListeningSocket(path, 0o600, sockets.bind)
    assert path.read_text() == "precious"


def test_missing_directory_is_named(socket_directory: Path, sockets: Sockets) -> None:
    with pytest.raises(FailedPrecondition, match=r"/no is not a directory"):
        ListeningSocket(socket_directory / "no" / "s", 0o600, sockets.bind)


def test_directory_with_too_long_a_name_is_refused(socket_directory: Path, sockets: Sockets) -> None:
    directory = socket_directory / ("d" * (104 - len(str(socket_directory))))
    directory.mkdir()
    with pytest.raises(InvalidArgument, match="too long"):
        ListeningSocket(directory / "s", 0o600, sockets.bind)


def test_of_many_that_start_at_once_one_wins(socket_directory: Path, sockets: Sockets) -> None:
    path = socket_directory / "s"

    def start(_: int) -> bool:
        try:
            ListeningSocket(path, 0o600, sockets.bind)
        except FailedPrecondition:
            return False
        return True

    with ThreadPoolExecutor(8) as threads:
        assert sum(threads.map(start, range(16))) == 1
    assert can_connect(path)


def test_owner_removes_its_socket(socket_directory: Path, sockets: Sockets) -> None:
    listening = ListeningSocket(socket_directory / "s", 0o600, sockets.bind)
    listening.remove()
    listening.remove()
    assert not listening.path.exists()


def test_owner_leaves_a_successor_alone(socket_directory: Path, sockets: Sockets) -> None:
    listening = ListeningSocket(socket_directory / "s", 0o600, sockets.bind)
    listening.path.unlink()
    ListeningSocket(listening.path, 0o600, sockets.bind)
    listening.remove()
    assert can_connect(listening.path)
