"""From a record to the fields that say it in a document's text."""

from __future__ import annotations

from typing import Any, cast

import msgspec

from reconciler.world.record.record import NOTHING, Record, Status
from schemas.edit.fields import Field, Target, Value
from schemas.kinds import Kind

_POOL_REF = {Kind.MACHINE: Field.MACHINE_POOL_REF, Kind.VOLUME: Field.VOLUME_POOL_REF}


def fields(kind: Kind, record: Record, base: Record = NOTHING) -> dict[Target, Value]:
    """Every field that the reconciler owns in a document of `kind`; None: it shall not be there.

    `base` is the record of the text that will be edited, when that is a text of the target branch: a pool reference there
    is the reconciler's own and goes with the assignment. One in a text of the source is a pin and stays.
    """
    wanted: dict[Target, Value] = {
        Field.UID: record.uid or None,
        Field.DELETION_TIMESTAMP: record.deletion_timestamp or None,
        Field.STATUS: _as_value(record.status),
    }
    reference = _POOL_REF.get(kind)
    if reference is not None and (record.pool or base.pool):
        wanted[reference] = {"name": record.pool} if record.pool else None
    if kind is Kind.VOLUME:
        claim = record.claim
        wanted[Field.CLAIM_REF] = None if claim is None else cast("Value", _plain(claim))
    return wanted


def _as_value(status: Status | None) -> Value:
    """An empty status is none: it says what its absence says."""
    return cast("Value", _plain(status)) or None if status is not None else None


def _plain(value: object) -> Any:
    return msgspec.json.decode(msgspec.json.encode(value, enc_hook=str))  # which makes tuples lists
