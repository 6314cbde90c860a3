from __future__ import annotations

import itertools
import logging
import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from reconciler.gitstore.remote.transport import RefsListed, RefUpdate, RemoteErrorKind, RemoteUnavailable
from reconciler.gitstore.waker import Waker, WakeReason, poll_remote, watch_refs
from reconciler.gitstore.worktree.checkout import git_folder
from tests.servers import repository
from tests.servers.places import Place
from tests.servers.repository import bare, commit

MAIN = "refs/heads/main"
LONG = 20.0


@pytest.fixture
def waker() -> Waker:
    return Waker()


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    return bare(tmp_path / "repo.git")


def refs_moved(waker: Waker) -> Callable[[], None]:
    return lambda: waker.wake(WakeReason.REFS)


def drain(waker: Waker) -> None:
    while waker.wait(0.1) is not WakeReason.TIMEOUT:
        pass


def test_a_wait_without_a_wake_times_out(waker: Waker) -> None:
    start = time.monotonic()
    assert waker.wait(0.05) is WakeReason.TIMEOUT
    assert time.monotonic() - start >= 0.05
    assert waker.wait(-1) is WakeReason.TIMEOUT


def test_calls_are_kept_and_many_are_one(waker: Waker) -> None:
    for _ in range(1000):
        waker.wake()
    assert waker.wait(LONG) is WakeReason.CALLED
    assert waker.wait(0) is WakeReason.TIMEOUT


def test_a_stop_is_for_good_and_beats_every_other_reason(waker: Waker) -> None:
    waker.wake()
    waker.stop()
    assert [waker.wait(LONG) for _ in range(3)] == [WakeReason.STOPPED] * 3


def test_another_thread_wakes_at_once(waker: Waker) -> None:
    called = []

    def call() -> None:
        time.sleep(0.05)
        called.append(time.monotonic())
        waker.wake()

    thread = threading.Thread(target=call)
    thread.start()
    assert waker.wait(LONG) is WakeReason.CALLED
    assert time.monotonic() - called[0] < 1
    thread.join()


def test_a_signal_handler_may_wake_whoever_waits_in_the_same_thread(waker: Waker) -> None:
    before = signal.signal(signal.SIGUSR1, lambda *_: waker.wake())
    try:
        for _ in range(20):
            timer = threading.Timer(0.005, os.kill, (os.getpid(), signal.SIGUSR1))
            timer.start()
            assert waker.wait(LONG) is WakeReason.CALLED
            timer.join()
    finally:
        signal.signal(signal.SIGUSR1, before)


def moves(repo: Path) -> Iterator[tuple[str, Callable[[], object]]]:
    one, two = commit(repo, "one"), commit(repo, "two")
    git = repository.git
    yield "created", lambda: git(repo, "update-ref", MAIN, one)
    yield "moved", lambda: git(repo, "update-ref", MAIN, two)
    yield "created in a new folder", lambda: git(repo, "update-ref", "refs/poollets/site/host-1", one)
    yield "moved there", lambda: git(repo, "update-ref", "refs/poollets/site/host-1", two)
    yield "packed", lambda: git(repo, "pack-refs", "--all")
    yield "moved after packing", lambda: git(repo, "update-ref", MAIN, one)
    yield "deleted from the pack alone", lambda: git(repo, "update-ref", "-d", "refs/poollets/site/host-1")
    yield "deleted", lambda: git(repo, "update-ref", "-d", MAIN)


def test_every_move_of_a_local_ref_wakes(repo: Path, waker: Waker) -> None:
    with watch_refs(repo, refs_moved(waker)):
        for name, move in moves(repo):
            drain(waker)
            move()
            assert waker.wait(LONG) is WakeReason.REFS, name


def test_a_move_wakes_at_once_and_not_at_the_next_look(repo: Path, waker: Waker) -> None:
    """From the end of the git that moved it; the best, since the machine may be busy. bench/bench_wake.py measures."""
    commits = [commit(repo, str(number)) for number in range(15)]
    waits = []
    with watch_refs(repo, refs_moved(waker)):
        for each in commits:
            drain(waker)
            repository.git(repo, "update-ref", MAIN, each)
            start = time.monotonic()
            assert waker.wait(LONG) is WakeReason.REFS
            waits.append(time.monotonic() - start)
    assert min(waits) < 0.05, waits


def test_a_change_other_than_a_moved_ref_does_not_wake(repo: Path, waker: Waker) -> None:
    with watch_refs(repo, refs_moved(waker)):
        drain(waker)
        commit(repo, "objects only")
        (repo / "refs/heads/main.lock").touch()
        (repo / "packed-refs.lock").touch()
        (repo / "config").touch()
        assert waker.wait(0.4) is WakeReason.TIMEOUT


