"""By what a pool's folder is known again: a mark that lies in it, and a note of that mark in libvirt.

A folder whose disk is not mounted is an empty folder. To take it for the pool would be to tell that all its volumes are
gone, and to make them anew. The note is a libvirt secret, since that is neither on the disk that may be missing nor a store
of our own; there is nothing secret about it. It counts for as long as libvirt has the pool: to undefine that is how a
person says that what was on it is given up.
"""

from __future__ import annotations

import os
import uuid
from collections.abc import Set
from pathlib import Path

from iri.errors import IRIError, NotFound, Unavailable
from iri.libvirt.connect.storage import Secrets, Storage
from iri.libvirt.volumes import contents, definition, names, sidecar

MARK = ".gitvirt-pool"
LONGEST = 64


class Marks:
    def __init__(self, storage: Storage, secrets: Secrets) -> None:
        self._storage = storage
        self._secrets = secrets

    def noted(self, pool: str) -> str:
        """The mark of a pool that was used before; empty for one that libvirt does not know."""
        try:
            self._storage.pool_path(pool)
            return self._secrets.value(_id(pool)).decode("ascii", "replace")
        except NotFound:
            return ""

    def adopt(self, pool: str, folder: Path) -> str:
        """The mark of a pool that is used from now on. It is in the folder before libvirt is told."""
        mark = found(folder)
        if not mark:
            mark = uuid.uuid4().hex
            _write(folder, mark)
        usage = _usage(pool)
        secret = definition.secret(_id(pool), usage, type="volume", is_private=False, is_ephemeral=False)
        self._secrets.put(secret, mark.encode())
        return mark

    def refuse_other(self, pool: str, folder: Path, mark: str) -> None:
        """Unavailable when this is not the folder that it was."""
        there = found(folder)
        if there == mark:
            return
        what = f"{folder} has the mark of another pool" if there else f"{folder} lacks the mark of the pool"
        raise Unavailable(
            f"{what}, so its disk is not mounted there: mount it; if all that was on it is lost for good, "
            f"`virsh pool-destroy {pool}` and `virsh pool-undefine {pool}` begin anew"
        )

    def bases_elsewhere(self, configured: Set[str]) -> Set[str]:
        """Names of the files that disks rest on in pools which were used once and are in the settings no more.

        Unavailable when there is one that cannot be looked into. A note of a pool that libvirt has no more is dropped.
        """
        bases: set[str] = set()
        for usage in self._secrets.usages().values():
            match = names.MARK_USAGE.fullmatch(usage)
            if match is None or (pool := match["pool"]) in configured:
                continue
            mark = self.noted(pool)
            if not mark:
                self._secrets.drop(_id(pool))
                continue
            try:
                folder = Path(self._storage.pool_path(pool))
                self.refuse_other(pool, folder, mark)
            except IRIError as error:
                raise Unavailable(f"storage pool {pool}, which the settings do not name: {error}") from None
            bases |= contents.bases(folder)
        return bases


def found(folder: Path) -> str:
    """The mark that lies there; empty for none."""
    with sidecar.on_disk(f"reading the mark of {folder}"):
        try:
            handle = os.open(folder / MARK, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
        except (FileNotFoundError, NotADirectoryError):
            return ""
        try:
            return os.read(handle, LONGEST).decode("ascii", "replace").strip()
        finally:
            os.close(handle)


def _write(folder: Path, mark: str) -> None:
    partial = folder / f"{MARK}.partial"
    with sidecar.on_disk(f"marking {folder}"):
        partial.unlink(missing_ok=True)
        with partial.open("x") as file:
            file.write(f"{mark}\n")
            file.flush()
            os.fsync(file.fileno())
        partial.replace(folder / MARK)
        sidecar.sync(folder)


def _usage(pool: str) -> str:
    return names.secret_usage(f"mark-{pool}")


def _id(pool: str) -> str:
    return names.secret_id(_usage(pool))
