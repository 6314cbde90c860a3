"""From a document of the target branch to its record."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from reconciler.world.record.record import STATUS, Record, Status, assignment_of, empty_status
from schemas.kinds import Kind
from schemas.model import ClaimRef, OwnerReference, decode
from schemas.model.quantity import Quantity, parse


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
