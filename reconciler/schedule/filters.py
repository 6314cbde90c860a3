"""Whether a pool can take a request: one predicate a function, each giving every reason it has.

STATIC_FILTERS hold for a whole pass; DYNAMIC_FILTERS look at what is free and placed by now.

A filter gives nothing for a pool that it lets pass, and every reason otherwise: who is refused shall see all causes at once, not the first.
Reasons are made for people and programs alike, so `schedule` asks `any(...)` of the same generators that `explain` lists.

A pool that is not known has no usable report, so it is not ready. Its classes and capacity are not held against it as well: what it offers
and has is unknown, and "no such class" would name a false cause.

Must never happen: a filter that depends on the clock or on another request of the pass; a static one that reads the cluster state.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable

from reconciler.schedule.cluster_state import ClusterState
from reconciler.schedule.decision import Predicate, Reason
from reconciler.schedule.request import PoolView, Request, VolumePoolView, VolumeRequest
from reconciler.schedule.terms import Term
from schemas.model.capacity import Vector, class_count, fits, format_amount
from schemas.model.charge import VOLUME

Reasons = Iterable[Reason]
Placeable = Request | VolumeRequest


def ready(pool: PoolView, _request: Placeable) -> Reasons:
    if pool.why_not_ready:
        predicate = Predicate.DESTROYED if pool.is_destroyed else Predicate.READY
        yield Reason(predicate, pool.why_not_ready)


def link_lost(pool: PoolView, _request: Placeable) -> Reasons:
    if pool.has_lost_link:
        yield Reason(
            Predicate.LINK, "its host is not connected to the link any more, and has not reported since"
        )


def cordon(pool: PoolView, _request: Placeable) -> Reasons:
    if pool.is_cordoned:
        yield Reason(Predicate.CORDON, "it is cordoned (spec.unschedulable)")


def taints(pool: PoolView, request: Placeable) -> Reasons:
    """NoExecute refuses like NoSchedule here; that it also evicts is decided in `reconciler.decide`."""
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
    """The host said no before and its backoff is not over. The reason is the host's own text."""
    for rejection in request.rejections:
        if rejection.pool == pool.name:
            yield Reason(Predicate.REJECTED, rejection.reason)


def pin(pool: PoolView, request: Placeable) -> Reasons:
    """A person named the pool. It lifts no other filter: a pinned machine still needs room and tolerations."""
    if request.pinned and request.pinned != pool.name:
        ref = "machinePoolRef" if isinstance(request, Request) else "volumePoolRef"
        yield Reason(Predicate.PINNED, f"{ref} names {request.pinned}")


def secrets(pool: PoolView, request: Placeable) -> Reasons:
    """A host that cannot open what a machine needs would take the machine and never start it. Whether the host's own file of secrets has
    the values is not reported, so it does not count here: docs/secrets.md says what to do."""
    for need in request.secrets:
        if not need.is_open_to(pool.recipients):
            why, cure = "cannot open", f"`gitvirt secret rekey {need.name}`"
            if not pool.recipients:
                why = "has no key in gitvirt.yaml, and cannot open"
                cure = f"add poollets.NAME.age there, then {cure}"
            yield Reason(Predicate.SECRET, f"its host {why} Secret {need.name}: {cure}", resource=need.name)


STATIC_FILTERS: tuple[Callable[[PoolView, Placeable], Reasons], ...] = (
    pin,
    ready,
    link_lost,
    cordon,
    taints,
    selector,
    offers,
    rejections,
    secrets,
)


def capacity(cluster: ClusterState, pool: PoolView, request: Request) -> Reasons:
    """The one fit function, as in the host's own admission (`schemas.model.capacity.fits`)."""
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
    """In both directions: what the request keeps apart from, and what is there and keeps apart from it. A preference refuses nothing.

    One reason for a pool, with the names of those machines: two rules that keep two machines apart are one cause."""
    found: dict[str, frozenset[str]] = {}
    anti = request.anti_affinity
    if anti is not None and anti.is_required:
        domain = cluster.domain(anti.topology_key, pool.name)
        term = Term(request.key.namespace, anti.selector, anti.topology_key)
        if domain is not None and cluster.tally(term)[domain]:
            found[where(anti.topology_key, domain)] = cluster.name_counted(term, domain)
    for term, domains in cluster.held_against(request):
        if (domain := cluster.domain(term.topology_key, pool.name)) in domains and domain is not None:
            place = where(term.topology_key, domain)
            found[place] = found.get(place, frozenset()) | cluster.name_holders(term, domain)
    for place, names in found.items():
        some = name_some(names)
        message = f"{place} has {some}, to be kept apart from it"
        yield Reason(Predicate.ANTI_AFFINITY, message, resource=place, have=some)


def name_some(names: Collection[str]) -> str:
    """The first three, and how many more there are; without names at least that there is one."""
    first = sorted(names)[:3]
    more = f" and {len(names) - 3:,} more" if len(names) > 3 else ""
    return ", ".join(first) + more if first else "a machine"


def spread(cluster: ClusterState, pool: PoolView, request: Request) -> Reasons:
    """Eligible domains are those of pools that the selector of the request names.

    The request itself counts if its own rule selects it; a rule may also count other machines alone. A pool without the label is
    refused, since nothing could keep the count there."""
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


def snapshot_data(volume_pool: VolumePoolView, volume: VolumeRequest) -> Reasons:
    """A host copies a snapshot within one of its pools, and no data travels between hosts."""
    if not volume.snapshot or volume.snapshot_pool == volume_pool.name:
        return
    place = f"is on {volume.snapshot_pool}" if volume.snapshot_pool else "is not taken yet"
    yield Reason(Predicate.SNAPSHOT, f"VolumeSnapshot {volume.snapshot} {place}", have=volume.snapshot_pool)


def volume_reasons(
    cluster: ClusterState,
    volume_pool: VolumePoolView,
    pool: PoolView | None,
    volume: VolumeRequest,
    charge: Vector | None = None,
) -> Reasons:
    """Everything against putting `volume` there, each cause once, for a machine on `pool` if there is one; `charge` if others go there with it."""
    for static in STATIC_FILTERS:
        yield from static(volume_pool, volume)
    yield from snapshot_data(volume_pool, volume)
    if pool is not None and not volume_pool.reaches(pool):
        yield Reason(Predicate.VOLUME, f"{pool.name} cannot attach its volumes")
    free = cluster.volume_free[volume_pool.name]
    missing = "" if volume.volume_class in volume_pool.classes else class_count(VOLUME, volume.volume_class)
    for reason in shortfalls(volume_pool, volume.charge if charge is None else charge, free):
        if reason.resource != missing:  # `offers` has named the class that the pool does not have
            yield reason


def shortfalls(pool: PoolView, need: Vector, free: Vector) -> Reasons:
    """What is short, as people read amounts. A pool that is overcommitted has 0 and not a negative amount."""
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
    """A domain for people: `zone=a`, or the pool's name where each pool is a domain."""
    return f"{topology_key}={domain}" if topology_key else domain
