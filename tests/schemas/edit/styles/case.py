"""One text, one edit, and the bytes or the refusal that must come of it."""

from __future__ import annotations

from typing import NamedTuple

from schemas.edit import Annotation, Changes, Field, Means


class Case(NamedTuple):
    id: str
    before: str
    changes: Changes
    after: str
    document: int = 0
    means: Means = Means.LINES


class Refusal(NamedTuple):
    id: str
    before: str | bytes
    changes: Changes
    code: str
    place: tuple[int, int]
    pointer: str
    document: int = 0


PLACE: Changes = {Field.MACHINE_POOL_REF: {"name": "b"}}
UNPLACE: Changes = {Field.MACHINE_POOL_REF: None}
RUN: Changes = {Field.STATUS: {"state": "Running"}}
PLACE_AND_RUN: Changes = {**PLACE, **RUN}
IDENTIFY: Changes = {Field.UID: "u-1"}
DELETE: Changes = {Field.DELETION_TIMESTAMP: "2030-01-01T00:00:00Z"}
PAUSE: Changes = {Annotation("gitvirt.dev/paused"): "true"}
RESUME: Changes = {Annotation("gitvirt.dev/paused"): None}
DRAIN: Changes = {
    Field.TAINTS: [{"key": "gitvirt.dev/drain", "effect": "NoExecute"}],
    Field.UNSCHEDULABLE: True,
}
UNDRAIN: Changes = {Field.TAINTS: None, Field.UNSCHEDULABLE: None}
