"""Spread and anti-affinity must be possible with the declared pools.

Only warnings. Whether a machine finds a place depends on capacity and on other machines, which the scheduler knows; what
can be said here is that a label does not exist anywhere, or that there are fewer values of it than machines to separate.
"""

from __future__ import annotations

from collections.abc import Iterator

from schemas.model import Machine, MachinePool
from schemas.model.part import Selector
from schemas.problem import Severity
from schemas.validate.finding import Finding
from schemas.validate.inputs import ValidationPolicy
from schemas.validate.labels import label_value
from schemas.validate.tree import Declaration, Tree


def findings(tree: Tree, policy: ValidationPolicy) -> Iterator[Finding]:
    """GV335 and GV336."""
    places = TopologyValues(tree)
    for machine in tree.of(Machine).values():
        spec = machine.object.spec
        if spec.spread:
            yield from unknown_key(machine, "spread", spec.spread.topology_key, places)
        if spec.anti_affinity and spec.anti_affinity.topology_key:
            yield from unknown_key(machine, "antiAffinity", spec.anti_affinity.topology_key, places)
    if not policy.has_open_pools:  # otherwise poollets may announce more pools
        yield from too_few_values(tree, places)


class TopologyValues:
    """How many different values the declared machine pools have for a topology key. Without a key, each pool counts."""

    def __init__(self, tree: Tree) -> None:
        self.pools = tree.of(MachinePool)
        self.counts: dict[str, int] = {}

    def count(self, key: str) -> int:
        """The number of different values for a topology key."""
        if not key:
            return len(self.pools)
        if key not in self.counts:
            values = {label_value(pool.object.metadata.labels, key) for pool in self.pools.values()}
            self.counts[key] = len(values - {None})
        return self.counts[key]


def unknown_key(
    machine: Declaration[Machine], field: str, key: str, places: TopologyValues
) -> Iterator[Finding]:
    """GV335: no declared pool has the label."""
    if places.pools and not places.count(key):
        message = f"no machine pool of this repo has the label {key}"
        hint = "correct the key, or label the pools"
        yield machine.finding("GV335", f"/spec/{field}/topologyKey", message, hint, Severity.WARNING)


def too_few_values(tree: Tree, places: TopologyValues) -> Iterator[Finding]:
    """Machines with the same required rule each need a different value of the topology key."""
    groups: dict[tuple[str, str, Selector], list[Declaration[Machine]]] = {}
    for machine in tree.of(Machine).values():
        rule = machine.object.spec.anti_affinity
        if rule and rule.required:
            same = (machine.key.namespace, rule.topology_key, rule.label_selector.selector)
            groups.setdefault(same, []).append(machine)
    for (_, key, _), machines in groups.items():
        have, need = places.count(key), len(machines)
        if need > have > 0:
            what = f"values of {key}" if key else "machine pools"
            message = (
                f"antiAffinity separates {need} machines, but the pools of this repo have only {have} {what}"
            )
            hint = "add pools, or set required: false"
            found = machines[-1].finding("GV336", "/spec/antiAffinity", message, hint, Severity.WARNING)
            yield found._replace(also=tuple(sorted({machine.path for machine in machines})))
