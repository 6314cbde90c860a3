"""Ctrl-C in verbs that go on: at whatever moment it comes, the process says nothing of it and ends with 130."""

from __future__ import annotations

import os
import random
import signal
import socket
import subprocess
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from iri.address import UnixAddress
from iri.client import Client
from iri.machine import MachineState, RuntimeMachine, RuntimeMachineSpec
from iri.simulated.host import SimulatedHost
from iri.simulated.server import SimulatedServer
from tests.iri.exec.screen import Screen
from tests.iri.quick_host import PROFILE
from tests.reconciler.cli.verbs.conftest import GITVIRT, machine
from tests.reconciler.gitstore.git import commit, git

PATIENCE_SECONDS = 120.0
LATEST_SECONDS = 0.6
VERBS = (
    "get machines --watch",
    "get machines -A -o json --watch",
    "events --watch",
    "top --watch",
    "tree --watch",
    "wait machine web-1 --for power=Off --timeout 10m",
)


@pytest.fixture
def moving(fleet: Path) -> Iterator[Path]:
    """The bare repo, whose target branch moves to and fro all the time."""
    bare = fleet.parent / "fleet.git"
    git(fleet, "checkout", "-q", "live")
    commit(fleet, {"machines/web-3.yaml": machine("web-3")}, "1 added")
    git(fleet, "push", "-q", "origin", "live:other")
    heads = git(bare, "rev-parse", "refs/heads/live", "refs/heads/other").split()
    is_over = threading.Event()

    def move() -> None:
        turn = 0
        while not is_over.wait(0.03):
            turn += 1
            git(bare, "update-ref", "refs/heads/live", heads[turn % 2])

    mover = threading.Thread(target=move)
    mover.start()
    yield bare
    is_over.set()
    mover.join()


def interrupt(words: str, repo: str, cache: Path, after: float) -> tuple[int, str]:
    """Exit code and standard error of a verb that is interrupt so long after it began its work."""
    process = subprocess.Popen(
        [*GITVIRT, *words.split(), "--repo", repo],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "GITVIRT_CACHE": str(cache)},
    )
    try:
        until = time.monotonic() + PATIENCE_SECONDS
        while not (cache / "mirrors").exists() and process.poll() is None and time.monotonic() < until:
            time.sleep(0.005)
        time.sleep(after)
        process.send_signal(signal.SIGINT)
        _, output = process.communicate(timeout=PATIENCE_SECONDS)
    finally:
        process.kill()
        process.wait()
    return process.returncode, output


def interrupt_often(words: str, repo: str, folder: Path, times: int) -> None:
    chance = random.Random(words)
    for number in range(times):
        after = chance.uniform(0, LATEST_SECONDS)
        code, output = interrupt(words, repo, folder / f"cache-{number}", after)
        # `wait` shows each new state of what it waits for, and nothing else.
        others = [line for line in output.splitlines() if not line.startswith("Machine/default/web-1 is ")]
        assert (code, others) == (130, []), f"after {after:.3f} s"


@pytest.mark.parametrize("words", VERBS)
def test_it_ends_the_verb_in_silence(moving: Path, tmp_path: Path, words: str) -> None:
    interrupt_often(words, str(moving), tmp_path, 2)


def test_it_ends_one_that_polls(moving: Path, tmp_path: Path) -> None:
    interrupt_often("get machines --watch", f"file://{moving}", tmp_path, 2)


@pytest.mark.long
@pytest.mark.parametrize("scheme", ["", "file://"])
@pytest.mark.parametrize("words", VERBS)
def test_it_ends_the_verb_in_silence_always(moving: Path, tmp_path: Path, words: str, scheme: str) -> None:
    interrupt_often(words, f"{scheme}{moving}", tmp_path, 20)


def test_a_hanging_remote_does_not_delay_completion(fleet: Path, tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:  # takes connections and says nothing
        address = f"http://127.0.0.1:{server.getsockname()[1]}/fleet.git"
        started = time.monotonic()
        code, output = interrupt(
            "wait machine web-1 --for power=Off --timeout 10m", address, tmp_path / "own", 0.3
        )
    assert (code, output) == (130, "")
    assert time.monotonic() - started < PATIENCE_SECONDS / 2  # the remote alone would have 60 s of it


@pytest.fixture
def server() -> Iterator[UnixAddress]:
    with tempfile.TemporaryDirectory(prefix="gv-") as folder:
        place = UnixAddress(Path(folder) / "s")
        with SimulatedServer(SimulatedHost(PROFILE, 1), [place]):
            yield place


def running_guest(server: UnixAddress) -> str:
    """A new one each time: a console has one session at once, and the one before may not be over."""
    with Client(server) as client:
        made = client.create(RuntimeMachine(spec=RuntimeMachineSpec(class_name="small")))
        until = time.monotonic() + PATIENCE_SECONDS
        while dict(client.select(RuntimeMachine, made.id))[made.id].status.state is not MachineState.RUNNING:
            assert time.monotonic() < until
            time.sleep(0.01)
    return made.id


@pytest.mark.parametrize("times", [2, pytest.param(20, marks=pytest.mark.long)])
def test_a_console_is_left_and_the_terminal_as_it_was(server: UnixAddress, times: int) -> None:
    chance = random.Random(times)
    for _ in range(times):
        words = ["console", "--address", str(server.path), running_guest(server)]
        screen = Screen([*GITVIRT, *words], dict(os.environ))
        try:
            screen.expect(b"Ctrl-] leaves it.")
            time.sleep(chance.uniform(0, LATEST_SECONDS))
            screen.process.send_signal(signal.SIGINT)
            assert screen.process.wait(PATIENCE_SECONDS) == 130
            assert screen.is_restored()
            assert b"Traceback" not in screen.seen
        finally:
            screen.close()
