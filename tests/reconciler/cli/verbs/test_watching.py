"""--watch: what comes after the first look, and a remote that is away for a while."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import pytest

from reconciler.cli.fleet_changes import follow_fleet
from reconciler.cli.fleet_repo import FleetRepo, Location, open_fleet
from reconciler.gitstore.remote import address
from reconciler.gitstore.remote.transport import RemoteUnavailable
from reconciler.gitstore.repo import Repo, Snapshot
from reconciler.gitstore.waker import Waker
from tests.reconciler.cli.verbs.conftest import GITVIRT, RUNNING, machine
from tests.reconciler.gitstore.git import commit, git

PATIENCE_SECONDS = 120.0


class Watch:
    def __init__(self, process: subprocess.Popen[bytes], output: Path, errors: Path) -> None:
        self.process, self.output, self.errors = process, output, errors

    def until(self, is_so: Callable[[], bool]) -> None:
        deadline = time.monotonic() + PATIENCE_SECONDS
        while not is_so():
            assert self.process.poll() is None, self.errors.read_text()
            assert time.monotonic() < deadline, self.output.read_text() + self.errors.read_text()
            time.sleep(0.02)

    def has_printed(self, text: str, times: int = 1) -> Callable[[], bool]:
        return lambda: self.output.read_text().count(text) >= times

    def has_complained(self, text: str) -> Callable[[], bool]:
        return lambda: text in self.errors.read_text()

    def end(self) -> str:
        self.process.send_signal(signal.SIGINT)
        assert self.process.wait(PATIENCE_SECONDS) == 130
        return self.output.read_text()


@contextmanager
def watch(folder: Path, *words: str) -> Iterator[Watch]:
    output, errors = folder / "output", folder / "errors"
    with output.open("wb") as out, errors.open("wb") as err:
        process = subprocess.Popen([*GITVIRT, *words], stdout=out, stderr=err, env=dict(os.environ))
    try:
        yield Watch(process, output, errors)
    finally:
        process.kill()
        process.wait()


def run_web_2(fleet: Path) -> None:
    git(fleet, "checkout", "-q", "live")
    commit(fleet, {"machines/web-2.yaml": machine("web-2") + RUNNING}, "default/web-2 is running")
    git(fleet, "push", "-q", "origin", "live")


@pytest.mark.parametrize(
    ("words", "before", "after"),
    [
        ("get machines", "web-2  Pending", "web-2  Running"),
        ("tree", "default/web-2  Pending", "default/web-2  Running"),
        ("top", "1 of 8", "2 of 8"),
        ("events", "Restarted", "default/web-2 is running"),
    ],
)
def test_watching_prints_each_change(
    fleet: Path, tmp_path: Path, words: str, before: str, after: str
) -> None:
    with watch(tmp_path, *words.split(), "--watch") as watched:
        watched.until(watched.has_printed(before))
        run_web_2(fleet)
        watched.until(watched.has_printed(after))
        assert "\x1b" not in watched.end()


@pytest.mark.parametrize("words", ["get machines", "tree", "top", "events"])
def test_json_is_a_line_each(fleet: Path, tmp_path: Path, words: str) -> None:
    with watch(tmp_path, *words.split(), "--watch", "-o", "json") as watched:
        watched.until(watched.has_printed("\n"))
        started = watched.output.read_text().count("\n")
        run_web_2(fleet)
        watched.until(watched.has_printed("\n", started + 1))
        lines = watched.end().splitlines()
    assert all(json.loads(line) for line in lines)


def test_a_remote_that_is_away_is_waited_for(fleet: Path, tmp_path: Path) -> None:
    bare = fleet.parent / "fleet.git"
    with watch(tmp_path, "get", "machines", "--watch", "--repo", f"file://{bare}") as watched:
        watched.until(watched.has_printed("web-2  Pending"))
        bare.rename(bare.with_name("away"))
        watched.until(watched.has_complained("fleet.git"))
        bare.with_name("away").rename(bare)
        run_web_2(fleet)
        watched.until(watched.has_printed("web-2  Running"))
        watched.end()


class CountedLooks:
    """A repo that counts its snapshots: those that the remote answered, and those that it did not."""

    def __init__(self, repo: Repo) -> None:
        self._repo = repo
        self.answered = self.failed = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._repo, name)

    def snapshot(self) -> Snapshot | RemoteUnavailable:
        found = self._repo.snapshot()
        if isinstance(found, RemoteUnavailable):
            self.failed += 1
        else:
            self.answered += 1
        return found


def until(is_so: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not is_so():
        assert time.monotonic() < deadline
        time.sleep(0.02)


@contextmanager
def follower(bare: Path, here: Path) -> Iterator[tuple[CountedLooks, Callable[[], Callable[[], FleetRepo]]]]:
    """The looks at a repo on this machine, and a call that begins to follow it, which returns a call that waits for the first change."""
    location = Location(address.parse_address(str(bare), here))
    with open_fleet(location, with_reports=False) as fleet, ThreadPoolExecutor(1) as pool:
        looks, waker = CountedLooks(fleet.repo), Waker()
        followed = replace(fleet, repo=cast(Repo, looks))
        try:
            yield (
                looks,
                lambda: pool.submit(next, follow_fleet(followed, waker, PATIENCE_SECONDS)).result,
            )
        finally:
            waker.stop()


def test_a_repo_that_is_put_in_place_again_is_seen_although_its_watch_was_lost(
    fleet: Path, caplog: pytest.LogCaptureFixture
) -> None:
    bare, away = fleet.parent / "fleet.git", fleet.parent / "away"
    with follower(bare, fleet) as (looks, follow):
        shutil.copytree(bare, away, symlinks=True)
        bare.rename(bare.with_name("old"))  # so that the watch cannot begin
        change = follow()
        until(lambda: looks.failed > 0)
        away.rename(bare)
        until(lambda: looks.answered > 0)  # seen to be back before anything moves there
        run_web_2(fleet)
        assert change().snapshot.target == git(fleet, "rev-parse", "live")
    assert "watch" not in caplog.text


def test_a_lost_watch_neither_ends_the_verb_nor_prints(
    fleet: Path, capsys: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    bare = fleet.parent / "fleet.git"
    with follower(bare, fleet) as (looks, follow):
        bare.rename(bare.with_name("away"))  # before the watch begins
        change = follow()
        until(lambda: looks.failed > 0)
        bare.with_name("away").rename(bare)
        run_web_2(fleet)
        assert change().snapshot.target == git(fleet, "rev-parse", "live")
    assert "watch" not in caplog.text
    assert len(capsys.readouterr().err.splitlines()) <= 1


def test_wait_follows_a_move_until_the_machine_runs_on_the_other_pool(fleet: Path, tmp_path: Path) -> None:
    pinned = machine("web-1").replace(b"spec:\n", b"spec:\n  machinePoolRef: {name: rack-b}\n")
    consent = b"metadata:\n  annotations: {gitvirt.dev/move-consent: 11111111-1111-4111-8111-111111111111}\n"
    commit(fleet, {"machines/web-1.yaml": pinned.replace(b"metadata:\n", consent)}, "move web-1 to rack-b")
    git(fleet, "push", "-q", "origin", "main")
    git(fleet, "checkout", "-q", "live")
    with watch(tmp_path, "wait", "web-1", "--for", "state=Running") as seen:
        for status, step in (
            (RUNNING.replace(b"Running", b"Terminating"), "is Terminating on rack-a"),
            (b"status: {state: Pending}\n", "is Pending"),
        ):
            commit(fleet, {"machines/web-1.yaml": pinned + status}, "a step")
            git(fleet, "push", "-q", "origin", "live")
            seen.until(seen.has_complained(f"Machine/default/web-1 {step}\n"))
            assert seen.output.read_text() == ""
        there = RUNNING.replace(b"rack-a", b"rack-b").replace(b"11111111-1111", b"33333333-1111")
        commit(fleet, {"machines/web-1.yaml": pinned + there}, "default/web-1 is running")
        git(fleet, "push", "-q", "origin", "live")
        assert seen.process.wait(PATIENCE_SECONDS) == 0
    assert seen.output.read_text().startswith("Machine/default/web-1: Running after ")


def test_a_machine_that_is_ordered_to_move_does_not_run_there_yet(fleet: Path, tmp_path: Path) -> None:
    pinned = machine("web-1").replace(b"spec:\n", b"spec:\n  machinePoolRef: {name: rack-b}\n")
    commit(fleet, {"machines/web-1.yaml": pinned}, "pin web-1, without consent to lose its local disk")
    git(fleet, "push", "-q", "origin", "main")
    words = [*GITVIRT, "wait", "web-1", "--timeout", "0s"]
    assert subprocess.run(words, check=False, capture_output=True).returncode == 0
    moving = pinned.replace(b"spec:\n", b"spec:\n  onPoolLost: Replace\n")
    commit(fleet, {"machines/web-1.yaml": moving}, "move web-1")
    git(fleet, "push", "-q", "origin", "main")
    done = subprocess.run(words, check=False, capture_output=True, text=True)
    assert done.returncode == 6
    assert "it is Running on rack-a, and ordered to move: STOPS on rack-a, starts on rack-b" in done.stderr
