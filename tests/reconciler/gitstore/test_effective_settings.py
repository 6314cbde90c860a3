"""Which gitvirt.yaml holds at a commit."""

from __future__ import annotations

from pathlib import Path

import pytest

from reconciler.gitstore import effective_settings as module
from reconciler.gitstore.effective_settings import read_effective_settings
from reconciler.gitstore.memory import MemoryObjects, MemoryRemote, MemoryTransport
from reconciler.gitstore.repo import Refs
from reconciler.gitstore.store import Store
from reconciler.gitstore.worktree import revision
from schemas.settings.fleet import PATH
from tests.reconciler.gitstore.git import commit, git, init

GOOD = b"fleet: {id: 6f1c1f0e-0d0f-4b5e-9b3e-5a1f6f0f7a11}\nbranches: {target: %s}\n"
BROKEN = GOOD % b"lost" + b"bogus: 1\n"


def at(root: Path) -> Store:
    objects = MemoryObjects(MemoryRemote(fallback=revision.object_lookup(root)))
    return Store(objects, MemoryTransport(objects), Refs())


def make_commits(root: Path, versions: list[bytes | None]) -> list[str]:
    """A commit for each, which has something else too."""
    commits = []
    for number, version in enumerate(versions):
        if version is None and (root / PATH).exists():
            git(root, "rm", "-q", PATH)
        elif version is not None:
            (root / PATH).write_bytes(version)
        commit(root, {"number": b"%d" % number})
        commits.append(git(root, "rev-parse", "HEAD"))
    return commits


@pytest.mark.parametrize(
    ("versions", "target", "index", "is_there"),
    [
        pytest.param([GOOD % b"one", GOOD % b"two"], "two", 1, True, id="the head's own"),
        pytest.param([GOOD % b"one", GOOD % b"two", BROKEN, BROKEN], "two", 1, True, id="broken"),
        pytest.param([GOOD % b"one", BROKEN, None, None], "one", 0, False, id="removed"),
        pytest.param([GOOD % b"one", None, BROKEN], "one", 0, True, id="came back broken"),
        pytest.param([None, BROKEN, b""], "", None, True, id="never any"),
        pytest.param([None], "", None, False, id="nothing at all"),
    ],
)
def test_the_newest_that_can_be_used(
    tmp_path: Path, versions: list[bytes | None], target: str, index: int | None, is_there: bool
) -> None:
    root = init(tmp_path / "repo")
    commits = make_commits(root, versions)
    found = read_effective_settings(at(root), commits[-1])
    assert (found.settings.branches.target if found.settings else "") == target
    assert found.commit == (None if index is None else commits[index])
    assert (found.is_there, found.is_of_head) == (is_there, index == len(versions) - 1)
    assert bool(found.problems) == (is_there and not found.is_of_head)


def test_only_so_far_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = init(tmp_path / "repo")
    commits = make_commits(root, [GOOD % b"one", BROKEN, BROKEN])
    monkeypatch.setattr(module, "COMMITS_AT_MOST", 1)
    assert read_effective_settings(at(root), commits[-1]).settings is None
    assert read_effective_settings(at(root), commits[1]).settings is not None


def test_of_a_merge_what_the_branch_had(tmp_path: Path) -> None:
    """A commit that never was a head of the branch says nothing of it."""
    root = init(tmp_path / "repo")
    began = make_commits(root, [GOOD % b"one"])[0]
    git(root, "checkout", "-q", "-b", "side")
    make_commits(root, [GOOD % b"side", BROKEN])
    git(root, "checkout", "-q", "-B", "trunk", began)
    git(root, "merge", "-q", "--no-ff", "-m", "merge", "side")
    found = read_effective_settings(at(root), git(root, "rev-parse", "HEAD"))
    assert found.commit == began


def test_a_link_and_a_branch_that_is_not_there(tmp_path: Path) -> None:
    root = init(tmp_path / "repo")
    began = make_commits(root, [GOOD % b"one"])[0]
    (root / PATH).unlink()
    (root / PATH).symlink_to("number")
    commit(root, {"number": b"2"})
    assert read_effective_settings(at(root), git(root, "rev-parse", "HEAD")).commit == began
    assert read_effective_settings(at(root), None).settings is None
