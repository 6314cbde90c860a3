"""All pools by what the policy gives them, best first, as they were at one moment. Knows no request but what it takes.

Hosts come in batches, and one is as full as the next: pools that are equally full are worth the same and are kept together,
so that an order costs what differs, not what there is.

`Fills` is shared by all rankings of a pass, and a `Ranking` exists for each charge. Both note `at`, how many machines were placed when they were
last computed. `Fills.update` looks at pools touched since; `Ranking.refresh` computes a new order only when more than its patience
were placed. Until then its order is out of date, which `Candidates` corrects entry by entry.

Order of calls: `fills.update` before `rank`, since `rank` asks one pool of each fill for all of them.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from itertools import chain, groupby
from operator import itemgetter

from reconciler.schedule import scores
from reconciler.schedule.cluster_state import ClusterState
from schemas.model.capacity import Vector

Fill = tuple[object, ...]
PATIENCE = 64
Level = tuple[int, Sequence[str]]  # -points, and the names of those worth so much, in order
rank_of = itemgetter(0)


class Fills:
    """Pools that are equally full, by name. A list is replaced, never changed: who reads one may read on."""

    def __init__(self, cluster: ClusterState) -> None:
        self.cluster = cluster
        self.at = len(cluster.touched)
        self.numbers: dict[Fill, int] = {}
        self.names: dict[int, list[str]] = {}  # by number
        self.fill_of: dict[str, int] = {}
        for name in sorted(cluster.pools):
            fill = self.fill_of[name] = self.fill(name)
            self.names.setdefault(fill, []).append(name)

    def fill(self, name: str) -> int:
        """Everything that a policy looks at; numbered, since numbers are light to look up."""
        free, whole = self.cluster.free[name], self.cluster.pools[name].allocatable
        fill = (
            *free,
            None,
            *free.values(),
            *whole,
            None,
            *whole.values(),
            self.cluster.machines.get(name, 0),
        )
        return self.numbers.setdefault(fill, len(self.numbers))

    def update(self) -> None:
        """Moves pools that were touched since to the list of their new fill. Costs what was touched."""
        touched = self.cluster.touched
        if self.at == len(touched):
            return
        moved = set(touched[self.at :])
        self.at = len(touched)
        came: dict[int, list[str]] = {}
        left: dict[int, list[str]] = {}
        for name in moved:
            left.setdefault(self.fill_of[name], []).append(name)
            fill = self.fill_of[name] = self.fill(name)
            came.setdefault(fill, []).append(name)
        for fill, names in left.items():
            self.names[fill] = without(self.names[fill], names)
            if not self.names[fill]:
                del self.names[fill]
        for fill, names in came.items():
            self.names[fill] = sorted((*self.names.get(fill, ()), *names))


def without(names: list[str], some: list[str]) -> list[str]:
    """`names` is sorted and has each of `some`. Both are looked up rather than gone through: of many names few go at a time."""
    stay = names.copy()
    for name in some:
        del stay[bisect_left(stay, name)]
    return stay


class Ranking:
    """The order for requests of one charge. What is out of date in it promises too much, where fuller is worse."""

    def __init__(self, fills: Fills, policy: scores.Policy, charge: Vector) -> None:
        self.fills = fills
        self.worth = scores.BY_POLICY[policy]
        self.needs = scores.scored_needs(charge)
        self.at = -1
        self.levels: Sequence[Level] = ()
        self.known: dict[int, int] = {}  # -points by fill

    def points(self, pool: str) -> int:
        """What the policy gives the pool now, and not as of `at`."""
        cluster = self.fills.cluster
        return self.worth(cluster, cluster.pools[pool], self.needs)

    def refresh(self) -> None:
        """Computed again once so many were placed since that it costs less than to correct what is out of date."""
        placed = len(self.fills.cluster.touched)
        patience = max(PATIENCE, len(self.fills.names) // 16)
        if self.at < 0 or placed - self.at > patience:
            self.fills.update()
            self.at = placed
            self.rank()

    def rank(self) -> None:
        """Points are kept by fill, for good: a fill holds everything that a policy reads, so its worth never changes."""
        levels: list[Level] = []
        known = self.known
        for fill, names in self.fills.names.items():
            rank = known.get(fill)
            if rank is None:
                rank = known[fill] = -self.points(names[0])
            levels.append((rank, names))
        levels.sort(key=rank_of)
        merged = ((rank, [names for _, names in each]) for rank, each in groupby(levels, rank_of))
        # Pools that are filled in other ways and worth the same are in one order too.
        self.levels = tuple(
            (rank, lists[0] if len(lists) == 1 else sorted(chain(*lists))) for rank, lists in merged
        )
