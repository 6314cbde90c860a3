"""Volumes and snapshots of this host: the half of the runtime protocol that is about storage.

A call writes the wish into the object's record and returns; `steps` makes it real later, one step after the other. After a
crash the records say which steps are left.
"""

from __future__ import annotations

import threading
import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TypeVar

from msgspec.structs import replace

from iri.change import ExpandVolume, expanded_volume
from iri.errors import FailedPrecondition, InvalidArgument, IRIError, ResourceExhausted
from iri.host import VolumeClass, VolumeOffer
from iri.identity import identity
from iri.journal import Journal
from iri.libvirt.connect.holding import Holders
from iri.libvirt.images.images import Images
from iri.libvirt.volumes import wishes
from iri.libvirt.volumes.catalogue import Catalogue, Kept
from iri.libvirt.volumes.chores import Chores
from iri.libvirt.volumes.files import FileShelf
from iri.libvirt.volumes.keeping import Keeping
from iri.libvirt.volumes.record import Record, SnapshotRecord, VolumeRecord, passphrase, rounded
from iri.libvirt.volumes.secrets import Passphrases
from iri.libvirt.volumes.settings import Pool, StorageSettings, pool_of
from iri.libvirt.volumes.shelf import Shelf
from iri.libvirt.volumes.steps import Steps
from iri.volume import Snapshot, SnapshotState, Volume

CLOSE_SECONDS = 10.0
Stored = TypeVar("Stored", Volume, Snapshot)


