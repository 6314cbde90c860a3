"""Which machines are on which pool, as far as spread and anti-affinity ask: counted from the first question on, then kept up.

A selector that no machine asks for costs nothing. Each that was asked for once is kept up from then on, for as long as the
process lives: there are as many as rules that people write, not as machines. Counts are by pool; the scheduler adds up the
pools of a topology domain. Changed by `resolve_keys` alone, with the same two states as the relations.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import NamedTuple

from reconciler.world.objects.object_state import ObjectState
from schemas.kinds import Key
from schemas.model import Machine
from schemas.model.part import Selector


class Distance(NamedTuple):
    """A required anti-affinity of a placed machine: those that `selector` names stay out of its domain of the topology key."""

    selector: Selector
    topology_key: str


class Population:
    """Placed machines by namespace. A question walks a namespace once; its answer is then kept.

    What is returned is the live count, not a copy: callers that try out placements copy it first.
    """

    def __init__(self) -> None:
        self._placed: dict[str, dict[Key, tuple[str, dict[str, str]]]] = {}
        self._counts: dict[str, dict[Selector, Counter[str]]] = {}
        self._holding: dict[str, Counter[tuple[Distance, str]]] = {}
        self.machines: Counter[str] = Counter()

    def replace(self, before: ObjectState | None, after: ObjectState | None) -> None:
        for known, sign in ((before, -1), (after, 1)):
            if known is not None and known.record.pool and isinstance(known.object, Machine):
                self._count(known.key, known.record.pool, known.object, sign)

    def count(self, namespace: str, selector: Selector) -> Mapping[str, int]:
        """How many machines of a namespace the selector names, by pool. Pools without any may be missing or zero."""
        keys = self._counts.setdefault(namespace, {})
        found = keys.get(selector)
        if found is None:
            placed = self._placed.get(namespace, {}).values()
            found = keys[selector] = Counter(pool for pool, labels in placed if selector.matches(labels))
        return found

    def holding(self, namespace: str) -> Mapping[tuple[Distance, str], int]:
        """Placed machines with a rule that keeps others away: how many have the rule, by pool."""
        return self._holding.get(namespace, {})

    def _count(self, key: Key, pool: str, machine: Machine, sign: int) -> None:
        namespace, labels = key.namespace, machine.metadata.labels
        placed = self._placed.setdefault(namespace, {})
        if sign > 0:
            placed[key] = (pool, labels)
        else:
            placed.pop(key, None)
        self.machines[pool] += sign
        for selector, counts in self._counts.get(namespace, {}).items():
            if selector.matches(labels):
                counts[pool] += sign
        if (distance := required_distance(machine)) is not None:
            holding = self._holding.setdefault(namespace, Counter())
            holding[distance, pool] += sign
            if not holding[distance, pool]:
                del holding[distance, pool]


def required_distance(machine: Machine) -> Distance | None:
    """None also for an anti-affinity that is only preferred: such a rule gives points, and keeps no machine out."""
    rule = machine.spec.anti_affinity
    return Distance(rule.label_selector.selector, rule.topology_key) if rule and rule.required else None
