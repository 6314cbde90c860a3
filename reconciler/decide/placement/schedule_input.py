"""The cluster state of one pass: every pool with what is free of it, which machines are where, and what is left of the quotas."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import TypeVar

from reconciler.decide.need import NeedBase
from reconciler.decide.placement.quotas import machine_need, quotas, volume_need
from reconciler.schedule.cluster_state import ClusterState, Resident, take
from reconciler.schedule.cluster_state import build_cluster_state as empty_cluster_state
from reconciler.schedule.decision import Predicate, Refusal
from reconciler.schedule.request import AntiAffinityRule, PoolView, Request, VolumePoolView
from reconciler.schedule.scores import Policy
from reconciler.world.objects.object_state import ObjectState
from reconciler.world.pools.capacity_ledger import Charge
from reconciler.world.pools.placement_counts import required_distance
from reconciler.world.pools.pool_state import PoolState
from reconciler.world.record import Record
from reconciler.world.view import View
from schemas.kinds import Key, Kind
from schemas.live_layout import SHARE
from schemas.model import Machine, MachineClass, Volume
from schemas.model.capacity import WHOLE_HOST, class_count
from schemas.model.charge import MACHINE
from schemas.model.part import Selector
from schemas.settings.secret_keys import SecretKeys, read_secret_keys

V = TypeVar("V", PoolView, VolumePoolView)


def policy(view: View) -> Policy:
    return Policy(view.rules.settings.scoring.policy)


def build_cluster_state(
    view: View, requests: Iterable[Request], needs: Iterable[NeedBase] = ()
) -> ClusterState:
    """What the scheduler may use: as `live` has it, changed by what this tick has decided already.

    What `needs` release is free, what they adopt or restore is used. Everything that can be counted is counted by the World's ledgers;
    here only differences are added.
    """
    requests = tuple(requests)
    keys = _host_keys(view, requests)
    made = empty_cluster_state(
        (
            replace(_view(PoolView, view, state), shares=state.shares, recipients=_recipients(keys, state))
            for _, state in sorted(view.pools.items())
        ),
        (
            replace(_volume_pool(view, state), recipients=_recipients(keys, state))
            for _, state in sorted(view.volume_pools.items())
        ),
    )
    for name, state in view.pools.items():
        take(made.free[name], _used_of(view, state))
    for name, state in view.volume_pools.items():
        take(made.volume_free[name], view.ledger.usage(state.key))
    moves = _moves(view, needs)
    for move in moves:
        _charge(view, made, move)
    _populate(view, made, requests, moves)
    made.quotas = {
        namespace: quotas(view, namespace) for namespace in {request.key.namespace for request in requests}
    }
    for move in moves:
        _grant(view, made, move)
    return made


def _host_keys(view: View, requests: Iterable[Request]) -> SecretKeys | None:
    """What hosts open Secrets with. Read from the settings only where a request needs it."""
    needs = any(each.secrets or any(volume.secrets for volume in each.volumes) for each in requests)
    return read_secret_keys(view.rules.settings) if needs else None


def _recipients(keys: SecretKeys | None, state: PoolState) -> frozenset[str]:
    """Of the host that reports the pool. Without its report, as in a checkout that has fetched none, of the host that gitvirt.yaml lets
    report it: a host has no keys but those of that file."""
    if keys is None:
        return frozenset()
    owners = keys.volume_pools if state.key.kind is Kind.VOLUME_POOL else keys.pools
    return keys.hosts.get(state.poollet or owners.owner(state.name), frozenset())


def _view(kind: type[V], view: View, state: PoolState) -> V:
    """What the scheduler asks of pools of both kinds."""
    return kind(
        name=state.name,
        allocatable=state.allocatable,
        labels=state.labels,
        taints=state.taints,
        is_cordoned=state.is_cordoned,
        why_not_ready=state.why_not_ready,
        has_lost_link=view.has_lost_link(state),
        is_destroyed=state.is_destroyed,
        is_known=state.announced is not None,
        classes=state.classes,
    )


def awaits_link(view: View, refusals: Iterable[Refusal]) -> bool:
    """Whether nothing but a lost link speaks against one of the pools: the object waits for that host, and is not called unschedulable."""
    refusals = tuple(refusals)
    lost = {name for name, state in view.volume_pools.items() if view.has_lost_link(state)}
    return all(each.pool for each in refusals) and any(
        all(reason.predicate is Predicate.LINK or reason.volume_pool in lost for reason in each.reasons)
        for each in refusals
    )


def _volume_pool(view: View, state: PoolState) -> VolumePoolView:
    reach, selector = state.reachable_from, state.machine_pool_selector
    return replace(_view(VolumePoolView, view, state), reachable_from=reach, machine_pool_selector=selector)


def _used_of(view: View, state: PoolState) -> Mapping[str, int]:
    used = view.ledger.usage(state.key)
    if state.shares is None:
        return used
    # Orphans tell what they take by class there too.
    machines = Counter(view.ledger.classes(state.key))
    for name in state.shares:
        machines[name] += used.get(class_count(MACHINE, name), 0)
    return {SHARE: sum(_share(state, name) * count for name, count in machines.items())}


def _share(state: PoolState, class_name: str) -> int:
    return (state.shares or {}).get(class_name, WHOLE_HOST + 1)


@dataclass(frozen=True, slots=True)
class Move:
    """An object that is on another pool by now than live says: `sign` is 1 where it comes, -1 where it goes."""

    known: ObjectState
    charge: Charge
    sign: int


def _moves(view: View, needs: Iterable[NeedBase]) -> list[Move]:
    classes = view.offers[Kind.MACHINE_POOL].classes
    found = []
    for need in needs:
        known = view.objects.get(need.key)
        if known is None:
            continue
        found += return_moves(view, known, need.record)
        if known.record.pool == need.record.pool:
            continue
        after = view.ledger.charge_of(_with(known, need.record), classes)
        for charge, sign in ((view.ledger.charges.get(known.key), -1), (after, 1)):
            if charge is not None:
                found.append(Move(known, charge, sign))
    return found


def return_moves(view: View, known: ObjectState, after: Record) -> list[Move]:
    """Of a machine that is charged with its disks alone, and comes back: from that charge to the whole one. None for all others."""
    before = view.ledger.charges.get(known.key)
    if known.key not in view.stopped or after.undo is not None or after.pool != known.record.pool:
        return []
    whole = view.ledger.charge_of(_with(known, after), view.offers[Kind.MACHINE_POOL].classes)
    return [Move(known, charge, sign) for charge, sign in ((before, -1), (whole, 1)) if charge is not None]


def apply_move(view: View, made: ClusterState, move: Move) -> None:
    """In the room of its pool, and in the quotas of its namespace."""
    _charge(view, made, move)
    _grant(view, made, move)


def _with(known: ObjectState, record: Record) -> ObjectState:
    return ObjectState(known.key, known.object, known.origin, record, known.source, known.live)


def _charge(view: View, made: ClusterState, move: Move) -> None:
    charge, name = move.charge, move.charge.pool.name
    if charge.pool.kind is Kind.VOLUME_POOL:
        if name in made.volume_free:
            take(made.volume_free[name], {key: move.sign * need for key, need in charge.vector.items()})
    elif name in made.free:
        state = view.pools[name]
        vector = charge.vector
        if state.shares is not None:
            vector = {SHARE: _share(state, charge.class_name)} if charge.class_name else {}
        take(made.free[name], {key: move.sign * need for key, need in vector.items()})


def _grant(view: View, made: ClusterState, move: Move) -> None:
    """What goes makes room in its namespace's quotas too."""
    namespace, object = move.known.key.namespace, move.known.object
    if isinstance(object, Volume):
        need = volume_need(view, namespace, object.spec)
    else:
        size = view.objects.get(Key(Kind.MACHINE_CLASS, "", move.charge.class_name))
        if size is None or not isinstance(size.object, MachineClass):
            return
        need = machine_need(view, namespace, size.object)
    for quota in made.quotas.get(namespace, ()):
        take(
            quota.free,
            {name: move.sign * amount for name, amount in need.items() if name in quota.free},
        )


