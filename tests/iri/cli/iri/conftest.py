"""A quick simulated host behind a socket, and the command as users call it."""

from __future__ import annotations

import json
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from iri.address import UnixAddress
from iri.simulated.host import SimulatedHost
from iri.simulated.profile import Profile, Times
from iri.simulated.seeded_random import DurationRange
from iri.simulated.server import SimulatedServer
from reconciler.cli import main

BRIEFLY = DurationRange(0.01, 0.02, 0.03)
QUICK = Profile(times=Times(**dict.fromkeys(Times.__struct_fields__, BRIEFLY)))


class CommandResult(NamedTuple):
    code: int
    out: str
    err: str


class Command:
    """`gitvirt`, with the runtime's address in the environment."""

    def __init__(self, server: SimulatedServer, socket: Path, capture: pytest.CaptureFixture[str]) -> None:
        self.server = server
        self.socket = socket
        self._capture = capture

    def __call__(self, *argv: str) -> CommandResult:
        self._capture.readouterr()
        code = main(argv)
        answer = self._capture.readouterr()
        return CommandResult(code, answer.out, answer.err)

    def run_ok(self, *argv: str) -> str:
        answer = self(*argv)
        assert answer.code == 0, answer
        assert answer.err == "", answer
        return answer.out

    def json(self, *argv: str) -> object:
        value: object = json.loads(self.run_ok(*argv, "-o", "json"))
        return value

    def until(self, wanted: Callable[[str], bool], *argv: str) -> str:
        """Repeats the command until its output satisfies the condition."""
        deadline = time.monotonic() + 60
        while not wanted(answer := self.run_ok(*argv)):
            assert time.monotonic() < deadline, answer
            time.sleep(0.02)
        return answer


@pytest.fixture
def server() -> Iterator[SimulatedServer]:
    with (
        tempfile.TemporaryDirectory(prefix="iri") as directory,
        SimulatedServer(SimulatedHost(QUICK, seed=1), [UnixAddress(Path(directory) / "s")]) as server,
    ):
        yield server


@pytest.fixture
def gitvirt(
    server: SimulatedServer, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> Command:
    (address,) = server.addresses
    assert isinstance(address, UnixAddress)
    monkeypatch.setenv("IRI_MACHINE_RUNTIME_ENDPOINT", str(address.path))
    monkeypatch.setenv("IRI_VOLUME_RUNTIME_ENDPOINT", f"unix://{address.path}")
    return Command(server, address.path, capsys)
