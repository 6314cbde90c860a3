"""Remotes that gitvirt cannot work with are refused by name, and never taken for empty ones."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from reconciler.gitstore.bootstrap import open_store
from reconciler.gitstore.remote import address
from reconciler.gitstore.remote.access import RemoteAccess
from reconciler.gitstore.remote.transport import RemoteUnavailable
from reconciler.gitstore.repo import Refs
from tests.reconciler.gitstore.git import commit, git, init


def sha256(place: Path) -> None:
    commit(init(place, "--object-format=sha256"), {"a": b"1"})


def shallow(place: Path) -> None:
    whole = init(place.parent / "whole")
    commit(whole, {"a": b"1"})
    commit(whole, {"a": b"2"})
    git(place.parent, "clone", "--quiet", "--depth=1", f"file://{whole}", str(place))


def reftable(place: Path) -> None:
    """By its settings alone, which is what a git that is too old for it sees."""
    commit(init(place), {"a": b"1"})
    config = place / ".git/config"
    text = config.read_text().replace("repositoryformatversion = 0", "repositoryformatversion = 1")
    config.write_text(text + "[extensions]\n\trefStorage = reftable\n")


@pytest.mark.parametrize(
    ("make", "word"), [(sha256, "SHA-256"), (shallow, "shallow"), (reftable, "reftable")]
)
def test_an_unfit_remote(tmp_path: Path, make: object, word: str) -> None:
    assert callable(make)
    make(tmp_path / "remote")
    place = address.parse_address(str(tmp_path / "remote"), tmp_path)
    store = open_store(place, RemoteAccess(), Refs(), mirrors=tmp_path / "mirrors", ambient=os.environ)
    for _ in range(3):
        outcome = store.snapshot()
        assert isinstance(outcome, RemoteUnavailable), outcome
        assert word.lower() in (outcome.cause + outcome.cure).lower()
    store.close()
