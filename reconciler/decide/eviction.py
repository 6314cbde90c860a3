"""Whether a placed machine has to leave its pool, and whether it may. Pure; who goes first is decided elsewhere."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from schemas import live_layout
from schemas.model import Machine
from schemas.model.part import Taint, Toleration

FORCED = "force"


@dataclass(frozen=True, slots=True)
class Expulsion:
    """`after_seconds` of being tolerated. `is_forced` says that local data may be lost."""

    reason: str
    message: str
    after_seconds: int = 0
    is_forced: bool = False


def expulsion(machine: Machine, pool: str, pin: str, taints: Sequence[Taint]) -> Expulsion | None:
    """The first cause to leave: people pinned it elsewhere, or a NoExecute taint that it tolerates no longer."""
    if pin and pin != pool:
        return Expulsion("PinnedElsewhere", f"machinePoolRef names {pin} now")
    causes = [
        found
        for taint in taints
        if taint.effect == "NoExecute" and (found := expelled(taint, machine.spec.tolerations))
    ]
    if not causes:
        return None
    first = min(causes, key=lambda cause: cause.after_seconds)
    forced = any(cause.is_forced for cause in causes)
    return Expulsion(first.reason, first.message, first.after_seconds, forced)


def expelled(taint: Taint, tolerations: Sequence[Toleration]) -> Expulsion | None:
    """A toleration without seconds tolerates for ever; of several with seconds the shortest counts."""
    matching = [each.toleration_seconds for each in tolerations if each.tolerates(taint)]
    if any(seconds is None for seconds in matching):
        return None
    seconds = min((max(0, each) for each in matching if each is not None), default=0)
    if taint.key == live_layout.DRAIN:
        return Expulsion("Drained", "its pool is being drained", seconds, taint.value == FORCED)
    value = f"={taint.value}" if taint.value else ""
    return Expulsion("TaintNotTolerated", f"its pool has the taint {taint.key}{value}:NoExecute", seconds)


def has_local_disk(machine: Machine) -> bool:
    return any(disk.local_disk is not None for disk in machine.spec.volumes)


def consents(machine: Machine, cause: Expulsion) -> bool:
    """Whether people said that what is on the host may be lost."""
    return cause.is_forced or machine.spec.on_pool_lost == "Replace"
