"""The needs of a namespace's objects must not exceed its quotas. Reports every excess, with need and quota.

Counts in billionths of a unit, in which quantities are exact, and compares sums: a namespace may have several quotas with
different scopes, and each is checked by itself. Counted is what is declared, placed or not, powered on or not. The
reconciler enforces the same limits when it places objects; here people learn of them before they merge.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from typing import TypeAlias

from schemas.model import Machine, MachineClass, ResourceQuota, ScopeRequirement, Volume
from schemas.model.quantity import NANO, Quantity
from schemas.problem import json_pointer
from schemas.validate.finding import Finding
from schemas.validate.tree import Declaration, Tree

# By namespace, class and resource, in billionths of a unit.
Needs: TypeAlias = dict[str, dict[str, dict[str, int]]]

MACHINES, VOLUMES = "count/machines", "count/volumes"


def findings(tree: Tree) -> Iterator[Finding]:
    """GV501, for each quota and resource."""
    quotas = tree.of(ResourceQuota)
    if not quotas:
        return
    machines = machines_by_class(tree)
    volumes = volumes_by_class(tree)
    for quota in quotas.values():
        namespace = quota.key.namespace
        used: dict[str, int] = defaultdict(int)
        for scope, needs in (("MachineClass", machines), ("VolumeClass", volumes)):
            for class_name, charges in needs[namespace].items():
                if covers(quota.object, scope, class_name):
                    for resource, nano in charges.items():
                        used[resource] += nano
        yield from excesses(tree, quota, used)


def machines_by_class(tree: Tree) -> Needs:
    """Machines that are off count too, because they can be started at any time."""
    counts = Counter(
        (machine.key.namespace, machine.object.spec.machine_class_ref.name)
        for machine in tree.of(Machine).values()
    )
    needs: Needs = defaultdict(dict)
    for (namespace, class_name), count in counts.items():
        size = tree.of(MachineClass).get(("", class_name))
        amounts = size.object.capabilities.items() if size else ()
        needs[namespace][class_name] = {f"requests.{name}": amount.nano * count for name, amount in amounts}
        needs[namespace][class_name][MACHINES] = count * NANO
    return needs


def volumes_by_class(tree: Tree) -> Needs:
    """Declared and ephemeral volumes."""
    needs: Needs = defaultdict(lambda: defaultdict(lambda: {VOLUMES: 0, "requests.storage": 0}))
    for source in tree.volume_sources:
        reference, resources = source.spec.volume_class_ref, source.spec.resources
        charges = needs[source.entry.key.namespace][reference.name if reference else ""]
        charges[VOLUMES] += NANO
        charges["requests.storage"] += resources.storage.nano if resources else 0
    return needs


def covers(quota: ResourceQuota, scope: str, class_name: str) -> bool:
    """Whether objects of a class fall under the quota."""
    selector = quota.spec.scope_selector
    return selector is None or all(
        expression.scope_name == scope and in_scope(expression, class_name)
        for expression in selector.match_expressions
    )


def in_scope(expression: ScopeRequirement, class_name: str) -> bool:
    """Whether one expression of a scope matches a class."""
    match expression.operator:
        case "In":
            return class_name in expression.values
        case "NotIn":
            return class_name not in expression.values
        case "Exists":
            return class_name != ""
        case "DoesNotExist":
            return class_name == ""


def excesses(tree: Tree, quota: Declaration[ResourceQuota], used: dict[str, int]) -> Iterator[Finding]:
    """GV501, for each limit of one quota."""
    namespace = quota.key.namespace
    for resource, hard in quota.object.spec.hard.items():
        charged = next((name for name in (MACHINES, VOLUMES) if resource.startswith(f"{name}.")), resource)
        need = Quantity(used[charged], hard.notation)
        if need > hard:
            yield quota.finding(
                "GV501",
                json_pointer(("spec", "hard", resource)),
                f"namespace {namespace} needs {need} of {resource}; its quota is {hard}",
                "reduce the needs, remove objects, or raise the quota",
            )._replace(also=users(tree, namespace))


def users(tree: Tree, namespace: str) -> tuple[str, ...]:
    """The files of the objects that the quota counts."""
    paths = {each.path for each in tree.of(Machine).values() if each.key.namespace == namespace}
    return tuple(paths | {each.path for each in tree.of(Volume).values() if each.key.namespace == namespace})
