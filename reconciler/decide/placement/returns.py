"""Whether a machine that comes back after an undo fits beside what its pool and its quotas hold by now. Counts; decides nothing else.

It stays on the pool that has its disks, so no filter is asked: only what it used before, and was free for others while it was off.
"""

from __future__ import annotations

from collections.abc import Iterable

from reconciler.decide.need import NeedBase
from reconciler.decide.obstacles import Obstacle
from reconciler.decide.placement.quotas import quotas
from reconciler.decide.placement.schedule_input import Move, apply_move, build_cluster_state, return_moves
from reconciler.schedule.cluster_state import ClusterState
from reconciler.world.objects.object_state import ObjectState
from reconciler.world.record import Record
from reconciler.world.view import View
from schemas.live_layout import SHARE
from schemas.model.capacity import format_amount


class ReturnRoom:
    """What is free in one tick, without what the `needs` of that tick take. Each machine that fits takes its part."""

    def __init__(self, view: View, needs: Iterable[NeedBase]) -> None:
        self._view, self._needs = view, tuple(needs)
        self._made: ClusterState | None = None

    def take(self, known: ObjectState, back: Record) -> Obstacle | None:
        """Why it does not fit; else what it needs is taken. One that was never reported off is charged in full already."""
        moves = return_moves(self._view, known, back)
        if not moves:
            return None
        made = self._cluster_state(known.key.namespace)
        for move in moves:
            apply_move(self._view, made, move)
        why = shortfall(made, known, moves)
        if why is not None:
            for move in moves:
                apply_move(self._view, made, Move(move.known, move.charge, -move.sign))
        return why

    def _cluster_state(self, namespace: str) -> ClusterState:
        if self._made is None:
            self._made = build_cluster_state(self._view, (), self._needs)
            self._made.quotas = {}
        if namespace not in self._made.quotas:
            self._made.quotas = {**self._made.quotas, namespace: quotas(self._view, namespace)}
        return self._made


def shortfall(made: ClusterState, known: ObjectState, moves: Iterable[Move]) -> Obstacle | None:
    """What is less than nothing once it has come back."""
    pool = known.record.pool
    free = made.free.get(pool, {})
    taken = {SHARE} | {resource for move in moves if move.sign > 0 for resource in move.charge.vector}
    short = [
        f"{format_amount(resource, -count)}{'' if resource == SHARE else f' {resource}'} too little"
        for resource, count in sorted(free.items())
        if count < 0 and resource in taken
    ]
    if short:
        return Obstacle(
            "InsufficientCapacity",
            f"pool {pool} has no room for it by now ({', '.join(short)}); it stays off until there is room",
        )
    for quota in made.quotas.get(known.key.namespace, ()):
        over = [resource for resource, count in sorted(quota.free.items()) if count < 0]
        if over:
            return Obstacle(
                "QuotaExceeded",
                f"quota {quota.name} has no room for it by now ({', '.join(over)}); it stays off until there is room",
            )
    return None
