"""Proves that a pool's folder is the one that was used before: a marker lies in it, and two notes of the marker lie elsewhere.

Theory of operation. A folder whose disk is not mounted is an empty folder. Taken for the pool, it would make every volume look
deleted, and new data would be written to the wrong disk. So a random marker is written into the folder, and noted twice: in a
libvirt secret (nothing in it is secret) and in a file of the runtime's own folder.

    libvirt has the pool   secret   file   marker in the folder    outcome
    any                    none     none   any                     first use: adopt the folder's marker, or write one
    yes                    noted    any    the same                open the pool
    yes                    noted    any    another, or none        Unavailable: the disk is not mounted
    no                     noted    any    any                     a person has undefined the pool and given it up: first use
    any                    lost     noted  the same                open the pool, note it in libvirt again
    any                    lost     noted  another, or none        Unavailable: the disk is not mounted

Must never happen: a note is written before the marker is on disk; a pool counts as given up because libvirt lost its secret.
"""

from __future__ import annotations

import os
import uuid
from collections.abc import Set
from pathlib import Path
from urllib.parse import quote, unquote

from iri.errors import IRIError, NotFound, Unavailable
from iri.libvirt.connect.storage import LibvirtSecrets, StoragePools, secret_document
from iri.libvirt.volumes import disk_files, names, record_files
from iri.libvirt.whole_files import replace_file

MARKER_FILE = ".gitvirt-pool"
LONGEST = 64
PARTIAL = ".partial"


class PoolMarkers:
    """Markers of all pools, configured or not."""

    def __init__(self, storage: StoragePools, secrets: LibvirtSecrets, notes: Path) -> None:
        """`notes` is a folder of the runtime."""
        self._storage = storage
        self._secrets = secrets
        self._notes = notes

    def expected_marker(self, pool: str) -> str:
        """The marker of a pool that was used before; empty for a new pool, or one that a person has given up."""
        try:
            marker = self._secrets.value(_secret_id(pool)).decode("ascii", "replace")
        except NotFound:
            return _read_file(self._note(pool))
        return marker if self.folder(pool) is not None else ""

    def folder(self, pool: str) -> Path | None:
        """The folder of libvirt's pool, or None when libvirt has no such pool."""
        try:
            return Path(self._storage.pool_path(pool))
        except NotFound:
            return None

    def adopt_folder(self, pool: str, folder: Path) -> str:
        """Takes the folder into use and returns its marker. The marker is in the folder before it is noted."""
        marker = read_marker(folder)
        if not marker:
            marker = uuid.uuid4().hex
            _write_marker(folder / MARKER_FILE, marker)
        if _read_file(self._note(pool)) != marker:
            self._notes.mkdir(mode=0o700, exist_ok=True)
            _write_marker(self._note(pool), marker)
        self._secrets.put(secret_document(_secret_id(pool), usage=_usage(pool)), marker.encode())
        return marker

    def check_folder(self, pool: str, folder: Path, marker: str) -> None:
        """Raises Unavailable when the folder does not have this marker."""
        present = read_marker(folder)
        if present == marker:
            return
        what = "has the marker of another pool" if present else "lacks the marker of the pool"
        raise Unavailable(
            f"{folder} {what}, so the pool's disk is not mounted: mount it; if its data is lost for good, start with an empty pool: "
            f"`virsh pool-destroy {pool}`, `virsh pool-undefine {pool}`, `rm {self._note(pool)}`"
        )

    def bases_in_unlisted_pools(self, configured: Set[str]) -> Set[str]:
        """Names of backing files in pools that were used once and are no longer in the settings.

        Raises Unavailable when one of them cannot be read. Deletes the note of a pool that libvirt no longer has.
        """
        bases: set[str] = set()
        for pool in self._pools() - configured:
            marker = self.expected_marker(pool)
            if not marker:
                self._note(pool).unlink(missing_ok=True)
                self._secrets.drop(_secret_id(pool))
                continue
            try:
                folder = Path(self._storage.pool_path(pool))
                self.check_folder(pool, folder, marker)
            except IRIError as error:
                raise Unavailable(
                    f"storage pool {pool}, which is not in the settings: {error}; "
                    f"if you have given it up, `rm {self._note(pool)}`"
                ) from None
            bases |= disk_files.backing_names(folder)
        return bases

    def _pools(self) -> set[str]:
        """All pools that were used once."""
        written = {unquote(path.name) for path in self._notes.glob("*") if not path.name.endswith(PARTIAL)}
        matches = map(names.MARK_USAGE.fullmatch, self._secrets.usages().values())
        return written | {match["pool"] for match in matches if match is not None}

    def _note(self, pool: str) -> Path:
        """The file that has the pool's marker; the pool's name, quoted, is the file's."""
        return self._notes / quote(pool, safe="")


def read_marker(folder: Path) -> str:
    """The marker in the folder; empty for none."""
    with record_files.translate_os_errors(f"reading the marker of {folder}"):
        return _read_file(folder / MARKER_FILE)


def _read_file(path: Path) -> str:
    """Follows no link: another writer to the folder must not choose what is read."""
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except (FileNotFoundError, NotADirectoryError):
        return ""
    try:
        return os.read(handle, LONGEST).decode("ascii", "replace").strip()
    finally:
        os.close(handle)


def _write_marker(path: Path, marker: str) -> None:
    """On disk when it returns, before anything relies on it."""
    with record_files.translate_os_errors(f"writing {path}"):
        replace_file(path, f"{marker}\n".encode())


def _usage(pool: str) -> str:
    return names.secret_usage(f"mark-{pool}")


def _secret_id(pool: str) -> str:
    return names.secret_id(_usage(pool))
