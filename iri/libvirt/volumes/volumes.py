"""Volumes and snapshots of this host: the half of the runtime protocol that is about storage.

A call writes the wish into the object's record and returns; `steps` makes it real later, one step after the other. After a
crash the records say which steps are left.
"""

from __future__ import annotations

import contextlib
import logging
import threading
import time
import uuid
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import TypeVar

import msgspec
from msgspec.structs import replace

from iri.change import ExpandVolume, expand_volume
from iri.errors import FailedPrecondition, InvalidArgument, IRIError, NotFound, ResourceExhausted, Unavailable
from iri.host import RuntimeVolumeClass, VolumeOffer
from iri.identity import derive_id
from iri.journal import Journal
from iri.libvirt.images import resolving
from iri.libvirt.images.images import Images
from iri.libvirt.volumes import validate_request
from iri.libvirt.volumes.backend import StorageBackend
from iri.libvirt.volumes.backends import Backends
from iri.libvirt.volumes.catalog import Catalog, CatalogEntry
from iri.libvirt.volumes.record import Record, SnapshotRecord, VolumeRecord, passphrase, rounded
from iri.libvirt.volumes.record_writer import RecordWriter
from iri.libvirt.volumes.secrets import Passphrases
from iri.libvirt.volumes.volume_reconciler import VolumeReconciler
from iri.volume import RuntimeSnapshot, RuntimeVolume, SnapshotState
from iri.workqueue import WorkQueue

log = logging.getLogger(__name__)
CLOSE_SECONDS = 10.0
OPEN_AGAIN_SECONDS = 10.0
COLLECT = "images"
COLLECT_SECONDS = 3600.0
MEASURE = "room"
MEASURE_SECONDS = 60.0
Stored = TypeVar("Stored", RuntimeVolume, RuntimeSnapshot)


class OpenPoolKey(msgspec.Struct, frozen=True):
    """The chore of opening a pool that could not be reached."""

    pool: str


