"""run_housekeeping on a schedule: a real mirror stays tidy while it is read and written, and an error does not end it."""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from reconciler.gitstore.mirror.housekeeping import run_housekeeping
from reconciler.gitstore.mirror.mirror import Mirror
from reconciler.gitstore.mirror.repack import RepackLimits
from reconciler.gitstore.remote.transport import RemoteErrorKind, RemoteUnavailable
from reconciler.gitstore.repo import Refs
from reconciler.gitstore.store import Store
from tests.reconciler.gitstore.git import git
from tests.reconciler.gitstore.worlds import LIVE, MAIN, MirrorWorld, put, snap

OFTEN = timedelta(milliseconds=50)


@pytest.fixture
def world(tmp_path: Path) -> Iterator[MirrorWorld]:
    real = MirrorWorld(tmp_path)
    yield real
    real.close()


def test_the_loop_goes_on_and_packs_stay_few(world: MirrorWorld, tmp_path: Path) -> None:
    put(world.client(), MAIN, {"a": b"1"})
    mirror = Mirror(tmp_path / "own", str(world.repo), allowed=RepackLimits(packs=3))
    world.mirrors.append(mirror)
    robot = Store(mirror, world.transport(mirror), Refs(), seconds=30)
    live: str | None = None
    turns = threading.Semaphore(0)

    def turn() -> RemoteUnavailable | None:
        trouble = robot.housekeep()
        turns.release()
        return trouble

    with run_housekeeping(turn, OFTEN):
        for number in range(12):
            snap(robot)
            live = put(robot, LIVE, {"s": b"%d" % number}, base=live)
            assert turns.acquire(timeout=60), "no turn came"
    assert robot.housekeep() is None
    assert len(list(robot.commits(live or "", None))) == 12
    git(mirror.repo, "fsck", "--full", "--strict")


def test_housekeeping_continues_after_an_error_and_stops_on_request(caplog: pytest.LogCaptureFixture) -> None:
    calls = threading.Semaphore(0)

    def full() -> RemoteUnavailable:
        calls.release()
        return RemoteUnavailable(RemoteErrorKind.MIRROR, "the disk is full", "make room")

    caplog.set_level(logging.WARNING, "reconciler.gitstore.mirror.housekeeping")
    before = set(threading.enumerate())
    with run_housekeeping(full, OFTEN):
        for _ in range(3):
            assert calls.acquire(timeout=60), "no further turn came"
    assert "cause=the disk is full" in caplog.text
    assert set(threading.enumerate()) <= before


def test_a_slow_turn_is_never_joined_by_another() -> None:
    running = threading.Lock()
    overlaps: list[int] = []
    turns = threading.Semaphore(0)
    going_on = threading.Event()

    def slow() -> None:
        if not running.acquire(blocking=False):
            overlaps.append(1)
            return
        going_on.wait(0.2)
        running.release()
        turns.release()

    with run_housekeeping(slow, OFTEN):
        for _ in range(3):
            assert turns.acquire(timeout=60)
    assert not overlaps
