"""One object as the world knows it. Values only.

The origin says on what ground an object exists, and so what may be done about it:

    origin      the source                        `live`                    what `decide` may do
    DECLARED    has a document                    may have one              anything; place it where it has no pool
    FROZEN      has a file that may declare it    has a document            keep it as `live` has it; no deletion
    LEAVING     was read, and has none            has a document            hold, retain or order the deletion, or wait for it
    GENERATED   is not asked                      in .gitvirt/generated/    as declared; absent without the entry of its owner
    ANNOUNCED   has none                          in .gitvirt/pools/,       grant the pool, write its status; never delete it
                                                  or no document yet
    RETAINED    is not asked                      in .gitvirt/retained/     keep the data; give it to a volume of that name

An object is LEAVING also while the source still declares it, once its deletion is ordered: an order is carried out to its end.
RETAINED ones are in `View.retained_volumes`, by uid, and never in `View.objects`.
"""

from __future__ import annotations

from enum import StrEnum

import msgspec

from reconciler.world.record import Record
from schemas.kinds import Key
from schemas.model import Object


class Origin(StrEnum):
    """Why an object exists. objects/resolve.py decides it for each key, from all documents about it."""

    DECLARED = "declared"  # the source says so
    FROZEN = "frozen"  # the source cannot be understood about it: it stays as live has it
    LEAVING = "leaving"  # on live, and not in the source any more; or ordered gone
    GENERATED = "generated"  # on live alone, of an owner
    ANNOUNCED = "announced"  # a pool that a poollet announces and no file declares
    RETAINED = "retained"  # a volume that its policy keeps


class DocumentPlace(msgspec.Struct, frozen=True, gc=False, order=True):
    """A document: which of its file, counted from 0. Documents of other tools count too."""

    path: str
    index: int


class ObjectState(msgspec.Struct, frozen=True, gc=False):
    """What is known of one key: what it should be, why it exists, what the reconciler recorded of it, and where that is written.

    `object` is what holds now: the source's where it is declared, else live's.

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
        """Whether the object should exist from now on. An object that is not active is never placed, and does not delay the deletion of
        objects that it uses."""
        return self.origin is not Origin.LEAVING and not self.record.is_deleting
