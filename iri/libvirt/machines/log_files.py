"""The logs of a machine's serial console in its folder. QEMU or virtlogd writes them; this reads them, and moves them at each start.

    file             holds
    console.log      what the guest has written since its last start, or the newest part of it
    console.log.0    the part before, where virtlogd has begun a new file (at 2 MiB); then .1, .2, ...
    previous.log     the same of the start before, with its parts previous.log.0, ...

Files are moved right before a start, while no program writes: an empty log replaces none, so a start that fails twice takes nothing away.
A reader holds the file that it reads open. If another file has its name then, it reads the old one to its end and goes on with the new.

Must never happen: more than a part of a log is held in memory; something that is not a plain file of this folder is read.
"""

from __future__ import annotations

import os
import re
import stat
import threading
from collections.abc import Callable
from pathlib import Path

from iri.console_log import PART_BYTES, LogRequest, find_tail
from iri.errors import FailedPrecondition

LOG, PREVIOUS = "console.log", "previous.log"
POLL_SECONDS = 0.2
_PART = re.compile(r"(?P<name>console\.log|previous\.log)\.(?P<number>\d{1,4})")


def list_parts(folder: Path, name: str) -> list[Path]:
    """The files of one log, oldest first; those that exist."""
    numbered = [
        (int(match["number"]), path)
        for path in (folder.iterdir() if folder.is_dir() else ())
        if (match := _PART.fullmatch(path.name)) and match["name"] == name
    ]
    last = [folder / name] if (folder / name).exists() else []
    return [path for _, path in sorted(numbered, reverse=True)] + last


def keep_previous(folder: Path) -> None:
    """Before a start: what the last one has left becomes the previous log."""
    parts = list_parts(folder, LOG)
    if not any(path.stat().st_size for path in parts):
        return
    for path in list_parts(folder, PREVIOUS):
        path.unlink(missing_ok=True)
    for path in parts:
        path.rename(folder / path.name.replace(LOG, PREVIOUS))


def open_part(path: Path) -> int | None:
    """A descriptor; None for a file that is gone, and for anything but a plain file."""
    try:
        found = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return None
    if stat.S_ISREG(os.fstat(found).st_mode):
        return found
    os.close(found)
    return None


class LogFile:
    """Implements iri.runtime.ConsoleLog. One thread reads, another may close. `is_gone` says that the machine no longer exists."""

    def __init__(self, folder: Path, request: LogRequest, is_gone: Callable[[], bool]) -> None:
        """Raises FailedPrecondition where there is no such log."""
        name = PREVIOUS if request.previous else LOG
        self._current = folder / name
        self._follows = request.follow and not request.previous
        self._is_gone = is_gone
        self._closed = threading.Event()
        self._left = 0
        self._parts = [found for path in list_parts(folder, name) if (found := open_part(path)) is not None]
        if not self._parts and not self._follows:
            what = "was started only once, or never: it has no previous log"
            what = what if request.previous else "was never started: it has no log"
            raise FailedPrecondition(f"machine {folder.name} {what}")
        self._seek(request.tail_lines)

    def _seek(self, lines: int) -> None:
        """Passes over what is before the last lines, through all parts as if they were one file."""
        sizes = [os.fstat(part).st_size for part in self._parts]

        def read(at: int, size: int) -> bytes:
            found = b""
            for part, length in zip(self._parts, sizes, strict=True):
                if at < length and len(found) < size:
                    found += os.pread(part, min(size - len(found), length - at), at)
                at = max(0, at - length)
            return found

        begin = find_tail(sum(sizes), lines, read)
        self._left = (
            sum(sizes) - begin
        )  # a guest that never stops writing does not keep a reader that does not follow
        for part, length in zip(tuple(self._parts), sizes, strict=True):
            if begin >= length and len(self._parts) > 1:
                os.close(self._parts.pop(0))
                begin -= length
            else:
                os.lseek(part, min(begin, length), os.SEEK_SET)
                break

    def read(self) -> bytes:
        try:
            return self._read()
        except BaseException:
            self._release()
            raise

    def _read(self) -> bytes:
        """Each look at the file comes after the look at whether the machine is gone, so its last words are read."""
        while not self._closed.is_set():
            is_over = not self._follows or self._is_gone()
            if data := self._read_part():
                return data
            if len(self._parts) > 1 or (self._parts and self._is_replaced()):
                os.close(self._parts.pop(0))
                continue
            if not self._parts and (found := open_part(self._current)) is not None:
                self._parts.append(found)
                continue
            if is_over:
                break
            self._closed.wait(POLL_SECONDS)
        self._release()
        return b""

    def _read_part(self) -> bytes:
        size = PART_BYTES if self._follows else min(PART_BYTES, self._left)
        data = os.read(self._parts[0], size) if self._parts else b""
        self._left -= len(data)
        return data

    def _is_replaced(self) -> bool:
        """Whether another file has the name now. The old one may have got its last bytes since it was read: then it is read first."""
        if not self._follows:
            return False
        try:
            now = self._current.lstat()
        except OSError:
            return False
        held = os.fstat(self._parts[0])
        is_read = os.lseek(self._parts[0], 0, os.SEEK_CUR) >= held.st_size
        return is_read and (now.st_dev, now.st_ino) != (held.st_dev, held.st_ino)

    def close(self) -> None:
        self._closed.set()

    def _release(self) -> None:
        while self._parts:
            os.close(self._parts.pop())