def _resident(machine: Machine) -> Resident:
    distance = required_distance(machine)
    labels = tuple(sorted(machine.metadata.labels.items()))
    return Resident(
        machine.name, machine.namespace, labels, AntiAffinityRule(*distance) if distance else None
    )


def _populate(view: View, made: ClusterState, requests: Iterable[Request], moves: Sequence[Move]) -> None:
    """Which machines are where, for spread and anti-affinity."""
    population = view.population
    moved = [
        (each.known.key.namespace, each.known.object, each.charge.pool.name, each.sign)
        for each in moves
        if isinstance(each.known.object, Machine)
    ]

    def count(namespace: str, selector: Selector) -> Mapping[str, int]:
        found = Counter(population.count(namespace, selector))
        for there, machine, pool, sign in moved:
            if there == namespace and selector.matches(machine.metadata.labels):
                found[pool] += sign
        return found

    @cache
    def residents(pool: str) -> tuple[Resident, ...]:
        leaving = {each.known.key for each in moves if each.sign < 0 and each.charge.pool.name == pool}
        coming = {each.known.key for each in moves if each.sign > 0 and each.charge.pool.name == pool}
        on_pool = view.relations.on_pool.get(Key(Kind.MACHINE_POOL, "", pool))
        machines = (view.objects[key].object for key in sorted(({*on_pool} - leaving) | coming))
        return tuple(_resident(each) for each in machines if isinstance(each, Machine))

    made.population = count
    made.residents = residents
    made.machines = Counter(population.machines)
    for _, _, pool, sign in moved:
        made.machines[pool] += sign
    for namespace in {request.key.namespace for request in requests}:
        holding = Counter(population.holding(namespace))
        for there, machine, pool, sign in moved:
            distance = required_distance(machine)
            if there == namespace and distance is not None:
                holding[distance, pool] += sign
        for (distance, pool), holders in holding.items():
            if holders > 0 and pool in made.pools:
                made.hold(namespace, AntiAffinityRule(*distance), pool)
