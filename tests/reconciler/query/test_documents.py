"""Loading by one process and by several: the same, in the same order; and what happens when one of them is lost."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import pytest

from reconciler.gitstore.worktree.files import FileListing, IsIgnored
from reconciler.gitstore.worktree.revision import open_revision
from reconciler.query.documents import (
    LoadedFiles,
    ParsedFiles,
    WorkerLostError,
    hash_blob,
    join_batches,
    parse_files,
    split_batches,
)
from reconciler.query.parallel import parse_in_parallel
from reconciler.query.source import FolderSource, ManifestSource, RevisionSource
from schemas.problem import Problem
from schemas.validate import ValidationPolicy
from tests.reconciler.gitstore.git import commit, git, init
from tests.schemas.validate.documents import machine, machine_class, secret, together, volume

FILES = 2_000


@dataclass(frozen=True)
class Made:
    """Files that are made up when they are read."""

    lost_in: int = 0  # the process that ends itself when it reads number 1,000

    def listing(self, is_ignored: IsIgnored) -> FileListing:
        return FileListing(tuple(f"{number:05}.yaml" for number in range(FILES)), ())

    def read(self, path: str) -> bytes | Problem:
        number = int(path.partition(".")[0])
        if self.lost_in and number == 1_000 and os.getpid() != self.lost_in:
            os.kill(os.getpid(), signal.SIGKILL)
        match number % 10:
            case 1:
                return b"{["
            case 2:
                return together(volume(f"v{number}"), machine_class(cpu="-1")).encode()
            case 3:
                return secret(f"s{number}", stringData={"a": "b"}).encode()
            case 4:
                return b"apiVersion: v1\nkind: Pod\nmetadata: {name: big, uid: %d}\n" % 10**30
            case 5:
                return Problem(file=path, code="GV185", message="gone")
            case 6:
                return machine(f"m{number}", status={"state": "Running", "extra": 10**30}).encode()
            case _:
                return machine(f"m{number}").encode()


def load(source: ManifestSource, processes: int) -> LoadedFiles:
    paths = source.listing(lambda path, is_folder: False).files
    batches = list(split_batches(paths))
    if processes == 1:
        return join_batches(
            enumerate(parse_files(source, batch, {}) for batch in batches),
            len(paths),
            ValidationPolicy(),
            print,
        )
    return join_batches(
        parse_in_parallel(source, batches, {}, processes), len(paths), ValidationPolicy(), print
    )


@pytest.mark.parametrize("processes", [2, 3])
def test_several_processes_load_what_one_loads(processes: int) -> None:
    one, several = load(Made(), 1), load(Made(), processes)
    assert several.entries == one.entries
    for field in ("problems", "findings", "unreadable", "refused"):
        assert sorted(getattr(several, field)) == sorted(getattr(one, field)), field
    assert several.foreign == one.foreign == FILES // 10
    assert len(one.entries) == FILES * 7 // 10


def test_a_killed_process_is_reported_without_a_hang() -> None:
    source = Made(lost_in=os.getpid())
    batches = [[f"{number:05}.yaml" for number in range(1_000, 1_001)]] * 8
    with pytest.raises(WorkerLostError):
        list(parse_in_parallel(source, batches, {}, 2))


def test_one_process_loads_all_where_no_other_can_be_started(monkeypatch: pytest.MonkeyPatch) -> None:
    """As in a container without /dev/shm."""

    def refuse(*_: object, **__: object) -> None:
        raise FileNotFoundError(2, "No such file or directory")

    one = load(Made(), 1)
    monkeypatch.setattr("reconciler.query.worker_pool.ProcessPoolExecutor", refuse)
    several = load(Made(), 2)
    assert several.entries == one.entries
    assert sorted(several.problems) == sorted(one.problems)


def test_a_system_without_room_for_another_process_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise BlockingIOError(11, "Resource temporarily unavailable")

    monkeypatch.setattr("os.fork", refuse)
    with pytest.raises(WorkerLostError):
        list(parse_in_parallel(Made(), [[f"{number:05}.yaml"] for number in range(4)], {}, 2))


def test_files_that_are_as_they_were(tmp_path: Path) -> None:
    init(tmp_path)
    for path, text in {"a.yaml": "same", "b.yaml": "changed"}.items():
        (tmp_path / path).write_text(text)
    ids = {path: git(tmp_path, "hash-object", path) for path in ("a.yaml", "b.yaml")}
    (tmp_path / "b.yaml").write_text("otherwise")
    assert parse_files(FolderSource(tmp_path), ["a.yaml", "b.yaml"], ids).same == ["a.yaml"]
    assert hash_blob(b"same") == ids["a.yaml"]


@pytest.mark.parametrize(
    ("text", "may_hold_anything"),
    [
        (machine("one", spec={"imag": "x"}), False),
        (together(machine("one", spec={"imag": "x"}), volume("two")), False),
        (
            together(
                machine("one", spec={"imag": "x"}), machine_class().replace("MachineClass", "MachinClass")
            ),
            True,
        ),
        (machine_class().replace("MachineClass", "MachinClass"), True),
        ("{[", True),
    ],
)
def test_an_unreadable_document_may_be_any_object(tmp_path: Path, text: str, may_hold_anything: bool) -> None:
    (tmp_path / "a.yaml").write_text(text)
    assert parse_files(FolderSource(tmp_path), ["a.yaml"], {}).unreadable == (
        ["a.yaml"] if may_hold_anything else []
    )


def test_nothing_to_load() -> None:
    assert join_batches(iter(()), 0, ValidationPolicy(), print) == LoadedFiles()
    assert parse_files(Made(), [], {}) == ParsedFiles()


def test_several_processes_read_a_revision(tmp_path: Path) -> None:
    """What the Git library has open is shared by the processes that `fork` makes."""
    init(tmp_path)
    commit(tmp_path, {f"m/{number}.yaml": machine(f"m{number}").encode() for number in range(1_200)})
    source = RevisionSource(open_revision(tmp_path, "HEAD"))
    one, several = load(source, 1), load(source, 2)
    assert len(one.entries) == 1_200
    assert several.entries == one.entries


ORPHANED = """
import sys, time
from reconciler.query.parallel import parse_in_parallel
from tests.reconciler.query.test_documents import Sleeping
list(parse_in_parallel(Sleeping(), [["a.yaml"]] * 8, {}, 2))
"""


@dataclass(frozen=True)
class Sleeping:
    """Says which process reads, and takes its time."""

    def listing(self, is_ignored: IsIgnored) -> FileListing:
        return FileListing(("a.yaml",), ())

    def read(self, path: str) -> bytes | Problem:
        os.write(1, b"%d\n" % os.getpid())  # in one piece: two processes write here
        time.sleep(2)
        return b""


def test_nothing_is_left_behind_when_the_first_process_is_killed() -> None:
    with subprocess.Popen([sys.executable, "-c", ORPHANED], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        readers = {int(process.stdout.readline()) for _ in range(2)}
        (worker,) = readers - {process.pid}
        process.kill()
    deadline = time.monotonic() + 60
    while is_running(worker):
        assert time.monotonic() < deadline, f"{worker} is still there"
        time.sleep(0.02)


def is_running(pid: int) -> bool:
    try:
        return "State:\tZ" not in Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return False
