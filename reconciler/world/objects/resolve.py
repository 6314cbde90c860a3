"""The state of one object, from every document about it in the source and on live. Pure.

Theory of operation
-------------------
The rows are tried from the top, and the first that applies is the answer:

    `live`                                        the source                              result
    a document whose deletion is ordered          whatever it says                        LEAVING
    a document in .gitvirt/generated/             whatever it says                        GENERATED
    a machine that is kept for an undo            has another one of its name             LEAVING
    a document                                    has a document                          DECLARED, with the record of `live`
    none, and the file of that path is malformed  has a document                          None: neither new nor gone
    none                                          has a document                          DECLARED, with an empty record
    a document                                    a malformed file names it, or has its   FROZEN
                                                  path
    a document in .gitvirt/pools/                 none                                    ANNOUNCED
    a document                                    none                                    LEAVING
    none                                          none, or a malformed file names it      None

An order to delete comes before everything, so that an object which is declared again is deleted first and created after it. A machine that is kept
for an undo is another one if fields differ that cannot change: then it stays deleted, and the new one waits for its end.

Must never happen: an object of a file that cannot be read is LEAVING; a declared object loses the identity and the assignment
that `live` has for it, for it would be created a second time.
"""

from __future__ import annotations

from collections.abc import Callable

from reconciler.world.objects.object_state import DocumentPlace, ObjectState, Origin
from reconciler.world.pools.announcement import Announcement
from reconciler.world.record import NOTHING, Record, empty_status
from reconciler.world.source.contents import Doc
from reconciler.world.source.tree_index import TreeIndex
from schemas import live_layout
from schemas.kinds import Key, Kind, api_version
from schemas.model import MachinePool, Metadata, Object, VolumePool
from schemas.problem import Severity
from schemas.validate import Declaration, EarlierRevision, Tree
from schemas.validate.change import findings
from schemas.validate.finding import Finding

Load = Callable[[Doc], Object]  # the object of a document on live


def resolve_object(key: Key, source: TreeIndex, live: TreeIndex, load: Load) -> ObjectState | None:
    """The state of one key; None if no document has the key. Retained volumes are not here: they are known by uid."""
    there = on_live(key, live)
    if there is not None and there.record is not None and is_live_alone(there):
        return _state_of(key, source, there, load)
    declared = in_source(key, source, there)
    if declared is not None and declared.object is not None:
        if there is None and _is_malformed(declared.place.path, live):
            return None  # what was recorded of it cannot be read: it is neither new nor gone
        if there is not None and is_kept_for_another(there, declared.object, load):
            return ObjectState(
                key,
                there.object or load(there),
                Origin.LEAVING,
                there.record or empty_record(key),
                declared.place,
                there.place,
            )
        record = there.record if there is not None and there.record is not None else empty_record(key)
        place = there.place if there is not None else None
        return ObjectState(key, declared.object, Origin.DECLARED, record, declared.place, place)
    return _state_of(key, source, there, load) if there is not None else None


def on_live(key: Key, live: TreeIndex) -> Doc | None:
    """The document that its record is read from. Of several, one in .gitvirt/deleting/ comes first, then one with a uid, then by
    place: an order to delete counts before a text that was synced.
    """
    docs = [doc for doc in live.docs(key) if not doc.place.path.startswith(live_layout.RETAINED)]
    return min(docs, key=_weight, default=None) if len(docs) != 1 else docs[0]


def in_source(key: Key, source: TreeIndex, there: Doc | None) -> Doc | None:
    """Of several, the one at its path on live; else the first."""
    docs = source.docs(key)
    if len(docs) > 1 and there is not None:
        return next((doc for doc in docs if doc.place.path == there.place.path), docs[0])
    return docs[0] if docs else None


def empty_record(key: Key) -> Record:
    """The record of an object that `live` does not have: no identity yet, no pool, and a status without content where its kind has one."""
    status = empty_status(key.kind)
    return NOTHING if status is None else Record(status=status)


def is_live_alone(doc: Doc) -> bool:
    """Whether the document on live decides alone, whatever the source says: deletion is ordered, or the object is generated."""
    return (doc.record is not None and doc.record.is_deleting) or doc.place.path.startswith(
        live_layout.GENERATED
    )


def is_kept_for_another(there: Doc, declared: Object, load: Load) -> bool:
    """Whether a machine is kept for an undo, and what is declared by its name by now is another one."""
    if there.record is None or there.record.undo is None:
        return False
    return bool(find_fixed_differences(there.place, there.object or load(there), declared))


def find_fixed_differences(place: DocumentPlace, old: Object, new: Object) -> tuple[Finding, ...]:
    """The fields that cannot change and in which two documents of one key differ. With any of these they are two objects."""
    before, after = (Declaration(place.path, place.index, old.key, each) for each in (old, new))
    found = findings(Tree((after,)), EarlierRevision("live", (before,), frozenset()))
    return tuple(each for each in found if each.severity is Severity.ERROR)


def _state_of(key: Key, source: TreeIndex, there: Doc, load: Load) -> ObjectState:
    declared = in_source(key, source, there)
    record = there.record or empty_record(key)
    place = declared.place if declared else None
    return ObjectState(
        key, there.object or load(there), _standing(key, source, there), record, place, there.place
    )


def _standing(key: Key, source: TreeIndex, there: Doc) -> Origin:
    path = there.place.path
    if there.record is not None and there.record.is_deleting:
        return Origin.LEAVING
    if path.startswith(live_layout.GENERATED):
        return Origin.GENERATED
    if source.refusing(key) or _is_malformed(path, source):
        return Origin.FROZEN
    return Origin.ANNOUNCED if path.startswith(live_layout.ANNOUNCED) else Origin.LEAVING


def _is_malformed(path: str, branch: TreeIndex) -> bool:
    found = branch.problem_files.get(path)
    return found is not None and found.is_malformed


def _weight(doc: Doc) -> tuple[bool, bool, str, int]:
    has_uid = doc.record is not None and doc.record.uid != ""
    return not doc.place.path.startswith(live_layout.DELETING), not has_uid, doc.place.path, doc.place.index


def announced_pool(key: Key, announcement: Announcement) -> ObjectState:
    """A pool that no file declares and that live does not have yet: it exists because a host announces it."""
    metadata = Metadata(name=key.name, labels=dict(announcement.pool.labels))
    version = api_version(key.kind)
    made: Object = (
        MachinePool(api_version=version, metadata=metadata)
        if key.kind is Kind.MACHINE_POOL
        else VolumePool(api_version=version, metadata=metadata)
    )
    return ObjectState(key, made, Origin.ANNOUNCED, empty_record(key))
