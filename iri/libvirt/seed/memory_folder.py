"""Where boot data with secrets is: a folder on tmpfs, so that the files a guest reads are on no disk of the host. It is empty after each boot. It is not the only
copy: libvirt's secret store is on disk, a guest keeps what it has read on its own disk, and a host may swap tmpfs.

Each runtime has a folder of its own below, by the folder of its settings: the path is in the domain, and has to be the same after a restart.

QEMU opens the path on the host. A runtime in a container has a /run of its own there, so the folder of the host is mounted at the same path:
`/run/gitvirt-seeds` is looked at before `/run`, and counts by its own mount.
"""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Sequence
from pathlib import Path

from iri.errors import FailedPrecondition
from iri.memory_mounts import is_in_memory

USUAL = (Path("/run"), Path("/dev/shm"))  # noqa: S108 - what it is mounted as is checked
NAME = "gitvirt-seeds"
FOR_OTHERS_TO_WRITE = stat.S_IWGRP | stat.S_IWOTH


def find_memory_folder(runtime_folder: Path, usual: Sequence[Path] = USUAL) -> Path | None:
    """The folder of this runtime, which need not exist yet: on the first tmpfs that it can write to. None on a host without one."""
    name = hashlib.sha256(str(runtime_folder).encode()).hexdigest()[:16]
    return next((path / NAME / name for path in usual if is_usable(path)), None)


def is_usable(path: Path) -> bool:
    """By the folder for seeds where it exists, which may be a mount of its own, else by the folder above it."""
    own = path / NAME
    found = own if own.is_dir() else path
    return is_in_memory(found) and os.access(found, os.W_OK | os.X_OK, effective_ids=True)


def require_memory(folder: Path | None) -> Path:
    """The folder, made with the one above it; FailedPrecondition where there is none, or where it cannot be written."""
    if folder is None:
        raise FailedPrecondition(
            "the machine has secret boot data, and this host has no tmpfs at /run or /dev/shm that the runtime can write to"
        )
    for each in (folder.parent, folder):
        make_own_folder(each)
    return folder


def make_own_folder(path: Path) -> None:
    """One that QEMU's user may enter and not list. /dev/shm is everyone's to write: a folder that another account made there, or a link, is
    refused, because its owner could read what is in it."""
    try:
        path.mkdir(mode=0o711, exist_ok=True)
    except FileExistsError:
        pass  # not a folder: refused below
    except OSError as error:
        raise FailedPrecondition(
            f"the machine has secret boot data, and {path} cannot be made: {error.strerror}"
        ) from None
    found = path.lstat()
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.geteuid() or found.st_mode & FOR_OTHERS_TO_WRITE:
        raise FailedPrecondition(f"{path} belongs to another account, or others may write to it; remove it")
    if not os.access(path, os.W_OK | os.X_OK, effective_ids=True):
        raise FailedPrecondition(f"the machine has secret boot data, and {path} cannot be written to")
