"""How good a pool that fits is, in whole millionths: the same everywhere, whatever the machine's floating point says.

score = policy + soft taints + volume locality. The policy's part changes as a pool fills, and a `Ranking` keeps its order; the other two
are the static score, which holds for a pass. Weights are such that a soft taint loses against any fullness, and a volume of the same zone
is worth a quarter of an empty pool.

A score only orders pools that fit. It must never refuse one: that is what filters are for, and they give reasons.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import StrEnum

from reconciler.schedule.cluster_state import ClusterState
from reconciler.schedule.decision import Score
from reconciler.schedule.request import PoolView, Request
from schemas.model.capacity import Vector

WHOLE = 1_000_000
SOFT_TAINT = -2 * WHOLE  # outweighs any difference in free capacity
LOCAL = WHOLE // 4
MACHINE_POINTS = 1000  # of each machine on a pool, where these are to be few
ZONE = "topology.ironcore.dev/zone"


class Policy(StrEnum):
    MOST_FREE = "MostFree"
    BIN_PACK = "BinPack"
    SPREAD = "Spread"


# Why a pool was chosen, for people: how many points it has says nothing to them.
WHY_CHOSEN: Mapping[Policy, str] = {
    Policy.MOST_FREE: "of the pools that fit it has the most room",
    Policy.BIN_PACK: "it is the fullest pool that fits",
    Policy.SPREAD: "of the pools that fit it has the fewest machines",
}

Needs = tuple[tuple[str, int], ...]


def scored_needs(charge: Vector) -> Needs:
    """The resources that a score looks at: counts of a class say nothing beside them. In the order of the charge."""
    return tuple(
        (resource, need) for resource, need in charge.items() if not resource.startswith("class/")
    ) or tuple(charge.items())


def free_share(needs: Needs, free: Vector, allocatable: Vector) -> int:
    """How free a pool is with the request on it: over the needed resources, the mean of what is left, in parts of WHOLE. A resource that the
    pool does not have is left out; the filters judge it."""
    total = count = 0
    for resource, wanted in needs:
        whole = allocatable.get(resource, 0)
        if whole > 0:
            total += (free.get(resource, 0) - wanted) * WHOLE // whole
            count += 1
    return total // count if count else 0


# One function for each policy. Each reads a pool's free and allocatable vectors and its number of machines, and nothing else: `Fills` tells
# pools apart by exactly these, and a policy that read more would be given a worth that belongs to another pool.


def most_free(cluster: ClusterState, pool: PoolView, needs: Needs) -> int:
    return free_share(needs, cluster.free[pool.name], pool.allocatable)


def bin_pack(cluster: ClusterState, pool: PoolView, needs: Needs) -> int:
    return WHOLE - free_share(needs, cluster.free[pool.name], pool.allocatable)


def fewest_machines(cluster: ClusterState, pool: PoolView, _needs: Needs) -> int:
    return WHOLE - cluster.machines[pool.name] * MACHINE_POINTS


BY_POLICY: dict[Policy, Callable[[ClusterState, PoolView, Needs], int]] = {
    Policy.MOST_FREE: most_free,
    Policy.BIN_PACK: bin_pack,
    Policy.SPREAD: fewest_machines,
}


def soft_taints(pool: PoolView, request: Request) -> int:
    """Zero or negative: each PreferNoSchedule taint without a toleration. Other effects are filters."""
    if not pool.taints:
        return 0
    return SOFT_TAINT * sum(
        taint.effect == "PreferNoSchedule" and not any(one.tolerates(taint) for one in request.tolerations)
        for taint in pool.taints
    )


def locality(cluster: ClusterState, pool: PoolView, request: Request) -> int:
    """Volumes of the same zone are nearer."""
    if not request.volume_pools:
        return 0
    zone = pool.labels.get(ZONE)
    return LOCAL * sum(
        zone is not None
        and name in cluster.volume_pools
        and cluster.volume_pools[name].labels.get(ZONE) == zone
        for name in request.volume_pools
    )


def static_score(cluster: ClusterState, pool: PoolView, request: Request) -> int:
    """The part that holds for a whole pass."""
    return soft_taints(pool, request) + locality(cluster, pool, request)


def score(
    cluster: ClusterState, pool: PoolView, request: Request, policy: Policy, by_policy: int | None = None
) -> Score:
    """`by_policy` is what the policy gives, where that is known already."""
    if by_policy is None:
        by_policy = BY_POLICY[policy](cluster, pool, scored_needs(request.charge))
    if not pool.taints and not request.volume_pools:
        return Score(by_policy, ((policy.value, by_policy),))
    parts = (
        (policy.value, by_policy),
        ("SoftTaints", soft_taints(pool, request)),
        ("VolumeLocality", locality(cluster, pool, request)),
    )
    return Score(
        sum(points for _, points in parts),
        tuple(part for part in parts if part[1] or part[0] == policy.value),
    )
