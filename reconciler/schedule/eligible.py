"""The pools that requests of one sort may ever use in a pass, best first. Shared by all groups of that sort.

The static filters hold for the whole pass, so each is asked once for all pools that look the same to a request. What a pool is worth
changes as it fills, so the order is computed again once much was placed since (see the theory in `reconciler.schedule`).

Two keys must be complete, or requests would share what is not theirs:

    sort  what of a request its static filters and static score read     `EligibleCache.sort_of`
    look  what of a pool they read                                       `EligibleCache.looks_by`

A static filter or score that reads another field needs that field in its key. Where a request names pools (a pin, a past rejection, volumes
that are placed) or needs Secrets, which each host opens with a key of its own, names are part of the look, and each pool is asked.

The topology domains of a required spread are those of eligible pools. For a preferred one, pools without the label come after all others:
they have no domain whose machines could be counted.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from reconciler.schedule import filters, scores
from reconciler.schedule.cluster_state import ClusterState
from reconciler.schedule.ranking import Fills, Ranking
from reconciler.schedule.request import PoolView, Request
from schemas.model.capacity import Vector

Entry = tuple[int, int, str, int]  # crowd, -points, pool, when that was so: smallest first
Sort = tuple[object, ...]
NO_DOMAIN = ""
Looks = tuple[Mapping[str, object], Mapping[object, PoolView]]  # how each looks, and one of each look


@dataclass(frozen=True, slots=True)
class StaticFilterResult:
    """The pools that no static filter rejects, with the part of their score that does not change: `worth` by how a pool looks."""

    look_of: Mapping[str, object]
    worth: Mapping[object, int]

    def of(self, pool: str) -> int | None:
        """None where it is refused, or was not asked since the request names another."""
        return self.worth.get(self.look_of.get(pool))


@dataclass(frozen=True, slots=True)
class TopologyDomains:
    """Of the topology key, where machines are to be spread: that of each pool, those of eligible pools, and all that count for
    the skew."""

    where: Mapping[str, str]
    open: tuple[str, ...]
    counted: tuple[str, ...]


class Eligible:
    """Gives out entries, the best first, and looks no further than it is asked: few requests ever see the end.

    Several groups read one: each iterator of `of` begins at the front, and what one has read of `coming` is kept for the others.
    Entries are as of `made_at`; who reads them corrects those that are out of date.
    """

    def __init__(self, static: StaticFilterResult, domains: TopologyDomains | None, ranking: Ranking) -> None:
        self.static = static
        self.domains = domains
        self.ranking = ranking
        self.levels = ranking.levels
        self.made_at = ranking.at
        self.coming = self.entries()
        self.dealt: dict[str, list[Entry]] = {}

    def of(self, domain: str) -> Iterator[Entry]:
        """The entries of one topology domain; of all pools where there is no spread."""
        if self.domains is None:
            yield from self.entries()
            return
        dealt = self.dealt.setdefault(domain, [])
        at = 0
        while at < len(dealt) or self.deal(dealt):
            yield dealt[at]
            at += 1

    def deal(self, wanted: list[Entry]) -> bool:
        """Reads on until one comes for `wanted`; the others get theirs on the way."""
        where = self.domains.where if self.domains else {}
        for entry in self.coming:
            found = self.dealt.setdefault(where[entry[2]], [])
            found.append(entry)
            if found is wanted:
                return True
        return False

    def entries(self) -> Iterator[Entry]:
        """Sorted. Levels of the ranking are in order already; a static score mixes them, and then all must be sorted."""
        look_of, worth, at = self.static.look_of, self.static.worth, self.made_at
        if len(look_of) == 1:  # pinned, as a rule: one need not be looked for among all
            for name, look in look_of.items():
                if (extra := worth.get(look)) is not None:
                    yield 0, -self.ranking.points(name) - extra, name, at
            return
        if any(worth.values()):
            yield from sorted(
                (0, rank - extra, name, at)
                for rank, names in self.levels
                for name in names
                if (extra := worth.get(look_of.get(name))) is not None
            )
            return
        for rank, names in self.levels:
            for name in names:
                if look_of.get(name) in worth:
                    yield 0, rank, name, at


class EligibleCache:
    """Eligible pools by sort of request. One for a pass: it must not outlive the cluster state that it was made for."""

    def __init__(self, cluster: ClusterState, policy: scores.Policy) -> None:
        self.cluster = cluster
        self.policy = policy
        self.kept: dict[Sort, Eligible] = {}
        self.rankings: dict[tuple[tuple[str, int], ...], Ranking] = {}
        self.fills: Fills | None = None
        self.looks: dict[tuple[str, ...], Looks] = {}
        self.where: dict[str, Mapping[str, str]] = {}  # by topology key

    def ranking(self, charge: Vector) -> Ranking:
        """All sorts with the same charge share one: the policy reads nothing else of a request."""
        key = tuple(sorted(charge.items()))
        found = self.rankings.get(key)
        if found is None:
            self.fills = self.fills or Fills(self.cluster)
            found = self.rankings[key] = Ranking(self.fills, self.policy, charge)
        return found

    def get(self, request: Request) -> Eligible:
        """Asked once for each group. The static part is kept for the pass; the order is replaced when the ranking is newer."""
        sort, ranking = self.sort_of(request), self.ranking(request.charge)
        ranking.refresh()
        found = self.kept.get(sort)
        if found is None:
            static = self.apply_static_filters(request)
            found = self.kept[sort] = Eligible(static, self.domains(request, static), ranking)
        elif found.made_at != ranking.at:
            found = self.kept[sort] = Eligible(found.static, found.domains, ranking)
        return found

    def sort_of(self, request: Request) -> Sort:
        """Anti-affinity, priority and labels are left out: they decide by what is placed, which no static filter reads."""
        return (
            request.machine_class,
            tuple(sorted(request.charge.items())),
            request.selector,
            request.tolerations,
            request.volume_pools,
            request.rejections,
            request.pinned,
            request.secrets,
            request.spread and (request.spread.topology_key, request.spread.is_required),
        )

    def domains(self, request: Request, static: StaticFilterResult) -> TopologyDomains | None:
        """None without spread. A domain counts for the skew where the request's selector names one of its pools, even if no pool of
        it can take the request now: a cordoned zone does not make room for more in the others."""
        if request.spread is None:
            return None
        key = request.spread.topology_key
        where = self.where.get(key)
        if where is None:
            where = self.where[key] = {
                name: domain_of(self.cluster, request, name) for name in self.cluster.pools
            }
        found = {domain for name, domain in where.items() if static.of(name) is not None}
        if not request.spread.is_required:
            found.discard(
                NO_DOMAIN
            )  # no count is kept of those without the label, so they come after all others
        return TopologyDomains(
            where, tuple(sorted(found)), tuple(sorted(filters.domains_of(self.cluster, request, key) | found))
        )

    def apply_static_filters(self, request: Request) -> StaticFilterResult:
        look_of, samples = self.looking(request)
        worth = {
            look: scores.static_score(self.cluster, pool, request)
            for look, pool in samples.items()
            if self.is_eligible(pool, request)
        }
        return StaticFilterResult(look_of, worth)

    def looking(self, request: Request) -> Looks:
        """How each pool looks to the static filters, which read few labels, and one pool of each look."""
        if request.pinned or request.rejections or request.volume_pools or request.secrets:  # each is asked
            by_name: Mapping[str, PoolView] = self.cluster.pools
            if request.pinned:
                by_name = {request.pinned: by_name[request.pinned]} if request.pinned in by_name else {}
            return {name: name for name in by_name}, {name: pool for name, pool in by_name.items()}
        keys = relevant_labels(request)
        found = self.looks.get(keys)
        if found is None:
            found = self.looks[keys] = self.looks_by(keys)
        return found

    def looks_by(self, keys: tuple[str, ...]) -> Looks:
        """Numbered: what is looked up a million times is light."""
        numbers: dict[Sort, int] = {}
        samples: dict[object, PoolView] = {}
        look_of: dict[str, object] = {}
        for name, pool in self.cluster.pools.items():
            labels = [pool.labels.get(key) for key in keys]
            is_out = bool(pool.why_not_ready) or pool.has_lost_link
            look = (is_out, pool.is_cordoned, pool.taints, pool.classes, *labels)
            number = look_of[name] = numbers.setdefault(look, len(numbers))
            samples.setdefault(number, pool)
        return look_of, samples

    def is_eligible(self, pool: PoolView, request: Request) -> bool:
        """Every filter whose answer cannot change in a pass. `reachable` is dynamic only in that it takes the cluster: volume pools of
        placed volumes stay the same."""
        cluster = self.cluster
        if any(any(predicate(pool, request)) for predicate in filters.STATIC_FILTERS):
            return False
        if any(filters.reachable(cluster, pool, request)):
            return False
        spread = request.spread
        return (
            spread is None
            or not spread.is_required
            or cluster.domain(spread.topology_key, pool.name) is not None
        )


def domain_of(cluster: ClusterState, request: Request, pool: str) -> str:
    """Without spread all pools are one domain, and so are those without the label where spread is a preference."""
    spread = request.spread
    return NO_DOMAIN if spread is None else cluster.domain(spread.topology_key, pool) or NO_DOMAIN


def relevant_labels(request: Request) -> tuple[str, ...]:
    """The labels of pools that the static filters read for this request: part of how a pool looks to it."""
    keys = {key for key, _ in request.selector}
    if request.spread is not None:
        keys.add(request.spread.topology_key)
    return tuple(sorted(keys))
