"""`gitvirt pool`: a commit whose file states what became of the host of a pool."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from reconciler.cli.exits import Exit
from tests.reconciler.cli.verbs.conftest import POOL, POOL_STATUS, gitvirt
from tests.reconciler.gitstore.git import commit, git

Capture = pytest.CaptureFixture[str]
DESTROYED = ".gitvirt/requests/Pool-Destroyed/rack-a=5f0c9d1e.yaml"
HOST = ".gitvirt/requests/Pool-Host/rack-a=77b2a4c0.yaml"


@pytest.fixture
def granted_pool(fleet: Path) -> Path:
    """The pool is granted to a host."""
    git(fleet, "checkout", "-q", "live")
    commit(
        fleet, {"pools/rack-a.yaml": POOL + POOL_STATUS + b"  host: {id: 5f0c9d1e}\n  epoch: 1\n"}, "grant"
    )
    git(fleet, "push", "-q", "origin", "live")
    git(fleet, "checkout", "-q", "main")
    return fleet


def read_at(fleet: Path, revision: str, path: str) -> str:
    git(fleet, "fetch", "-q", "origin")
    return git(fleet, "show", f"{revision}:{path}")


def test_it_commits_a_file_that_states_it(granted_pool: Path, capsys: Capture) -> None:
    assert gitvirt("pool", "destroyed", "rack-a", "5f0c9d1e") == Exit.OK
    assert capsys.readouterr().out.startswith("stated Pool-Destroyed: rack-a=5f0c9d1e: ")
    text = read_at(granted_pool, "origin/main", DESTROYED)
    assert text.startswith("Pool-Destroyed: rack-a=5f0c9d1e\ntime: ")
    assert "by: 'Ann <ann@example.org>'" in text
    assert gitvirt("validate", "--rev", "origin/main", "--against", "origin/main~1") == Exit.OK
    assert gitvirt("pool", "destroyed", "rack-a", "5f0c9d1e") == Exit.OK
    assert read_at(granted_pool, "origin/main", DESTROYED) != text, "stated again it is another content"


def test_a_branch_is_for_review(granted_pool: Path, capsys: Capture) -> None:
    head = git(granted_pool, "rev-parse", "origin/main")
    assert gitvirt("pool", "host", "--branch", "moved", "rack-a", "77b2a4c0") == Exit.OK
    assert "open a pull request" in capsys.readouterr().out
    assert read_at(granted_pool, "origin/moved", HOST).startswith("Pool-Host: rack-a=77b2a4c0\n")
    assert git(granted_pool, "rev-parse", "origin/main") == head


def test_for_programs(granted_pool: Path, capsys: Capture) -> None:
    assert gitvirt("pool", "host", "rack-a", "77b2a4c0", "--dry-run", "-o", "json") == Exit.OK
    value = json.loads(capsys.readouterr().out)
    assert (value["request"], value["commit"], value["files"]) == ("Pool-Host: rack-a=77b2a4c0", "", [HOST])
    assert f"+++ b/{HOST}" in value["patch"]
    assert git(granted_pool, "status", "--porcelain") == ""


@pytest.mark.parametrize(
    ("words", "cause"),
    [
        ("destroyed rack-a 77b2a4c0", "pool rack-a is granted to host 5f0c9d1e, not to 77b2a4c0"),
        ("host rack-a 5f0c9d1e", "pool rack-a is granted to host 5f0c9d1e already"),
        ("destroyed rack-b 5f0c9d1e", "pool rack-b is granted to no host"),
    ],
)
@pytest.mark.usefixtures("granted_pool")
def test_it_refuses_what_would_have_no_effect(capsys: Capture, words: str, cause: str) -> None:
    assert gitvirt("pool", *words.split()) == Exit.FAILED
    found = capsys.readouterr().err
    assert cause in found
    assert "column HOST" in found


@pytest.mark.usefixtures("granted_pool")
@pytest.mark.parametrize("host", ["../../x", "a=b", "a b", ""])
def test_only_a_hostid_becomes_a_file(capsys: Capture, host: str) -> None:
    assert gitvirt("pool", "destroyed", "rack-a", host) == Exit.USAGE
    assert "use the trailer of a commit instead" in capsys.readouterr().err
