"""Which machines stand where, as far as spread and anti-affinity ask: counted from the first question on, then kept up."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from reconciler.schedule.request import AntiAffinity
from reconciler.world.known import Known
from schemas.kinds import Key
from schemas.model import Machine
from schemas.model.selector import Selector


class Population:
    """Placed machines by namespace. A question walks a namespace once; its answer is then kept."""

    def __init__(self) -> None:
        self._placed: dict[str, dict[Key, tuple[str, dict[str, str]]]] = {}
        self._counts: dict[str, dict[Selector, Counter[str]]] = {}
        self._holding: dict[str, Counter[tuple[AntiAffinity, str]]] = {}
        self.machines: Counter[str] = Counter()

    def replace(self, before: Known | None, after: Known | None) -> None:
        for known, sign in ((before, -1), (after, 1)):
            if known is not None and known.record.pool and isinstance(known.object, Machine):
                self._count(known.key, known.record.pool, known.object, sign)

    def count(self, namespace: str, selector: Selector) -> Mapping[str, int]:
        """Machines of a namespace that the selector names, by pool."""
        asked = self._counts.setdefault(namespace, {})
        found = asked.get(selector)
        if found is None:
            placed = self._placed.get(namespace, {}).values()
            found = asked[selector] = Counter(pool for pool, labels in placed if selector.matches(labels))
        return found

    def holding(self, namespace: str) -> Mapping[tuple[AntiAffinity, str], int]:
        """Who is placed and must be kept apart from others: how many have the rule, by pool."""
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
        anti = anti_affinity(machine)
        if anti is not None and anti.is_required:
            holding = self._holding.setdefault(namespace, Counter())
            holding[anti, pool] += sign
            if not holding[anti, pool]:
                del holding[anti, pool]


def anti_affinity(machine: Machine) -> AntiAffinity | None:
    rule = machine.spec.anti_affinity
    return AntiAffinity(rule.label_selector.selector, rule.topology_key, rule.required) if rule else None
