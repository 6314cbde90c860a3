"""Which files of the source change immutable fields. Such a file is frozen whole, as one that cannot be read is.

Judged against live, where every object is as it was accepted last; and only objects that were created: what is on no pool yet
may still be corrected. Which fields are immutable schemas.validate.change says; the same rules stop a pull request in CI. Freezes
nothing itself: freeze.py does that.

An object is compared with its document on live; a volume that is new, with the retained one of its name, whose data it would
get; one whose deletion is ordered, or which is kept for an undo, with nothing, since what is declared now will be another object
if it differs (objects/resolve.py).

Must never happen: a class changes under machines that run with it; a volume shrinks or changes its class below its data.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from reconciler.gitstore.objects.tree import ObjectId
from reconciler.world.objects.object_state import ObjectState, Origin
from reconciler.world.objects.relations import Relations, uses
from reconciler.world.objects.resolve import is_live_alone, on_live
from reconciler.world.record import ACCEPTED, FROZEN, NOTHING
from reconciler.world.source.contents import Contents, Doc, objects_at
from reconciler.world.source.tree_index import TreeIndex
from schemas.kinds import Key, Kind
from schemas.model import MachineClass, Object, VolumeClass, VolumeSnapshotStatus
from schemas.problem import Problem, Severity
from schemas.validate import AnyDeclaration, Declaration, EarlierRevision, Tree
from schemas.validate.change import findings
from schemas.validate.finding import Finding

ALLOWED = frozenset(
    {"GV412"}
)  # another pin is an order to move, which the reconciler follows or says why not
CLASSES = (Kind.MACHINE_CLASS, Kind.VOLUME_CLASS)
MOST_NAMED = 3


@dataclass(slots=True)
class ImmutabilityInputs:
    """`whole` are files as they read, whether or not they are held. `read` gives the data of a blob."""

    objects: Mapping[Key, ObjectState]
    retained_volumes: Mapping[str, ObjectState]
    relations: Relations
    live: TreeIndex
    whole: Mapping[str, Contents]
    read: Callable[[ObjectId], bytes]
    _texts: dict[str, Mapping[int, Object]] = field(default_factory=dict)

    def last_accepted(self, key: Key) -> AnyDeclaration | None:
        """The object as it was accepted last; None for one that is new."""
        there = on_live(key, self.live)
        if there is not None:
            is_kept = there.record is not None and there.record.undo is not None
            return None if is_kept or is_live_alone(there) else self._entry(there)
        kept = (
            [each for each in self.retained_volumes.values() if each.key == key]
            if key.kind is Kind.VOLUME
            else []
        )
        if len(kept) != 1 or kept[0].live is None:
            return None
        return Declaration(kept[0].live.path, kept[0].live.index, key, kept[0].object)

    def _entry(self, doc: Doc) -> AnyDeclaration | None:
        path = doc.place.path
        if path not in self._texts:
            self._texts[path] = objects_at(path, self.read(self.live.files[path].id))
        found = self._texts[path].get(doc.place.index)
        return Declaration(path, doc.place.index, doc.key, found) if found is not None else None


def violations(path: str, ground: ImmutabilityInputs, news: Collection[str]) -> tuple[Finding, ...]:
    """The changes of immutable fields in a file of the source. `news` are files that others may be changed in too."""
    contents = ground.whole.get(path)
    new, old = [], []
    for doc in contents.docs if contents is not None else ():
        before = ground.last_accepted(doc.key) if is_made(doc.key, ground) else None
        if before is not None and doc.object is not None and before.object != doc.object:
            new.append(Declaration(path, doc.place.index, doc.key, doc.object))
            old.append(before)
    if not new:
        return ()
    around = [
        each for entry, before in zip(new, old, strict=True) for each in looked_at(entry, before, ground)
    ]
    same = frozenset(each.path for each in around if each.path not in news)
    past = [ground.last_accepted(each.key) for each in around if each.path in news]
    then = EarlierRevision("live", (*old, *(each for each in past if each is not None)), same)
    return tuple(
        finding
        for finding in findings(Tree((*new, *around)), then)
        if finding.path == path and finding.severity is Severity.ERROR and finding.code not in ALLOWED
    )


def is_made(key: Key, ground: ImmutabilityInputs) -> bool:
    """Whether immutable fields of the object are fixed already, because something was created from them. Users of a class are
    checked separately."""
    known = ground.objects.get(key)
    match key.kind:
        case Kind.MACHINE | Kind.VOLUME:
            if known is None or known.live is None or known.record.pool:
                return True  # the data of one that is new may be retained
            brought = (ground.objects.get(each) for each in ground.relations.owned.get(key))
            return any(each is not None and each.record.pool for each in brought)
        case Kind.NETWORK_INTERFACE:
            return any(True for _ in placed_users(key, ground))
        case Kind.VOLUME_SNAPSHOT:
            status = known.record.status if known is not None else None
            return isinstance(status, VolumeSnapshotStatus) and bool(status.snapshot_id or status.state)
        case _:
            return True


def placed_users(key: Key, ground: ImmutabilityInputs) -> Iterator[ObjectState]:
    users = (ground.objects.get(user) for user in ground.relations.users.get(key))
    return (user for user in users if user is not None and user.record.pool)


def looked_at(
    entry: AnyDeclaration, before: AnyDeclaration, ground: ImmutabilityInputs
) -> Iterator[AnyDeclaration]:
    """What the rules ask for beside the object: its classes; of a class that changes, some who use it on a pool.

    Three users are enough to refuse a class and to name them; looking for all would cost what the fleet has.
    """
    if isinstance(entry.object, MachineClass | VolumeClass):
        if entry.object.capabilities != getattr(before.object, "capabilities", None):
            first = heapq.nsmallest(MOST_NAMED, (user.key for user in placed_users(entry.key, ground)))
            yield from entries(ground.objects[key] for key in first)
        return
    used = uses(ObjectState(entry.key, entry.object, Origin.DECLARED, NOTHING))
    yield from entries(
        ground.objects[key] for key in sorted(used) if key.kind in CLASSES and key in ground.objects
    )


def entries(many: Iterable[ObjectState]) -> Iterator[AnyDeclaration]:
    for known in many:
        place = known.source or known.live
        if place is not None:
            yield Declaration(place.path, place.index, known.key, known.object)


def frozen(contents: Contents, problems: tuple[Problem, ...]) -> Contents:
    """The file as one that declares nothing: its objects on live stay as they are."""
    return Contents(
        is_malformed=True,
        refused=tuple(doc.key for doc in contents.docs),
        foreign_names=contents.foreign_names,
        problems=problems,
    )


def is_marked(known: ObjectState) -> bool:
    """Whether live says, or cannot say, that its file was held when it was written last."""
    if known.live is None or (known.source is None and known.key.kind in CLASSES):
        return False
    message = known.record.condition(ACCEPTED)
    return known.key.kind in CLASSES or (message is not None and message.reason == FROZEN)


def marked_path(known: ObjectState, retained: Collection[Key]) -> str:
    """The file to judge for the object although it did not change: one that may be held; else empty. `retained` are the volumes whose data
    a new one may get: that has no document on live which says so. A file that does not declare an object any more is held where live
    has that object.

    Asked at the first update, and of objects that changed.
    """
    if known.live is None:
        return known.source.path if known.source is not None and known.key in retained else ""
    return (known.source or known.live).path if is_marked(known) else ""