class Volumes:
    """Thread-safe. `volume_class` knows the classes on offer and refuses others with InvalidArgument."""

    def __init__(
        self,
        settings: StorageSettings,
        shelves: Sequence[Shelf],
        passphrases: Passphrases,
        images: Images,
        journal: Journal,
        volume_class: Callable[[str], VolumeClass],
        holders: Holders,
    ) -> None:
        self._settings = settings
        self._shelves = {shelf.name: shelf for shelf in shelves}
        self.passphrases = passphrases
        self.images = images
        self.holders = holders
        self._volume_class = volume_class
        self._catalogue = Catalogue()
        self._keeping = Keeping(self._catalogue, journal)
        self._chores = Chores(lambda key: self._steps.step(key), settings.workers, "volumes")
        self._steps = Steps(
            self._keeping, images, lambda: [shelf.rests_on() for shelf in shelves], self._chores.want
        )
        self._damaged: dict[str, str] = {}
        self._creating = threading.Lock()

    def start(self) -> None:
        """Reads what lies in the pools and goes on with what was interrupted. Unavailable without libvirt."""
        for shelf in self._shelves.values():
            found = shelf.open()
            self._damaged |= found.damaged
            for record in found.records:
                self._keeping.add(record, shelf)
        pools = {f"pool-{name}" for name in self._shelves}
        there = {kept.record.name for kept in self._catalogue.all()} | self._damaged.keys() | pools
        self.passphrases.drop_unused(lambda name: name in there or name.startswith("disk-"))
        self._chores.start()
        self.let_go()

    def close(self) -> None:
        self._chores.close(CLOSE_SECONDS)
        for shelf in self._shelves.values():
            shelf.close()

    def let_go(self) -> None:
        """Something may have changed for those that wait: libvirt is back, or a machine no longer holds a volume."""
        for there in self._catalogue.all():
            if not self._steps.is_done(there):
                self._chores.want(there.record.id)

    def objects(self, kind: type[Stored]) -> Mapping[str, Stored]:
        return self._catalogue.objects(kind)

    def offers(self, classes: Sequence[VolumeClass]) -> tuple[VolumeOffer, ...]:
        """Of each class the bytes that its pool holds when empty."""
        quantities = {name: self._limit_bytes(shelf) for name, shelf in self._shelves.items()}
        offers = [
            VolumeOffer(volume_class=offered, quantity=quantities[pool_of(self._settings, offered.name).name])
            for offered in classes
        ]
        return tuple(offer for offer in offers if offer.quantity > 0)

    def total_bytes(self) -> int:
        """What all pools hold when empty."""
        return sum(map(self._limit_bytes, self._shelves.values()))

    def create(self, wanted: Stored) -> Stored:
        with self._creating:
            id = identity(type(wanted), wanted.labels) or str(uuid.uuid4())
            there = self._catalogue.get(id)
            if there is not None and isinstance(there.told, type(wanted)) and not there.is_gone:
                return there.told
            if there is not None:
                raise FailedPrecondition(f"{there.record.name} is not gone yet: volumes rest on its data")
            kept = self._created(wanted, id)
        self._chores.want(id)
        assert isinstance(kept.told, type(wanted))
        return kept.told

    def _created(self, wanted: Volume | Snapshot, id: str) -> Kept:
        if isinstance(wanted, Snapshot):
            source = self._catalogue.found(Volume, wanted.spec.volume_id)
            record: Record = wishes.snapshot(wanted, id, source.record, time.time_ns())
            shelf = source.shelf
        else:
            record, shelf = self._new_volume(wanted, id)
        if (reason := self._damaged.get(record.name)) is not None:
            raise FailedPrecondition(reason)
        secret = passphrase(wanted.spec) if isinstance(wanted, Volume) else None
        if secret is not None:
            self.passphrases.put(record.name, secret, is_private=shelf.hides_passphrases)
        try:
            shelf.add(record)
        except IRIError:
            if secret is not None:
                self.passphrases.drop(record.name)
            raise
        return self._keeping.add(record, shelf)

    def _new_volume(self, wanted: Volume, id: str) -> tuple[VolumeRecord, Shelf]:
        volume_class = self._volume_class(wanted.spec.class_name)
        pool = pool_of(self._settings, volume_class.name)
        shelf = self._shelves[pool.name]
        base, snapshot = self._base(wanted, shelf)
        record = wishes.volume(
            wanted,
            id,
            time.time_ns(),
            volume_class=volume_class,
            snapshot=snapshot,
            base=base,
            wipes=pool.wipe,
        )
        if (image := record.source.image_data_source) is not None:
            self.images.refuse(image.image)
        self._refuse_size(shelf, record.wanted_bytes)
        return record, shelf

    def _base(self, wanted: Volume, shelf: Shelf) -> tuple[str, SnapshotRecord | None]:
        source = wanted.spec.volume_data_source
        if source is None or source.snapshot_data_source is None:
            return "", None
        there = self._catalogue.found(Snapshot, source.snapshot_data_source.snapshot_id)
        if there.shelf is not shelf:
            raise InvalidArgument(
                f"snapshot {there.record.id} lies in pool {there.shelf.name}, volumes of this class in pool {shelf.name}"
            )
        assert isinstance(there.record, SnapshotRecord)
        assert isinstance(there.told, Snapshot)
        if there.told.status.state is not SnapshotState.READY or there.told.deleted_at:
            raise FailedPrecondition(f"snapshot {there.record.id} is not ready")
        return shelf.base_of(there.record), there.record

    def expand(self, id: str, change: ExpandVolume) -> None:
        there = self._catalogue.found(Volume, id)

        def expanded(record: Record) -> Record:
            assert isinstance(record, VolumeRecord)
            volume = expanded_volume(record.volume, change)
            if volume is record.volume:
                return record
            self._refuse_size(there.shelf, rounded(change.resources.storage_bytes) - record.charged_bytes)
            return replace(record, volume=volume)

        self._keeping.update(id, expanded)
        self._chores.want(id)

    def remove(self, kind: type[Volume] | type[Snapshot], id: str) -> None:
        self._catalogue.found(kind, id)
        self._keeping.update(id, lambda record: wishes.removed(record, time.time_ns()))
        self._chores.want(id)

    def collect_images(self) -> int:
        """Removes those that no disk rests on and that need not be kept. Returns the bytes freed."""
        return self._steps.collect()

    def shelf(self, name: str) -> Shelf:
        return self._shelves[name]

    def record(self, id: str) -> Kept | None:
        """For those who attach volumes."""
        return self._catalogue.get(id)

    def folders(self) -> tuple[Path, ...]:
        """Where volumes lie as files."""
        return tuple(shelf.folder for shelf in self._shelves.values() if isinstance(shelf, FileShelf))

    def _pool(self, shelf: Shelf) -> Pool:
        return next(pool for pool in self._settings.pools if pool.name == shelf.name)

    def _limit_bytes(self, shelf: Shelf) -> int:
        """What sizes may add up to."""
        pool = self._pool(shelf)
        return max(0, int((shelf.room().capacity - pool.reserved_bytes) * pool.overcommit))

    def _refuse_size(self, shelf: Shelf, more_bytes: int) -> None:
        charged, limit = self._catalogue.charged_bytes(shelf), self._limit_bytes(shelf)
        if charged + more_bytes > limit:
            raise ResourceExhausted(
                f"storage pool {shelf.name} is full: {more_bytes} bytes are needed, {max(0, limit - charged)} of {limit} are left"
            )
