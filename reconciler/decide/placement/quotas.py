"""What an object uses of the quotas of its namespace, and what is left of them: by what is placed, not by what is declared.

A quota is a limit for placing, not for declaring: an object over it waits, and what is placed already stays. Amounts are in the base
units of `schemas.model.capacity`. A quota with a scope counts under its own resource names (`requests.cpu of NAME`), so that one request
can be compared with several quotas at once.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

import msgspec

from reconciler.plan.types import Change
from reconciler.schedule.cluster_state import Quota
from reconciler.world.view import View
from schemas.kinds import Key, Kind
from schemas.model import MachineClass, ResourceQuota, ResourceQuotaStatus, VolumeSpec
from schemas.model.capacity import STORAGE, Vector, needs, stocks
from schemas.model.charge import format_vector
from schemas.model.quantity import parse
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


class PlacedAmounts(NamedTuple):
    """What is placed in a namespace: objects by kind and class, bytes of volumes by class."""

    objects: Mapping[tuple[Kind, str], int]
    bytes: Mapping[str, int]


def find_placed(view: View, namespace: str) -> PlacedAmounts:
    """As `live` has it."""
    return PlacedAmounts(view.ledger.placed.get(namespace, {}), view.ledger.bytes.get(namespace, {}))


def find_placed_after(view: View, namespace: str, changes: Iterable[Change]) -> PlacedAmounts:
    """As `live` has it once these changes are written."""
    now = find_placed(view, namespace)
    objects, sizes = Counter(now.objects), Counter(now.bytes)
    classes = view.offers[Kind.MACHINE_POOL].classes
    for change in changes:
        if change.key.namespace != namespace or change.key.kind not in SCOPES:
            continue
        known, after = view.objects.get(change.key), None
        if known is not None and change.after is not None:
            after = view.ledger.charge_of(msgspec.structs.replace(known, record=change.after), classes)
        for charge, sign in ((view.ledger.charges.get(change.key), -1), (after, 1)):
            if charge is not None:
                objects[change.key.kind, charge.class_name] += sign
                if change.key.kind is Kind.VOLUME:
                    sizes[charge.class_name] += sign * charge.vector.get(STORAGE, 0)
    return PlacedAmounts(objects, sizes)


def sum_used(
    view: View, namespace: str, quota: ResourceQuota, placed: PlacedAmounts | None = None
) -> dict[str, int]:
    """What placed objects use of the quota, by resource. A class that is gone counts as a machine without resources."""
    found, total = placed or find_placed(view, namespace), dict[str, int]()
    for (kind, class_name), count in found.objects.items():
        if not count or not covers(quota, SCOPES[kind], class_name):
            continue
        if kind is Kind.MACHINE:
            size = view.objects.get(Key(Kind.MACHINE_CLASS, "", class_name))
            each = _machine(size.object) if size and isinstance(size.object, MachineClass) else {MACHINES: 1}
            vector: Vector = {resource: need * count for resource, need in each.items()}
        else:
            vector = {VOLUMES: count, "requests.storage": found.bytes.get(class_name, 0)}
        for resource, amount in vector.items():
            total[resource] = total.get(resource, 0) + amount
    return total


def quota_status(
    view: View, quota: ResourceQuota, placed: PlacedAmounts | None = None
) -> ResourceQuotaStatus:
    """The limits, and how much of each is in use by what is placed."""
    taken, used = sum_used(view, quota.namespace, quota, placed), {}
    for resource in quota.spec.hard:
        word = find_word(resource)
        plain = word.removeprefix(_REQUESTS)
        used[resource] = parse(format_vector({plain: taken.get(word, 0)})[plain])
    return ResourceQuotaStatus(hard=dict(quota.spec.hard), used=used)


def find_word(resource: str) -> str:
    """The name that use is counted by: `count/machines.compute.ironcore.dev` is `count/machines`."""
    return next((name for name in (MACHINES, VOLUMES) if resource.startswith(f"{name}.")), resource)


def _machine(size: MachineClass) -> dict[str, int]:
    return {MACHINES: 1} | {f"{_REQUESTS}{name}": need for name, need in needs(size.capabilities).items()}


def _amounts_left(view: View, namespace: str, quota: ResourceQuota) -> dict[str, int]:
    taken = sum_used(view, namespace, quota)
    free = {}
    for resource, amount in quota.spec.hard.items():
        word = find_word(resource)
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
