"""Puts a listening unix socket at its path: with its mode from the first moment on, in place of a dead one, never of a
live one. Knows no gRPC: it is given a function that binds a path.
"""

from __future__ import annotations

import fcntl
import os
import socket
import stat
import struct
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from iri.address import LONGEST_SOCKET_PATH
from iri.errors import FailedPrecondition, InvalidArgument

PROBE_SECONDS = 2.0


class ListeningSocket:
    """A socket at a path. It is made in a private directory and then renamed, so that nobody ever finds it half-made, and
    removed only while the path still leads to it."""

    def __init__(self, path: Path, mode: int, bind: Callable[[Path], object]) -> None:
        self.path = path
        if not path.parent.is_dir():
            raise FailedPrecondition(f"{path.parent} is no directory: make it, or choose another socket")
        try:
            with lock_directory(path.parent):
                refuse_live_socket(path)
                self._identity = publish_socket(path, mode, bind)
        except OSError as error:
            raise FailedPrecondition(f"cannot listen on {path}: {error.strerror}") from error

    def remove(self) -> None:
        with lock_directory(self.path.parent):
            if file_identity(self.path) == self._identity:
                self.path.unlink(missing_ok=True)


def publish_socket(path: Path, mode: int, bind: Callable[[Path], object]) -> tuple[int, int] | None:
    with tempfile.TemporaryDirectory(dir=path.parent, prefix=".") as private:
        made = Path(private) / "s"
        if len(os.fsencode(made)) > LONGEST_SOCKET_PATH:
            raise InvalidArgument(f"the directory of {path} has too long a name for sockets")
        bind(made)
        made.chmod(mode)
        made.rename(path)
    return file_identity(path)


@contextmanager
def lock_directory(directory: Path) -> Iterator[None]:
    """Two servers that start at once take turns; the second then finds a live socket."""
    descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def refuse_live_socket(path: Path) -> None:
    try:
        mode = path.lstat().st_mode
    except FileNotFoundError:
        return
    if not stat.S_ISSOCK(mode):
        raise FailedPrecondition(f"{path} exists and is no socket: remove it, or choose another path")
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        probe.settimeout(PROBE_SECONDS)
        try:
            probe.connect(str(path))
        except ConnectionRefusedError:
            return
        except (TimeoutError, BlockingIOError):
            raise FailedPrecondition(f"{path} is in use, by a process that does not answer") from None
        raise FailedPrecondition(f"{path} is in use by process {peer_pid(probe)}")


def peer_pid(connection: socket.socket) -> int:
    size = struct.calcsize("3i")
    pid: int = struct.unpack("3i", connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, size))[0]
    return pid


def file_identity(path: Path) -> tuple[int, int] | None:
    """Tells one file at a path from the next."""
    try:
        found = path.stat()
    except FileNotFoundError:
        return None
    return found.st_dev, found.st_ino
