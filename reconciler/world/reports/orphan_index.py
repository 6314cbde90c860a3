"""Which reports have an orphan, or an object of a candidate, of a kind and name, or an orphan with a disk of a handle. An index, so that an
object asks at the cost of what it finds."""

from __future__ import annotations

from collections.abc import Iterable

from schemas.kinds import Key, Kind
from schemas.report.objects import HeldObject, Orphan


class OrphanIndex:
    """By the key of the orphan, and by the handles of its disks."""

    def __init__(self) -> None:
        self._speakers: dict[Key | str, tuple[str, ...]] = {}

    def speakers(self, sought: Key | str) -> tuple[str, ...]:
        """Names of the poollets, sorted."""
        return self._speakers.get(sought, ())

    def replace(
        self, name: str, before: Iterable[Orphan | HeldObject], after: Iterable[Orphan | HeldObject]
    ) -> set[Key]:
        """The objects of one report. Returns the keys of those that were and of those that are."""
        old, new = _entries(before), _entries(after)
        for entry in old ^ new:
            found = {*self.speakers(entry)} - {name} | ({name} if entry in new else set())
            if found:
                self._speakers[entry] = tuple(sorted(found))
            else:
                self._speakers.pop(entry, None)
        return {each for each in old | new if isinstance(each, Key)}


def pool_of_orphan(orphan: Orphan) -> Key:
    """The pool that an orphan is reported on, of the kind that fits the object's."""
    kind = Kind.MACHINE_POOL if orphan.kind == "Machine" else Kind.VOLUME_POOL
    return Key(kind, "", orphan.pool)


def _entries(orphans: Iterable[Orphan | HeldObject]) -> set[Key | str]:
    found: set[Key | str] = set()
    for each in orphans:
        found |= {Key(Kind(each.kind), each.namespace, each.name)} if each.name else set()
        found.update(handle for handle in each.handles if handle)
    return found
