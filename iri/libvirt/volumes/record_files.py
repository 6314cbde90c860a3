"""Records as files beside the data: `<name>.json`. A record is complete or absent, and on disk when `write` returns.

A write goes to `<name>.json.partial`, is flushed to disk, renamed, and the folder is flushed: after a crash at any point the file
has either the old or the new record. A partial file that a crash left is removed at the next start.
"""

from __future__ import annotations

import errno
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import msgspec

from iri.errors import FailedPrecondition, IRIError, ResourceExhausted, Unavailable
from iri.libvirt.volumes import names, record
from iri.libvirt.volumes.record import Record
from iri.libvirt.whole_files import replace_file, sync_folder


class StoredRecords(msgspec.Struct, frozen=True):
    """`damaged`: names with an unreadable record, and the reason. They are left alone, and their names are not used again."""

    records: tuple[Record, ...]
    damaged: Mapping[str, str]  # the reason, by name


class RecordFiles:
    """The records of one folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def read(self) -> StoredRecords:
        """Reads all records. Removes the partial file of an interrupted write."""
        found: list[Record] = []
        damaged: dict[str, str] = {}
        for path in sorted(self._folder.iterdir()):
            if names.PARTIAL.fullmatch(path.name):
                path.unlink(missing_ok=True)
            elif path.suffix == ".json" and names.OBJECT.fullmatch(path.stem):
                try:
                    found.append(record.decode(_read_body(path), path.stem))
                except IRIError as error:
                    damaged[path.stem] = str(error)
        return StoredRecords(tuple(found), damaged)

    def write(self, record_: Record) -> None:
        """Replaces the record that is there. Writers are serialized by `record_writer`."""
        with translate_os_errors(f"writing the record of {record_.name}"):
            replace_file(self._folder / f"{record_.name}.json", record.encode(record_))

    def delete(self, name: str) -> None:
        """No error when there is none. On disk when it returns."""
        with translate_os_errors(f"deleting the record of {name}"):
            (self._folder / f"{name}.json").unlink(missing_ok=True)
            sync_folder(self._folder)


def _read_body(path: Path) -> bytes:
    """A record that cannot be read counts as damaged, never as absent."""
    try:
        return path.read_bytes()
    except OSError as error:
        raise FailedPrecondition(f"cannot read the record {path.name}: {error.strerror}") from None


@contextmanager
def translate_os_errors(doing: str) -> Iterator[None]:
    """Turns errors of the filesystem into IRIErrors that name the cause."""
    try:
        yield
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise ResourceExhausted(f"{doing}: no space left in the storage pool") from None
        raise Unavailable(f"{doing}: {error.strerror}") from None
