"""Whether a pool can take a request: one predicate a function, each giving every reason it has.

STATIC_FILTERS hold for a whole pass; DYNAMIC_FILTERS look at what is free and placed by now.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from reconciler.schedule.cluster_state import ClusterState
from reconciler.schedule.decision import Predicate, Reason
from reconciler.schedule.request import PoolView, Request, VolumePoolView, VolumeRequest
from reconciler.schedule.terms import Term
from schemas.model.capacity import Vector, fits, format_amount

Reasons = Iterable[Reason]
Placeable = Request | VolumeRequest


def ready(pool: PoolView, _request: Placeable) -> Reasons:
    if pool.why_not_ready:
        yield Reason(Predicate.READY, pool.why_not_ready)


def cordon(pool: PoolView, _request: Placeable) -> Reasons:
    if pool.is_cordoned:
        yield Reason(Predicate.CORDON, "it is cordoned (spec.unschedulable)")


def taints(pool: PoolView, request: Placeable) -> Reasons:
    for taint in pool.taints:
        if taint.effect != "PreferNoSchedule" and not any(
            one.tolerates(taint) for one in request.tolerations
        ):
            value = f"={taint.value}" if taint.value else ""
            name = f"{taint.key}{value}:{taint.effect}"
            yield Reason(Predicate.TAINT, f"taint {name} is not tolerated", taint=name)


def selector(pool: PoolView, request: Placeable) -> Reasons:
    for key, value in request.selector:
        if pool.labels.get(key) != value:
            found = pool.labels.get(key, "no such label")
            yield Reason(Predicate.SELECTOR, f"label {key} differs", key, value, found)


def offers(pool: PoolView, request: Placeable) -> Reasons:
    name = request.machine_class if isinstance(request, Request) else request.volume_class
    if pool.is_known and name not in pool.classes:
        yield Reason(Predicate.CLASS, f"it does not offer the class {name}")


def rejections(pool: PoolView, request: Placeable) -> Reasons:
    for rejection in request.rejections:
        if rejection.pool == pool.name:
            yield Reason(Predicate.REJECTED, rejection.reason)


def pin(pool: PoolView, request: Placeable) -> Reasons:
    if request.pinned and request.pinned != pool.name:
        ref = "machinePoolRef" if isinstance(request, Request) else "volumePoolRef"
        yield Reason(Predicate.PINNED, f"{ref} names {request.pinned}")


STATIC_FILTERS: tuple[Callable[[PoolView, Placeable], Reasons], ...] = (
    pin,
    ready,
    cordon,
    taints,
    selector,
    offers,
    rejections,
)


def capacity(cluster: ClusterState, pool: PoolView, request: Request) -> Reasons:
    return shortfalls(pool, cluster.charge(pool.name, request), cluster.free[pool.name])


def reachable(cluster: ClusterState, pool: PoolView, request: Request) -> Reasons:
    """Volumes that are placed already bind the machine to where they can be attached."""
    for name in request.volume_pools:
        volume_pool = cluster.volume_pools.get(name)
        if volume_pool is None:
            yield Reason(Predicate.VOLUME, f"its volume pool {name} does not exist")
        elif not volume_pool.reaches(pool):
            yield Reason(Predicate.VOLUME, f"volumes of {name} cannot be attached here")


def anti_affinity(cluster: ClusterState, pool: PoolView, request: Request) -> Reasons:
    anti = request.anti_affinity
    if anti is not None and anti.is_required:
        domain = cluster.domain(anti.topology_key, pool.name)
        if (
            domain is not None
            and cluster.tally(Term(request.key.namespace, anti.selector, anti.topology_key))[domain]
        ):
            yield Reason(
                Predicate.ANTI_AFFINITY,
                f"{where(anti.topology_key, domain)} has a machine that it must keep apart from",
            )
    for term, domains in cluster.held_against(request):
        if (domain := cluster.domain(term.topology_key, pool.name)) in domains and domain is not None:
            yield Reason(
                Predicate.ANTI_AFFINITY,
                f"{where(term.topology_key, domain)} has a machine that must keep apart from it",
            )


def spread(cluster: ClusterState, pool: PoolView, request: Request) -> Reasons:
    """Eligible domains are those of pools that the selector of the request names."""
    rule = request.spread
    if rule is None or not rule.is_required:
        return
    domain = cluster.domain(rule.topology_key, pool.name)
    if domain is None:
        yield Reason(Predicate.SPREAD, f"it has no label {rule.topology_key}")
        return
    counts = cluster.tally(Term(request.key.namespace, rule.selector, rule.topology_key))
    least = min(counts[value] for value in domains_of(cluster, request, rule.topology_key) | {domain})
    skew = counts[domain] + rule.selector.matches(dict(request.labels)) - least
    if skew > rule.max_skew:
        yield Reason(
            Predicate.SPREAD,
            f"{where(rule.topology_key, domain)} would have {skew} more than the emptiest",
            "maxSkew",
            str(skew),
            str(rule.max_skew),
        )


DYNAMIC_FILTERS: tuple[Callable[[ClusterState, PoolView, Request], Reasons], ...] = (
    capacity,
    reachable,
    anti_affinity,
    spread,
)


def volume_reasons(
    cluster: ClusterState,
    volume_pool: VolumePoolView,
    pool: PoolView | None,
    volume: VolumeRequest,
    charge: Vector | None = None,
) -> Reasons:
    """Everything against putting `volume` there, for a machine on `pool` if there is one; `charge` if others go there with it."""
    for static in STATIC_FILTERS:
        yield from static(volume_pool, volume)
    if pool is not None and not volume_pool.reaches(pool):
        yield Reason(Predicate.VOLUME, f"{pool.name} cannot attach its volumes")
    free = cluster.volume_free[volume_pool.name]
    yield from shortfalls(volume_pool, volume.charge if charge is None else charge, free)


def shortfalls(pool: PoolView, need: Vector, free: Vector) -> Reasons:
    if not pool.is_known:
        return
    for short in fits(need, free):
        yield Reason(
            Predicate.CAPACITY,
            f"{short.resource} is short",
            short.resource,
            format_amount(short.resource, short.need),
            format_amount(short.resource, max(0, short.have)),
        )


def quota_amount(resource: str, count: int) -> str:
    """Quota names say `requests.cpu` for cpu, and with a scope `requests.cpu of <quota>`."""
    return format_amount(resource.removeprefix("requests.").partition(" ")[0], count)


def domains_of(cluster: ClusterState, request: Request, topology_key: str) -> set[str]:
    """The values of the topology key among the pools that the request may ever use."""
    return {
        domain
        for pool in cluster.pools.values()
        if not any(selector(pool, request))
        and (domain := cluster.domain(topology_key, pool.name)) is not None
    }


def where(topology_key: str, domain: str) -> str:
    return f"{topology_key}={domain}" if topology_key else domain
