"""By what a pool's folder is known again: a mark that lies in it, and two notes of that mark.

A folder whose disk is not mounted is an empty folder. To take it for the pool would be to tell that all its volumes are
gone, and to make them anew. One note is a libvirt secret, in which nothing is secret; it counts for as long as libvirt has
the pool: to undefine that is how a person says that what was on it is given up. The other is a file in the runtime's own
folder, and counts where libvirt has lost its note: then nobody has given up anything.
"""

from __future__ import annotations

import os
import uuid
from collections.abc import Set
from pathlib import Path
from urllib.parse import quote, unquote

from iri.errors import IRIError, NotFound, Unavailable
from iri.libvirt.connect.storage import LibvirtSecrets, StoragePools
from iri.libvirt.volumes import disk_files, names, record_files, storage_xml

MARK = ".gitvirt-pool"
LONGEST = 64
PARTIAL = ".partial"


class PoolMarkers:
    def __init__(self, storage: StoragePools, secrets: LibvirtSecrets, notes: Path) -> None:
        """`notes` is a folder of our own."""
        self._storage = storage
        self._secrets = secrets
        self._notes = notes

    def expected_marker(self, pool: str) -> str:
        """The mark of a pool that was used before; empty for one that was not, or that a person gave up."""
        try:
            mark = self._secrets.value(_id(pool)).decode("ascii", "replace")
        except NotFound:
            return _read_file(self._note(pool))
        return mark if self.folder(pool) is not None else ""

    def folder(self, pool: str) -> Path | None:
        """Where libvirt has it. None when it does not know it."""
        try:
            return Path(self._storage.pool_path(pool))
        except NotFound:
            return None

    def adopt_folder(self, pool: str, folder: Path) -> str:
        """The mark of a pool that is used from now on. It is in the folder before it is noted."""
        mark = read_marker(folder)
        if not mark:
            mark = uuid.uuid4().hex
            _write_file(folder / MARK, mark)
        if _read_file(self._note(pool)) != mark:
            self._notes.mkdir(mode=0o700, exist_ok=True)
            _write_file(self._note(pool), mark)
        usage = _usage(pool)
        secret = storage_xml.secret(_id(pool), usage, type="volume", is_private=False, is_ephemeral=False)
        self._secrets.put(secret, mark.encode())
        return mark

    def check_folder(self, pool: str, folder: Path, mark: str) -> None:
        """Unavailable when this is not the folder that it was."""
        there = read_marker(folder)
        if there == mark:
            return
        what = f"{folder} has the mark of another pool" if there else f"{folder} lacks the mark of the pool"
        raise Unavailable(
            f"{what}, so its disk is not mounted there: mount it; if all that was on it is lost for good, "
            f"`virsh pool-destroy {pool}`, `virsh pool-undefine {pool}` and `rm {self._note(pool)}` begin anew"
        )

    def bases_in_unlisted_pools(self, configured: Set[str]) -> Set[str]:
        """Names of the files that disks rest on in pools which were used once and are in the settings no more.

        Unavailable when there is one that cannot be looked into. A note of a pool that libvirt has no more is dropped.
        """
        bases: set[str] = set()
        for pool in self._pools() - configured:
            mark = self.expected_marker(pool)
            if not mark:
                self._note(pool).unlink(missing_ok=True)
                self._secrets.drop(_id(pool))
                continue
            try:
                folder = Path(self._storage.pool_path(pool))
                self.check_folder(pool, folder, mark)
            except IRIError as error:
                raise Unavailable(
                    f"storage pool {pool}, which the settings do not name: {error}; "
                    f"if it is given up for good, `rm {self._note(pool)}`"
                ) from None
            bases |= disk_files.backing_names(folder)
        return bases

    def _pools(self) -> set[str]:
        """That were used once."""
        written = {unquote(path.name) for path in self._notes.glob("*") if not path.name.endswith(PARTIAL)}
        matches = map(names.MARK_USAGE.fullmatch, self._secrets.usages().values())
        return written | {match["pool"] for match in matches if match is not None}

    def _note(self, pool: str) -> Path:
        return self._notes / quote(pool, safe="")


def read_marker(folder: Path) -> str:
    """The mark that lies there; empty for none."""
    with record_files.translate_os_errors(f"reading the mark of {folder}"):
        return _read_file(folder / MARK)


def _read_file(path: Path) -> str:
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except (FileNotFoundError, NotADirectoryError):
        return ""
    try:
        return os.read(handle, LONGEST).decode("ascii", "replace").strip()
    finally:
        os.close(handle)


def _write_file(path: Path, mark: str) -> None:
    partial = path.with_name(f"{path.name}{PARTIAL}")
    with record_files.translate_os_errors(f"writing {path}"):
        partial.unlink(missing_ok=True)
        with partial.open("x") as file:
            file.write(f"{mark}\n")
            file.flush()
            os.fsync(file.fileno())
        partial.replace(path)
        record_files.sync_folder(path.parent)


def _usage(pool: str) -> str:
    return names.secret_usage(f"mark-{pool}")


def _id(pool: str) -> str:
    return names.secret_id(_usage(pool))
