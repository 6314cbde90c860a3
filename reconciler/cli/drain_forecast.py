"""What becomes of each machine of a pool that is about to be drained: where it goes, what it loses, and what goes nowhere.

The plan of the reconciler says it, of the fleet with the drain laid over it in memory; the scheduler says where each machine would go.

    the plan                              the line
    orders it to leave, now or in turn    moves to POOL, or STOPS and can start NOWHERE; with the disks that it loses
    does not: a person must agree first   stays, with what is only on this host, and what --force would do
    has no word about it                  leaves once its host obeys, or stays for its local disks: the host does not report, or the order is old

Limits: a forecast of this moment, as the scheduler sees it. Other commits may take the room before the machine is off.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime

from reconciler.cli.fleet_repo import FleetRepo
from reconciler.cli.mutate.forecast import forecast
from reconciler.cli.mutate.output import FileEdit
from reconciler.cli.plans import phrases
from reconciler.cli.plans.moves import MachineMove, find_moves
from reconciler.decide.decide import make_plan
from reconciler.decide.eviction import find_bound_volume
from schemas.effects.removal import list_local_disks
from schemas.kinds import Key
from schemas.model import Machine


@dataclass(frozen=True, slots=True)
class DrainForecast:
    """`volumes` are those that only the host of the pool has, by machine."""

    moves: Mapping[Key, MachineMove] = field(default_factory=dict)
    volumes: Mapping[Key, str] = field(default_factory=dict)

    def describe(self, machine: Machine, *, accepts_loss: bool) -> str:
        """What a line says after the name of a machine that does not tolerate the drain. `accepts_loss`: of its local disks."""
        move = self.moves.get(machine.key)
        disks = "; ".join(map(str, list_local_disks(machine)))
        if move is None:
            return describe_waiting(machine, disks, accepts_loss=accepts_loss)
        volume = self.volumes.get(machine.key, "")
        if move.needs_consent:
            return describe_stay(move, disks, volume)
        if move.is_held:
            return f"stays: {move.reason}"
        loss = f", loses {disks}" if disks else ""
        if move.target:
            return f"moves to {move.target}{loss}"
        return f"STOPS and can start NOWHERE{loss}: {describe_obstacle(move, volume)}"


def describe_waiting(machine: Machine, disks: str, *, accepts_loss: bool) -> str:
    """Of a machine that this plan does not order to leave: its pool does not report, or it leaves already."""
    if machine.status.evict is not None:
        return "is leaving already"
    if disks and not accepts_loss:
        return f"stays: {disks} is only on this host, and --force would DESTROY it"
    return f"leaves once its host obeys{f', and loses {disks}' if disks else ''}"


def describe_stay(move: MachineMove, disks: str, volume: str) -> str:
    """Of a machine whose data a person would have to give up, or that could not start again."""
    if disks:
        nowhere = "" if move.target else "; no other pool could take it"
        return f"stays: {disks} is only on this host, and --force would DESTROY it{nowhere}"
    what = f"volume {volume} is only on this host" if volume else move.reason
    return f"stays: {what}; --force would STOP it, and {'move it to ' + move.target if move.target else 'it could start nowhere'}"


def describe_obstacle(move: MachineMove, volume: str) -> str:
    if volume:
        return f"volume {volume} is only on this host"
    reasons = [f"{pools}: {reason}" if pools else reason for pools, reason in phrases.rows_of(move.refusals)]
    return "; ".join(reasons) or "there is no other pool"


def forecast_drain(fleet: FleetRepo, edits: Sequence[FileEdit]) -> DrainForecast:
    """Empty before there is a target branch: then nothing runs anywhere."""
    now = datetime.now(UTC)
    seen = forecast(fleet, edits, now)
    if seen is None:
        return DrainForecast()
    moves = find_moves(seen.world, make_plan(seen.world, seen.advance, now), now)
    volumes = {}
    for key, move in moves.items():
        machine = seen.world.objects[key].object
        assert isinstance(machine, Machine), "no other kind moves"
        volumes[key] = find_bound_volume(seen.world, move.source, machine)
    return DrainForecast(moves, volumes)
