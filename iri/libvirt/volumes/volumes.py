"""The calls about volumes and snapshots. A call checks the request, writes it into the object's record and returns;
`volume_reconciler` acts on it later, one step after the other. After a crash the records say which steps are left.

One work queue has all keys, so that two threads never work on one object:

    key                  work                                               again
    an object's id       one step of its reconciliation                     when the step says so, or a call has changed the record
    OpenPoolKey          open a pool that could not be reached, read it     every 10 s until it succeeds
    COLLECT              remove images that nothing uses                    every hour, and before a retry for lack of space
    MEASURE              measure the open pools                             every minute

Until all pools have been read, lists raise Unavailable: an object in an unread pool would look deleted. Calls about objects of the
other pools work.

Must never happen: more is promised than a pool may hold (space is checked and the record written under one lock); a passphrase is
lost before its volume is created (it is stored before the record); a secret is dropped because its pool has not been read yet.
"""

from __future__ import annotations

import contextlib
import logging
import threading
import time
import uuid
from collections.abc import Callable, Hashable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import TypeVar

import msgspec
from msgspec.structs import replace

from iri.change import ExpandVolume, expand_volume
from iri.errors import FailedPrecondition, InvalidArgument, IRIError, NotFound, ResourceExhausted, Unavailable
from iri.host import RuntimeVolumeClass, VolumeOffer
from iri.identity import derive_id, require_assignment
from iri.journal import Journal
from iri.libvirt.images.images import Images, refuse_image
from iri.libvirt.volumes import validate_request
from iri.libvirt.volumes.backend import StorageBackend
from iri.libvirt.volumes.backends import Backends
from iri.libvirt.volumes.catalog import Catalog, CatalogEntry
from iri.libvirt.volumes.record import Record, SnapshotRecord, VolumeRecord, passphrase, round_up
from iri.libvirt.volumes.record_writer import RecordWriter
from iri.libvirt.volumes.secrets import Passphrases
from iri.libvirt.volumes.volume_reconciler import VolumeReconciler
from iri.volume import RuntimeSnapshot, RuntimeVolume, SnapshotState
from iri.workqueue import WorkQueue

log = logging.getLogger(__name__)
CLOSE_SECONDS = 10.0
REOPEN_SECONDS = 10.0
COLLECT = "images"
COLLECT_SECONDS = 3600.0
MEASURE = "room"
MEASURE_SECONDS = 60.0
Stored = TypeVar("Stored", RuntimeVolume, RuntimeSnapshot, RuntimeVolume | RuntimeSnapshot)


class OpenPoolKey(msgspec.Struct, frozen=True):
    """Key of the work queue: open a pool that could not be reached."""

    pool: str


NO_CHECK: AbstractContextManager[None] = contextlib.nullcontext()


