"""What people decide about a pool from one day to the next: whether new machines go there, and whether those there
leave.

Pure: from the pool as the source has it to the fields to set. `spec.unschedulable` keeps new machines away; the
drain taint (`NoExecute`) also makes the reconciler evict those that are there. Other taints of the pool stay as
they are.
"""

from __future__ import annotations

import argparse

from reconciler.cli.objects.nouns import TakenKinds
from reconciler.cli.objects.references import POOLS, add_objects
from schemas import live_layout
from schemas.edit import Changes, Field, Target, Value
from schemas.kinds import Kind
from schemas.model import MachinePool, Object, VolumePool

VOLUME_POOLS = TakenKinds(tuple(reversed(POOLS.kinds)), Kind.VOLUME_POOL)
FORCED = "force"  # local disks may be lost


def add_pools(parser: argparse.ArgumentParser) -> None:
    """The arguments that name pools. Both kinds may have a pool of one name, since a host often serves both."""
    add_objects(parser, POOLS, "POOL", may_take_all=False)
    parser.add_argument("--volume-pool", action="store_true", help="names are those of volume pools")


def taken_pools(arguments: argparse.Namespace) -> TakenKinds:
    """A name alone is a machine pool, unless `--volume-pool` is given."""
    return VOLUME_POOLS if arguments.volume_pool else POOLS


def other_taints(pool: Object | None) -> list[Value]:
    """The pool's taints but for the one that drains it, as values for an edit: the verbs write the whole list and must keep what people
    put there. Empty for a pool that does not exist."""
    if not isinstance(pool, MachinePool | VolumePool):
        return []
    return [
        {"key": taint.key, **({"value": taint.value} if taint.value else {}), "effect": taint.effect}
        for taint in pool.spec.taints
        if taint.key != live_layout.DRAIN
    ]


def is_draining(pool: Object | None) -> bool:
    """Whether the pool has the drain taint, with or without force."""
    return isinstance(pool, MachinePool | VolumePool) and any(
        taint.key == live_layout.DRAIN for taint in pool.spec.taints
    )


def cordon(_pool: Object | None) -> Changes:
    """Only the field: a cordon says nothing about machines that are there."""
    return {Field.UNSCHEDULABLE: True}


def uncordon(pool: Object | None) -> Changes:
    """Removes the field and the drain taint. Without the second, machines would go on leaving a pool that takes new
    ones."""
    changes: dict[Target, Value] = {Field.UNSCHEDULABLE: None}
    if is_draining(pool):
        changes[Field.TAINTS] = other_taints(pool) or None
    return changes


def drain(pool: Object | None) -> Changes:
    taint: Value = {"key": live_layout.DRAIN, "effect": "NoExecute"}
    return {Field.UNSCHEDULABLE: True, Field.TAINTS: [*other_taints(pool), taint]}


def force_drain(pool: Object | None) -> Changes:
    """A drain that may lose local disks. The word `force` is the value of the taint, so the permission is visible
    in the file and in its history."""
    taint: Value = {"key": live_layout.DRAIN, "value": FORCED, "effect": "NoExecute"}
    return {Field.UNSCHEDULABLE: True, Field.TAINTS: [*other_taints(pool), taint]}
