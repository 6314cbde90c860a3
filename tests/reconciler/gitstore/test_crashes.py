"""Whatever fails and whenever the process dies: the remote is never half-written, no acknowledged commit is lost, and the
next process goes on by itself."""

from __future__ import annotations

import os
import random
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from reconciler.gitstore.mirror.mirror import Mirror
from reconciler.gitstore.mirror.repack import RepackLimits
from reconciler.gitstore.remote.transport import PushConflict, RemoteUnavailable
from reconciler.gitstore.repo import Pushed, Refs
from reconciler.gitstore.store import Store
from tests.reconciler.gitstore.faults import FaultyDisk, FaultyTransport, How, Killed, Steps
from tests.reconciler.gitstore.git import git
from tests.reconciler.gitstore.worlds import LIVE, MAIN, REPORTS, MirrorWorld, content, draft, put, snap

TIDY = RepackLimits(packs=1, garbage=0, loose_refs=0)
ROUNDS = 3


@pytest.fixture
def world(tmp_path: Path) -> Iterator[MirrorWorld]:
    real = MirrorWorld(tmp_path)
    yield real
    real.close()


def party(world: MirrorWorld, directory: Path, steps: Steps) -> tuple[Mirror, Store]:
    mirror = Mirror(directory, str(world.repo), disk=FaultyDisk(steps), allowed=TIDY)
    return mirror, Store(mirror, FaultyTransport(world.transport(mirror), steps), Refs(), seconds=30)


def life(world: MirrorWorld, directory: Path, steps: Steps) -> list[str]:
    """A few ticks of a reconciler; the commits that it was told had landed."""
    landed: list[str] = []
    try:
        mirror, store = party(world, directory, steps)
    except (OSError, Killed):
        return landed
    try:
        for number in range(ROUNDS):
            tick(store, f"{directory.name} {number}", landed)
            assert isinstance(store.housekeep(), RemoteUnavailable | None)
    except Killed:
        pass
    finally:
        mirror.close()
    return landed


def tick(store: Store, content: str, landed: list[str]) -> None:
    found = store.snapshot()
    if isinstance(found, RemoteUnavailable):
        return
    edits = {f"f{place}/m": f"{place} {content}".encode() for place in range(3)}
    outcome = store.write(
        [
            draft(LIVE, found.target, edits, source=found.source),
            draft(REPORTS + "one", None, edits, expected=found.reports.get("one"), has_parents=False),
        ]
    )
    if isinstance(outcome, Pushed):
        landed.append(outcome.commits[LIVE])
    else:
        assert isinstance(outcome, RemoteUnavailable | PushConflict), outcome


def judge(world: MirrorWorld, directory: Path, landed: list[str]) -> None:
    git(world.repo, "fsck", "--full", "--strict")
    history = git(world.repo, "rev-list", "--first-parent", LIVE).split() if LIVE in world.refs() else []
    assert set(landed) <= set(history)
    again = Mirror(directory, str(world.repo), allowed=TIDY)
    world.mirrors.append(again)
    store = Store(again, world.transport(again), Refs(), seconds=30)
    found = snap(store)
    refs = world.refs()
    assert (found.source, found.target, found.reports.get("one")) == (
        refs.get(MAIN),
        refs.get(LIVE),
        refs.get(REPORTS + "one"),
    )
    if found.target:
        paths = git(world.repo, "ls-tree", "-r", "--name-only", found.target).split("\n")
        assert list(content(store, found.target)) == paths
    assert put(store, LIVE, {"after": directory.name.encode()}, base=found.target)
    assert store.housekeep() is None
    git(again.repo, "fsck", "--full", "--strict")


def steps_of_a_life(world: MirrorWorld, directory: Path) -> list[str]:
    put(world.client(), MAIN, {f"f{place}/m": b"%d" % place for place in range(4)})
    steps = Steps()
    assert len(life(world, directory, steps)) == ROUNDS
    return steps.names


def test_a_life_without_trouble_does_every_kind_of_step(world: MirrorWorld, tmp_path: Path) -> None:
    names = steps_of_a_life(world, tmp_path / "first")
    assert set(names) == {
        "make_folder",
        "write",
        "rename",
        "remove",
        "remove_folder",
        "sync",
        "list_refs",
        "fetch",
        "push",
    }


@pytest.mark.parametrize("how", How)
def test_some_step_fails(world: MirrorWorld, tmp_path: Path, how: How) -> None:
    """Each kind of failure at every ninth step, each kind beginning elsewhere."""
    total = len(steps_of_a_life(world, tmp_path / "first"))
    for at in range(list(How).index(how), total, 9):
        directory = tmp_path / f"crashed-{at}"
        judge(world, directory, life(world, directory, Steps(at, how)))


@pytest.mark.long
@pytest.mark.timeout(1200)
@pytest.mark.parametrize("how", How)
def test_every_step_fails(world: MirrorWorld, tmp_path: Path, how: How) -> None:
    total = len(steps_of_a_life(world, tmp_path / "first"))
    for at in range(total):
        directory = tmp_path / f"crashed-{at}"
        judge(world, directory, life(world, directory, Steps(at, how)))


def wait_until_unused(repo: Path) -> None:
    """A push outlives the process that began it: until its git ends, refs still move and packs are half there."""
    name, ends = os.fsencode(repo), time.monotonic() + 30
    while any(name in command for command in commands()):
        assert time.monotonic() < ends, "a push of a killed process does not end"
        time.sleep(0.01)


def commands() -> Iterator[bytes]:
    for file in Path("/proc").glob("[0-9]*/cmdline"):
        with suppress(FileNotFoundError, ProcessLookupError):
            yield file.read_bytes()


def kill_repeatedly(world: MirrorWorld, directory: Path, times: int) -> None:
    chance = random.Random(times)
    landed: list[str] = []
    for _ in range(times):
        process = subprocess.Popen(
            [sys.executable, "-m", "tests.reconciler.gitstore.busy", str(directory), str(world.repo)],
            stdout=subprocess.PIPE,
            env=os.environ | {"PYTHONPATH": "."},
        )
        assert process.stdout is not None
        first = process.stdout.readline().decode().strip()
        time.sleep(chance.uniform(0, 0.4))
        process.kill()
        rest, _ = process.communicate()
        landed += [first, *rest.decode().split()]
    wait_until_unused(world.repo)
    judge(world, directory, landed)
    history = git(world.repo, "log", "--first-parent", "--reverse", "--format=%s", LIVE).split("\n")
    # The one after the last is that of `judge`. Nothing was written twice, and nothing over another.
    assert history[:-1] == [str(number) for number in range(len(history) - 1)]


@pytest.mark.timeout(300)
def test_killed_at_any_moment(world: MirrorWorld, tmp_path: Path) -> None:
    kill_repeatedly(world, tmp_path / "killed", 5)


@pytest.mark.long
@pytest.mark.timeout(1200)
def test_killed_at_many_moments(world: MirrorWorld, tmp_path: Path) -> None:
    kill_repeatedly(world, tmp_path / "killed", 60)
