"""What only the remote in memory does: serve a checkout, and fail where a test tells it to."""

from __future__ import annotations

from pathlib import Path

import pytest

from reconciler.gitstore.errors import DamageError, NotARepoError
from reconciler.gitstore.memory import MemoryObjects, MemoryRemote, MemoryTransport
from reconciler.gitstore.repo import Refs
from reconciler.gitstore.store import Store
from reconciler.gitstore.worktree.revision import object_lookup, open_revision
from tests.reconciler.gitstore.git import commit, git, init
from tests.reconciler.gitstore.worlds import LIVE, MAIN, content, put, snap


def test_a_plan_on_a_checkout_writes_nothing_to_it(tmp_path: Path) -> None:
    checkout = init(tmp_path / "fleet")
    first = commit(checkout, {"a": b"1", "b/c": b"2"})
    second = commit(checkout, {"a": b"3"})
    before = git(checkout, "count-objects")
    remote = MemoryRemote(fallback=object_lookup(checkout))
    remote.refs = {MAIN: open_revision(checkout, "HEAD").commit, LIVE: first}
    local = MemoryObjects(remote)
    repo = Store(local, MemoryTransport(local), Refs())
    found = snap(repo)
    assert (found.source, found.target) == (second, first)
    assert [change.path for change in repo.diff(first, second)] == ["a"]
    assert repo.is_descendant(second, first)
    planned = put(repo, LIVE, {"a": b"3", "status": b"new"}, base=first)
    assert content(repo, planned) == {"a": b"3", "b/c": b"2", "status": b"new"}
    assert git(checkout, "count-objects") == before
    with pytest.raises(DamageError):
        repo.read("1" * 40)


def test_a_plan_needs_a_repo(tmp_path: Path) -> None:
    with pytest.raises(NotARepoError):
        object_lookup(tmp_path)
