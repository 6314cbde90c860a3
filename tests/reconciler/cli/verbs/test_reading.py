"""The verbs that look: what they print, in every format, and what they say when there is nothing."""

from __future__ import annotations

import json
import os
import threading
import time
from pathlib import Path

import pytest

from reconciler.cli.exits import Exit
from tests.reconciler.cli.verbs.conftest import RUNNING, gitvirt, machine
from tests.reconciler.repo.git import commit, git

Capture = pytest.CaptureFixture[str]


@pytest.mark.parametrize(
    ("words", "want"),
    [
        ("get machines", ["NAME   STATE    POOL  CLASS  POWER  IPS       REASON", "web-1  Running", "10.0.0.7", "Unschedulable"]),
        ("get m -A", ["NAMESPACE  NAME", "lab        lab"]),
        ("get machines -A -l app=web -o name", ["default/web-1\n"]),
        ("get machines -A -l app==web -o name", ["default/web-1\n"]),
        ("get machines -A -l app=web,tier==front -o name", ["default/web-1\n"]),
        ("get machines -A --field state=Running -o name", ["default/web-1\n"]),
        ("get machines -A --field power=On -o name", ["default/web-1\ndefault/web-2\nlab/lab\n"]),
        ("get machine lab/lab -o wide", ["machines/lab.yaml"]),
        ("get pools", ["rack-a  Ready  small    8    32Gi"]),
        ("get machine web-1 -o yaml", ["kind: Machine\n", "  state: Running\n"]),
        ("get secrets", ["seed  -     password  no"]),
        ("tree", ["rack-a  Ready\n└─ default/web-1  Running\n   └─ oda  local disk root  Pending\n", "without a pool\n", "default/web-2  Pending  Unschedulable"]),
        ("top", ["rack-a  Ready  1", "12%  1 of 8", "6%  2Gi of 32Gi"]),
        ("events", ["Restarted  the guest stopped by itself (3 times)", "default/web-1 is running"]),
        ("history machine web-1", ["default/web-1 is running", "schedule default/web-1 onto rack-a: most free", "add web-1"]),
        ("describe machine web-1", ["Machine/default/web-1  Running", "Scheduled  True", "Restarted", "add web-1", "  kind: Machine"]),
        ("describe machine web-2", ["Unschedulable: rack-a: cpu: need 1, have 0"]),
        ("wait machine web-1 --for state=Running", ["Machine/default/web-1: Running after"]),
        ("wait pool rack-a --for status.availableMachineClasses=small", ["=small after"]),
        ("wait machine nobody --for deleted", ["deleted after"]),
    ],
)  # fmt: skip
def test_shows(fleet: Path, capsys: Capture, words: str, want: list[str]) -> None:
    assert gitvirt(*words.split()) == Exit.OK
    printed = capsys.readouterr().out
    for text in want:
        assert text in printed, printed


@pytest.mark.parametrize(
    "words",
    [
        "get machines -A",
        "get machine web-1",
        "tree",
        "top",
        "events",
        "history machine web-1",
        "describe machine web-1",
    ],
)
def test_json_is_json(fleet: Path, capsys: Capture, words: str) -> None:
    assert gitvirt(*words.split(), "-o", "json") == Exit.OK
    assert json.loads(capsys.readouterr().out)


@pytest.mark.parametrize(
    ("words", "code", "cause", "cure"),
    [
        ("get machine web-9", Exit.FAILED, "there is no Machine web-9 in namespace default", "did you mean web-"),
        ("get machine lab", Exit.FAILED, "there is no Machine lab", "-n lab"),
        ("get machine zzz", Exit.FAILED, "there is no Machine zzz", "gitvirt get machines -A"),
        ("get machnes", Exit.USAGE, "there is no kind 'machnes'", "did you mean machines?"),
        ("describe pool nowhere", Exit.FAILED, "there is no MachinePool nowhere", "gitvirt get machinepools"),
        ("get machines -l a=b,c", Exit.USAGE, "'c' is not NAME=VALUE", ""),
        ("get machines --field nope=1", Exit.USAGE, "no Machine has anything at nope", "state, power"),
        ("get machines --repo nothing.git", Exit.FAILED, "nothing.git", ""),
        ("get machines --field state", Exit.USAGE, "'state' is not NAME=VALUE", ""),
        ("wait machine web-2 --timeout 1s", Exit.TIMED_OUT, "it is Pending (rack-a: cpu", "gitvirt describe machine web-2"),
    ],
)  # fmt: skip
def test_says_what_is_wrong_and_what_to_do(
    fleet: Path, capsys: Capture, words: str, code: Exit, cause: str, cure: str
) -> None:
    assert gitvirt(*words.split()) == code
    said = capsys.readouterr().err
    assert cause in said
    assert cure in said
    assert "Traceback" not in said


@pytest.mark.parametrize(
    "words",
    [
        "get secret seed -o yaml",
        "get secrets -o json",
        "describe secret seed",
        "describe secret seed -o json",
    ],
)
def test_secrets_are_shown_only_when_asked_for(fleet: Path, capsys: Capture, words: str) -> None:
    gitvirt(*words.split())
    assert "hunter2" not in capsys.readouterr().out
    gitvirt(*words.split(), "--show-secrets")
    assert "hunter2" in capsys.readouterr().out


def test_before_the_first_reconcile_people_see_what_they_declared(fleet: Path, capsys: Capture) -> None:
    git(fleet, "push", "-q", "origin", "--delete", "live")
    assert gitvirt("get", "machines") == Exit.OK
    printed = capsys.readouterr()
    assert "web-1  Pending" in printed.out
    assert "there is no branch live yet" in printed.err


def test_wait_ends_as_soon_as_it_is_so(fleet: Path, capsys: Capture) -> None:
    def run_it() -> None:
        time.sleep(0.3)
        git(fleet, "checkout", "-q", "live")
        commit(fleet, {"machines/web-2.yaml": machine("web-2") + RUNNING}, "default/web-2 is running")
        git(fleet, "push", "-q", "origin", "live")

    reconciler = threading.Thread(target=run_it)
    reconciler.start()
    assert gitvirt("wait", "machine", "web-2", "--timeout", "60s") == Exit.OK
    reconciler.join()
    assert "Machine/default/web-2: Running" in capsys.readouterr().out


def test_without_a_repo_the_way_to_name_one_is_told(
    tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert "GITVIRT_REPO" not in os.environ
    assert gitvirt("get", "machines") == Exit.USAGE
    assert "--repo" in capsys.readouterr().err
