"""Requests: each machine that needs a place together with its volumes that have none, and volumes that no such machine waits for."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from datetime import datetime

from reconciler.decide.need import Adopt, Need, Place
from reconciler.decide.placement.quotas import machine_need, volume_need
from reconciler.schedule.request import (
    AntiAffinityRule,
    Labels,
    PastRejection,
    Request,
    SecretNeed,
    SpreadRule,
    VolumeRequest,
)
from reconciler.world.objects.object_state import ObjectState, Origin
from reconciler.world.objects.relations import declared_pin, pin_of
from reconciler.world.record import NOTHING, Record, active_rejections
from reconciler.world.view import View
from schemas.encryption.locks import Lock
from schemas.encryption.sealed_error import SealedError
from schemas.kinds import Key, Kind
from schemas.model import (
    Machine,
    MachineClass,
    MachineSpec,
    MachineStatus,
    Secret,
    Volume,
    VolumeSpec,
    VolumeStatus,
)
from schemas.model.capacity import add
from schemas.model.charge import machine_charge, volume_charge
from schemas.validate.references import references
from schemas.validate.tree import Declaration, derived_name


def requests(view: View, decided: Iterable[Need], now: datetime) -> tuple[Request, ...]:
    """One request for each machine and each volume alone, machines first, sorted by key. A machine of a missing class has none.

    A volume that belongs to a machine's request has none of its own, or it could be placed where that machine cannot reach it. One that
    is adopted in this tick has its place: where its host reports it.
    """
    decided = tuple(decided)
    needs = {each.key: each for each in decided if isinstance(each, Place)}
    others: dict[Key, Place | Adopt] = {
        **needs,
        **{each.key: each for each in decided if isinstance(each, Adopt)},
    }
    found: list[Request] = []
    taken: set[Key] = set()
    for key in sorted(key for key in needs if key.kind is Kind.MACHINE):
        request = _machine(view, needs[key], others, now)
        if request is not None:
            found.append(request)
            taken.update(volume.key for volume in request.volumes)
    for key in sorted(key for key in needs if key.kind is Kind.VOLUME and key not in taken):
        known = view.objects.get(key)
        if known is not None and isinstance(known.object, Volume):
            volume = _volume(view, key, known.object.spec, needs[key].record, declared_pin(known), now)
            quota = volume_need(view, key.namespace, known.object.spec)
            found.append(Request(key, volumes=(volume,), near_pool=needs[key].near_pool, quota=quota))
    return tuple(found)


def _machine(view: View, need: Place, others: Mapping[Key, Place | Adopt], now: datetime) -> Request | None:
    known = view.objects.get(need.key)
    if known is None or not isinstance(known.object, Machine):
        return None
    machine = known.object
    spec, namespace = machine.spec, need.key.namespace
    size = view.objects.get(Key(Kind.MACHINE_CLASS, "", spec.machine_class_ref.name))
    if size is None or not isinstance(size.object, MachineClass):
        return None
    volumes, placed, quotas = [], set(), [machine_need(view, namespace, size.object)]
    for entry, key, volume_spec in _volumes(view, machine):
        record = _record(view, key, others)
        if record.pool:
            placed.add(record.pool)
        elif volume_spec.volume_class_ref is not None:
            there = view.objects.get(key)
            pin = volume_spec.volume_pool_ref.name if volume_spec.volume_pool_ref else ""
            if there is not None and there.origin is Origin.DECLARED:
                pin = pin_of(there.object)
            volumes.append(replace(_volume(view, key, volume_spec, record, pin, now), entry=entry))
            quotas.append(volume_need(view, namespace, volume_spec))
    return Request(
        key=need.key,
        machine_class=spec.machine_class_ref.name,
        charge=machine_charge(size.object, spec),
        priority=spec.priority,
        labels=sort_labels(machine.metadata.labels),
        selector=sort_labels(spec.machine_pool_selector),
        tolerations=spec.tolerations,
        anti_affinity=_anti_affinity(spec),
        spread=_spread(spec),
        volumes=tuple(volumes),
        volume_pools=tuple(sorted(placed)),
        rejections=_rejections(need.record, now),
        pinned=declared_pin(known),
        quota=add(quotas),
        secrets=find_secrets(view, known),
    )


def find_secrets(view: View, known: ObjectState) -> tuple[SecretNeed, ...]:
    """What a machine's host has to open: what the machine names, and the keys of the volumes that it attaches."""
    assert isinstance(known.object, Machine)
    names = {
        each.name
        for each in references(Declaration("", 0, known.key, known.object))
        if each.kind is Kind.SECRET
    }
    names |= {
        spec.encryption.secret_ref.name for _, _, spec in _volumes(view, known.object) if spec.encryption
    }
    return _needs(view, known.key.namespace, names)


