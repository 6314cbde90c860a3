"""Verbs about a deleted machine that is kept for an undo, and about one that `replace` is going to recreate."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from reconciler.cli.exits import Exit
from tests.reconciler.cli.verbs.conftest import RUNNING, gitvirt, machine
from tests.reconciler.gitstore.git import commit, git

Capture = pytest.CaptureFixture[str]
UID, UNTIL = "22222222-2222-4222-8222-222222222222", "2026-01-01T00:10:00Z"
OLD, NEW = "11111111-1111-4111-8111-111111111111", "33333333-3333-4333-8333-333333333333"
LOSS = "DESTROYS local disk root of web-1, 5Gi"
WAITS = f"deleted: DELETE at {UNTIL} {LOSS}; another machine of this name waits"
KEPT = RUNNING + f"  undo: {{until: {UNTIL}}}\n".encode()


def keep_web_1(fleet: Path, condition: str = "", status: bytes = KEPT) -> str:
    """Its file is removed, and live has it as stopped; returns the commit that removed the file."""
    git(fleet, "rm", "-q", "machines/web-1.yaml")
    removal = commit(fleet, {}, "no more web-1")
    git(fleet, "push", "-q", "origin", "main")
    git(fleet, "checkout", "-q", "live")
    git(fleet, "merge", "-q", "--no-ff", "--no-commit", "-s", "ours", "main")
    text = machine("web-1", labels="{app: web}").replace(
        b"  name: web-1\n", f"  name: web-1\n  uid: {UID}\n".encode()
    )
    status = status.replace(b"  conditions:\n", f"  conditions:\n{condition}".encode())
    commit(fleet, {"machines/web-1.yaml": text + status}, "stop default/web-1")
    git(fleet, "push", "-q", "origin", "live")
    git(fleet, "checkout", "-q", "main")
    return removal


@pytest.mark.parametrize(
    "words",
    [
        *("stop web-1", "start machine/web-1", "restart web-1", "pause web-1", "resume web-1"),
        *("delete web-1 --yes", "replace web-1 --yes", "replace -l app=web --yes", "move web-1"),
        *("ssh web-1 --print", "console web-1"),
    ],
)
def test_a_verb_says_that_the_machine_is_kept_and_how_it_comes_back(
    fleet: Path, capsys: Capture, words: str
) -> None:
    removal = keep_web_1(fleet)
    head = git(fleet, "ls-remote", "origin", "main").split()[0]
    assert gitvirt(*words.split()) == Exit.FAILED
    shown = capsys.readouterr().err
    assert "Machine/default/web-1 is deleted, and kept with its disks until 2026-01-01T" in shown
    assert f"`git revert {removal[:10]}` on main brings it back" in shown
    assert f"`gitvirt purge default/web-1` deletes it now, which {LOSS}" in shown
    assert "did you mean" not in shown
    assert git(fleet, "ls-remote", "origin", "main").split()[0] == head


@pytest.mark.parametrize(
    "words", ["restart web-1", "replace web-1 --yes", "stop web-1", "delete web-1 --yes"]
)
def test_a_verb_says_that_the_deletion_is_held_and_how_the_machine_comes_back(
    fleet: Path, capsys: Capture, words: str
) -> None:
    """It still runs and is in every table, so `there is no Machine web-1` would not be true."""
    held = (
        '    - {type: DeletionHeld, status: "True", reason: DeletionLimitExceeded, '
        'message: "awaits approval; `gitvirt approve 1234`"}\n'
    )
    removal = keep_web_1(fleet, held, status=RUNNING)
    head = git(fleet, "ls-remote", "origin", "main").split()[0]
    assert gitvirt(*words.split()) == Exit.FAILED
    shown = capsys.readouterr().err
    assert f"Machine/default/web-1 is to be deleted: commit {removal[:10]} removed it from main" in shown
    assert "its deletion is held: awaits approval; `gitvirt approve 1234`\n" in shown
    assert f"  `git revert {removal[:10]}` on main brings it back\n" in shown
    assert git(fleet, "ls-remote", "origin", "main").split()[0] == head


def test_views_say_it_too(fleet: Path, capsys: Capture) -> None:
    removal = keep_web_1(fleet)
    assert gitvirt("describe", "web-1") == Exit.OK
    assert f"Undo: `git revert {removal[:10]}` on main brings it back" in capsys.readouterr().out
    gitvirt("explain", "machine", "web-1", "--repo", str(fleet))
    assert "blocked: deleted, and kept with its disks until 2026-01-01T" in capsys.readouterr().out
    assert gitvirt("status") == Exit.OK
    shown = capsys.readouterr().out
    assert "Deleted, kept for an undo" in shown
    assert "Machine/default/web-1  Deleted (undo until 2026-01-01T" in shown
    assert gitvirt("wait", "web-1", "--timeout", "0s") == Exit.TIMED_OUT
    assert "waiting for Machine/default/web-1, which is deleted, and kept" in capsys.readouterr().err
    assert gitvirt("wait", "web-1", "--for", "state=Deleted", "--timeout", "0s") == Exit.OK
    assert capsys.readouterr().err == ""


def test_every_view_names_what_waits_for_its_end_and_what_that_destroys(fleet: Path, capsys: Capture) -> None:
    keep_web_1(
        fleet,
        '    - {type: Accepted, status: "False", reason: ReplacementWaits, lastTransitionTime: '
        f'"2026-01-01T00:00:00Z", message: "{WAITS}"}}\n',
    )
    assert gitvirt("get", "machines") == Exit.OK
    shown = capsys.readouterr()
    assert "ReplacementWaits" in shown.out
    assert WAITS in shown.err
    for words in ("get machines -o wide", "describe web-1", "status", "explain web-1 --repo ."):
        gitvirt(*words.split())
        assert WAITS in capsys.readouterr().out, words
    assert gitvirt("wait", "web-1", "--timeout", "0s") == Exit.TIMED_OUT
    assert WAITS in capsys.readouterr().err
    assert gitvirt("status", "-o", "json") == Exit.OK
    found = json.loads(capsys.readouterr().out)
    assert (found["kept"], found["notAsDeclared"]) == (
        ["Machine/default/web-1"],
        ["Machine/default/web-2"],
    )


def test_wait_does_not_take_the_old_machine_for_the_one_that_replace_orders(
    fleet: Path, capsys: Capture
) -> None:
    assert gitvirt("wait", "web-1", "--timeout", "0s") == Exit.OK
    assert gitvirt("replace", "web-1", "--yes") == Exit.OK
    assert "`gitvirt wait Machine/default/web-1 --for state=Running`" in capsys.readouterr().out
    for condition in ((), ("--for", "state=Running"), ("--for", "condition=Scheduled")):
        assert gitvirt("wait", "web-1", *condition, "--timeout", "0s") == Exit.TIMED_OUT
    assert (
        "it is Running on rack-a, and ordered to be RECREATED: that is the old one" in capsys.readouterr().err
    )
    git(fleet, "checkout", "-q", "live")
    made = (machine("web-1") + RUNNING).replace(OLD.encode(), NEW.encode())
    commit(fleet, {"machines/web-1.yaml": made}, "default/web-1 is running")
    git(fleet, "push", "-q", "origin", "live")
    assert gitvirt("wait", "web-1", "--timeout", "0s") == Exit.OK


def test_wait_does_not_take_the_machine_before_a_restart_for_the_one_after_it(
    fleet: Path, capsys: Capture
) -> None:
    assert gitvirt("restart", "web-1") == Exit.OK
    assert gitvirt("wait", "web-1", "--timeout", "0s") == Exit.TIMED_OUT
    assert "it is Running on rack-a, and ordered to restart" in capsys.readouterr().err
    assert gitvirt("pause", "web-1") == Exit.OK
    assert gitvirt("wait", "web-1", "--timeout", "0s") == Exit.OK
    assert gitvirt("resume", "web-1") == Exit.OK
    git(fleet, "pull", "-q", "origin", "main")
    token = re.search(r"gitvirt.dev/restart: (\S+)", (fleet / "machines" / "web-1.yaml").read_text())
    assert token is not None
    git(fleet, "checkout", "-q", "live")
    made = machine("web-1") + RUNNING + f"  restart: {token[1]}\n".encode()
    commit(fleet, {"machines/web-1.yaml": made}, "default/web-1 is running")
    git(fleet, "push", "-q", "origin", "live")
    assert gitvirt("wait", "web-1", "--timeout", "0s") == Exit.OK


def test_replace_and_delete_print_the_wait_that_ends(fleet: Path, capsys: Capture) -> None:
    git(fleet, "checkout", "-q", "live")
    commit(fleet, {"machines/web-2.yaml": machine("web-2") + RUNNING}, "default/web-2 is running")
    git(fleet, "push", "-q", "origin", "live")
    git(fleet, "checkout", "-q", "main")
    assert gitvirt("stop", "web-2") == Exit.OK
    assert gitvirt("replace", "web-1", "web-2", "--yes") == Exit.OK
    shown = capsys.readouterr().out
    assert "`gitvirt wait Machine/default/web-1 --for state=Running`" in shown
    assert "`gitvirt wait Machine/default/web-2 --for state=Shutdown`" in shown
    assert gitvirt("delete", "web-1", "--yes") == Exit.OK
    assert "--for deleted --timeout 900s`" in capsys.readouterr().out
