"""Which file of the target branch each object's document belongs into once a plan is carried out. Pure.

An object has one home at most. By where it comes from:

    declared                       the file that people wrote it in
    generated, announced           a file of its own under .gitvirt/ (`schemas.live_layout`)
    retained                       .gitvirt/retained/, as soon as the plan retains it
    left the source, or frozen     where it is; under .gitvirt/deleting/ or frozen/ if the source needs that path for something else
    its document goes              none

Two reasons move a document: people moved it, or people reused its path. Both may happen while the object still exists on a host, and its
record must go along, or the host would take its order for a new object.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from functools import cached_property

from msgspec.structs import replace

from reconciler.decide.removal.retained import follow_kept
from reconciler.plan.types import Action, Change
from reconciler.world.objects.object_state import ObjectState, Origin
from reconciler.world.record import Record
from reconciler.world.view import View
from schemas import live_layout
from schemas.kinds import Key, Kind
from schemas.model import VolumePoolStatus, VolumeStatus


class DocumentPaths:
    """`news` are files that differ from before: a folder that takes the place of a file comes with one of them. `stuck` are objects
    whose new text cannot be written: they stay where and as they are."""

    def __init__(
        self,
        view: View,
        changes: Mapping[Key, Change],
        news: Collection[str],
        stuck: Collection[Key] = (),
    ) -> None:
        self._view = view
        self._changes = changes
        self._news = news
        self._stuck = stuck

    def change(self, key: Key) -> Change | None:
        """What the plan does to it; nothing to an object that is stuck, though the plan may want to."""
        return None if key in self._stuck else self._changes.get(key)

    def record(self, key: Key) -> Record | None:
        """What the object's document is going to say; None when it goes."""
        change = self.change(key)
        if change is not None:
            return change.after
        known = self._view.objects.get(key)
        return known.record if known is not None else None

    def retained_record(self, retained: ObjectState) -> Record:
        """What the document of a retained volume is going to say: it follows the grant of its pool as this plan leaves it. One whose
        host is destroyed stays as it is, until a change removes it."""
        record, assignment = retained.record, retained.record.assignment
        if assignment is None:
            return record
        pool = self.record(Key(Kind.VOLUME_POOL, "", assignment.pool))
        status = pool.status if pool is not None and isinstance(pool.status, VolumePoolStatus) else None
        after = follow_kept(self._view, retained, status) or assignment
        assert isinstance(record.status, VolumeStatus), "volumes alone are retained"
        return replace(record, status=replace(record.status, assignment=after))

    def home(self, key: Key) -> str | None:
        """The one path where its document belongs afterwards; None when there is to be none."""
        change, known = self.change(key), self._view.objects.get(key)
        if change is not None:
            if change.after is None:
                return None
            if change.body is not None:
                is_pool = key.kind in (Kind.MACHINE_POOL, Kind.VOLUME_POOL)
                return (
                    live_layout.announced_path(key)
                    if is_pool
                    else live_layout.path_in(live_layout.GENERATED, key)
                )
            if change.action is Action.RETAIN:
                return live_layout.path_in(live_layout.RETAINED, key)
            if known is None:
                raise ValueError(f"a change of {key}, which is unknown, without a document")
        return None if known is None else self._standing_home(known)

    def paths(self, key: Key) -> Iterator[str]:
        """Every file that is concerned when the object is: where its document is, and where it will be."""
        known = self._view.objects.get(key)
        if known is not None and known.source is not None:
            yield known.source.path
        if known is not None and known.live is not None:
            yield known.live.path
        if (place := self.home(key)) is not None:
            yield place
        change = self.change(key)
        if key.kind is Kind.VOLUME and change is not None and (change.before is None or known is None):
            yield live_layout.path_in(
                live_layout.RETAINED, key
            )  # it may be what it was taken back from, or is lost from there

    def _standing_home(self, known: ObjectState) -> str | None:
        """The home of an object that no change moves. Also called for objects with a change that only edits their record."""
        if known.key in self._stuck:
            return known.live.path if known.live else None
        match known.origin:
            case Origin.DECLARED:
                return known.source.path if known.source else None
            case Origin.LEAVING | Origin.FROZEN if known.live is not None:
                if live_layout.is_reconcilers(known.live.path) or not self._is_reused(known.live.path):
                    return known.live.path
                is_leaving = known.origin is Origin.LEAVING
                return (
                    live_layout.path_in(live_layout.DELETING, known.key)
                    if is_leaving
                    else live_layout.path_in(live_layout.FROZEN, known.key)
                )
            case _:
                return known.live.path if known.live else None

    def _is_reused(self, path: str) -> bool:
        """Whether the source has something there that goes onto the target branch: a file, or a folder in a file's place."""
        files = self._view.source.files
        if path in files:
            return self._view.is_synced(path)
        above = [path[:end] for end, letter in enumerate(path) if letter == "/"]
        return path in self._folders or any(
            folder in files and self._view.is_synced(folder) for folder in above
        )

    @cached_property
    def _folders(self) -> frozenset[str]:
        """Folders above files of the source that are new: where one takes the path of a file, that file has to move."""
        return frozenset(
            path[:end]
            for path in self._news
            if path in self._view.source.files
            for end, letter in enumerate(path)
            if letter == "/"
        )
