"""A disk that is full or read-only under the mirror: outcome values, no damage, and work goes on when there is room again."""

from __future__ import annotations

import errno
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import TypeAlias

import pytest

from reconciler.gitstore.mirror.disk import MirrorDisk
from reconciler.gitstore.mirror.mirror import Mirror
from reconciler.gitstore.remote.transport import RemoteErrorKind, RemoteUnavailable
from reconciler.gitstore.repo import Refs, Repo
from reconciler.gitstore.store import Store
from tests.reconciler.gitstore.faults import no_room
from tests.reconciler.gitstore.git import git
from tests.reconciler.gitstore.worlds import LIVE, MAIN, MirrorWorld, content, draft, put, snap


class SeamDisk(MirrorDisk):
    """Refuses every write, as the system would; works for any user."""

    def __init__(self) -> None:
        self.refusal: OSError | None = None

    def write(self, path: Path, data: bytes) -> None:
        if self.refusal:
            path.write_bytes(data[:1])
            raise self.refusal
        super().write(path, data)

    def make_folder(self, folder: Path) -> None:
        if self.refusal and not folder.exists():
            raise self.refusal
        super().make_folder(folder)


class Seam:
    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.disk = self.seam = SeamDisk()

    def fill(self) -> None:
        self.seam.refusal = no_room()

    def lock_up(self) -> None:
        self.seam.refusal = OSError(errno.EROFS, "Read-only file system")

    def relieve(self) -> None:
        self.seam.refusal = None

    def close(self) -> None:
        """Nothing to give back."""


class Tmpfs:
    """A real file system of one megabyte."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir()
        mount("-t", "tmpfs", "-o", "size=1m", "tmpfs", str(folder))
        self.folder = folder
        self.disk = MirrorDisk()

    def fill(self) -> None:
        place = os.open(self.folder / "filler", os.O_WRONLY | os.O_CREAT)
        os.posix_fallocate(place, 0, os.fstatvfs(place).f_bavail * os.fstatvfs(place).f_bsize)
        os.close(place)

    def relieve(self) -> None:
        (self.folder / "filler").unlink(missing_ok=True)

    def close(self) -> None:
        subprocess.run(("umount", "--lazy", str(self.folder)), check=True)


def mount(*arguments: str) -> None:
    subprocess.run(("mount", *arguments), check=True, capture_output=True)


Small: TypeAlias = Seam | Tmpfs


def kinds() -> list[str]:
    """A container may keep even root from mounting; the seam plays that everywhere."""
    can_mount = (
        subprocess.run(("unshare", "--mount", "true"), capture_output=True, check=False).returncode == 0
    )
    return ["seam", *(["tmpfs"] if os.geteuid() == 0 and can_mount else [])]


@pytest.fixture(params=kinds())
def small(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Small]:
    made = Tmpfs(tmp_path / "small") if request.param == "tmpfs" else Seam(tmp_path / "small")
    yield made
    made.relieve()
    made.close()


@pytest.fixture
def world(tmp_path: Path, small: Small) -> Iterator[MirrorWorld]:
    real = MirrorWorld(tmp_path)
    yield real
    real.close()


@pytest.fixture
def robot(world: MirrorWorld, small: Small) -> Store:
    put(world.client(), MAIN, {"a": b"1"})
    mirror = Mirror(small.folder / "mirror", str(world.repo), disk=small.disk)
    world.mirrors.append(mirror)
    store = Store(mirror, world.transport(mirror), Refs(), seconds=30)
    snap(store)
    return store


def test_a_write_is_unavailable_and_lands_nothing(world: MirrorWorld, small: Small, robot: Store) -> None:
    live = put(robot, LIVE, {"s": b"1"})
    before = world.refs()
    for trouble in [small.fill, *([small.lock_up] if isinstance(small, Seam) else [])]:
        trouble()
        for _ in range(3):
            outcome = robot.write([draft(LIVE, live, {"s": os.urandom(20_000)})])
            assert isinstance(outcome, RemoteUnavailable), outcome
            assert outcome.kind is RemoteErrorKind.MIRROR
    assert world.refs() == before
    assert content(robot, live) == {"s": b"1"}  # what is here can be read
    works_again(world, small, robot, live)


def works_again(world: MirrorWorld, small: Small, robot: Repo, live: str) -> None:
    small.relieve()
    assert snap(robot).target == live
    after = put(robot, LIVE, {"s": b"2"}, base=live)
    assert snap(robot).target == after
    assert robot.housekeep() is None
    git(world.mirrors[-1].repo, "fsck", "--full")
    git(world.repo, "fsck", "--full")


@pytest.mark.parametrize("small", [kind for kind in kinds() if kind == "tmpfs"], indirect=True)
def test_a_snapshot_of_something_new_is_unavailable(world: MirrorWorld, small: Small, robot: Store) -> None:
    """The fetch is the git program's, which only a real disk stops."""
    live = put(robot, LIVE, {"s": b"1"})
    people = world.client()
    world.mirrors.insert(0, world.mirrors.pop())  # the robot's stays the last
    base = snap(people).source
    small.fill()
    put(people, MAIN, {f"big{n}": os.urandom(20_000) for n in range(20)}, base=base)
    for _ in range(3):
        outcome = robot.snapshot()
        assert isinstance(outcome, RemoteUnavailable), outcome
        assert outcome.kind is RemoteErrorKind.MIRROR, outcome
    assert content(robot, live) == {"s": b"1"}
    works_again(world, small, robot, live)


def test_housekeeping_without_room_tells_and_does_no_harm(
    world: MirrorWorld, small: Small, robot: Store
) -> None:
    live: str | None = None
    for number in range(30):
        live = put(robot, LIVE, {"s": b"%d" % number}, base=live)
    small.fill()
    outcome = robot.housekeep()
    if isinstance(small, Tmpfs):
        assert isinstance(outcome, RemoteUnavailable)
        assert outcome.kind is RemoteErrorKind.MIRROR
    assert live
    works_again(world, small, robot, live)


def test_a_mirror_that_cannot_be_created_is_an_error(world: MirrorWorld, small: Small, robot: Store) -> None:
    small.fill()
    with pytest.raises(OSError, match="No space"):
        Mirror(small.folder / "another", str(world.repo), disk=small.disk)
    small.relieve()
    Mirror(small.folder / "another", str(world.repo), disk=small.disk).close()


@pytest.mark.parametrize("small", [kind for kind in kinds() if kind == "tmpfs"], indirect=True)
def test_a_mirror_that_became_read_only(world: MirrorWorld, small: Small, robot: Store) -> None:
    mirror = world.mirrors.pop()
    mirror.close()
    mount("-o", "remount,ro", str(small.folder))
    with pytest.raises(OSError, match="Read-only"):
        Mirror(mirror.folder, str(world.repo))
    put(world.client(), LIVE, {"s": b"1"})
    outcome = world.transport(mirror, inherit=()).fetch([LIVE], 30)
    assert isinstance(outcome, RemoteUnavailable)
    assert outcome.kind is RemoteErrorKind.MIRROR
    mount("-o", "remount,rw", str(small.folder))
