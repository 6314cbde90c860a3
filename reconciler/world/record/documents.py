"""From a document of the target branch to its record, and from a record to the fields of the document that hold it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

import msgspec

from reconciler.world.record.record import NOTHING, STATUS, Record, Status, assignment_of, empty_status
from schemas.edit.fields import Field, Target, Value
from schemas.kinds import Kind
from schemas.model import ClaimRef, OwnerReference, decode
from schemas.model.quantity import Quantity, parse

_POOL_REF = {Kind.MACHINE: Field.MACHINE_POOL_REF, Kind.VOLUME: Field.VOLUME_POOL_REF}


def record_of(kind: Kind, body: Mapping[str, Any]) -> Record:
    """`body` fits the schema of its kind, and is on the target branch: in the source, none of this means anything."""
    metadata = body["metadata"]
    status = _status(kind, body)
    assignment = assignment_of(status)
    spec = body.get("spec") or {}
    claim = spec.get("claimRef") if kind is Kind.VOLUME else None
    owners = metadata.get("ownerReferences")
    return Record(
        uid=metadata.get("uid") or "",
        deletion_timestamp=metadata.get("deletionTimestamp") or "",
        pool=assignment.pool if assignment else "",
        claim=msgspec.convert(claim, ClaimRef) if claim else None,
        owners=msgspec.convert(owners, tuple[OwnerReference, ...]) if owners else (),
        status=status,
    )


def _status(kind: Kind, body: Mapping[str, Any]) -> Status | None:
    written = body.get("status")
    if not written or kind not in STATUS:
        return empty_status(kind)
    try:
        return msgspec.convert(written, STATUS[kind], strict=False, dec_hook=_of_text)
    except msgspec.ValidationError:
        # What few documents have, and only where others than the reconciler wrote them: 1e300 for a whole number.
        found: Status = getattr(decode(kind, body), "status")  # noqa: B009 - the kinds that have one
        return found


def _of_text(wanted: type, value: object) -> Any:
    if wanted is Quantity:
        return parse(value)
    raise TypeError(f"a status has no way to read a {wanted.__name__}")


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
