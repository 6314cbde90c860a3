"""What only gitvirt writes and people wrote all the same: it is ignored, and this says so."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from schemas.problem import Severity
from schemas.validate.finding import Finding
from schemas.validate.policy import Policy
from schemas.validate.tree import AnyEntry

FIELDS = (
    ("metadata", "uid"),
    ("metadata", "deletionTimestamp"),
    ("spec", "claimRef"),
    ("spec", "machineRef"),
)


def findings(entry: AnyEntry, body: Mapping[str, Any], policy: Policy) -> Iterator[Finding]:
    """Looks at the document as it was written: the model leaves out what gitvirt does not act on."""
    if policy.is_target:
        return
    if body.get("status"):
        yield entry.finding(
            "GV362",
            "/status",
            "status is reported by hosts; what stands here is ignored",
            "remove it, or leave it: it does no harm",
            Severity.NOTICE,
        )
    for part, field in FIELDS:
        if (body.get(part) or {}).get(field):
            yield entry.finding(
                "GV363",
                f"/{part}/{field}",
                f"{field} is recorded by the reconciler; what stands here is ignored",
                "remove it",
                Severity.NOTICE,
            )
