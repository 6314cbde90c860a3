"""`gitvirt purge`: a commit that ends the wait of a deleted machine."""

from __future__ import annotations

from pathlib import Path

import pytest

from reconciler.cli.exits import Exit
from reconciler.gitstore.approval import purge_digest
from schemas.settings import fleet as fleet_settings
from tests.reconciler.cli.verbs.conftest import RUNNING, SETTINGS, gitvirt, machine
from tests.reconciler.gitstore.git import commit, git

Capture = pytest.CaptureFixture[str]
UID, UNTIL = "22222222-2222-4222-8222-222222222222", "2026-01-01T00:10:00Z"


def remove_web_1(fleet: Path) -> None:
    """It is kept on live."""
    text = machine("web-1").replace(b"  name: web-1\n", f"  name: web-1\n  uid: {UID}\n".encode())
    git(fleet, "checkout", "-q", "live")
    undo = f"  undo: {{until: {UNTIL}}}\n".encode()
    commit(fleet, {"machines/web-1.yaml": text + RUNNING + undo}, "stop default/web-1")
    git(fleet, "push", "-q", "origin", "live")
    git(fleet, "checkout", "-q", "main")


def test_it_commits_the_approval_of_this_wait(fleet: Path, capsys: Capture) -> None:
    remove_web_1(fleet)
    assert gitvirt("get", "machine", "web-1") == Exit.OK
    assert "Deleted (undo until 2026-01-01T" in capsys.readouterr().out
    head = git(fleet, "rev-parse", "origin/main")
    assert gitvirt("purge", "machine/web-1") == Exit.USAGE  # no terminal to ask on
    assert "purge destroys data" in capsys.readouterr().err
    assert git(fleet, "ls-remote", "origin", "main").split()[0] == head
    assert gitvirt("purge", "machine/web-1", "--dry-run") == Exit.OK
    assert "DESTROYS local disk root of web-1" in capsys.readouterr().err
    assert gitvirt("purge", "machine/web-1", "--yes") == Exit.OK
    settings = fleet_settings.parse(SETTINGS)
    assert isinstance(settings, fleet_settings.FleetSettings)
    digest = purge_digest(settings.fleet.id, UID, UNTIL)
    printed = capsys.readouterr().out
    assert "Machine/default/web-1 will be DELETED, without an undo: " in printed
    assert "`gitvirt wait Machine/default/web-1 --for deleted` waits until that is done" in printed
    git(fleet, "fetch", "-q", "origin")
    assert git(fleet, "diff", "--name-only", "origin/main~1", "origin/main").split() == [
        f".gitvirt/approvals/{digest}.yaml"
    ]
    assert "purge default/web-1: DESTROY its local data" in git(
        fleet, "log", "-1", "--format=%s", "origin/main"
    )


def test_a_machine_that_is_not_deleted_is_refused(fleet: Path, capsys: Capture) -> None:
    head = git(fleet, "rev-parse", "origin/main")
    assert gitvirt("purge", "web-1") != Exit.OK
    assert "default/web-1 is not kept for an undo: it is not deleted" in capsys.readouterr().err
    git(fleet, "fetch", "-q", "origin")
    assert git(fleet, "rev-parse", "origin/main") == head
