"""`gitvirt iri exec` and `gitvirt console`: a user at a real terminal, and the console of a simulated guest."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from msgspec.structs import replace

from iri.address import UnixAddress
from iri.client import Client
from iri.errors import FailedPrecondition
from iri.simulated.host import SimulatedHost
from iri.simulated.server import SimulatedServer
from reconciler.cli.exits import Exit
from tests.iri.cli.iri.conftest import QUICK, Command
from tests.iri.exec.screen import Screen

GITVIRT = (sys.executable, "-m", "reconciler")
MACHINE = """
metadata:
  labels:
    machinepoollet.ironcore.dev/machine-uid: uid-NAMESPACE-NAME
    machinepoollet.ironcore.dev/machine-name: NAME
    machinepoollet.ironcore.dev/machine-namespace: NAMESPACE
spec: {class: small, power: POWER, guest_config: {hostname: NAME}}
"""


@pytest.fixture
def screens() -> Iterator[list[Screen]]:
    screens: list[Screen] = []
    yield screens
    for screen in screens:
        screen.close()


def machine(
    gitvirt: Command, tmp_path: Path, name: str, namespace: str = "default", power: str = "on"
) -> str:
    path = tmp_path / f"{name}.yaml"
    path.write_text(MACHINE.replace("NAMESPACE", namespace).replace("NAME", name).replace("POWER", power))
    id = gitvirt.run_ok("iri", "create", "machine", "-f", str(path), "-o", "name").strip()
    state = "Running" if power == "on" else "Suspended"
    gitvirt.until(lambda answer: state in answer, "iri", "get", "machine", id)
    return id


def at_terminal(screens: list[Screen], *argv: str) -> Screen:
    screen = Screen([*GITVIRT, *argv], dict(os.environ))
    screens.append(screen)
    return screen


def test_a_person_logs_in_looks_around_and_leaves(
    gitvirt: Command, tmp_path: Path, screens: list[Screen]
) -> None:
    id = machine(gitvirt, tmp_path, "web-1")
    screen = at_terminal(screens, "iri", "exec", id)
    screen.expect(b"Ctrl-] leaves it.")
    screen.expect(b"web-1 login: ")
    assert screen.is_raw()
    screen.type(b"ada\r")
    screen.expect(b"ada@web-1:~$ ")
    screen.type(b"size\r")
    screen.expect(b"80 columns, 24 rows")
    screen.expect(b"$ ")
    screen.resize(100, 30)
    assert any(size(screen) == "100 columns, 30 rows" for _ in range(500))
    screen.type(b"\x1d")
    assert screen.end() == Exit.OK
    assert screen.is_restored()
    assert "Running" in gitvirt.run_ok("iri", "get", "machine", id)


def size(screen: Screen) -> str:
    """The terminal's size as the guest sees it; a resize travels beside the keys."""
    screen.type(b"size\r")
    screen.expect(b"size\r\n")
    return screen.expect(b"$ ").decode().splitlines()[0]


def test_the_exit_status_is_the_sessions(gitvirt: Command, tmp_path: Path, screens: list[Screen]) -> None:
    machine(gitvirt, tmp_path, "web-1")
    screen = at_terminal(screens, "console", "web-1")
    screen.expect(b"login: ")
    screen.type(b"ada\rexit 7\r")
    assert screen.end() == 7
    assert screen.is_restored()


def test_one_session_at_a_time(gitvirt: Command, tmp_path: Path, screens: list[Screen]) -> None:
    id = machine(gitvirt, tmp_path, "web-1")
    first = at_terminal(screens, "iri", "exec", id)
    first.expect(b"login: ")
    answer = gitvirt("iri", "exec", id)
    assert answer.code == Exit.FAILED
    assert "another session is at the console" in answer.err
    first.type(b"\x1d")
    assert first.end() == Exit.OK


def test_a_poweroff_from_inside_ends_the_session_and_the_machine(
    gitvirt: Command, tmp_path: Path, screens: list[Screen]
) -> None:
    id = machine(gitvirt, tmp_path, "web-1")
    screen = at_terminal(screens, "iri", "exec", id)
    screen.expect(b"login: ")
    screen.type(b"ada\rpoweroff\r")
    screen.expect(b"The system is going down.")
    assert screen.end() == Exit.OK
    gitvirt.until(lambda answer: "Terminated" in answer, "iri", "get", "machine", id)


