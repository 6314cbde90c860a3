"""A stock provider states reasons in its events alone: people see them in conditions and events, and `live` gets no commit for each."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace

from iri.machine import RuntimeMachine
from reconciler.cli import main
from reconciler.gitstore.repo import Refs
from schemas.report import MachineReport, ReportedCondition
from tests.iri.quick_host import PROFILE
from tests.poollet.fleet import LIVE, MAIN, REPORTS, SETTINGS, machine, machine_class
from tests.poollet.simulation import Simulation
from tests.reconciler.gitstore.git import commit, git

IMAGE = "registry.example/web:1"
DISK = f"  volumes:\n  - {{name: root, localDisk: {{image: '{IMAGE}'}}}}\n"
FILES = {"gitvirt.yaml": SETTINGS, "small.yaml": machine_class(), "web.yaml": machine("web", spec=DISK)}
STOCK = replace(PROFILE, behavior="stock-libvirt")
REASON, MESSAGE = "ImagePullFailed", "the image cannot be pulled"


def start(*unavailable: str) -> Simulation:
    site = Simulation(("host-1",), {0: FILES}, profile=replace(STOCK, unavailable_images=unavailable))
    site.settle()
    return site


def find_entry(site: Simulation) -> MachineReport:
    return site.runs["host-1"].report().machines["default", "web"]


def conditions(site: Simulation) -> dict[str, ReportedCondition]:
    status = find_entry(site).status
    assert status is not None
    return {one.type: one for one in status.conditions}


def clone(site: Simulation, at: Path) -> Path:
    """What is in memory as a repo that commands can read."""
    bare, checkout = at / "fleet.git", at / "fleet"
    git(at, "init", "-q", "--bare", "-b", "main", str(bare))
    git(at, "init", "-q", "-b", "main", str(checkout))
    git(checkout, "remote", "add", "origin", str(bare))
    for ref in (REPORTS + "host-1", LIVE, MAIN):
        repo = site.fleet.client(Refs())
        repo.snapshot()
        head = site.fleet.head(ref)
        assert head is not None
        git(checkout, "checkout", "-q", "--orphan", ref.rpartition("/")[2])
        git(checkout, "rm", "-q", "-rf", "--ignore-unmatch", ".")
        commit(checkout, {file.path: repo.read(file.id) for file in repo.files(head)})
        git(checkout, "push", "-q", "origin", f"HEAD:{ref}")
    return checkout


def test_an_image_that_cannot_be_pulled_is_named_wherever_people_look(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    site = start(IMAGE)
    monkeypatch.setenv("GITVIRT_CACHE", str(tmp_path / "cache"))
    monkeypatch.chdir(clone(site, tmp_path))
    for words in (
        ("get", "machines", "-o", "wide"),
        ("describe", "machine", "web"),
        ("explain", "machine/web"),
        ("events", "--for", "machine/web"),
    ):
        assert main([*words]) == 0, words
        shown = capsys.readouterr().out
        assert REASON in shown, (words, shown)
        assert MESSAGE in shown or words[0] == "get", (words, shown)


def test_a_machine_that_waits_has_the_reason_and_no_volume_ready() -> None:
    found = conditions(start(IMAGE))
    assert (found["Ready"].reason, found["Ready"].message) == (REASON, MESSAGE)
    assert (found["VolumesReady"].status, found["VolumesReady"].reason) == ("False", "NotAttached")


def test_the_reason_is_gone_once_the_machine_runs() -> None:
    site = start()
    assert (conditions(site)["Ready"].status, conditions(site)["Ready"].reason) == ("True", "Running")
    assert conditions(site)["VolumesReady"].status == "True"
    assert "Started" in [event.reason for event in site.runs["host-1"].report().events]


def test_a_restart_keeps_the_reason_that_the_provider_has_forgotten() -> None:
    site = start(IMAGE)
    site.time.ms += 600_000
    site.runs.clear()
    site.round()
    assert conditions(site)["Ready"].reason == REASON


def test_a_warning_with_a_number_makes_no_commit_for_each_try() -> None:
    site = start(IMAGE)
    host = site.machines["host-1"].host
    (guest,) = host.state.objects(RuntimeMachine).values()
    live, reports = site.fleet.head(LIVE), set()
    for number in range(20):
        host.journal.event(guest, REASON, "PullImage", f"try {number} failed", is_warning=True)
        site.round()
        reports.add(site.fleet.head(REPORTS + "host-1"))
    assert site.fleet.head(LIVE) == live
    assert len(reports) < 10, "only heartbeats"
    assert site.runs["host-1"].agent.last_report.events[-1].count == 21
