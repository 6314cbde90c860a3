"""Where the volumes of one machine go, given where the machine would go: all of them, or none.

The search is greedy: the largest volume first, each to the pool that is freest then. It may miss a packing that exists, when pools are
nearly full; it never overcommits one. It is the same search for the decision (`bind`) and for its explanation (`unbound`), so there is a reason
exactly where there is no place.

Nothing is charged here. What the volumes before took is in `taken`, beside the cluster state; `ClusterState.place` charges the result.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from reconciler.schedule import filters
from reconciler.schedule.cluster_state import ClusterState, take
from reconciler.schedule.decision import Predicate, Reason
from reconciler.schedule.request import PoolView, VolumePoolView, VolumeRequest
from reconciler.schedule.scores import free_share, scored_needs

Bound = tuple[tuple[VolumeRequest, str], ...]


Taken = dict[str, dict[str, int]]  # what the volumes before took, by volume pool


def bind(cluster: ClusterState, pool: PoolView | None, volumes: tuple[VolumeRequest, ...]) -> Bound | None:
    """A pool for each of them, or None if one has no place."""
    bound = []
    for volume, name, _ in choices(cluster, pool, volumes):
        if name is None:
            return None
        bound.append((volume, name))
    return tuple(sorted(bound, key=lambda pair: pair[0].key))


def choices(
    cluster: ClusterState, pool: PoolView | None, volumes: tuple[VolumeRequest, ...]
) -> Iterator[tuple[VolumeRequest, str | None, Taken]]:
    """The largest first, each to the pool that is freest afterwards; what one takes the next does not see."""
    taken: Taken = {}
    for volume in by_size(volumes):
        name = choose(cluster, pool, volume, taken)
        yield volume, name, taken
        if name is not None:
            take(taken.setdefault(name, {}), {resource: -count for resource, count in volume.charge.items()})


def by_size(volumes: Iterable[VolumeRequest]) -> list[VolumeRequest]:
    """The order in which they are placed: the largest first, equal ones by key."""
    return sorted(volumes, key=lambda volume: (-volume.charge.get("storage", 0), volume.key))


def choose(cluster: ClusterState, pool: PoolView | None, volume: VolumeRequest, taken: Taken) -> str | None:
    # A volume pool that cannot be attached there is refused whatever else is true of it.
    near = cluster.volume_pools.values() if pool is None else cluster.reaching(pool)
    needs = scored_needs(volume.charge)
    ranks = [
        (-free_share(needs, cluster.volume_free[each.name], each.allocatable), each.name)
        for each in near
        if not any(reasons_against(cluster, each, pool, volume, taken))
    ]
    return min(ranks)[1] if ranks else None


def reasons_against(
    cluster: ClusterState,
    volume_pool: VolumePoolView,
    pool: PoolView | None,
    volume: VolumeRequest,
    taken: Taken,
) -> Iterable[Reason]:
    """As `filters.volume_reasons`, with the volumes before counted in the need: people read what all of them take together."""
    together = taken.get(volume_pool.name)
    if together is None:
        return filters.volume_reasons(cluster, volume_pool, pool, volume)
    charge = {resource: count + together.get(resource, 0) for resource, count in volume.charge.items()}
    return filters.volume_reasons(cluster, volume_pool, pool, volume, charge)


def unbound(cluster: ClusterState, pool: PoolView, volumes: tuple[VolumeRequest, ...]) -> Iterable[Reason]:
    """Why the volumes cannot all be had beside `pool`: for each that has no place, what speaks against each volume pool that
    reaches there, and against the one that it is pinned to."""
    for volume, name, taken in choices(cluster, pool, volumes):
        if name is not None:
            continue
        candidates = {each.name: each for each in cluster.reaching(pool)}
        if volume.pinned in cluster.volume_pools:
            candidates[volume.pinned] = cluster.volume_pools[volume.pinned]
        for volume_pool in candidates.values():
            for reason in reasons_against(cluster, volume_pool, pool, volume, taken):
                yield replace(
                    reason,
                    predicate=Predicate.VOLUME_CAPACITY,
                    volume=name_of(volume),
                    volume_pool=volume_pool.name,
                )
        if not candidates:
            message = "no volume pool reaches it" if cluster.volume_pools else "there are no volume pools"
            yield Reason(Predicate.VOLUME_CAPACITY, message, volume=name_of(volume))


def name_of(volume: VolumeRequest) -> str:
    """How a reason calls it: by the machine's entry, so that reasons of equal machines are equal."""
    return volume.entry or f"{volume.key.namespace}/{volume.key.name}"
