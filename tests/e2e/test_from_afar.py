"""What people see and reach of machines from afar, over the link: a reconciler and a host as processes, the verbs as people call them."""

from __future__ import annotations

import json
import re
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from reconciler.cli import main
from reconciler.cli.exits import Exit
from tests.e2e.linked_fleet import MACHINE, LinkedFleet, linked_fleet
from tests.reconciler.link.client import list_client
from tests.servers.link_certificates import make_certificate

ANN, BOB = make_certificate("ann"), make_certificate("bob")
JSON_PAGE = Path(__file__).parents[2] / "docs" / "json.md"


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
    monkeypatch.delenv("IRI_MACHINE_RUNTIME_ENDPOINT", raising=False)
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
