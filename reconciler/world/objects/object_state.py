"""One object as the world knows it. Values only."""

from __future__ import annotations

from enum import StrEnum

import msgspec

from reconciler.world.record import Record
from schemas.kinds import Key
from schemas.model import Object


class Origin(StrEnum):
    DECLARED = "declared"  # the source says so
    FROZEN = "frozen"  # the source cannot be understood about it: it stays as live has it
    LEAVING = "leaving"  # on live, and not in the source any more; or ordered gone
    GENERATED = "generated"  # on live alone, of an owner
    ANNOUNCED = "announced"  # a pool that a poollet announces and no file declares
    RETAINED = "retained"  # a volume that its policy keeps


class DocumentPlace(msgspec.Struct, frozen=True, gc=False, order=True):
    """A document: which of its file, counted from 0."""

    path: str
    index: int


class ObjectState(msgspec.Struct, frozen=True, gc=False):
    """`object` is what holds now: the source's where it is declared, else live's.

    `live` is the document that `record` was read from. An object on live that the source no longer has, and that was not
    ordered gone yet, is LEAVING without a deletion timestamp.
    """

    key: Key
    object: Object
    origin: Origin
    record: Record
    source: DocumentPlace | None = None
    live: DocumentPlace | None = None

    @property
    def is_active(self) -> bool:
        return self.origin is not Origin.LEAVING and not self.record.is_deleting
