"""What an earlier verb read is used again, and the answer is always that of reading everything."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import Any, cast

import pytest

from reconciler.gitstore.repo import Repo
from reconciler.gitstore.store import Store
from reconciler.query.cached_inventory import read_cached_inventory
from reconciler.query.disk_cache import DiskCache
from reconciler.query.documents import FEW
from reconciler.query.inventory import read_inventory
from schemas.kinds import Kind
from tests.reconciler.query.test_inventory import FILES, MACHINE, NETWORK
from tests.reconciler.world.scene import MAIN, Scene

SECRET = "apiVersion: core.ironcore.dev/v1alpha1\nkind: Secret\nmetadata: {name: s}\ndata: {key: aGlkZGVu}\n"
STEPS: dict[str, dict[str, str | None]] = {
    "nothing": {},
    "a machine more": {"more.yaml": MACHINE.replace("name: m", "name: more")},
    "a machine less": {"plain.yaml": None},
    "another text": {"plain.yaml": MACHINE.replace("name: m", "name: renamed")},
    "a broken file": {"plain.yaml": "kind: Machine\nx: ["},
    "a file of another kind": {"plain.yaml": NETWORK},
    "a file is ignored": {".gitvirtignore": "plain.yaml\n"},
    "a copy that comes first": {"a.yaml": MACHINE},
}


def check(scene: Scene, cache: DiskCache) -> None:
    for kind in (Kind.MACHINE, Kind.NETWORK, Kind.SECRET):
        whole = read_inventory(scene.store, scene.heads[MAIN], kind)
        found = read_cached_inventory(scene.store, scene.heads[MAIN], [kind], cache)
        assert [(each.path, each.index, each.object) for each in found.of(kind)] == [
            (each.path, each.index, each.object) for each in whole.of(kind)
        ]
        assert [dict(each.body) for each in found.of(kind)] == [dict(each.body) for each in whole.of(kind)]
        assert found.broken == whole.broken


@pytest.mark.parametrize("step", STEPS.values(), ids=STEPS)
def test_the_answer_is_that_of_reading_everything(tmp_path: Path, step: dict[str, str | None]) -> None:
    scene, cache = Scene({**FILES, "secret.yaml": SECRET}), DiskCache(tmp_path)
    check(scene, cache)
    check(scene, cache)
    scene.source(step)
    check(scene, cache)


class CountingStore:
    """A repo that counts the blobs that are read."""

    def __init__(self, store: Store) -> None:
        self._store, self.read_count = store, 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

    def read(self, id: str) -> bytes:
        self.read_count += 1
        return self._store.read(id)


def test_a_file_is_read_once_for_all_kinds(tmp_path: Path) -> None:
    scene = Scene(FILES)
    one, all = CountingStore(scene.store), CountingStore(scene.store)
    commit = scene.heads[MAIN]
    read_cached_inventory(cast("Repo", one), commit, [Kind.MACHINE], DiskCache(tmp_path / "one"))
    kinds = [kind for kind in Kind if kind is not Kind.SECRET]
    found = read_cached_inventory(cast("Repo", all), commit, kinds, DiskCache(tmp_path / "all"))
    assert all.read_count == one.read_count
    for kind in kinds:
        alone = read_cached_inventory(scene.store, commit, [kind], DiskCache(tmp_path / "alone"))
        assert [each.key for each in found.of(kind)] == [each.key for each in alone.of(kind)]


@pytest.mark.parametrize("damage", [b"", b"x", b"\0" * 1000])
def test_a_damaged_file_is_read_from_git_again(tmp_path: Path, damage: bytes) -> None:
    scene, cache = Scene(FILES), DiskCache(tmp_path)
    check(scene, cache)
    for file in tmp_path.iterdir():
        file.write_bytes(file.read_bytes()[:-1] + damage)
    check(scene, cache)


def test_values_of_secrets_are_not_kept(tmp_path: Path) -> None:
    scene = Scene({**FILES, "secret.yaml": SECRET})
    read_cached_inventory(scene.store, scene.heads[MAIN], tuple(Kind), DiskCache(tmp_path))
    kept = list(tmp_path.iterdir())
    assert kept
    assert not any(b"aGlkZGVu" in each.read_bytes() for each in kept)
    assert all(each.stat().st_mode & 0o077 == 0 for each in kept)


def test_a_folder_that_cannot_be_written_is_no_error() -> None:
    check(Scene(FILES), DiskCache(Path("/proc/nothing")))


MANY_FILES: dict[str, str] = {
    **FILES,
    "secret.yaml": SECRET,
    **{f"m/{n:04}.yaml": MACHINE.replace("name: m", f"name: m-{n}") for n in range(FEW)},
    "m/broken.yaml": "kind: Machine\nx: [",
}
SOME = (Kind.MACHINE, Kind.NETWORK, Kind.SECRET)


class LosingStore:
    """A repo that another process than this one does not survive."""

    def __init__(self, store: Store) -> None:
        self._store, self._process = store, os.getpid()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

    def read(self, id: str) -> bytes:
        if os.getpid() != self._process:
            os.kill(os.getpid(), signal.SIGKILL)
        return self._store.read(id)


@pytest.mark.parametrize("is_lost", [False, True], ids=["as usual", "a process is killed"])
def test_several_processes_read_what_one_reads(tmp_path: Path, is_lost: bool) -> None:
    scene = Scene(MANY_FILES)
    repo = cast("Repo", LosingStore(scene.store)) if is_lost else scene.store
    one = read_cached_inventory(scene.store, scene.heads[MAIN], SOME, DiskCache(tmp_path / "none"))
    several = read_cached_inventory(repo, scene.heads[MAIN], SOME, DiskCache(None), processes=3)
    assert len(one.of(Kind.MACHINE)) > FEW
    assert [(each.path, each.index, each.object) for each in several.items.values()] == [
        (each.path, each.index, each.object) for each in one.items.values()
    ]
    assert several.broken == one.broken
    assert several.beside == one.beside