def _needs(view: View, namespace: str, names: Iterable[str]) -> tuple[SecretNeed, ...]:
    """Without those in plain text, and those that no host can open: `obstacles` has these."""
    found = []
    for name in sorted(names):
        secret = view.objects.get(Key(Kind.SECRET, namespace, name))
        if secret is not None and isinstance(secret.object, Secret) and (locks := locks_of(secret.object)):
            found.append(SecretNeed(f"{namespace}/{name}", locks))
    return tuple(found)


def locks_of(secret: Secret) -> tuple[Lock, ...]:
    """Empty for what is malformed."""
    try:
        return secret.locks
    except SealedError:
        return ()


def _volumes(view: View, machine: Machine) -> Iterator[tuple[str, Key, VolumeSpec]]:
    """By entry: volumes that it names, as far as they exist, and those that its ephemeral entries generate, whether or not they exist yet."""
    for entry in machine.spec.volumes:
        if entry.volume_ref:
            key = Key(Kind.VOLUME, machine.namespace, entry.volume_ref.name)
            known = view.objects.get(key)
            if known is not None and isinstance(known.object, Volume):
                yield entry.name, key, known.object.spec
        elif entry.ephemeral:
            key = Key(Kind.VOLUME, machine.namespace, derived_name(machine, entry.name))
            yield entry.name, key, entry.ephemeral.volume_template.spec


def _record(view: View, key: Key, others: Mapping[Key, Place | Adopt]) -> Record:
    if key in others:
        return others[key].record
    known = view.objects.get(key)
    return known.record if known else NOTHING


def _volume(view: View, key: Key, spec: VolumeSpec, record: Record, pin: str, now: datetime) -> VolumeRequest:
    source = spec.data_source.volume_snapshot_ref if spec.data_source else None
    snapshot = view.objects.get(Key(Kind.VOLUME_SNAPSHOT, key.namespace, source.name)) if source else None
    return VolumeRequest(
        key=key,
        volume_class=spec.volume_class_ref.name if spec.volume_class_ref else "",
        charge=volume_charge(spec, is_counted=True),
        selector=sort_labels(spec.volume_pool_selector),
        tolerations=spec.tolerations,
        rejections=_rejections(record, now),
        pinned=pin,
        snapshot=source.name if source else "",
        snapshot_pool=snapshot.record.pool if snapshot else "",
        secrets=_needs(view, key.namespace, [spec.encryption.secret_ref.name] if spec.encryption else []),
    )


def _rejections(record: Record, now: datetime) -> tuple[PastRejection, ...]:
    status = record.status
    if not isinstance(status, MachineStatus | VolumeStatus):
        return ()
    return tuple(
        PastRejection(each.pool, each.message or each.reason)
        for each in active_rejections(status.rejections, now)
    )


def _anti_affinity(spec: MachineSpec) -> AntiAffinityRule | None:
    rule = spec.anti_affinity
    return AntiAffinityRule(rule.label_selector.selector, rule.topology_key, rule.required) if rule else None


def _spread(spec: MachineSpec) -> SpreadRule | None:
    rule = spec.spread
    if rule is None:
        return None
    is_required = rule.when_unsatisfiable == "DoNotSchedule"
    return SpreadRule(rule.label_selector.selector, rule.topology_key, rule.max_skew, is_required)


def sort_labels(labels: Mapping[str, str]) -> Labels:
    return tuple(sorted(labels.items()))
