"""A folder that one runtime has to itself: a lock that ends with the process, however that ends, and says whose it is.

Two runtimes on one folder would each take the other's work for leftovers.
"""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Callable
from pathlib import Path

from iri.errors import StartupError

LOCK = ".gitvirt.lock"
MOMENT_SECONDS = 0.1
CURE = "stop that one first; two runtimes need a libvirtd, a `folder`, an `images.folder` and pools each"


class LockHeldError(StartupError):
    """Another process has it."""


def lock_holder(folder: Path) -> str | None:
    """Who has it now: the process, or nothing where that does not say. None when nobody has it."""
    try:
        handle = os.open(folder / LOCK, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except PermissionError:  # another account's
        return ""
    try:
        fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return _read_pid(handle)
    finally:
        os.close(handle)
    return None


def _read_pid(handle: int) -> str:
    written = os.pread(handle, 20, 0).decode("ascii", "replace").strip()
    return written if written.isdigit() else ""


class FolderLock:
    """`what` begins the message: "storage pool fast"."""

    def __init__(self, what: str, sleep: Callable[[float], object] = time.sleep) -> None:
        self._what = what
        self._sleep = sleep
        self._handle = -1

    def acquire(self, folder: Path) -> None:
        """The folder is there. Once is enough: what is held stays so. OSError when nothing can be written there."""
        if self._handle >= 0:
            return
        handle = os.open(folder / LOCK, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        try:
            self._lock(handle)
        except BlockingIOError:
            found = _read_pid(handle)
            os.close(handle)
            pid = f" (pid {found})" if found else ""
            raise LockHeldError(f"{self._what} at {folder} is in use by another runtime{pid}", CURE) from None
        except OSError:
            os.close(handle)
            raise
        self._handle = handle
        os.ftruncate(handle, 0)
        os.pwrite(handle, f"{os.getpid()}\n".encode(), 0)

    def _lock(self, handle: int) -> None:
        """Who has it keeps it; who only asks whose it is, as `holder` does, has it for a moment."""
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            self._sleep(MOMENT_SECONDS)
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)

    def release(self) -> None:
        if self._handle >= 0:
            os.close(self._handle)
            self._handle = -1
