"""Which reports have an orphan of a kind and name. An index, so that an object asks for its name at the cost of what it finds."""

from __future__ import annotations

from collections.abc import Iterable

from schemas.kinds import Key, Kind
from schemas.report.objects import Orphan


class OrphanIndex:
    def __init__(self) -> None:
        self._speakers: dict[Key, tuple[str, ...]] = {}

    def speakers(self, key: Key) -> tuple[str, ...]:
        """Names of the poollets, sorted."""
        return self._speakers.get(key, ())

    def replace(self, name: str, before: Iterable[Orphan], after: Iterable[Orphan]) -> set[Key]:
        """The orphans of one report. Returns the keys of those that were and of those that are."""
        old, new = _keys(before), _keys(after)
        for key in old ^ new:
            found = {*self.speakers(key)} - {name} | ({name} if key in new else set())
            if found:
                self._speakers[key] = tuple(sorted(found))
            else:
                self._speakers.pop(key, None)
        return old | new


def _keys(orphans: Iterable[Orphan]) -> set[Key]:
    return {Key(Kind(each.kind), each.namespace, each.name) for each in orphans if each.name}
