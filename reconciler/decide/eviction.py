"""Whether a placed machine has to leave its pool, and whether it may. Pure; `decide.order_evictions` says which one goes first.

    cause                                             when                            data on the host
    people want it recreated                          its annotation names the         counts as accepted
                                                      present assignment
    people pinned it to another pool                  that pool can take it           must be accepted as lost
    NoExecute taint that it does not tolerate         at once                         must be accepted as lost
    NoExecute taint with tolerationSeconds            when the seconds are over       must be accepted as lost
    drain, with the value `force`                     as the taint                    counts as accepted

Accepted: `drain --force`, `onPoolLost: Replace` in the machine, or for one move by a pin the annotation that names its assignment. Only machines are evicted; volumes keep their pool.

Must never happen: an eviction destroys local data that no person gave up; a machine leaves a pool for one that cannot take it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from reconciler.decide.references import volumes_of
from reconciler.world.view import View
from schemas import live_layout
from schemas.effects.context import EffectContext
from schemas.effects.effect import Moves
from schemas.effects.field_change import FieldChange
from schemas.effects.rules import effect_of
from schemas.kinds import Key, Kind
from schemas.model import Machine
from schemas.model.part import Taint, Toleration
from schemas.validate.labels import untolerated_taint

FORCED = "force"
PINNED = "PinnedElsewhere"


@dataclass(frozen=True, slots=True)
class EvictionCause:
    """Why a machine has to leave. `after_seconds` is how long it is tolerated; `is_forced` says that local data may be lost."""

    reason: str
    message: str
    after_seconds: int = 0
    is_forced: bool = False


def eviction_cause(machine: Machine, pool: str, pin: str, taints: Sequence[Taint]) -> EvictionCause | None:
    """The cause that applies first: a pin to another pool, then the taint that is tolerated for the shortest time.

    If one of several taints is a forced drain, the loss of data is accepted whichever taint comes first.
    """
    if is_order_to_move(pool, pin):
        return EvictionCause(PINNED, f"machinePoolRef names {pin} now")
    causes = [
        found
        for taint in taints
        if taint.effect == "NoExecute" and (found := taint_cause(taint, machine.spec.tolerations))
    ]
    if not causes:
        return None
    first = min(causes, key=lambda cause: cause.after_seconds)
    forced = any(cause.is_forced for cause in causes)
    return EvictionCause(first.reason, first.message, first.after_seconds, forced)


HELD = "RecreationHeld"  # condition Eviction: it stays, because it could not be created again


def recreation_cause(machine: Machine, assignment: str) -> EvictionCause | None:
    """An order to leave that people gave for this very assignment; the next one is another, so it is carried out once."""
    if machine.metadata.annotations.get(live_layout.RECREATE) != assignment:
        return None
    return EvictionCause("Recreated", f"RECREATE, as {live_layout.RECREATE} orders", is_forced=True)


def is_order_to_move(pool: str, pin: str) -> bool:
    """Whether people pinned a machine on `pool` to another one. The same rule says in a plan that such a change moves the machine."""
    change = FieldChange(Kind.MACHINE, ("spec", "machinePoolRef", "name"), None, pin or None)
    return isinstance(effect_of(change, EffectContext(pool=pool)), Moves)


def taint_cause(taint: Taint, tolerations: Sequence[Toleration]) -> EvictionCause | None:
    """A toleration without seconds tolerates for ever; of several with seconds the shortest counts."""
    matching = [each.toleration_seconds for each in tolerations if each.tolerates(taint)]
    if any(seconds is None for seconds in matching):
        return None
    seconds = min((max(0, each) for each in matching if each is not None), default=0)
    if taint.key == live_layout.DRAIN:
        return EvictionCause("Drained", "its pool is being drained", seconds, taint.value == FORCED)
    value = f"={taint.value}" if taint.value else ""
    return EvictionCause("TaintNotTolerated", f"its pool has the taint {taint.key}{value}:NoExecute", seconds)


def find_bound_volume(view: View, pool: str, machine: Machine) -> str:
    """The first volume of the machine that this machine pool alone reaches: it is on the pool's host, and stays there. Empty for none."""
    for key in volumes_of(machine):
        volume = view.objects.get(key)
        where = view.volume_pools.get(volume.record.pool) if volume is not None else None
        if where and where.reachable_from == frozenset({pool}) and not where.machine_pool_selector:
            return key.name
    return ""


def accepts_data_loss(machine: Machine, cause: EvictionCause, assignment: str = "") -> bool:
    """Whether people accepted, in the drain or in the machine, that what is on the host may be lost. For a move by a pin they may accept
    it once: for that very assignment."""
    is_move = cause.reason == PINNED and consents_to_move(machine, assignment)
    return cause.is_forced or machine.spec.on_pool_lost == "Replace" or is_move


def consents_to_move(machine: Machine, assignment: str) -> bool:
    """Whether people accept that the machine loses its local disks when a pin ends this assignment."""
    return bool(assignment) and machine.metadata.annotations.get(live_layout.MOVE_CONSENT) == assignment


def why_pool_rejects(view: View, key: Key, machine: Machine, pin: str) -> str:
    """Why the pool that people pinned the machine to cannot take it now, or an empty text. The machine then stays where it is.

    The message has no amounts: they change with each placement, and the condition would be written with each tick. Volumes that
    the machine would leave behind are not looked at; `machine.drain` asks about those.
    """
    pool = view.pools.get(pin)
    if pool is None:
        return f"pool {pin} does not exist"
    if pool.why_not_ready:
        return f"pool {pin} is not ready: {pool.why_not_ready}"
    if pool.is_cordoned:
        return f"pool {pin} is cordoned"
    if taint := untolerated_taint(pool.taints, machine.spec.tolerations):
        return f"pool {pin} has the taint {taint}"
    name = machine.spec.machine_class_ref.name
    if name not in pool.classes:
        return f"pool {pin} does not offer class {name}"
    return f"pool {pin} has no room for it" if view.shortfalls(key, pin) else ""
