"""What the runtimes have listed. A list that failed is a value of its own, never an empty list.

Must never happen: an object counts as missing because its runtime did not answer.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

from iri.runtime import RuntimeEvent, RuntimeKind, RuntimeObject


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


# A key that is absent has not been listed yet.
RuntimeLists: TypeAlias = Mapping[ListKey, Listing | ListFailed]


def identify_event(event: RuntimeEvent) -> tuple[object, ...]:
    """Events have no id. Equal ones of one second count as one."""
    return event.kind, event.id, event.type, event.reason, event.message, event.time
