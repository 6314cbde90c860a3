"""Changes to records: written where the data is first, then into the catalogue, then told to whoever watches."""

from __future__ import annotations

import threading
from collections.abc import Callable

from iri.journal import Journal
from iri.libvirt.volumes.backend import StorageBackend
from iri.libvirt.volumes.catalog import Catalog, CatalogEntry, kept
from iri.libvirt.volumes.record import Record
from iri.runtime import ChangeType
from iri.volume import VolumeDetail


class RecordWriter:
    def __init__(self, catalogue: Catalog, journal: Journal) -> None:
        self.catalogue = catalogue
        self._journal = journal
        self._writing = threading.Lock()

    def add(self, record: Record, shelf: StorageBackend) -> CatalogEntry:
        """One that is written down already."""
        there = kept(record, shelf)
        self.catalogue.put(there)
        self._notice(there, ChangeType.CREATED)
        return there

    def update(self, id: str, change: Callable[[Record], Record]) -> CatalogEntry | None:
        """None when it is gone. The object's failure is forgotten: there is something new to try."""
        with self._writing:
            before = self.catalogue.get(id)
            if before is None:
                return None
            record = change(before.record)
            if record == before.record:
                return before
            before.shelf.write(record)
            after = kept(record, before.shelf)
            has_changed = self.catalogue.put(after)
        if has_changed:
            self._notice(after, ChangeType.DELETED if after.is_gone else ChangeType.CHANGED)
        return after

    def failed(self, id: str, failure: VolumeDetail) -> int:
        """How often that makes it, in a row."""
        with self._writing:
            before = self.catalogue.get(id)
            if before is None:
                return 0
            after = kept(before.record, before.shelf, failure, before.failures + 1)
            has_changed = self.catalogue.put(after)
        if has_changed:
            self._notice(after, ChangeType.CHANGED)
        return after.failures

    def gone(self, there: CatalogEntry) -> None:
        self.catalogue.drop(there.record.id)
        if not there.is_gone:
            self._notice(there, ChangeType.DELETED)

    def event(
        self, there: CatalogEntry, reason: str, action: str, message: str, *, is_warning: bool = False
    ) -> None:
        self._journal.event(there.told, reason, action, message, is_warning=is_warning)

    def _notice(self, there: CatalogEntry, what: ChangeType) -> None:
        self._journal.notice(type(there.told), there.record.id, what)
