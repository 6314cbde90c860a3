"""A disk and a way to the remote that fail at one chosen step: before its effect, halfway through, or after it."""

from __future__ import annotations

import errno
from collections.abc import Callable, Sequence
from enum import Enum
from pathlib import Path
from typing import TypeVar

from reconciler.gitstore.mirror.disk import MirrorDisk
from reconciler.gitstore.remote.transport import (
    PushConflict,
    PushRefused,
    RefsFetched,
    RefsListed,
    RefsPushed,
    RefUpdate,
    RemoteErrorKind,
    RemoteUnavailable,
    Transport,
)

T = TypeVar("T")


class How(Enum):
    ERROR_BEFORE = "error before"
    ERROR_AFTER = "error after"
    ERROR_HALFWAY = "error halfway"
    KILLED_BEFORE = "killed before"
    KILLED_AFTER = "killed after"
    KILLED_HALFWAY = "killed halfway"


class Killed(BaseException):
    """The process ends here: nothing that catches errors may catch this."""


class Steps:
    """Counts every step of disk and transport together; the one numbered `at` fails."""

    def __init__(self, at: int = -1, how: How = How.ERROR_BEFORE) -> None:
        self.at = at
        self.how = how
        self.names: list[str] = []

    def failing(self, name: str) -> How | None:
        self.names.append(name)
        return self.how if len(self.names) - 1 == self.at else None


def no_room() -> OSError:
    return OSError(errno.ENOSPC, "No space left on device")


class FaultyDisk(MirrorDisk):
    def __init__(self, steps: Steps) -> None:
        self.steps = steps

    def make_folder(self, folder: Path) -> None:
        self._step("make_folder", lambda: super(FaultyDisk, self).make_folder(folder))

    def write(self, path: Path, data: bytes) -> None:
        def half() -> None:
            path.write_bytes(data[: len(data) // 2])

        self._step("write", lambda: super(FaultyDisk, self).write(path, data), half)

    def rename(self, path: Path, to: Path) -> None:
        self._step("rename", lambda: super(FaultyDisk, self).rename(path, to))

    def remove(self, path: Path) -> None:
        self._step("remove", lambda: super(FaultyDisk, self).remove(path))

    def remove_folder(self, folder: Path) -> None:
        def half() -> None:
            for path in sorted(folder.rglob("*"))[::2]:
                if path.is_file():
                    path.unlink()

        self._step("remove_folder", lambda: super(FaultyDisk, self).remove_folder(folder), half)

    def sync(self, folder: Path) -> None:
        self._step("sync", lambda: super(FaultyDisk, self).sync(folder))

    def _step(self, name: str, act: Callable[[], None], half: Callable[[], None] = lambda: None) -> None:
        match self.steps.failing(name):
            case How.ERROR_BEFORE:
                raise no_room()
            case How.ERROR_AFTER:
                act()
                raise no_room()
            case How.ERROR_HALFWAY:
                half()
                raise no_room()
            case How.KILLED_BEFORE:
                raise Killed
            case How.KILLED_AFTER:
                act()
                raise Killed
            case How.KILLED_HALFWAY:
                half()
                raise Killed
            case None:
                act()


class FaultyTransport(Transport):
    def __init__(self, real: Transport, steps: Steps) -> None:
        self.real = real
        self.steps = steps

    def list_refs(self, needed: Sequence[str], seconds: float) -> RefsListed | RemoteUnavailable:
        return self._step("list_refs", lambda: self.real.list_refs(needed, seconds))

    def fetch(self, needed: Sequence[str], seconds: float) -> RefsFetched | RemoteUnavailable:
        return self._step("fetch", lambda: self.real.fetch(needed, seconds))

    def push(
        self, updates: Sequence[RefUpdate], seconds: float
    ) -> RefsPushed | PushConflict | PushRefused | RemoteUnavailable:
        return self._step("push", lambda: self.real.push(updates, seconds))

    def _step(self, name: str, act: Callable[[], T]) -> T | RemoteUnavailable:
        lost = RemoteUnavailable(
            RemoteErrorKind.NETWORK, "the answer was lost", "wait", is_unknown=name == "push"
        )
        match self.steps.failing(name):
            case How.ERROR_BEFORE | How.ERROR_HALFWAY:
                return RemoteUnavailable(RemoteErrorKind.NETWORK, "the remote is gone", "wait")
            case How.ERROR_AFTER:
                act()
                return lost
            case How.KILLED_BEFORE | How.KILLED_HALFWAY:
                raise Killed
            case How.KILLED_AFTER:
                act()
                raise Killed
            case None:
                return act()
