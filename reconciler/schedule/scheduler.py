"""Deciding all requests of a pass, and explaining one of them. The package says why both give the same answer.

`schedule` is called once in a tick, with every request (`reconciler.decide.decide`), and charges the cluster state as it goes. `explain` charges
nothing; `gitvirt explain` and the refusals of a decision come from it. A request is decided with what was placed before it in the pass,
so its refusals may name room that a request of higher priority has just taken.

Once a request of a run is refused, the rest of its run is refused as well: they are equal, and nothing makes room.

A full scan of all pools is what a refusal costs. So refusals are kept by all that their rows may say (`RefusalCache`) until something is placed:
2,000 machines that differ in their names alone, and in those of their volumes, are explained once, and have one tuple of rows.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from operator import attrgetter, itemgetter

from reconciler.schedule import filters
from reconciler.schedule.candidates import Candidates
from reconciler.schedule.cluster_state import ClusterState
from reconciler.schedule.decision import Decision, Placed, Predicate, Reason, Refusal, Score, Unschedulable
from reconciler.schedule.eligible import EligibleCache
from reconciler.schedule.request import PoolView, Request, VolumeRequest
from reconciler.schedule.scores import Policy, score
from reconciler.schedule.terms import Terms, terms_of
from reconciler.schedule.volumes import bind, by_size, name_of, unbound
from schemas.kinds import Key
from schemas.model.capacity import fits

Signature = tuple[object, ...]
Shape = tuple[Signature, Signature]  # what pools are asked, and what quotas are asked
Run = tuple[Shape, list[Request]]  # the shape that its requests have in common
key_of = attrgetter("key")


def schedule(
    requests: Iterable[Request],
    on: ClusterState,
    policy: Policy = Policy.MOST_FREE,
    *,
    is_explained: bool = True,
) -> tuple[Decision, ...]:
    """Decides all requests and charges `on` for those placed. Higher priority first, then the larger, equal ones together, by key.

    Without `is_explained` no refusal has a row, for callers that only ask what fits."""
    decisions: list[Decision] = []
    cache, why = EligibleCache(on, policy), RefusalCache(on, policy)
    for shape, run in queue(requests, on):
        candidates = Candidates(run[0], cache) if run[0].machine_class else None
        is_refused = False
        for request in run:
            found = None if is_refused else decide(request, on, policy, candidates)
            if found is None:
                is_refused = True  # nothing makes room before the next of its kind
                decisions.append(
                    Unschedulable(request.key, why.explain(request, shape) if is_explained else ())
                )
            else:
                why.clear()
                decisions.append(found)
    return tuple(decisions)


@dataclass(slots=True)
class RefusalCache:
    """Refusals of requests that read alike, while the cluster stays as it is. Equal requests get the same tuple, not a copy."""

    cluster: ClusterState
    policy: Policy
    found: dict[Signature, tuple[Refusal, ...]] = field(default_factory=dict)

    def explain(self, request: Request, shape: Shape) -> tuple[Refusal, ...]:
        """`shape` has what requests of one run have in common; the words of past rejections may differ within it. Who is not over a quota has
        the rows of pools alone, which no quota is in: equal machines of many namespaces are explained once."""
        if over := over_quota(request, self.cluster):
            return self.found.setdefault(shape, (over,))
        rejections = (*request.rejections, *(each for one in request.volumes for each in one.rejections))
        words = tuple(each.reason for each in rejections)
        rows = self.found.get((shape[0], words))
        if rows is None:
            rows = self.found[shape[0], words] = refusals(request, self.cluster, self.policy)
        return rows

    def clear(self) -> None:
        """Something was placed, so what is free and who is where has changed."""
        self.found.clear()


def decide(
    request: Request, on: ClusterState, policy: Policy, candidates: Candidates | None
) -> Placed | None:
    """None for a request that is refused. `candidates` are those of the request's group; None for a volume alone.

    Quota comes first and alone: no pool could cure it, and a person must."""
    if over_quota(request, on):
        return None
    if candidates is None:
        return place_volume(request, on)
    found = candidates.take(request)
    if found is None:
        return None
    pool, by_policy, volumes = found
    points = score(on, on.pools[pool], request, policy, by_policy)
    on.place(request, pool, volumes)
    return Placed(request.key, pool, tuple((volume.key, where) for volume, where in volumes), points)


def place_volume(request: Request, on: ClusterState) -> Placed | None:
    """A volume that no unplaced machine waits for."""
    near_pool = on.pools.get(request.near_pool)
    bound = bind(on, near_pool, request.volumes) if near_pool or not request.near_pool else None
    if bound is None:
        return None
    on.place(request, "", bound)
    return Placed(request.key, "", tuple((volume.key, where) for volume, where in bound), Score(0, ()))


@dataclass(frozen=True, slots=True)
class Fit:
    """A pool that can take the request, and what it is worth."""

    pool: str
    score: Score


def explain(
    request: Request, on: ClusterState, policy: Policy = Policy.MOST_FREE
) -> tuple[Fit | Refusal, ...]:
    """One row a pool: what it is worth, or everything that speaks against it. The same predicates that `schedule` asks."""
    rows: list[Fit | Refusal] = []
    if over := over_quota(request, on):
        rows.append(over)
    if not request.machine_class:
        return (*rows, *volume_rows(request, on))
    if not on.pools:
        rows.append(Refusal("", (Reason(Predicate.NO_POOLS, "there are no machine pools"),)))
    if request.pinned and request.pinned not in on.pools:
        rows.append(
            Refusal(
                request.pinned,
                (Reason(Predicate.PINNED, f"machinePoolRef names {request.pinned}, which does not exist"),),
            )
        )
    for pool in on.pools.values():
        reasons = tuple(rejection_reasons(request, on, pool))
        rows.append(
            Refusal(pool.name, reasons) if reasons else Fit(pool.name, score(on, pool, request, policy))
        )
    return tuple(rows)


def refusals(request: Request, on: ClusterState, policy: Policy) -> tuple[Refusal, ...]:
    """A full scan of all pools, with every filter. Costly, so `schedule` keeps it for requests that read alike (`RefusalCache`).

    The request is not over a quota: it would be told that alone."""
    return tuple(row for row in explain(request, on, policy) if isinstance(row, Refusal))


def rejection_reasons(request: Request, on: ClusterState, pool: PoolView) -> Iterator[Reason]:
    """All that speaks against one pool; nothing exactly where `schedule` would accept it."""
    for static in filters.STATIC_FILTERS:
        yield from static(pool, request)
    for dynamic in filters.DYNAMIC_FILTERS:
        yield from dynamic(on, pool, request)
    if request.volumes:
        yield from unbound(on, pool, request.volumes)


def volume_rows(request: Request, on: ClusterState) -> Iterator[Fit | Refusal]:
    """Rows for a volume without an unplaced machine: they name volume pools, or the machine pool that is missing."""
    if not on.volume_pools:
        yield Refusal("", (Reason(Predicate.NO_POOLS, "there are no volume pools"),))
    near_pool = on.pools.get(request.near_pool)
    if request.near_pool and near_pool is None:
        message = f"its machine is on {request.near_pool}, which does not exist"
        yield Refusal(request.near_pool, (Reason(Predicate.VOLUME, message),))
        return
    for volume in request.volumes:
        for volume_pool in on.volume_pools.values():
            reasons = tuple(filters.volume_reasons(on, volume_pool, near_pool, volume))
            yield Refusal(volume_pool.name, reasons) if reasons else Fit(volume_pool.name, Score(0, ()))


def over_quota(request: Request, on: ClusterState) -> Refusal | None:
    """A refusal without a pool, with every resource of every quota that is short."""
    reasons = []
    for quota in on.quota_of(request):
        limited = {resource: need for resource, need in request.quota.items() if resource in quota.free}
        for short in fits(limited, quota.free):
            reasons.append(
                Reason(
                    Predicate.QUOTA,
                    f"quota {quota.name} of namespace {request.key.namespace}",
                    short.resource,
                    filters.quota_amount(short.resource, short.need),
                    filters.quota_amount(short.resource, max(0, short.have)),
                )
            )
    return Refusal("", tuple(reasons)) if reasons else None


def queue(requests: Iterable[Request], on: ClusterState) -> list[Run]:
    """Runs of equal requests, in the order of decision. Larger ones first, because what is left after small ones may hold
    no large one."""
    requests = tuple(requests)
    wanted_terms = dict.fromkeys(term for request in requests for term in terms_of(request))
    for term in wanted_terms:
        on.tally(term)  # from the beginning on, which costs least
    terms = Terms((*on.terms(), *wanted_terms))
    grouped: dict[tuple[int, Key | None, Shape], list[Request]] = {}
    for request in requests:
        only = request.key if request.volumes else None  # its volumes have names of their own
        grouped.setdefault((request.priority, only, shape_of(request, terms)), []).append(request)
    runs: list[tuple[tuple[int, int, int, Key], Run]] = []
    for (priority, _, shape), members in grouped.items():
        members.sort(key=key_of)
        charge = members[0].charge
        rank = (-priority, -charge.get("memory", 0), -charge.get("cpu", 0), members[0].key)
        runs.append((rank, (shape, members)))
    runs.sort(key=itemgetter(0))
    return [run for _, run in runs]


def shape_of(request: Request, terms: Terms) -> Shape:
    """What makes requests equal to the scheduler, but for the names of volumes: to pools, and to quotas. Of the labels that is only who
    counts them.

    The priority is not in it, since `queue` groups by that too, and a namespace only where a rule or a quota reads it. The words of
    rejections are not in it: no message decides who is placed first."""
    counted = terms.counting(request.key.namespace, request.labels)
    to_pools = (
        request.key.namespace if request.anti_affinity or request.spread else "",
        tuple(volume_shape(volume) for volume in by_size(request.volumes)),
        request.machine_class,
        tuple(sorted(request.charge.items())),
        counted,
        request.selector,
        request.tolerations,
        request.anti_affinity,
        request.spread,
        request.volume_pools,
        request.near_pool,
        request.rejections,
        request.pinned,
        request.secrets,
    )
    quota = request.quota
    return to_pools, (request.key.namespace, tuple(sorted(quota.items()))) if quota else ()


def volume_shape(volume: VolumeRequest) -> Signature:
    """All that a reason may say about a volume: its entry in the machine in place of its name."""
    return (
        name_of(volume),
        volume.volume_class,
        tuple(sorted(volume.charge.items())),
        volume.selector,
        volume.tolerations,
        volume.rejections,
        volume.pinned,
        volume.snapshot,
        volume.snapshot_pool,
        volume.secrets,
    )
