"""The socket of a guest's console: one user at a time, and a QEMU that hangs blocks no caller."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from iri.errors import FailedPrecondition, Unavailable
from iri.libvirt.machines.consoles import Consoles


@pytest.fixture
def qemu(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[socket.socket]:
    """Listens at `console` in the folder that is now the present one: the full path may be too long for a socket."""
    monkeypatch.chdir(tmp_path)
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind("console")
        listener.listen(0)
        yield listener


def test_console_of_a_hanging_qemu_fails_soon_and_blocks_no_other(qemu: socket.socket) -> None:
    there = Consoles(lambda id: Path("console" if id == "hung" else "none"), connect_seconds=1)
    with socket.socket(socket.AF_UNIX) as first:
        first.connect("console")  # fills the queue of who never accepts
        with pytest.raises(Unavailable, match="QEMU does not answer at the console"):
            there.open("hung")
        with pytest.raises(FailedPrecondition, match="has no console now: No such file"):
            there.open("other")
        qemu.accept()[0].close()
        there.open("hung").close()


def test_closing_a_console_twice_does_not_close_the_next_session(qemu: socket.socket) -> None:
    there = Consoles(lambda _: Path("console"))
    first = there.open("one")
    first.close()
    qemu.accept()[0].close()
    second = there.open("one")
    first.close()
    with pytest.raises(FailedPrecondition, match="is in use"):
        there.open("one")
    there.close()
    assert second.read(1) == b""


def test_close_ends_all_sessions(qemu: socket.socket) -> None:
    there = Consoles(lambda _: Path("console"))
    console = there.open("one")
    line, _ = qemu.accept()
    there.close()
    assert console.read(1) == b""
    assert line.recv(1) == b""
    line.close()
