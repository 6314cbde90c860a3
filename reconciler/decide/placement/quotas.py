"""What an object uses of the quotas of its namespace, and what is left of them: by what is placed, not by what is declared.

A quota is a limit for placing, not for declaring: an object over it waits, and what is placed already stays. Amounts are in the base
units of `schemas.model.capacity`. A quota with a scope counts under its own resource names (`requests.cpu of NAME`), so that one request
can be compared with several quotas at once.
"""

from __future__ import annotations

from collections.abc import Iterator

from reconciler.schedule.cluster_state import Quota
from reconciler.world.view import View
from schemas.kinds import Key, Kind
from schemas.model import MachineClass, ResourceQuota, VolumeSpec
from schemas.model.capacity import Vector, needs, stocks
from schemas.validate.quota import MACHINES, VOLUMES, covers

SCOPES = {Kind.MACHINE: "MachineClass", Kind.VOLUME: "VolumeClass"}
_REQUESTS = "requests."


def machine_need(view: View, namespace: str, size: MachineClass) -> dict[str, int]:
    """What one machine of that class uses of each quota that it falls under."""
    return _with_scopes(view, namespace, Kind.MACHINE, size.name, _machine(size))


def volume_need(view: View, namespace: str, spec: VolumeSpec) -> dict[str, int]:
    name = spec.volume_class_ref.name if spec.volume_class_ref else ""
    return _with_scopes(
        view, namespace, Kind.VOLUME, name, {VOLUMES: 1, "requests.storage": spec.storage_bytes}
    )


def quotas(view: View, namespace: str) -> tuple[Quota, ...]:
    """What is left of each quota, sorted by name. It may be negative: a quota can be lowered below its use."""
    return tuple(
        Quota(quota.name, _amounts_left(view, namespace, quota)) for quota in quotas_of(view, namespace)
    )


def quotas_of(view: View, namespace: str) -> Iterator[ResourceQuota]:
    for key in sorted(view.quotas.get(namespace, ())):
        found = view.objects[key].object
        if isinstance(found, ResourceQuota):
            yield found


def sum_used(view: View, namespace: str, quota: ResourceQuota) -> dict[str, int]:
    """What placed objects use of the quota, by resource. A class that is gone counts as a machine without resources."""
    ledger, total = view.ledger, dict[str, int]()
    for (kind, class_name), count in ledger.placed.get(namespace, {}).items():
        if not count or not covers(quota, SCOPES[kind], class_name):
            continue
        if kind is Kind.MACHINE:
            size = view.objects.get(Key(Kind.MACHINE_CLASS, "", class_name))
            each = _machine(size.object) if size and isinstance(size.object, MachineClass) else {MACHINES: 1}
            vector: Vector = {resource: need * count for resource, need in each.items()}
        else:
            vector = {VOLUMES: count, "requests.storage": ledger.bytes[namespace][class_name]}
        for resource, amount in vector.items():
            total[resource] = total.get(resource, 0) + amount
    return total


def _machine(size: MachineClass) -> dict[str, int]:
    return {MACHINES: 1} | {f"{_REQUESTS}{name}": need for name, need in needs(size.capabilities).items()}


def _amounts_left(view: View, namespace: str, quota: ResourceQuota) -> dict[str, int]:
    taken = sum_used(view, namespace, quota)
    free = {}
    for resource, amount in quota.spec.hard.items():
        word = next((name for name in (MACHINES, VOLUMES) if resource.startswith(f"{name}.")), resource)
        plain = word.removeprefix(_REQUESTS)
        free[_of(word, quota)] = stocks({plain: amount})[plain] - taken.get(word, 0)
    return free


def _with_scopes(view: View, namespace: str, kind: Kind, class_name: str, need: Vector) -> dict[str, int]:
    """Once for all quotas without a scope, and once for each whose scope it falls under."""
    found = dict(need)
    for quota in quotas_of(view, namespace):
        if quota.spec.scope_selector is not None and covers(quota, SCOPES[kind], class_name):
            found |= {_of(resource, quota): amount for resource, amount in need.items()}
    return found


def _of(resource: str, quota: ResourceQuota) -> str:
    return f"{resource} of {quota.name}" if quota.spec.scope_selector is not None else resource
