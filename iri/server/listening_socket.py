"""Puts a listening unix socket at its path. Knows no gRPC: it gets a function that binds a path.

Theory of operation, under a lock on the directory:

    at the path                          what happens
    nothing                              the socket is published
    a socket that refuses connections    its server has died: replaced
    a socket that accepts, or hangs      refused: the path is in use, by the process that is named
    any other file                       refused

Publishing: bind in a private directory, set the mode, rename to the path. So the socket has its mode before anyone can
open it, and a client finds either the old socket or the new one. `remove` unlinks the path only while it is still this
socket: a newer server may have replaced it.

Must never happen: two servers start at once and both believe that they own the path; a live server loses its socket.
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
    """FailedPrecondition in its constructor when the path is in use or cannot be written."""

    def __init__(self, path: Path, mode: int, bind: Callable[[Path], object]) -> None:
        self.path = path
        if not path.parent.is_dir():
            raise FailedPrecondition(f"{path.parent} is not a directory: create it, or choose another socket")
        try:
            with lock_directory(path.parent):
                refuse_live_socket(path)
                self._identity = publish_socket(path, mode, bind)
        except OSError as error:
            raise FailedPrecondition(f"cannot listen on {path}: {error.strerror}") from error

    def remove(self) -> None:
        """Under the lock of the directory, so that no other server publishes meanwhile."""
        with lock_directory(self.path.parent):
            if file_identity(self.path) == self._identity:
                self.path.unlink(missing_ok=True)


def publish_socket(path: Path, mode: int, bind: Callable[[Path], object]) -> tuple[int, int] | None:
    """Binds a socket in a private folder, gives it its mode and renames it to `path`: no client can connect before the mode applies,
    and each finds the old socket or the new one. Returns the identity of the published file; None if it is gone already."""
    with tempfile.TemporaryDirectory(dir=path.parent, prefix=".") as private:
        made = Path(private) / "s"
        if len(os.fsencode(made)) > LONGEST_SOCKET_PATH:
            raise InvalidArgument(f"the directory of {path} is too long for the path of a socket")
        bind(made)
        made.chmod(mode)
        made.rename(path)
    return file_identity(path)


@contextmanager
def lock_directory(directory: Path) -> Iterator[None]:
    """Two servers that start at once take turns; the second one then finds a live socket."""
    descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def refuse_live_socket(path: Path) -> None:
    """Passes when there is nothing at the path, or the socket of a server that died."""
    try:
        mode = path.lstat().st_mode
    except FileNotFoundError:
        return
    if not stat.S_ISSOCK(mode):
        raise FailedPrecondition(f"{path} exists and is not a socket: remove it, or choose another path")
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        probe.settimeout(PROBE_SECONDS)
        try:
            probe.connect(str(path))
        except ConnectionRefusedError:
            return
        except (TimeoutError, BlockingIOError):
            raise FailedPrecondition(f"{path} is in use by a process that does not answer") from None
        raise FailedPrecondition(f"{path} is in use by process {peer_pid(probe)}")


def peer_pid(connection: socket.socket) -> int:
    """The process that listens, by the kernel."""
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