class Volumes:
    """Thread-safe. `volume_class` raises InvalidArgument for a class that is not offered."""

    def __init__(
        self,
        backends: Backends,
        passphrases: Passphrases,
        images: Images,
        journal: Journal,
        volume_class: Callable[[str], RuntimeVolumeClass],
        workers: int,
    ) -> None:
        self.backends = backends
        self.passphrases = passphrases
        self.images = images
        self._volume_class = volume_class
        self._catalog = Catalog()
        self._writer = RecordWriter(self._catalog, journal)
        self._queue = WorkQueue[Hashable](self._work, workers, "libvirt-volumes")
        self._reconciler = VolumeReconciler(
            self._writer, images, backends.image_files_in_use, self._queue.wake
        )
        self._damaged: dict[str, str] = {}
        self._creating = threading.Lock()

    def start(self) -> None:
        """Reads all pools and goes on with interrupted work. A pool that does not answer is tried again later."""
        self.images.open()
        for name in self.backends.unopened_names():
            with contextlib.suppress(Unavailable):
                self._open_pool(name)
        self._queue.start()
        self.wake_waiting()
        self._queue.wake(COLLECT, COLLECT_SECONDS)
        self._queue.wake(MEASURE, MEASURE_SECONDS)

    def _open_pool(self, name: str) -> None:
        """Reads the pool into the catalog. Secrets are dropped only once all pools are known."""
        found = self.backends.open(name)
        self._damaged |= found.damaged
        for record in found.records:
            self._writer.add(record, self.backends.by_name(name))
        self.backends.mark_open(name)
        if not self.backends.unopened_names():
            pools = {f"pool-{backend.name}" for backend in self.backends}
            # A create in an open pool stores its passphrase before the record, and would lose it here.
            with self._creating:
                used = {entry.record.name for entry in self._catalog.all()} | self._damaged.keys() | pools
                self.passphrases.drop_unused(lambda name: name in used or name.startswith("disk-"))

    def _work(self, key: Hashable) -> float | None:
        """What the queue calls: periodic jobs, pools to open, and objects to reconcile."""
        if key == COLLECT:
            self.collect_images()
            return COLLECT_SECONDS
        if key == MEASURE:
            self.backends.measure()
            return MEASURE_SECONDS
        if isinstance(key, OpenPoolKey):
            return self._reopen_pool(key.pool)
        return self._reconciler.reconcile(key)

    def _reopen_pool(self, name: str) -> float | None:
        """Once more for a pool that could not be reached. Any error is logged and tried again: the process runs already."""
        if name not in self.backends.unopened_names():
            return None
        try:
            self._open_pool(name)
        except IRIError as error:
            log.warning("cannot open storage pool pool=%s error=%s", name, error)
            return REOPEN_SECONDS
        log.info("storage pool opened pool=%s", name)
        self.wake_waiting()
        return None

    def close(self) -> None:
        """Waits a while for the steps under way. One that takes longer (a copy) is cut off and begins again at the next start."""
        self._queue.close(CLOSE_SECONDS)
        self.backends.close()
        self.images.close()

    def wake_waiting(self) -> None:
        """Reconciles all objects that wait: libvirt is back, or a machine has detached a volume."""
        for name in self.backends.unopened_names():
            self._queue.wake(OpenPoolKey(name))
        for entry in self._catalog.all():
            if not self._reconciler.is_converged(entry):
                self._queue.wake(entry.record.id)

    def objects(self, kind: type[Stored]) -> Mapping[str, Stored]:
        """Unavailable until every pool has been read."""
        self.backends.require_all_open()
        return self._catalog.objects(kind)

    def offers(self, classes: Sequence[RuntimeVolumeClass]) -> tuple[VolumeOffer, ...]:
        """For each class the bytes of its pool when empty; a pool that is not open offers nothing."""
        offers = [
            VolumeOffer(volume_class=offered, quantity=self.backends.limit_bytes(backend))
            for offered in classes
            if (backend := self.backends.reachable_for_class(offered.name)) is not None
        ]
        return tuple(offer for offer in offers if offer.quantity > 0)

    def total_bytes(self) -> int:
        """The bytes of all open pools when empty."""
        shut = self.backends.unopened_names()
        return sum(
            self.backends.limit_bytes(backend) for backend in self.backends if backend.name not in shut
        )

    def create(self, wanted: Stored, admission: AbstractContextManager[None] = NO_CHECK) -> Stored:
        """Idempotent by the object's uid. One request at a time, so that two cannot take the last space of a pool. `admission` is entered
        for an object that does not exist yet, and may refuse it."""
        with self._creating:
            id = derive_id(type(wanted), wanted.labels) or str(uuid.uuid4())
            entry = self._catalog.get(id)
            if entry is not None and isinstance(entry.listed, type(wanted)) and not entry.is_unlisted:
                return entry.listed
            if entry is not None:
                raise FailedPrecondition(f"{entry.record.name} is still the backing file of volumes")
            wanted = replace(wanted, id=id, generation=0, created_at=time.time_ns(), deleted_at=0)
            with admission:
                entry = self._add_record(wanted)
        self._queue.wake(id)
        assert isinstance(entry.listed, type(wanted))
        return entry.listed

    def _add_record(self, wanted: RuntimeVolume | RuntimeSnapshot) -> CatalogEntry:
        """The passphrase is stored before the record: a record never lacks it."""
        if isinstance(wanted, RuntimeSnapshot):
            source = self._require(RuntimeVolume, wanted.spec.volume_id)
            record: Record = validate_request.new_snapshot_record(wanted, source.record)
            backend = source.backend
        else:
            record, backend = self._new_volume(wanted)
        if (reason := self._damaged.get(record.name)) is not None:
            raise FailedPrecondition(reason)
        secret = passphrase(wanted.spec) if isinstance(wanted, RuntimeVolume) else None
        if secret is not None:
            self.passphrases.put(record.name, secret, is_private=backend.hides_passphrases)
        try:
            backend.add_record(record)
        except IRIError:
            if secret is not None:
                self.passphrases.drop(record.name)
            raise
        return self._writer.add(record, backend)

    def _new_volume(self, wanted: RuntimeVolume) -> tuple[VolumeRecord, StorageBackend]:
        """Refusals in this order: class, pool, snapshot, request, image, space."""
        volume_class = self._volume_class(wanted.spec.class_name)
        backend = self.backends.for_class(volume_class.name)
        base, snapshot = self._snapshot_base(wanted, backend)
        wipes = self.backends.wipes(volume_class.name)
        record = validate_request.new_volume_record(wanted, volume_class, snapshot, base=base, wipes=wipes)
        if (image := record.source.image_data_source) is not None:
            refuse_image(self.images, image.image)
        self._require_space(backend, record.desired_bytes)
        return record, backend

    def _snapshot_base(
        self, wanted: RuntimeVolume, backend: StorageBackend
    ) -> tuple[str, SnapshotRecord | None]:
        """The backing file of the volume and the snapshot it starts as; none for other sources. The snapshot must be ready, in the same pool."""
        source = wanted.spec.volume_data_source
        if source is None or source.snapshot_data_source is None:
            return "", None
        entry = self._require(RuntimeSnapshot, source.snapshot_data_source.snapshot_id)
        if entry.backend is not backend:
            raise InvalidArgument(
                f"snapshot {entry.record.id} is in pool {entry.backend.name}, volumes of this class go to pool {backend.name}"
            )
        assert isinstance(entry.record, SnapshotRecord)
        assert isinstance(entry.listed, RuntimeSnapshot)
        if entry.listed.status.state is not SnapshotState.READY or entry.listed.deleted_at:
            raise FailedPrecondition(f"snapshot {entry.record.id} is not ready")
        return backend.base_for_clone(entry.record), entry.record

    def expand(self, id: str, change: ExpandVolume, assignment: str = "") -> None:
        """Only grows. The record changes before the call returns; the data follows."""
        entry = self._require(RuntimeVolume, id)

        def expand_record(record: VolumeRecord) -> VolumeRecord:
            require_assignment(id, record.labels, assignment)
            volume = expand_volume(record.volume, change)
            if volume is record.volume:
                return record
            self._require_space(
                entry.backend, round_up(change.resources.storage_bytes) - record.charged_bytes
            )
            return replace(record, volume=volume)

        self._writer.update(id, VolumeRecord, expand_record)
        self._queue.wake(id)

    def remove(
        self, kind: type[RuntimeVolume] | type[RuntimeSnapshot], id: str, assignment: str = ""
    ) -> None:
        """Idempotent while the object exists. Records the order to delete; NotFound once it is gone."""
        entry, now_ns = self._require(kind, id), time.time_ns()

        def order_deletion(record: Record) -> Record:
            require_assignment(id, record.labels, assignment)
            return validate_request.with_deletion_ordered(record, now_ns)

        self._writer.update(id, type(entry.record), order_deletion)
        self._queue.wake(id)

    def collect_images(self) -> int:
        """Removes unused images that need not be kept. Returns the bytes freed."""
        return self._reconciler.collect_images()

    def entry(self, id: str) -> CatalogEntry | None:
        """For `disks`, which attaches volumes."""
        return self._catalog.get(id)

    def _require(self, kind: type[RuntimeVolume] | type[RuntimeSnapshot], id: str) -> CatalogEntry:
        """NotFound only once every pool has been read: before that, it may be in one of them."""
        try:
            return self._catalog.require(kind, id)
        except NotFound:
            self.backends.require_all_open()
            raise

    def _require_space(self, backend: StorageBackend, more_bytes: int) -> None:
        """By the sizes that volumes may grow to, not by what they hold now: any of them may be filled."""
        charged, limit = self._catalog.charged_bytes(backend), self.backends.limit_bytes(backend)
        if charged + more_bytes > limit:
            raise ResourceExhausted(
                f"storage pool {backend.name} is full: {more_bytes} bytes needed, {max(0, limit - charged)} of {limit} free"
            )
