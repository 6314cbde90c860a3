"""Changes records: writes the record beside the data first, then the catalog, then notifies watchers. After a crash between two of
these, the written record holds.

Changes are functions of the latest record, applied under the lock. A reconciliation that took minutes therefore cannot undo what a
call has recorded meanwhile: it changes its own fields of the record as that is now.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TypeVar

from iri.journal import Journal
from iri.libvirt.volumes.backend import StorageBackend
from iri.libvirt.volumes.catalog import Catalog, CatalogEntry, make_entry
from iri.libvirt.volumes.record import Record
from iri.runtime import ChangeType
from iri.volume import VolumeDetail

R = TypeVar("R", bound=Record)


class RecordWriter:
    """Thread-safe. One writer at a time, over all objects: a write is one small file."""

    def __init__(self, catalog: Catalog, journal: Journal) -> None:
        self.catalog = catalog
        self._journal = journal
        self._writing = threading.Lock()

    def add(self, record: Record, backend: StorageBackend) -> CatalogEntry:
        """Adds an object whose record is stored already."""
        entry = make_entry(record, backend)
        self.catalog.put(entry)
        self._notify(entry, ChangeType.CREATED)
        return entry

    def update(self, id: str, kind: type[R], change: Callable[[R], R]) -> CatalogEntry | None:
        """Returns None when the object is gone. Forgets its failure: the changed record is a new attempt."""
        with self._writing:
            before = self.catalog.get(id)
            if before is None:
                return None
            assert isinstance(before.record, kind)
            record = change(before.record)
            if record == before.record:
                return before
            before.backend.write_record(record)
            after = make_entry(record, before.backend)
            has_changed = self.catalog.put(after)
        if has_changed:
            self._notify(after, ChangeType.DELETED if after.is_unlisted else ChangeType.CHANGED)
        return after

    def record_failure(self, id: str, failure: VolumeDetail) -> int:
        """Returns how many attempts have failed in a row."""
        with self._writing:
            before = self.catalog.get(id)
            if before is None:
                return 0
            after = make_entry(before.record, before.backend, failure, before.failures + 1)
            has_changed = self.catalog.put(after)
        if has_changed:
            self._notify(after, ChangeType.CHANGED)
        return after.failures

    def drop(self, entry: CatalogEntry) -> None:
        """For an object whose data and record are deleted."""
        self.catalog.drop(entry.record.id)
        if not entry.is_unlisted:
            self._notify(entry, ChangeType.DELETED)

    def record_event(
        self, entry: CatalogEntry, reason: str, action: str, message: str, *, is_warning: bool = False
    ) -> None:
        """About the object as it is listed."""
        self._journal.event(entry.listed, reason, action, message, is_warning=is_warning)

    def _notify(self, entry: CatalogEntry, what: ChangeType) -> None:
        self._journal.notice(type(entry.listed), entry.record.id, what)
