"""`gitvirt schedule` against a reconciler and a host as processes: what it prints, and how it exits."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from reconciler.cli import main
from reconciler.cli.exits import Exit
from tests.e2e.linked_fleet import MACHINE, LinkedFleet, linked_fleet
from tests.reconciler.link.client import list_client
from tests.servers.link_certificates import make_certificate

CI, OTHER = make_certificate("ci"), make_certificate("other")


@pytest.fixture(scope="module")
def fleet() -> Iterator[LinkedFleet]:
    with (
        tempfile.TemporaryDirectory(prefix="gv-") as folder,
        linked_fleet(Path(folder), hosts=("rack-1",)) as made,
    ):
        entries = list_client("ci", CI, ("schedule",), ("default",)) + list_client("other", OTHER)
        made.commit({"gitvirt.yaml": made.settings() + "clients:\n" + entries})
        for name, own in (("ci", CI), ("other", OTHER)):
            own.write(made.folder, name)
        made.run_reconciler("one")
        made.run_host("rack-1")
        made.until(lambda: made.count_connected("one") == 1)
        yield made


def schedule(fleet: LinkedFleet, text: str, *more: str, own: str = "ci", named: bool = True) -> int:
    manifest = fleet.folder / "job.yaml"
    manifest.write_text(text)
    files = ("--certificate", f"{fleet.folder}/{own}.crt", "--key", f"{fleet.folder}/{own}.key")
    link = ("--link", f"127.0.0.1:{fleet.servers['one']}", "--link-certificate", f"{fleet.folder}/link.crt")
    return main(["schedule", "-f", str(manifest), *files, *(link if named else ()), *more])


def test_a_machine_is_watched_until_it_runs(fleet: LinkedFleet, capsys: pytest.CaptureFixture[str]) -> None:
    assert schedule(fleet, MACHINE.format(name="web"), "--watch", "--timeout", "150s") == Exit.OK
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("Machine/default/web  ACCEPTED by ")
    assert lines[-1] == "Machine/default/web  RUNNING on rack-1"


def test_without_a_watch_the_commit_is_enough(
    fleet: LinkedFleet, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GITVIRT_CACHE", str(fleet.folder / "cache-people"))
    here = ("--repo", str(fleet.repo))
    assert schedule(fleet, MACHINE.format(name="db"), *here, named=False) == Exit.OK
    assert capsys.readouterr().out == f"committed {fleet.head('refs/heads/main')[:10]}\n"


def test_refusals_have_their_exit_codes_and_words(
    fleet: LinkedFleet, capsys: pytest.CaptureFixture[str]
) -> None:
    head = fleet.head("refs/heads/main")
    wrong = MACHINE.format(name="x").replace("small", "smal")
    assert schedule(fleet, wrong, "--dry-run") == Exit.PROBLEMS
    assert "GV310" in capsys.readouterr().err
    assert schedule(fleet, MACHINE.format(name="x"), "--dry-run") == Exit.OK
    assert "nothing was committed" in capsys.readouterr().out
    assert schedule(fleet, MACHINE.format(name="x"), own="other") == Exit.FAILED
    assert "client other does not have the right schedule" in capsys.readouterr().err
    assert schedule(fleet, MACHINE.format(name="x"), "--link", "127.0.0.1") == Exit.USAGE
    assert fleet.head("refs/heads/main") == head


def test_what_no_pool_takes_is_named_until_the_time_is_over(
    fleet: LinkedFleet, capsys: pytest.CaptureFixture[str]
) -> None:
    nowhere = MACHINE.format(name="lost") + "  machinePoolSelector: {zone: nowhere}\n"
    assert schedule(fleet, nowhere, "--watch", "--timeout", "20s") == Exit.TIMED_OUT
    printed = capsys.readouterr()
    assert "Machine/default/lost  UNSCHEDULABLE" in printed.out
    assert "    rack-1: " in printed.out
    assert "the time of --timeout is over" in printed.err
