"""Poollets in processes of their own, over a bare repo, and what their reports say."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from poollet import bootstrap
from schemas.report import Report, read
from schemas.settings.host import PoolletSettings, RepoSettings
from tests.poollet.fleet import SETTINGS, grant_files, host_id, machine, machine_class, uid
from tests.servers.repository import bare, git

PATIENCE_SECONDS = 60.0

ANSWER_SECONDS = 0.2
COMMITTING = threading.Lock()  # the index is shared
ANSWERED = re.compile(r'(id: "[^"]*")(?:, answered: "[^"]*")?\}')
NAMED = f"Source-Commit: {'5' * 40}"  # as a reconciler's commit does


@dataclass
class FleetRepo:
    """A bare repo whose `live` the test writes."""

    folder: Path

    @property
    def repo(self) -> Path:
        return self.folder / "fleet.git"

    def begin(self, files: Mapping[str, str] | None = None) -> None:
        bare(self.repo)
        self.commit(
            {"gitvirt.yaml": SETTINGS, "classes/small.yaml": machine_class(), **grants(), **(files or {})}
        )

    def commit(self, files: Mapping[str, str | None], branch: str = "live") -> str:
        with COMMITTING:
            return self._commit(files, branch)

    def _commit(self, files: Mapping[str, str | None], branch: str) -> str:
        head = self.head(f"refs/heads/{branch}")
        index = {"GIT_INDEX_FILE": str(self.folder / "index")}
        git(self.repo, "read-tree", *([head] if head else ["--empty"]), **index)
        for path, text in files.items():
            blob = "0" * 40 if text is None else git(self.repo, "hash-object", "-w", "--stdin", given=text)
            mode = "0" if text is None else "100644"
            git(self.repo, "update-index", "--index-info", given=f"{mode} {blob}\t{path}\n", **index)
        tree = git(self.repo, "write-tree", **index)
        commit = git(
            self.repo, "commit-tree", tree, *(["-p", head] if head else []), "-m", "change", "-m", NAMED
        )
        git(self.repo, "update-ref", f"refs/heads/{branch}", commit)
        return commit

    def answer(self) -> None:
        """As a reconciler does: hosts that ask may act."""
        for ref in git(self.repo, "for-each-ref", "--format=%(refname)", "refs/poollets/").splitlines():
            name = ref.removeprefix("refs/poollets/")
            by, path = self.report(name).poollet, f"pools/{name}.yaml"
            if by is None or not by.asks or not self.head("refs/heads/live"):
                continue
            with COMMITTING:
                if not git(self.repo, "ls-tree", "live", path):
                    continue
                before = git(self.repo, "cat-file", "blob", f"live:{path}")
                after = ANSWERED.sub(rf'\1, answered: "{by.asks}"}}', before)
                if after != before:
                    self._commit({path: after + "\n"}, "live")

    def head(self, ref: str) -> str:
        return git(self.repo, "for-each-ref", "--format=%(objectname)", ref)

    def report(self, name: str = "host-1") -> Report:
        """Empty as long as there is none."""
        commit = self.head(f"refs/poollets/{name}")
        if not commit:
            return Report()
        paths = git(self.repo, "ls-tree", "-r", "--name-only", commit).splitlines()
        return read({path: git(self.repo, "cat-file", "blob", f"{commit}:{path}").encode() for path in paths})


@dataclass
class Run:
    """What it logs goes into a file: its runtimes outlive it, and would keep a pipe open."""

    process: subprocess.Popen[bytes]
    log: Path

    @property
    def log_text(self) -> str:
        return self.log.read_text()

    def end(self, number: int | None = signal.SIGTERM) -> tuple[int, str]:
        """Its exit code and what it logged."""
        if number is not None:
            self.process.send_signal(number)
        self.process.wait(PATIENCE_SECONDS)
        return self.process.returncode, self.log_text


@contextmanager
def answering(fleet_repo: FleetRepo) -> Iterator[None]:
    """Until the block ends, in a thread."""
    is_over = threading.Event()

    def answer() -> None:
        failures = 0
        while not is_over.wait(ANSWER_SECONDS):
            try:
                fleet_repo.answer()
                failures = 0
            except AssertionError:
                failures += 1  # a test may move the repo away and back in the midst
                if failures > 1 and fleet_repo.repo.exists():
                    raise

    thread = threading.Thread(target=answer)
    thread.start()
    try:
        yield
    finally:
        is_over.set()
        thread.join()


@contextmanager
def running(folder: Path, *arguments: str, fleet_repo: FleetRepo | None = None) -> Iterator[Run]:
    """`fleet_repo` is that in the folder if none is given."""
    command = [sys.executable, "-m", "reconciler", "poollet", *arguments]
    log = folder / f"{time.monotonic_ns()}.log"
    with log.open("wb") as file:
        run = Run(subprocess.Popen(command, stderr=file), log)
    try:
        with answering(fleet_repo or FleetRepo(folder)):
            yield run
    finally:
        if run.process.poll() is None:
            run.process.kill()
        run.process.wait()


def until(holds: Callable[[], bool], seconds: float = PATIENCE_SECONDS) -> None:
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end, "it did not come about"
        time.sleep(0.05)


def this_host() -> str:
    """The hostID of poollets on this machine that are given none."""
    return bootstrap.host_id(PoolletSettings(name="host-1", repo=RepoSettings(url="")))


def grants() -> dict[str, str]:
    """The pools of host-1 and host-2, granted to this machine."""
    return {f"pools/{name}.yaml": grant_files(name, this_host()) for name in ("host-1", "host-2")}


def web(number: int = 1, pool: str = "host-1", more: str = "") -> str:
    text = machine(f"web-{number}", pool, uid(number), uid(100 + number), more=more)
    return text.replace(host_id(pool), this_host())
