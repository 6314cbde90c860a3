"""What people see and reach of machines from afar, over the link: a reconciler and a host as processes, the verbs as people call them."""

from __future__ import annotations

import json
import os
import re
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from reconciler.cli import main
from reconciler.cli.exits import Exit
from tests.e2e.linked_fleet import MACHINE, LinkedFleet, linked_fleet
from tests.iri.exec.screen import Screen
from tests.reconciler.link.client import list_client
from tests.servers.link_certificates import make_certificate

ANN, BOB = make_certificate("ann"), make_certificate("bob")
ROOT = Path(__file__).parents[2]
JSON_PAGE = ROOT / "docs" / "json.md"


@pytest.fixture(scope="module")
def fleet() -> Iterator[LinkedFleet]:
    with (
        tempfile.TemporaryDirectory(prefix="gv-") as folder,
        linked_fleet(Path(folder), hosts=("rack-1",)) as made,
    ):
        rights = ("read", "logs", "console", "forward")
        entries = list_client("ann", ANN, rights, ("default",)) + list_client(
            "bob", BOB, ("read",), ("other",)
        )
        made.commit({"gitvirt.yaml": made.settings() + "clients:\n" + entries})
        for name, own in (("ann", ANN), ("bob", BOB)):
            own.write(made.folder / "config" / "gitvirt", name)
        made.run_reconciler("one")
        made.run_host("rack-1")
        made.commit({"machines/web.yaml": MACHINE.format(name="web")})
        made.until(lambda: made.count_connected("one") == 1)
        made.until(lambda: made.is_running("web"))
        yield made


