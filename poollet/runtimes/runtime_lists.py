"""What the runtimes have answered, list by list. An answer that did not come is a value of its own, never an empty list."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple, TypeVar

from iri.machine import RuntimeMachine
from iri.runtime import RuntimeKind, RuntimeObject
from iri.volume import RuntimeSnapshot, RuntimeVolume

AnyObject = TypeVar("AnyObject", RuntimeMachine, RuntimeVolume, RuntimeSnapshot)


class ListKey(NamedTuple):
    """One list: of a kind, at a runtime."""

    runtime: str
    kind: RuntimeKind


@dataclass(frozen=True, slots=True)
class Listing:
    """A whole list by id. `number` rises by one with each answer for its place, `begun_ms` is when it was asked for."""

    number: int
    begun_ms: int
    objects: Mapping[str, RuntimeObject]


@dataclass(frozen=True, slots=True)
class ListFailed:
    """Nothing is known at present. `last` is the last list there was, for what people are shown."""

    reason: str
    last: Listing | None = None


@dataclass(frozen=True)
class RuntimeLists:
    """A place that is not named has not answered yet."""

    lists: Mapping[ListKey, Listing | ListFailed] = field(default_factory=dict)

    def listing(self, place: ListKey) -> Listing | None:
        """The list, if it is known."""
        found = self.lists.get(place)
        return found if isinstance(found, Listing) else None

    def of(self, kind: type[AnyObject], runtime: str) -> Mapping[str, AnyObject] | None:
        """Its objects by id, or None when they are not known."""
        listing = self.listing(ListKey(runtime, kind))
        return None if listing is None else listing.objects  # type: ignore[return-value]
