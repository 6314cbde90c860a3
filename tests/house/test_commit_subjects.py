"""tools/commit-subjects: which subjects it refuses, and what it does without a history or with a part of it."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.house.sources import ROOT

SCRIPT = ROOT / "tools/commit-subjects"
GOOD = "poollet: keep the data of a volume that live no longer assigns"
BAD = {
    "no area": "Keep the data",
    "upper case": "poollet: Keep the data",
    "too long": f"poollet: keep {'x' * 60}",
    "an article": "poollet: the data stays",
    "a relative clause": "poollet: what is kept stays",
    "a participle": "poollet: removed the data",
    "a gerund": "poollet: removing the data",
}


def git(folder: Path, *arguments: str) -> str:
    identity = ("-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "commit.gpgsign=false")
    command = ["git", *identity, "-C", str(folder), *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


def commit(folder: Path, subject: str) -> str:
    git(folder, "commit", "--quiet", "--allow-empty", "--message", subject)
    return git(folder, "rev-parse", "HEAD")


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    folder = tmp_path / "repo"
    folder.mkdir()
    git(folder, "init", "--quiet", "--initial-branch=main")
    return folder


def check(folder: Path, first: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([SCRIPT, folder, first], check=False, capture_output=True, text=True)


def test_subjects_after_the_first_commit_are_checked(repo: Path) -> None:
    first = commit(repo, "Anything goes before")
    commit(repo, GOOD)
    assert check(repo, first).returncode == 0
    commit(repo, "all of it")
    assert "all of it" in check(repo, first).stderr


@pytest.mark.parametrize("subject", BAD.values(), ids=BAD.keys())
def test_a_subject_that_breaks_a_rule_is_refused(repo: Path, subject: str) -> None:
    first = commit(repo, "first")
    commit(repo, subject)
    result = check(repo, first)
    assert result.returncode == 1
    assert subject in result.stderr


def test_a_shallow_clone_checks_the_commits_that_it_has(repo: Path, tmp_path: Path) -> None:
    first = commit(repo, "first")
    commit(repo, GOOD)
    commit(repo, "what nobody reads")
    clone = tmp_path / "clone"
    git(tmp_path, "clone", "--quiet", "--depth=2", repo.as_uri(), str(clone))
    result = check(clone, first)
    assert result.returncode == 1
    assert result.stderr.splitlines() == ['not "area: verb ...": what nobody reads']


def test_a_folder_without_history_is_named_and_passes(tmp_path: Path, repo: Path) -> None:
    unpacked = repo / "unpacked"
    unpacked.mkdir()
    for folder in (tmp_path, repo, unpacked):
        result = check(folder, "HEAD")
        assert result.returncode == 0
        assert "no Git history" in result.stdout


def test_a_history_without_the_first_commit_is_an_error(repo: Path) -> None:
    commit(repo, GOOD)
    result = check(repo, "0" * 40)
    assert result.returncode == 1
    assert "does not contain" in result.stderr


def test_this_tree_passes() -> None:
    result = subprocess.run([SCRIPT], check=False, capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