@pytest.fixture(autouse=True)
def home(fleet: LinkedFleet, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a person whose clients are ann and bob."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(fleet.folder / "config"))
    monkeypatch.setenv("GITVIRT_CACHE", str(fleet.folder / "cache-people"))
    monkeypatch.setenv("GITVIRT_CLIENT", "ann")
    monkeypatch.setenv("IRI_MACHINE_RUNTIME_ENDPOINT", "/nonexistent/machines.sock")
    monkeypatch.chdir(fleet.folder)


def gitvirt(fleet: LinkedFleet, *words: str) -> int:
    return main([*words, "--repo", str(fleet.repo)])


def top(fleet: LinkedFleet, capsys: pytest.CaptureFixture[str], *words: str) -> list[dict[str, Any]]:
    assert gitvirt(fleet, "top", *words, "-o", "json") == Exit.OK
    found: list[dict[str, Any]] = json.loads(capsys.readouterr().out)
    return found


def is_rated(shown: list[dict[str, Any]]) -> bool:
    return bool(shown) and shown[0]["cpuCores"] is not None


def read_fields(kind: str) -> list[str]:
    """The fields of docs/json.md."""
    found = re.search(r"ask the link\..*?```json\n(.*?)```", JSON_PAGE.read_text(), re.DOTALL)
    assert found is not None
    (row,) = [each for each in json.loads(found[1]) if each["kind"] == kind]
    return list(row)


def test_top_shows_what_machines_and_hosts_use(
    fleet: LinkedFleet, capsys: pytest.CaptureFixture[str]
) -> None:
    fleet.until(lambda: is_rated(top(fleet, capsys, "machines")))
    (machine,) = top(fleet, capsys, "machines", "web")
    assert (machine["namespace"], machine["name"], machine["host"]) == ("default", "web", "rack-1")
    assert 0 < machine["cpuCores"] <= 1
    assert 0 < machine["memoryBytes"] <= machine["guestMemoryBytes"] == 1 << 30
    assert list(machine) == read_fields("Machine")
    (host,) = top(fleet, capsys, "hosts", "rack-1")
    assert host["machines"] == 1
    assert 0 < host["cpuCores"] < host["cpus"]
    assert list(host) == read_fields("Host")
    assert gitvirt(fleet, "top", "machines", "--sort", "cpu") == Exit.OK
    title, row = capsys.readouterr().out.splitlines()
    assert title.split()[:4] == ["MACHINE", "HOST", "CPU", "MEMORY"]
    assert row.startswith("default/web  rack-1  ")


def test_top_shows_a_client_its_own_namespaces_and_says_what_is_wrong(
    fleet: LinkedFleet, capsys: pytest.CaptureFixture[str]
) -> None:
    assert gitvirt(fleet, "top", "machines", "--client", "bob") == Exit.OK
    printed = capsys.readouterr()
    assert (printed.out, "nothing is measured" in printed.err) == ("", True)
    assert gitvirt(fleet, "top", "machines", "web", "--client", "bob") == Exit.FAILED
    assert "not in namespace default" in capsys.readouterr().err
    assert gitvirt(fleet, "top", "machines", "wbe") == Exit.FAILED
    assert "Machine/default/wbe is not in the fleet" in capsys.readouterr().err
    assert gitvirt(fleet, "top", "--sort", "cpu") == Exit.USAGE
    assert gitvirt(fleet, "top", "hosts", "--client", "carol") == Exit.FAILED
    assert "carol.key cannot be read" in capsys.readouterr().err


def person(fleet: LinkedFleet, *words: str) -> Screen:
    """At a real terminal."""
    command = [sys.executable, "-m", "reconciler", *words, "--repo", str(fleet.repo)]
    return Screen(command, {**os.environ, "PYTHONPATH": str(ROOT), "TERM": "xterm", "NO_COLOR": "1"})


@contextmanager
def at_console(fleet: LinkedFleet, *words: str) -> Iterator[Screen]:
    screen = person(fleet, "console", *words)
    try:
        screen.expect(b"Ctrl-] leaves it.")
        screen.type(b"\r")
        screen.expect(b"login: ")
        yield screen
    finally:
        screen.close()


def until_free(fleet: LinkedFleet) -> None:
    """The console can be opened again: another person can type there."""

    def is_free() -> bool:
        screen = person(fleet, "console", "web")
        try:
            screen.expect(b"login: ")
        except (AssertionError, OSError):  # the verb ended with a refusal, and its terminal with it
            return False
        finally:
            screen.close()
        return True

    fleet.until(is_free)


def test_a_console_is_used_from_afar_and_left_with_its_key(fleet: LinkedFleet) -> None:
    with at_console(fleet, "web") as screen:
        assert screen.is_raw()
        screen.type(b"root\recho it-works\r")
        screen.expect(b"it-works\r\n")
        second = person(fleet, "console", "web")
        try:
            second.expect(b"only one at a time")
            assert second.end() == Exit.FAILED
        finally:
            second.close()
        screen.type(b"\x1d")
        assert screen.end() == Exit.OK
        assert screen.is_restored()
    until_free(fleet)


@pytest.mark.parametrize("killed", ["client", "one", "rack-1"])
def test_a_console_is_free_again_after_a_kill(fleet: LinkedFleet, killed: str) -> None:
    """Of the verb, of the reconciler that serves the link, and of the poollet."""
    with at_console(fleet, "web") as screen:
        if killed == "client":
            screen.process.kill()
        else:
            fleet.kill(killed)
            screen.expect(b"error: ")
            assert screen.end() == Exit.FAILED
            assert screen.is_restored()
    if killed == "one":
        fleet.run_reconciler("one")
    elif killed == "rack-1":
        fleet.run_host("rack-1")
    fleet.until(lambda: fleet.count_connected("one") == 1)
    until_free(fleet)


def test_a_log_is_read_from_afar(fleet: LinkedFleet, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    assert gitvirt(fleet, "logs", "web") == Exit.OK
    whole = capfdbinary.readouterr().out
    assert whole.startswith(b"simulated guest ")
    assert gitvirt(fleet, "logs", "--tail", "1", "default/web", "--client", "ann") == Exit.OK
    assert capfdbinary.readouterr().out == whole.splitlines(keepends=True)[-1]
    screen = person(fleet, "logs", "-f", "web")
    screen.expect(b"login: ")
    screen.type(b"\x03")
    assert screen.end() == 130
    screen.close()


def test_logs_and_consoles_need_their_rights(fleet: LinkedFleet, capsys: pytest.CaptureFixture[str]) -> None:
    for verb in ("logs", "console"):
        assert gitvirt(fleet, verb, "other/x", "--client", "bob") == Exit.FAILED
        printed = capsys.readouterr().err
        assert f"client bob does not have the right {verb}" in printed
        assert f"add {verb} to clients.bob.rights of gitvirt.yaml" in printed
    assert gitvirt(fleet, "logs", "staging/x") == Exit.FAILED
    assert "not in namespace staging" in capsys.readouterr().err
    assert gitvirt(fleet, "logs", "wbe") == Exit.FAILED


def test_people_see_who_is_connected(fleet: LinkedFleet, capsys: pytest.CaptureFixture[str]) -> None:
    """Once a host is steady, and after the only server was killed."""

    def read_link() -> dict[str, Any]:
        assert gitvirt(fleet, "status", "-o", "json") == Exit.OK
        found: dict[str, Any] = json.loads(capsys.readouterr().out)["link"]
        return found

    fleet.until(lambda: read_link()["connected"] == 1)
    assert read_link() == {"hosts": 1, "connected": 1, "notConnected": []}
    assert gitvirt(fleet, "get", "pools") == Exit.OK
    assert "connected to the link" not in capsys.readouterr().err
    fleet.kill("one")
    fleet.until(lambda: read_link()["connected"] == 0)
    (host,) = read_link()["notConnected"]
    assert host["poollet"] == "rack-1"
    assert gitvirt(fleet, "get", "pools") == Exit.OK
    assert (
        "note: host rack-1 is not known to be connected to the link: it pushes its heartbeats"
        in capsys.readouterr().err
    )
    assert gitvirt(fleet, "status") == Exit.OK
    printed = capsys.readouterr().out
    assert "0 of 1 hosts connected" in printed
    assert "Not known to be connected to the link" in printed
    fleet.run_reconciler("one")
