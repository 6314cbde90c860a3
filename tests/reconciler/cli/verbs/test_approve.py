"""`gitvirt approve`: a commit whose file approves what a digest names, and a list of what awaits approval."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from reconciler.cli.exits import Exit
from tests.reconciler.cli.verbs.conftest import gitvirt
from tests.reconciler.gitstore.git import commit, git

Capture = pytest.CaptureFixture[str]
ONE, TWO = "67056a96217495ab", "0123456789abcdef"


def file_of(digest: str) -> str:
    return f".gitvirt/approvals/{digest}.yaml"


def read_at(fleet: Path, revision: str, path: str) -> str:
    git(fleet, "fetch", "-q", "origin")
    return git(fleet, "show", f"{revision}:{path}")


def test_it_commits_one_file_for_each_digest(fleet: Path, capsys: Capture) -> None:
    assert gitvirt("approve", ONE, f"Gitvirt-Approve: {TWO}") == Exit.OK
    assert f"approved {ONE}, {TWO}: " in capsys.readouterr().out
    text = read_at(fleet, "origin/main", file_of(ONE))
    assert text.startswith(f"approve: {ONE}\ntime: ")
    assert "by: 'Ann <ann@example.org>'" in text
    assert git(fleet, "diff", "--name-only", "origin/main~1", "origin/main").split() == [
        file_of(TWO),
        file_of(ONE),
    ]
    assert gitvirt("validate", "--rev", "origin/main", "--against", "origin/main~1") == Exit.OK
    assert gitvirt("approve", ONE) == Exit.OK
    assert read_at(fleet, "origin/main", file_of(ONE)) != text, "a second approval is another content"


def test_a_branch_is_for_review(fleet: Path, capsys: Capture) -> None:
    head = git(fleet, "rev-parse", "origin/main")
    assert gitvirt("approve", "--branch", "yes", ONE) == Exit.OK
    assert "open a pull request" in capsys.readouterr().out
    assert read_at(fleet, "origin/yes", file_of(ONE))
    assert git(fleet, "rev-parse", "origin/main") == head


def test_a_dry_run_prints_a_patch_that_git_applies(fleet: Path, capsys: Capture, tmp_path: Path) -> None:
    assert gitvirt("approve", "--dry-run", ONE) == Exit.OK
    patch = tmp_path / "patch"
    patch.write_text(capsys.readouterr().out)
    git(fleet, "apply", str(patch))
    assert (fleet / file_of(ONE)).exists()


def test_for_programs(fleet: Path, capsys: Capture) -> None:
    assert gitvirt("approve", "-o", "json", ONE) == Exit.OK
    value = json.loads(capsys.readouterr().out)
    head = git(fleet, "ls-remote", "origin", "refs/heads/main").split()[0]
    assert (value["digests"], value["commit"], value["files"]) == ([ONE], head, [file_of(ONE)])


@pytest.mark.parametrize(
    "digest", ["67056a96217495a", "67056a96217495abc", "../../gitvirt", "67056a96217495ag", ""]
)
def test_only_a_whole_digest_becomes_a_file(fleet: Path, capsys: Capture, digest: str) -> None:
    assert gitvirt("approve", digest) == Exit.USAGE
    assert "is not a digest" in capsys.readouterr().err


def test_without_a_digest_it_lists_what_awaits_approval(fleet: Path, capsys: Capture) -> None:
    head = git(fleet, "ls-remote", "origin", "refs/heads/main")
    assert gitvirt("approve") == Exit.OK
    assert "nothing awaits approval" in capsys.readouterr().out
    git(fleet, "checkout", "-q", "live")
    commit(fleet, {"note": b"x"}, f"sync\n\nSource-Commit: {git(fleet, 'rev-parse', 'main')}")
    git(fleet, "checkout", "-q", "main")
    git(fleet, "rm", "-q", "-r", "machines")
    git(fleet, "commit", "-q", "-m", "remove all")
    git(fleet, "push", "-q", "origin", "main", "live")
    assert gitvirt("approve", "-o", "json") == Exit.OK
    (pending,) = json.loads(capsys.readouterr().out)
    assert "Machine/default/web-1" in pending["objects"]
    assert gitvirt("approve") == Exit.OK
    assert f"to approve it: gitvirt approve {pending['digest']}" in capsys.readouterr().out
    assert git(fleet, "ls-remote", "origin", "refs/heads/main") != head
    assert gitvirt("approve", pending["digest"]) == Exit.OK
    capsys.readouterr()
    assert gitvirt("approve") == Exit.OK
    assert "nothing awaits approval" in capsys.readouterr().out
