"""What people decide about a pool from one day to the next: whether new machines go there, and whether those there leave."""

from __future__ import annotations

from schemas import live_layout
from schemas.edit import Changes, Field, Target, Value
from schemas.model import MachinePool, Object, VolumePool

FORCED = "force"  # local disks may be lost


def other_taints(pool: Object | None) -> list[Value]:
    """Those of the pool, but for the one that drains it."""
    if not isinstance(pool, MachinePool | VolumePool):
        return []
    return [
        {"key": taint.key, **({"value": taint.value} if taint.value else {}), "effect": taint.effect}
        for taint in pool.spec.taints
        if taint.key != live_layout.DRAIN
    ]


def is_draining(pool: Object | None) -> bool:
    return isinstance(pool, MachinePool | VolumePool) and any(
        taint.key == live_layout.DRAIN for taint in pool.spec.taints
    )


def cordon(_pool: Object | None) -> Changes:
    return {Field.UNSCHEDULABLE: True}


def uncordon(pool: Object | None) -> Changes:
    changes: dict[Target, Value] = {Field.UNSCHEDULABLE: None}
    if is_draining(pool):
        changes[Field.TAINTS] = other_taints(pool) or None
    return changes


def drain(pool: Object | None) -> Changes:
    taint: Value = {"key": live_layout.DRAIN, "effect": "NoExecute"}
    return {Field.UNSCHEDULABLE: True, Field.TAINTS: [*other_taints(pool), taint]}


def force_drain(pool: Object | None) -> Changes:
    taint: Value = {"key": live_layout.DRAIN, "value": FORCED, "effect": "NoExecute"}
    return {Field.UNSCHEDULABLE: True, Field.TAINTS: [*other_taints(pool), taint]}
