"""What is free and which machines are where, while one pass places requests. It only ever gets fuller.

`place` is the one method that charges. The caller must have asked `fits` first: a charge is never refused here, and `free` may then be
negative. It may be negative from the start too, where a host reports less than what is assigned to it; such a pool takes nothing more.

Counts of machines (tallies) are kept by term and brought up to date with each placement, so that asking costs a look-up. A tally that is
first asked for late counts `placed` once; both ways give the same numbers. `population` is only asked once for each term.

Limits: this is memory of one pass. It reads no World, no clock and no files; `reconciler.decide` fills it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from reconciler.schedule.request import (
    AntiAffinityRule,
    Labels,
    PoolView,
    Request,
    VolumePoolView,
    VolumeRequest,
)
from reconciler.schedule.terms import Term, Terms
from schemas.live_layout import SHARE
from schemas.model.capacity import WHOLE_HOST, Vector
from schemas.model.part import Selector

Population = Callable[
    [str, Selector], Mapping[str, int]
]  # namespace, selector -> pool -> machines placed there


class Resident(NamedTuple):
    """A machine on a pool, as far as rules about other machines read it."""

    name: str
    namespace: str
    labels: Labels
    anti_affinity: AntiAffinityRule | None


Residents = Callable[[str], Iterable[Resident]]  # pool -> who was there before the pass


@dataclass(slots=True)
class Quota:
    """What a namespace may still take. Several may limit one namespace; a request must fit all of them.

    Resources that `free` does not name are not limited.
    """

    name: str
    free: dict[str, int]


def no_machines(_namespace: str, _selector: Selector) -> Mapping[str, int]:
    return {}


def no_residents(_pool: str) -> Iterable[Resident]:
    return ()


@dataclass(slots=True)
class ClusterState:
    """`free` and `volume_free` are what is left of each pool, in the base units of `schemas.model.capacity`.

    `touched` has one pool name for each machine placed in this pass, in order. Its length is the clock of the pass: indexes note it
    and read what came after it. It must only be appended to.
    """

    pools: Mapping[str, PoolView]
    volume_pools: Mapping[str, VolumePoolView] = field(default_factory=dict)
    free: dict[str, dict[str, int]] = field(default_factory=dict)
    volume_free: dict[str, dict[str, int]] = field(default_factory=dict)
    quotas: Mapping[str, tuple[Quota, ...]] = field(default_factory=dict)
    population: Population = no_machines
    residents: Residents = no_residents  # only asked to name machines in a reason
    machines: Counter[str] = field(default_factory=Counter)  # by pool, for the Spread policy
    touched: list[str] = field(default_factory=list)
    placed: list[tuple[str, Request]] = field(default_factory=list)  # pool, who
    touched_at: dict[str, int] = field(default_factory=dict)  # by pool: how many were placed then
    _tallies: dict[Term, Counter[str]] = field(default_factory=dict)
    _tallied: Terms = field(default_factory=Terms)
    _held: dict[Term, dict[str, set[str]]] = field(default_factory=dict)  # term -> domain -> pools
    _holders: Terms = field(default_factory=Terms)
    _names: dict[tuple[Term, str, object], tuple[int, frozenset[str]]] = field(default_factory=dict)
    _reaching: dict[str, tuple[VolumePoolView, ...]] = field(default_factory=dict)
    _by_reach: tuple[tuple[VolumePoolView, ...], dict[str, list[VolumePoolView]]] | None = None

    def domain(self, topology_key: str, pool: str) -> str | None:
        """The value of the topology key at a pool; without a key each pool is its own."""
        return self.pools[pool].labels.get(topology_key) if topology_key else pool

    def reaching(self, pool: PoolView) -> tuple[VolumePoolView, ...]:
        """The volume pools whose volumes can be attached at a pool, by name. Most are of one host, so few are asked."""
        found = self._reaching.get(pool.name)
        if found is None:
            wide, local = self._reach()
            near = (each for each in (*wide, *local.get(pool.name, ())) if each.reaches(pool))
            found = self._reaching[pool.name] = tuple(sorted(near, key=lambda each: each.name))
        return found

    def _reach(self) -> tuple[tuple[VolumePoolView, ...], dict[str, list[VolumePoolView]]]:
        """Volume pools that have to be asked, and those that name the pools they reach, by these."""
        if self._by_reach is None:
            wide, local = [], dict[str, list[VolumePoolView]]()
            for each in self.volume_pools.values():
                if each.machine_pool_selector or each.reachable_from is None:
                    wide.append(each)
                    continue
                for name in each.reachable_from:
                    local.setdefault(name, []).append(each)
            self._by_reach = (tuple(wide), local)
        return self._by_reach

    def hold(self, namespace: str, anti: AntiAffinityRule, pool: str) -> None:
        """A machine placed on `pool` asks for distance; that binds those who come later too.

        Called for machines that were there before the pass when the state is built, and by `place` for those of the pass."""
        if anti.is_required and (domain := self.domain(anti.topology_key, pool)) is not None:
            term = Term(namespace, anti.selector, anti.topology_key)
            self._held.setdefault(term, {}).setdefault(domain, set()).add(pool)
            self._holders.add(term)

    def tally(self, term: Term) -> Counter[str]:
        """Machines that the term counts, by domain: those that were there, and those placed since."""
        found = self._tallies.get(term)
        if found is None:
            found = Counter()
            for pool, count in self.population(term.namespace, term.selector).items():
                if pool in self.pools and (domain := self.domain(term.topology_key, pool)) is not None:
                    found[domain] += count
            for pool, request in self.placed:
                if term.counts(request.key.namespace, request.labels):
                    self._count(found, term, pool)
            self._tallies[term] = found
            self._tallied.add(term)
        return found

    def _count(self, tally: Counter[str], term: Term, pool: str) -> None:
        if (domain := self.domain(term.topology_key, pool)) is not None:
            tally[domain] += 1

    def terms(self) -> Iterable[Term]:
        """The rules of machines that are there: labels that one of these counts make requests unequal."""
        return self._held

    def held_against(self, request: Request) -> Sequence[tuple[Term, Collection[str]]]:
        """Who is there already and wants no such machine near: the term, and their domains."""
        if not self._held:
            return ()
        return [
            (term, self._held[term].keys())
            for term in self._holders.counting(request.key.namespace, request.labels)
        ]

    def name_counted(self, term: Term, domain: str) -> frozenset[str]:
        """The machines in a domain that the term counts, by name. For messages: a decision asks `tally`."""
        return self._name(term, domain, counts)

    def name_holders(self, term: Term, domain: str) -> frozenset[str]:
        """The machines in a domain whose own rule the term is of. For messages: a decision asks `held_against`."""
        return self._name(term, domain, holds)

    def _name(self, term: Term, domain: str, is_meant: Callable[[Term, Resident], bool]) -> frozenset[str]:
        """A walk over the machines of the domain, once until another machine is placed."""
        clock, names = self._names.get((term, domain, is_meant), (-1, frozenset()))
        if clock != len(self.placed):
            names = frozenset(
                each.name for each in self._residents_of(term.topology_key, domain) if is_meant(term, each)
            )
            self._names[term, domain, is_meant] = (len(self.placed), names)
        return names

    def _residents_of(self, topology_key: str, domain: str) -> Iterator[Resident]:
        for pool in self.pools:
            if self.domain(topology_key, pool) == domain:
                yield from self.residents(pool)
        for pool, request in self.placed:
            if self.domain(topology_key, pool) == domain:
                key = request.key
                yield Resident(key.name, key.namespace, request.labels, request.anti_affinity)

    def charge(self, pool: str, request: Request) -> Vector:
        """What the request takes there: the vector, or a share of the host where the pool tells class counts only."""
        shares = self.pools[pool].shares
        return (
            request.charge if shares is None else {SHARE: shares.get(request.machine_class, WHOLE_HOST + 1)}
        )

    def quota_of(self, request: Request) -> tuple[Quota, ...]:
        """Quotas that limit the request: those of its namespace, and none if it uses nothing that a quota counts."""
        return self.quotas.get(request.key.namespace, ()) if request.quota else ()

    def place(self, request: Request, pool: str, volumes: Iterable[tuple[VolumeRequest, str]]) -> None:
        """Charges the request. The caller has asked `fits` before.

        `pool` is empty for a volume alone. All that changes in a pass changes here, so that no index misses a placement."""
        if pool:
            take(self.free[pool], self.charge(pool, request))
            self.machines[pool] += 1
            self.touched.append(pool)
            self.touched_at[pool] = len(self.touched)
            for term in self._tallied.counting(request.key.namespace, request.labels):
                self._count(self._tallies[term], term, pool)
            self.placed.append((pool, request))
            if request.anti_affinity is not None:
                self.hold(request.key.namespace, request.anti_affinity, pool)
        for volume, volume_pool in volumes:
            take(self.volume_free[volume_pool], volume.charge)
        for quota in self.quota_of(request):
            take(quota.free, {name: need for name, need in request.quota.items() if name in quota.free})

    def without_pool(self, name: str) -> ClusterState:
        """The same cluster before anything was placed in a pass, had it never had that pool: what is free and who is where on all others.

        For the question what would become of its machines. Charges of one copy do not change the other."""
        made = ClusterState(
            pools={other: pool for other, pool in self.pools.items() if other != name},
            volume_pools=self.volume_pools,
            free={other: dict(free) for other, free in self.free.items() if other != name},
            volume_free={other: dict(free) for other, free in self.volume_free.items()},
            population=self.population,
            residents=self.residents,
            machines=Counter(self.machines),
        )
        only = {name}
        for term, domains in self._held.items():
            if kept := {domain: set(pools) for domain, pools in domains.items() if pools != only}:
                made._held[term] = kept
                made._holders.add(term)
        return made


def counts(term: Term, machine: Resident) -> bool:
    return term.counts(machine.namespace, machine.labels)


def holds(term: Term, machine: Resident) -> bool:
    rule = machine.anti_affinity
    is_required = rule is not None and rule.is_required
    return (
        rule is not None and is_required and term == Term(machine.namespace, rule.selector, rule.topology_key)
    )


def take(free: dict[str, int], charge: Vector) -> None:
    """Also below zero, and with a negative charge to add: the sums of volumes before are kept this way."""
    for resource, need in charge.items():
        free[resource] = free.get(resource, 0) - need


def build_cluster_state(
    pools: Iterable[PoolView],
    volume_pools: Iterable[VolumePoolView] = (),
    used: Mapping[str, Vector] | None = None,
    volume_used: Mapping[str, Vector] | None = None,
) -> ClusterState:
    """A cluster whose pools are as full as `used` says. Charges of pools that do not exist are passed over."""
    machine_pools = {pool.name: pool for pool in pools}
    storage_pools = {pool.name: pool for pool in volume_pools}
    result = ClusterState(pools=machine_pools, volume_pools=storage_pools)
    result.free = {name: dict(pool.allocatable) for name, pool in machine_pools.items()}
    result.volume_free = {name: dict(pool.allocatable) for name, pool in storage_pools.items()}
    for free, charges in ((result.free, used), (result.volume_free, volume_used)):
        for name, charge in (charges or {}).items():
            if name in free:
                take(free[name], charge)
    return result