def run_piped(*argv: str, keys: bytes) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run([*GITVIRT, *argv], input=keys, capture_output=True, timeout=60, check=False)


def test_a_script_can_use_the_console(gitvirt: Command, tmp_path: Path) -> None:
    id = machine(gitvirt, tmp_path, "web-1")
    done = run_piped("iri", "exec", id, keys=b"ada\nhostname\nexit 3\n")
    assert done.returncode == 3
    assert b"$ web-1\r\n" in done.stdout
    assert done.stderr == b""
    assert run_piped("console", id, keys=b"ada\n").returncode == 0


def test_a_machine_is_found_by_whatever_names_it(gitvirt: Command, tmp_path: Path) -> None:
    id = machine(gitvirt, tmp_path, "web-1")
    other = machine(gitvirt, tmp_path, "db-1", "production")
    machine(gitvirt, tmp_path, "db-1", "staging")
    for name in (id, "web-1", "default/web-1", "uid-default-web-1"):
        assert b"web-1 login" in run_piped("console", name, keys=b"ada\nexit\n").stdout
    ambiguous = gitvirt("console", "db-1")
    assert ambiguous.code == Exit.USAGE
    assert f"production/db-1 ({other})" in ambiguous.err
    assert "staging/db-1" in ambiguous.err
    missing = gitvirt("console", "nope")
    assert (missing.code, "no machine nope" in missing.err.lower()) == (Exit.FAILED, True)


def test_a_machine_that_is_off_has_no_console(gitvirt: Command, tmp_path: Path) -> None:
    id = machine(gitvirt, tmp_path, "web-1", power="off")
    done = run_piped("iri", "exec", id, keys=b"")
    assert done.returncode == Exit.FAILED
    assert b"it is not running" in done.stderr
    assert b"Traceback" not in done.stderr


@pytest.fixture
def keeper(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Iterator[Command]:
    """A provider that keeps a console until Ctrl-] is typed there."""
    host = SimulatedHost(replace(QUICK, behavior_flags={"keeps_consoles": True}), seed=1)
    with tempfile.TemporaryDirectory(prefix="iri") as directory:
        address = UnixAddress(Path(directory) / "s")
        with SimulatedServer(host, [address]) as server:
            monkeypatch.setenv("IRI_MACHINE_RUNTIME_ENDPOINT", str(address))
            yield Command(server, address.path, capsys)


def test_leaving_frees_the_console_of_a_provider_that_keeps_it(
    keeper: Command, tmp_path: Path, screens: list[Screen]
) -> None:
    id = machine(keeper, tmp_path, "web-1")
    with Client(machines=UnixAddress(keeper.socket)) as client:
        for _ in range(2):
            wait_until_free(client, id)
            screen = at_terminal(screens, "iri", "exec", id)
            screen.expect(b"web-1 login: ")
            screen.type(b"\x1d")
            assert screen.end() == Exit.OK
        wait_until_free(client, id)
        done = run_piped("iri", "exec", "--linger", "0.2", id, keys=b"ada\n")
        assert done.returncode == Exit.OK
        for _ in range(2):
            wait_until_free(client, id)
            console = client.console(id)
            assert console.read(100)
            console.close()


def wait_until_free(client: Client, id: str) -> None:
    """The server ends a session a moment after its client has left. A console that is kept for good is never free."""
    deadline = time.monotonic() + 60
    while True:
        try:
            client.console_url(id)
        except FailedPrecondition:
            assert time.monotonic() < deadline, "the console is kept"
            time.sleep(0.02)
        else:
            return


def test_a_client_that_is_killed_leaves_the_console_of_such_a_provider_kept(
    keeper: Command, tmp_path: Path, screens: list[Screen]
) -> None:
    """The cause of what the test above is for."""
    id = machine(keeper, tmp_path, "web-1")
    screen = at_terminal(screens, "iri", "exec", id)
    screen.expect(b"web-1 login: ")
    screen.process.kill()
    screen.process.wait()
    answers = (run_piped("iri", "exec", id, keys=b"").stderr for _ in range(50))
    assert any(b"active console session" in answer for answer in answers)


def test_only_such_a_provider_gets_a_farewell(gitvirt: Command, keeper: Command) -> None:
    with Client(machines=UnixAddress(gitvirt.socket)) as client:
        assert client.console_farewell() == b""
    with Client(machines=UnixAddress(keeper.socket)) as client:
        assert client.console_farewell() == b"\x1d"
