"""Assignments that were ended on a host: a creation that was sent under one of them, and is carried out late, is refused. Pure.

Theory of operation. A call may take effect long after its caller gave it up: it hung behind a disk, or its process was suspended. Whoever
ordered the object may have placed it elsewhere by then. So the caller ends the assignment first, and only then says that the object is
gone. The runtime keeps the ids, the newest KEPT of them, over its restarts.

Must never happen: an object is created under an assignment after `end_assignments` returned.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from iri.errors import InvalidArgument
from iri.identity import ASSIGNMENT_LABEL

KEPT = 4096


class EndedAssignments:
    """In the order in which they were ended. Not thread-safe, and knows no disk: its owner has a lock and a file."""

    def __init__(self, ids: Iterable[str] = ()) -> None:
        self._ids: dict[str, None] = dict.fromkeys(ids)

    @property
    def ids(self) -> tuple[str, ...]:
        """The oldest first."""
        return tuple(self._ids)

    def __contains__(self, id: str) -> bool:
        return id in self._ids

    def add(self, ids: Collection[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Those that are new, and the oldest ones, which made room for them."""
        new = tuple(id for id in dict.fromkeys(ids) if id and id not in self._ids)
        self._ids |= dict.fromkeys(new)
        old = tuple(self._ids)[: max(0, len(self._ids) - KEPT)]
        for id in old:
            del self._ids[id]
        return new, old

    def refuse(self, labels: Mapping[str, str]) -> None:
        """InvalidArgument for the labels of an object that must not be created any more: no repetition of the call can succeed."""
        id = labels.get(ASSIGNMENT_LABEL, "")
        if id in self._ids:
            raise InvalidArgument(
                f"assignment {id} was ended on this host; nothing is created for it any more"
            )
