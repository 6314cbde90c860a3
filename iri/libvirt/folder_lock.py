"""A lock on a folder that one runtime uses alone. It ends with the process, however that ends, and names the process that holds it.

Theory of operation. Two runtimes on one folder would each take the other's files for leftovers and remove them. So each runtime
takes an exclusive `flock` on `.gitvirt.lock` in every folder that it writes to (its own folder, the image cache, each storage
pool) before it reads or changes anything there, and keeps it until it stops.

    state      entered by                    left by
    free                                     acquire -> held
    held       acquire                       release, or the end of the process -> free
    (held by another process)                acquire raises LockHeldError and names the process

Must never happen: the lock file is deleted (a second process could then lock a new file of the same name); a reader of the
owner's name keeps a process from acquiring (readers take the lock shared and briefly, so `acquire` tries twice).

Limits: it keeps other runtimes out; all threads of this one share it.
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
CURE = "stop that runtime first; each runtime needs its own libvirtd, `folder`, `images.folder` and storage pools"


class LockHeldError(StartupError):
    """Another process holds the lock."""


def lock_holder(folder: Path) -> str | None:
    """The process id of the holder, empty where it cannot be read. None when the lock is free."""
    try:
        handle = os.open(folder / LOCK, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except PermissionError:  # it belongs to another account
        return ""
    try:
        fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return _read_pid(handle)
    finally:
        os.close(handle)
    return None


def _read_pid(handle: int) -> str:
    """Empty for text that is not a number: the file may be of another version, or half written."""
    written = os.pread(handle, 20, 0).decode("ascii", "replace").strip()
    return written if written.isdigit() else ""


class FolderLock:
    """`what` is the subject of error messages: "storage pool fast"."""

    def __init__(self, what: str, sleep: Callable[[float], object] = time.sleep) -> None:
        self._what = what
        self._sleep = sleep
        self._handle = -1

    def acquire(self, folder: Path) -> None:
        """The folder must exist. No effect when already held. OSError when the folder cannot be written to."""
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
        """Tries twice: `lock_holder` of another process may hold the lock for a moment."""
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            self._sleep(MOMENT_SECONDS)
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)

    def release(self) -> None:
        """No effect when it is not held. The file stays: see above."""
        if self._handle >= 0:
            os.close(self._handle)
            self._handle = -1