class Volumes:
    """Thread-safe. `volume_class` knows the classes on offer and refuses others with InvalidArgument."""

    def __init__(
        self,
        shelves: Backends,
        passphrases: Passphrases,
        images: Images,
        journal: Journal,
        volume_class: Callable[[str], RuntimeVolumeClass],
        workers: int,
    ) -> None:
        self.shelves = shelves
        self.passphrases = passphrases
        self.images = images
        self._volume_class = volume_class
        self._catalogue = Catalog()
        self._keeping = RecordWriter(self._catalogue, journal)
        self._queue = WorkQueue[Hashable](self._chore, workers, "libvirt-volumes")
        self._steps = VolumeReconciler(self._keeping, images, shelves.bases, self._queue.wake)
        self._damaged: dict[str, str] = {}
        self._creating = threading.Lock()

    def start(self) -> None:
        """Reads what lies in the pools and goes on with what was interrupted. A pool that does not answer is tried again."""
        self.images.open()
        for name in self.shelves.shut():
            with contextlib.suppress(Unavailable):
                self._open(name)
        self._queue.start()
        self.let_go()
        self._queue.wake(COLLECT, COLLECT_SECONDS)
        self._queue.wake(MEASURE, MEASURE_SECONDS)

    def _open(self, name: str) -> None:
        found = self.shelves.open(name)
        self._damaged |= found.damaged
        for record in found.records:
            self._keeping.add(record, self.shelves.named(name))
        self.shelves.opened(name)
        if not self.shelves.shut():
            pools = {f"pool-{shelf.name}" for shelf in self.shelves}
            there = {kept.record.name for kept in self._catalogue.all()} | self._damaged.keys() | pools
            self.passphrases.drop_unused(lambda name: name in there or name.startswith("disk-"))

    def _chore(self, key: Hashable) -> float | None:
        if key == COLLECT:
            self.collect_images()
            return COLLECT_SECONDS
        if key == MEASURE:
            self.shelves.measure()
            return MEASURE_SECONDS
        if isinstance(key, OpenPoolKey):
            return self._open_again(key.pool)
        return self._steps.step(key)

    def _open_again(self, name: str) -> float | None:
        if name not in self.shelves.shut():
            return None
        try:
            self._open(name)
        except IRIError as error:
            log.warning("storage pool cannot be opened pool=%s error=%s", name, error)
            return OPEN_AGAIN_SECONDS
        log.info("storage pool is there pool=%s", name)
        self.let_go()
        return None

    def close(self) -> None:
        self._queue.close(CLOSE_SECONDS)
        self.shelves.close()
        self.images.close()

    def let_go(self) -> None:
        """Something may have changed for those that wait: libvirt is back, or a machine no longer holds a volume."""
        for name in self.shelves.shut():
            self._queue.wake(OpenPoolKey(name))
        for there in self._catalogue.all():
            if not self._steps.is_done(there):
                self._queue.wake(there.record.id)

    def objects(self, kind: type[Stored]) -> Mapping[str, Stored]:
        self.shelves.refuse_unknown()
        return self._catalogue.objects(kind)

    def offers(self, classes: Sequence[RuntimeVolumeClass]) -> tuple[VolumeOffer, ...]:
        """Of each class the bytes that its pool holds when empty; a pool that is not reached offers nothing."""
        offers = [
            VolumeOffer(volume_class=offered, quantity=self.shelves.limit_bytes(shelf))
            for offered in classes
            if (shelf := self.shelves.reached(offered.name)) is not None
        ]
        return tuple(offer for offer in offers if offer.quantity > 0)

    def total_bytes(self) -> int:
        """What all pools hold when empty."""
        shut = self.shelves.shut()
        return sum(self.shelves.limit_bytes(shelf) for shelf in self.shelves if shelf.name not in shut)

    def create(self, wanted: Stored) -> Stored:
        with self._creating:
            id = derive_id(type(wanted), wanted.labels) or str(uuid.uuid4())
            there = self._catalogue.get(id)
            if there is not None and isinstance(there.told, type(wanted)) and not there.is_gone:
                return there.told
            if there is not None:
                raise FailedPrecondition(f"{there.record.name} is not gone yet: volumes rest on its data")
            kept = self._created(wanted, id)
        self._queue.wake(id)
        assert isinstance(kept.told, type(wanted))
        return kept.told

    def _created(self, wanted: RuntimeVolume | RuntimeSnapshot, id: str) -> CatalogEntry:
        if isinstance(wanted, RuntimeSnapshot):
            source = self._found(RuntimeVolume, wanted.spec.volume_id)
            record: Record = validate_request.snapshot(wanted, id, source.record, time.time_ns())
            shelf = source.shelf
        else:
            record, shelf = self._new_volume(wanted, id)
        if (reason := self._damaged.get(record.name)) is not None:
            raise FailedPrecondition(reason)
        secret = passphrase(wanted.spec) if isinstance(wanted, RuntimeVolume) else None
        if secret is not None:
            self.passphrases.put(record.name, secret, is_private=shelf.hides_passphrases)
        try:
            shelf.add(record)
        except IRIError:
            if secret is not None:
                self.passphrases.drop(record.name)
            raise
        return self._keeping.add(record, shelf)

    def _new_volume(self, wanted: RuntimeVolume, id: str) -> tuple[VolumeRecord, StorageBackend]:
        volume_class = self._volume_class(wanted.spec.class_name)
        shelf = self.shelves.of(volume_class.name)
        base, snapshot = self._base(wanted, shelf)
        storage = validate_request.VolumeBasis(
            volume_class, snapshot, base, self.shelves.wipes(volume_class.name)
        )
        record = validate_request.volume(wanted, id, time.time_ns(), storage)
        if (image := record.source.image_data_source) is not None:
            resolving.refuse(self.images, image.image)
        self._refuse_size(shelf, record.wanted_bytes)
        return record, shelf

    def _base(self, wanted: RuntimeVolume, shelf: StorageBackend) -> tuple[str, SnapshotRecord | None]:
        source = wanted.spec.volume_data_source
        if source is None or source.snapshot_data_source is None:
            return "", None
        there = self._found(RuntimeSnapshot, source.snapshot_data_source.snapshot_id)
        if there.shelf is not shelf:
            raise InvalidArgument(
                f"snapshot {there.record.id} lies in pool {there.shelf.name}, volumes of this class in pool {shelf.name}"
            )
        assert isinstance(there.record, SnapshotRecord)
        assert isinstance(there.told, RuntimeSnapshot)
        if there.told.status.state is not SnapshotState.READY or there.told.deleted_at:
            raise FailedPrecondition(f"snapshot {there.record.id} is not ready")
        return shelf.base_of(there.record), there.record

    def expand(self, id: str, change: ExpandVolume) -> None:
        there = self._found(RuntimeVolume, id)

        def expanded(record: Record) -> Record:
            assert isinstance(record, VolumeRecord)
            volume = expand_volume(record.volume, change)
            if volume is record.volume:
                return record
            self._refuse_size(there.shelf, rounded(change.resources.storage_bytes) - record.charged_bytes)
            return replace(record, volume=volume)

        self._keeping.update(id, expanded)
        self._queue.wake(id)

    def remove(self, kind: type[RuntimeVolume] | type[RuntimeSnapshot], id: str) -> None:
        self._found(kind, id)
        self._keeping.update(id, lambda record: validate_request.removed(record, time.time_ns()))
        self._queue.wake(id)

    def collect_images(self) -> int:
        """Removes those that no disk rests on and that need not be kept. Returns the bytes freed."""
        return self._steps.collect()

    def record(self, id: str) -> CatalogEntry | None:
        """For those who attach volumes."""
        return self._catalogue.get(id)

    def _found(self, kind: type[RuntimeVolume] | type[RuntimeSnapshot], id: str) -> CatalogEntry:
        try:
            return self._catalogue.found(kind, id)
        except NotFound:
            self.shelves.refuse_unknown()
            raise

    def _refuse_size(self, shelf: StorageBackend, more_bytes: int) -> None:
        charged, limit = self._catalogue.charged_bytes(shelf), self.shelves.limit_bytes(shelf)
        if charged + more_bytes > limit:
            raise ResourceExhausted(
                f"storage pool {shelf.name} is full: {more_bytes} bytes are needed, {max(0, limit - charged)} of {limit} are left"
            )
