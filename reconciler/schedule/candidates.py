"""The pools that one group of equal requests may use, best first, kept in queues while the cluster gets fuller.

Entries are corrected when they come to the top: within a pass pools only get fuller and counts only grow, so an entry that is
out of date promises too much (and where a policy rewards fullness, every touched pool gets a fresh entry before it is used).

The order of an entry is: crowd, -points, name. `crowd` is how many machines of a preferred anti-affinity are in the pool's domain, so a
preference for distance comes before every score. With spread, the domain with the fewest machines comes before all of that.

Life of an entry:

    eligible order -> Queue -> top -> out of date? -> replaced by its present value, and compared again
                                  -> up to date  -> `room` says yes: taken, and it stays for the next request
                                                 -> `room` says no: dropped for the rest of the group

Dropping is right because nothing in a pass makes room, and because all requests of a group are equal. It would be wrong for
another group, so each group has queues of its own.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator

from reconciler.schedule import scores
from reconciler.schedule.eligible import NO_DOMAIN, EligibleCache, Entry, domain_of
from reconciler.schedule.request import Request
from reconciler.schedule.terms import Term
from reconciler.schedule.volumes import Bound, bind
from schemas.model.capacity import fits

Taken = tuple[str, int, Bound]


class Queue:
    """Entries by rank: those that come as they were when the order was made, and those that were corrected since.

    `coming` must be sorted. It is read lazily: of 10,000 eligible pools a group usually reads a few.
    """

    def __init__(self, coming: Iterator[Entry]) -> None:
        self.coming = coming
        self.next = next(coming, None)
        self.heap: list[Entry] = []

    def top(self) -> Entry | None:
        """The least entry, which is then `heap[0]`: callers replace or pop it there. None when all are used up."""
        heap = self.heap
        while self.next is not None and (not heap or self.next < heap[0]):
            heapq.heappush(heap, self.next)
            self.next = next(self.coming, None)
        return heap[0] if heap else None


class Candidates:
    """Built once a pass for each group; `take` may then be asked as often as the group has requests.

    `take` charges nothing. The caller must call `ClusterState.place` with the answer before it asks again, or the same room is given twice.
    """

    def __init__(self, request: Request, cache: EligibleCache) -> None:
        self.cluster = cache.cluster
        self.request = request
        self.is_improving = cache.policy is scores.Policy.BIN_PACK
        self.ranking = cache.ranking(request.charge)
        namespace, anti, spread = request.key.namespace, request.anti_affinity, request.spread
        self.spread = Term(namespace, spread.selector, spread.topology_key) if spread else None
        apart = Term(namespace, anti.selector, anti.topology_key) if anti else None
        self.crowd = apart if anti is not None and not anti.is_required else None
        self.apart = apart if anti is not None and anti.is_required else None
        self.skew_of_one = int(spread is not None and spread.selector.matches(dict(request.labels)))
        eligible = cache.get(request)
        self.static = eligible.static
        self.eligible = eligible
        self.seen = eligible.made_at
        self.queues: dict[str, Queue] = {}
        domains = eligible.domains
        self.open = [(0, domain) for domain in domains.open] if domains else []
        self.floor = [(0, domain) for domain in domains.counted] if domains else []

    def queue(self, domain: str) -> Queue:
        """The queue of one topology domain, made when it is first asked for; without spread there is one for all pools."""
        found = self.queues.get(domain)
        if found is None:
            found = self.queues[domain] = Queue(self.eligible.of(domain))
        return found

    def entry(self, pool: str) -> Entry:
        """What the pool is worth now. The last field is the moment: how many machines were placed in the pass by then."""
        crowd = 0
        if (
            self.crowd is not None
            and (domain := self.cluster.domain(self.crowd.topology_key, pool)) is not None
        ):
            crowd = self.cluster.tally(self.crowd)[domain]
        points = self.ranking.points(pool) + (self.static.of(pool) or 0)
        return crowd, -points, pool, len(self.cluster.touched)

    def take(self, request: Request) -> Taken | None:
        """The best pool for one more of the group, what the policy gives it, and a place for each of the volumes."""
        if self.is_improving:
            self.catch_up()
        if self.spread is None:
            return self.best(self.queue(NO_DOMAIN), request)
        counts = self.cluster.tally(self.spread)
        least = smallest(self.floor, counts)
        while self.open:
            count = smallest(self.open, counts)
            domain = self.open[0][1]
            if self.is_skewed(count, least):
                return None  # every other domain has at least as many machines, so it would be skewed too
            found = self.best(self.queue(domain), request)
            if found is not None:
                return found
            heapq.heappop(self.open)  # full for this group, now and for the rest of the pass
        return self.best(self.queue(NO_DOMAIN), request)  # none has no domain where the spread is required

    def is_skewed(self, count: int, least: int) -> bool:
        """`least` is over all domains that count, also those without a pool that could take the request: a full zone still
        keeps the others from running ahead of it. `filters.spread` says the same to people."""
        rule = self.request.spread
        return rule is not None and rule.is_required and count + self.skew_of_one - least > rule.max_skew

    def catch_up(self) -> None:
        """Fuller is better: pools touched meanwhile have better entries than those in the heap."""
        touched = self.cluster.touched
        for pool in set(touched[self.seen :]):
            if self.static.of(pool) is not None:
                queue = self.queue(domain_of(self.cluster, self.request, pool))
                heapq.heappush(queue.heap, self.entry(pool))
        self.seen = len(touched)

    def best(self, queue: Queue, request: Request) -> Taken | None:
        """Drops what cannot take the request: nothing in a pass makes room.

        An entry is compared with the present only when its pool was touched since, or when a crowd may have grown in its domain."""
        touched_at, has_crowd = self.cluster.touched_at, self.crowd is not None
        while (top := queue.top()) is not None:
            pool = top[2]
            if has_crowd or touched_at.get(pool, 0) > top[3]:
                now = self.entry(pool)
                if now[:2] != top[:2]:
                    heapq.heapreplace(queue.heap, now)
                    continue
            found = self.room(pool, request)
            if found is not None:
                return pool, -top[1] - (self.static.of(pool) or 0), found
            heapq.heappop(queue.heap)
        return None

    def room(self, pool: str, request: Request) -> Bound | None:
        """A place for each volume, () where there are none, or None if the pool cannot take the request at this moment."""
        cluster = self.cluster
        if fits(cluster.charge(pool, request), cluster.free[pool]) or self.is_kept_away(pool):
            return None
        return bind(cluster, cluster.pools[pool], request.volumes) if request.volumes else ()

    def is_kept_away(self, pool: str) -> bool:
        """By required anti-affinity: the request's own rule, or that of a machine that is there. `filters.anti_affinity` in one bit."""
        cluster = self.cluster
        if self.apart is not None:
            domain = cluster.domain(self.apart.topology_key, pool)
            if domain is not None and cluster.tally(self.apart)[domain]:
                return True
        held = cluster.held_against(self.request)
        return any(cluster.domain(term.topology_key, pool) in domains for term, domains in held)


def smallest(heap: list[tuple[int, str]], counts: dict[str, int]) -> int:
    """The least count, with its domain on top. Counts only grow, so entries out of date are too small."""
    while heap and heap[0][0] != counts.get(heap[0][1], 0):
        domain = heap[0][1]
        heapq.heapreplace(heap, (counts[domain], domain))
    return heap[0][0] if heap else 0