@pytest.mark.parametrize("mine", [MAIN, "refs/heads/site/live", "refs/site/live"])
def test_a_watch_of_one_ref_ignores_the_others(repo: Path, waker: Waker, mine: str) -> None:
    """Also where its folder was not there before."""
    one, two = commit(repo, "one"), commit(repo, "two")
    with watch_refs(repo, refs_moved(waker), ref=mine):
        drain(waker)
        repository.git(repo, "update-ref", mine, one)
        assert waker.wait(LONG) is WakeReason.REFS
        drain(waker)
        for other in ("refs/poollets/site/host-1", "refs/heads/other", f"{mine}-2", "refs/tags/v1"):
            repository.git(repo, "update-ref", other, one)
        assert waker.wait(0.4) is WakeReason.TIMEOUT
        repository.git(repo, "update-ref", mine, two)
        assert waker.wait(LONG) is WakeReason.REFS
        drain(waker)
        repository.git(repo, "pack-refs", "--all")
        assert waker.wait(LONG) is WakeReason.REFS


def test_a_push_into_a_repo_on_this_machine_wakes(repo: Path, waker: Waker, tmp_path: Path) -> None:
    mirror = bare(tmp_path / "mirror")
    first = commit(mirror, "first")
    with watch_refs(repo, refs_moved(waker)):
        repository.git(mirror, "push", "--quiet", str(repo), f"{first}:{MAIN}")
        assert waker.wait(LONG) is WakeReason.REFS


def test_watching_ends_with_its_block(repo: Path, waker: Waker) -> None:
    before = threading.active_count()
    with watch_refs(repo, refs_moved(waker)):
        assert threading.active_count() > before
    assert threading.active_count() == before
    drain(waker)
    repository.git(repo, "update-ref", MAIN, commit(repo, "first"))
    assert waker.wait(0.3) is WakeReason.TIMEOUT


def test_a_folder_that_cannot_be_watched_is_logged_without_an_error(
    tmp_path: Path, waker: Waker, caplog: pytest.LogCaptureFixture
) -> None:
    with watch_refs(tmp_path / "nowhere", refs_moved(waker)):
        assert waker.wait(0.1) is WakeReason.TIMEOUT
    assert "polling only" in caplog.text
    assert "nowhere" in caplog.text


def test_where_refs_are_kept(tmp_path: Path, repo: Path) -> None:
    checkout = tmp_path / "checkout"
    repository.git(tmp_path, "init", "--quiet", "--initial-branch=main", str(checkout))
    repository.git(checkout, "commit", "--quiet", "--allow-empty", "-m", "first")
    repository.git(checkout, "worktree", "add", "--quiet", str(tmp_path / "linked"))
    assert git_folder(repo) == repo
    assert git_folder(checkout) == checkout / ".git"
    assert git_folder(tmp_path / "linked") == checkout / ".git"


@pytest.mark.parametrize("remote", ["http"], indirect=True)
def test_a_poll_sees_a_remote_move(remote: Place, waker: Waker, repo: Path) -> None:
    transport = remote.transport(repo)
    with poll_remote(
        lambda: transport.list_refs([MAIN], 10), 0.1, lambda: waker.wake(WakeReason.REMOTE), random.Random()
    ):
        assert waker.wait(LONG) is WakeReason.REMOTE
        drain(waker)
        assert waker.wait(0.5) is WakeReason.TIMEOUT
        transport.push([RefUpdate(MAIN, None, commit(repo, "first"))], 10)
        assert waker.wait(LONG) is WakeReason.REMOTE


GONE = RemoteUnavailable(RemoteErrorKind.NETWORK, "gone", "wait")


def test_a_poll_backs_off_while_the_remote_is_gone_and_wakes_when_it_is_back(
    waker: Waker, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING)
    refs = RefsListed({MAIN: "1" * 40})
    answers: Iterator[RefsListed | RemoteUnavailable] = iter([refs, refs, GONE, GONE, GONE, refs, refs])
    looked = []

    def look() -> RefsListed | RemoteUnavailable:
        looked.append(time.monotonic())
        return next(answers, refs)

    with poll_remote(look, 0.05, lambda: waker.wake(WakeReason.REMOTE), random.Random(1)):
        assert waker.wait(LONG) is WakeReason.REMOTE
        assert waker.wait(LONG) is WakeReason.REMOTE
        seen = len(looked)
    assert seen == 6
    gaps = [later - earlier for earlier, later in itertools.pairwise(looked)]
    assert gaps[2] >= 0.025
    assert gaps[3] >= 0.05
    assert gaps[4] >= 0.1
    assert caplog.text.count("cannot poll") == 1


def test_a_poll_ends_with_its_block(waker: Waker) -> None:
    before = threading.active_count()
    with poll_remote(lambda: GONE, 3600, waker.wake, random.Random()):
        pass
    assert threading.active_count() == before


def test_idle_watching_costs_almost_nothing(repo: Path) -> None:
    """In a process of its own, so that nothing else is measured."""
    script = (
        "import sys, time; from pathlib import Path; from reconciler.gitstore.waker import watch_refs\n"
        "with watch_refs(Path(sys.argv[1]), lambda: None):\n"
        "    start = time.process_time(); time.sleep(1.5); print(time.process_time() - start)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, str(repo)], capture_output=True, text=True, check=True
    )
    assert float(done.stdout) < 0.15
