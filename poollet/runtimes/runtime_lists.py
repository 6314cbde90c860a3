"""What the runtimes have listed. A list that failed is a value of its own, never an empty list.

Must never happen: an object counts as missing because its runtime did not answer.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple, TypeVar

from iri.machine import RuntimeMachine
from iri.runtime import RuntimeKind, RuntimeObject
from iri.volume import RuntimeSnapshot, RuntimeVolume

AnyObject = TypeVar("AnyObject", RuntimeMachine, RuntimeVolume, RuntimeSnapshot)


class ListKey(NamedTuple):
    """One list: a kind of objects at one runtime."""

    runtime: str
    kind: RuntimeKind


@dataclass(frozen=True, slots=True)
class Listing:
    """A complete list by id. `number` grows by one with each list of its key, `started_ms` is when the call was made."""

    number: int
    started_ms: int
    objects: Mapping[str, RuntimeObject]


@dataclass(frozen=True, slots=True)
class ListFailed:
    """The objects are unknown at present. `last` is the last list, for display and for capacity."""

    reason: str
    last: Listing | None = None


@dataclass(frozen=True)
class RuntimeLists:
    """A key that is absent has not been listed yet."""

    lists: Mapping[ListKey, Listing | ListFailed] = field(default_factory=dict)

    def listing(self, key: ListKey) -> Listing | None:
        """The list, if the last call succeeded."""
        found = self.lists.get(key)
        return found if isinstance(found, Listing) else None

    def of(self, kind: type[AnyObject], runtime: str) -> Mapping[str, AnyObject] | None:
        """The objects by id, or None if they are unknown."""
        listing = self.listing(ListKey(runtime, kind))
        return None if listing is None else listing.objects  # type: ignore[return-value]
