"""The content of disk files: copied while no QEMU writes to it, overwritten before deletion, and its backing file. Files only; no
libvirt.

QEMU locks bytes of an image that it has open. A copy takes the locks that forbid others to write and then asks whether one writes
already; so it never copies half of a write, and a guest that starts meanwhile fails to start and is started again later. Files that
are copied or overwritten are opened without following a link. Must never happen: a file is copied or overwritten while a QEMU writes to it.

    bytes of an image that QEMU locks     meaning                       here
    101                                   a QEMU writes to it           asked for; another's lock refuses the copy
    201, 203                              no one may write, resize      locked while the copy lasts
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import stat
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from io import FileIO
from pathlib import Path

from iri.errors import FailedPrecondition

MAGIC = b"QFI\xfb"
FICLONE = 0x40049409
PIECE = 1 << 22
FLOCK = "hhqqi4x"
# QEMU locks bytes of an image: from 100 on what it does with it, from 200 on what it forbids others.
WRITES, FORBIDS_WRITE, FORBIDS_RESIZE = 101, 201, 203


def is_plain_file(path: Path) -> bool:
    """False for a link: another writer to the folder must not lead the runtime out of it."""
    try:
        return stat.S_ISREG(path.lstat().st_mode)
    except FileNotFoundError:
        return False


@contextmanager
def locked_against_writes(path: Path) -> Iterator[FileIO]:
    """Opens the image and keeps QEMU from writing to it meanwhile. Raises FailedPrecondition when a QEMU writes to it already."""
    handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    with os.fdopen(handle, "rb", buffering=0) as file:
        for byte in (FORBIDS_WRITE, FORBIDS_RESIZE):
            fcntl.fcntl(file, fcntl.F_OFD_SETLK, struct.pack(FLOCK, fcntl.F_RDLCK, os.SEEK_SET, byte, 1, 0))
        question = struct.pack(FLOCK, fcntl.F_WRLCK, os.SEEK_SET, WRITES, 1, 0)
        kind = struct.unpack(FLOCK, fcntl.fcntl(file, fcntl.F_OFD_GETLK, question))[0]
        if kind != fcntl.F_UNLCK:
            raise FailedPrecondition(f"{path.name} is in use by a running guest")
        yield file


def copy_file(source: Path, into: Path) -> None:
    """Copies content and holes; by reference where the filesystem can. On disk when it returns."""
    with locked_against_writes(source) as file, into.open("xb", buffering=0) as copy:
        into.chmod(0o600)
        try:
            fcntl.ioctl(copy, FICLONE, file.fileno())
        except OSError as error:
            if error.errno not in (errno.EOPNOTSUPP, errno.EXDEV, errno.EINVAL, errno.ENOTTY):
                raise
            size = os.fstat(file.fileno()).st_size
            for start, end in extents(file.fileno(), size):
                _copy_range(file.fileno(), copy.fileno(), start, end)
            copy.truncate(size)
        os.fsync(copy.fileno())


def _copy_range(source: int, copy: int, start: int, end: int) -> None:
    """Copies a range of one disk file to the same place in another, within the kernel. Ends early when the source was cut off meanwhile."""
    os.lseek(copy, start, os.SEEK_SET)
    while start < end:
        sent = os.sendfile(copy, source, start, min(end - start, PIECE))
        if not sent:
            return
        start += sent


def extents(handle: int, size: int) -> Iterator[tuple[int, int]]:
    """The ranges of a sparse disk file that hold data, as start and end; what is between them is zeros and takes no space."""
    at = 0
    while at < size:
        try:
            start = os.lseek(handle, at, os.SEEK_DATA)
        except OSError as error:
            if error.errno != errno.ENXIO:
                raise
            return
        at = os.lseek(handle, start, os.SEEK_HOLE)
        yield start, at


def overwrite(path: Path) -> None:
    """Writes zeros over everything that was ever written. On disk when it returns."""
    zeros = bytes(PIECE)
    handle = os.open(path, os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC)
    with os.fdopen(handle, "r+b", buffering=0) as file:
        for start, end in list(extents(file.fileno(), os.fstat(file.fileno()).st_size)):
            file.seek(start)
            while start < end:
                start += file.write(zeros[: min(end - start, PIECE)])
        os.fsync(file.fileno())


def backing_names(folder: Path) -> frozenset[str]:
    """Names of the backing files of all disks in the folder."""
    found = set()
    for path in folder.glob("*.qcow2*"):
        with contextlib.suppress(FileNotFoundError):
            found.add(Path(backing_name(path)).name)
    return frozenset(found)


def backing_name(path: Path) -> str:
    """The path of a qcow2 disk's backing file as its header has it. Empty without one, and for a file that is not qcow2."""
    with path.open("rb") as file:
        head = file.read(20)
        if not head.startswith(MAGIC) or len(head) < 20:
            return ""
        offset, length = struct.unpack(">QI", head[8:20])
        if not offset:
            return ""
        file.seek(offset)
        return file.read(min(length, 1023)).decode(errors="surrogateescape")
