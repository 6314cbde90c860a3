"""Objects of files with errors: no view hides them, and each says file, line, code and cure."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from reconciler.cli.exits import Exit
from tests.reconciler.cli.verbs.conftest import RUNNING, gitvirt, machine
from tests.reconciler.cli.verbs.test_fleet_views import push
from tests.reconciler.cli.verbs.test_mutate import Capture
from tests.reconciler.gitstore.git import git

BROKEN = b"""apiVersion: compute.ironcore.dev/v1alpha1
kind: Machine
metadata: {name: new-1}
spec:
  machineClassRef: {name: small}
  powr: On
---
"""
NEW_1, NEW_2 = "Machine/default/new-1", "Machine/default/new-2"
WHY = "machines/new.yaml:6:3: GV201 there is no field 'powr'"
CURE = "did you mean power?"


@pytest.fixture
def broken(fleet: Path) -> Path:
    """One new object with an error, one without beside it in the same file, and a file of which nothing can be known."""
    files = {"machines/new.yaml": BROKEN + machine("new-2"), "machines/torn.yaml": b"kind: [Machine\n"}
    push(fleet, "main", files)
    return fleet


def test_status_lists_each_with_its_place(broken: Path, capsys: Capture) -> None:
    assert gitvirt("status") == Exit.OK
    printed = capsys.readouterr().out
    assert "Not applied  fix the file, commit and push" in printed
    for name in (NEW_1, NEW_2):
        assert re.search(
            rf"{name} +machines/new.yaml:6:3 +GV201 +there is no field .powr. \({re.escape(CURE)}\)", printed
        )
    assert "machines/torn.yaml" in printed
    assert gitvirt("status", "-o", "json") == Exit.OK
    listed = json.loads(capsys.readouterr().out)["notApplied"]
    assert [(each["object"], each["file"], each["line"]) for each in listed] == [
        (NEW_1, "machines/new.yaml", 6),
        (NEW_2, "machines/new.yaml", 6),
        ("", "machines/torn.yaml", 1),
    ]


def test_get_names_them_below_its_table_and_refuses_them_by_name(broken: Path, capsys: Capture) -> None:
    assert gitvirt("get", "machines") == Exit.OK
    captured = capsys.readouterr()
    assert "new-1" not in captured.out
    assert f"{NEW_1} is not applied: {WHY}; {CURE}\n{NEW_2} is not applied: {WHY}; {CURE}\n" in captured.err
    assert gitvirt("get", "machines", "-n", "lab") == Exit.OK
    assert NEW_1 not in capsys.readouterr().err
    views = ("get machine new-1", "describe new-2", "explain new-1", "explain new-2 --repo .")
    for verb in views:
        assert gitvirt(*verb.split()) == Exit.PROBLEMS
        assert f"is not applied: {WHY}\n  {CURE}\n" in capsys.readouterr().err


@pytest.mark.parametrize("verb", ["restart", "stop", "pause", "replace --yes", "move --yes", "delete --yes"])
def test_no_change_is_committed_to_a_file_with_errors(broken: Path, capsys: Capture, verb: str) -> None:
    """It would have no effect; and the verb would say that the machine stops."""
    before = git(broken, "rev-parse", "origin/main")
    for name in ("new-1", "new-2"):
        assert gitvirt(*verb.split(), name) == Exit.PROBLEMS
        assert f"Machine/default/{name} is not applied: {WHY}\n  {CURE}\n" in capsys.readouterr().err
    git(broken, "fetch", "-q")
    assert git(broken, "rev-parse", "origin/main") == before


def test_diff_says_why_the_source_is_not_on_the_target_branch(broken: Path, capsys: Capture) -> None:
    assert gitvirt("diff", "new-2", "--exit-code") == Exit.PROBLEMS
    captured = capsys.readouterr()
    assert "+  name: new-2" in captured.out
    assert f"{NEW_2} is not applied: {WHY}\n  {CURE}\n" in captured.err
    assert gitvirt("diff", "new-1") == Exit.PROBLEMS
    captured = capsys.readouterr()
    assert f"{NEW_1} is not applied: {WHY}\n  {CURE}\n" in captured.err
    assert captured.out == ""
    assert gitvirt("diff", "machines", "--all", "--exit-code") == Exit.PROBLEMS
    assert f"{NEW_1} is not applied" in capsys.readouterr().err


def test_diff_never_shows_a_mistake_as_a_deletion(fleet: Path, capsys: Capture) -> None:
    """live keeps the machine as it is, so lines with `-` would say what does not happen. Others are compared all the same."""
    push(fleet, "main", {"machines/web-1.yaml": machine("web-1").replace(b"spec:\n", b"spec:\n  powr: On\n")})
    assert gitvirt("diff", "web-1", "web-2") == Exit.PROBLEMS
    captured = capsys.readouterr()
    assert "Machine/default/web-1" not in captured.out
    assert "Machine/default/web-1 is not applied: machines/web-1.yaml:" in captured.err
    assert "there is no field 'powr'" in captured.err


def test_wait_says_at_once_why_it_cannot_succeed_yet(broken: Path, capsys: Capture) -> None:
    assert gitvirt("wait", "new-1", "--timeout", "0") == Exit.TIMED_OUT
    first, last, cure = capsys.readouterr().err.splitlines()
    assert first == f"{NEW_1} cannot become Running yet: {WHY}; {CURE}"
    assert last == f"error: {NEW_1} is not Running after 0s: {WHY}; {CURE}"
    assert cure == "  fix its file, commit and push; `gitvirt validate` checks it"


@pytest.mark.parametrize(
    ("before", "after", "why"),
    [
        (b"spec:\n", b"spec:\n  powr: On\n", ":8:3: GV201 there is no field 'powr'; did you mean power?\n"),
        (b"kind: Machine", b"kind: [Machine", "machines/web-1.yaml:"),
    ],
    ids=["a field", "the whole file"],
)
def test_wait_says_that_what_runs_is_not_what_is_declared(
    fleet: Path, capsys: Capture, before: bytes, after: bytes, why: str
) -> None:
    """The machine runs as before, so the state is reached; the change that people may wait for did not happen."""
    push(fleet, "live", {"machines/web-1.yaml": machine("web-1") + RUNNING})
    assert gitvirt("wait", "web-1", "--timeout", "0") == Exit.OK
    assert capsys.readouterr().err == ""
    push(fleet, "main", {"machines/web-1.yaml": machine("web-1").replace(before, after)})
    assert gitvirt("wait", "web-1", "--timeout", "0") == Exit.OK
    captured = capsys.readouterr()
    assert "Machine/default/web-1: Running after " in captured.out
    assert captured.err.startswith(
        "the present declaration of Machine/default/web-1 is not applied: machines/web-1.yaml:"
    )
    assert why in captured.err


def test_wait_says_at_once_that_people_have_to_do_something(fleet: Path, capsys: Capture) -> None:
    blocked = b"""status:
  conditions:
    - {type: Accepted, status: "False", reason: GV310, message: there is no MachineClass small}
"""
    push(fleet, "live", {"machines/web-3.yaml": machine("web-3") + blocked})
    assert gitvirt("wait", "web-2", "web-3", "--timeout", "0") == Exit.TIMED_OUT
    printed = capsys.readouterr().err
    assert "Machine/default/web-2 cannot become Running yet: rack-a: cpu: need 1, have 0\n" in printed
    assert "Machine/default/web-3 cannot become Running yet: there is no MachineClass small\n" in printed


def test_an_object_that_live_has_is_not_listed_as_new(fleet: Path, capsys: Capture) -> None:
    frozen = RUNNING.replace(
        b"conditions:\n", b"conditions:\n    - {type: Accepted, status: 'False', reason: Frozen}\n"
    )
    push(fleet, "live", {"machines/web-1.yaml": machine("web-1") + frozen})
    push(fleet, "main", {"machines/web-1.yaml": machine("web-1") + b"---\n" + BROKEN})
    assert gitvirt("get", "machines") == Exit.OK
    captured = capsys.readouterr()
    assert "web-1  Running" in captured.out
    assert "Machine/default/new-1 is not applied: machines/web-1.yaml:18:3" in captured.err
    assert "web-1 is not applied" not in captured.err
