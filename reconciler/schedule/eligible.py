"""The pools that requests of one sort may ever use in a pass, best first. Shared by all groups of that sort.

What standing predicates say holds for the pass, so it is asked once for pools that look the same to a request; what a
pool is worth changes as it fills, so the order is made anew when much was placed since.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from reconciler.schedule import filters, scores
from reconciler.schedule.board import Board
from reconciler.schedule.request import Pool, Request
from schemas.capacity import Vector

Entry = tuple[int, int, str, int]  # crowd, -points, pool, version: smallest first
Sort = tuple[object, ...]


@dataclass(frozen=True, slots=True)
class Eligible:
    """`heaps` holds the entries by domain of the topology key, each list sorted; `domains` all that count for the skew;
    `where` the domain of each pool where machines are to be spread."""

    heaps: Mapping[str, list[Entry]]
    standing: Mapping[str, int]
    where: Mapping[str, str]
    domains: tuple[str, ...]
    made_at: int


class Equals:
    """Pools that are equally full, as they were when first asked: hosts come in batches, and an empty one is like the next."""

    def __init__(self, board: Board) -> None:
        self.made_at = len(board.touched)
        found: dict[Sort, list[Pool]] = {}
        for name, pool in board.pools.items():
            fill = (*board.free[name].items(), *pool.allocatable.items(), board.machines[name])
            found.setdefault(fill, []).append(pool)
        self.groups = tuple(found.values())


class Points:
    """What each pool is worth to requests of one charge by the policy alone; brought up to date by what was touched since."""

    def __init__(self, board: Board, policy: scores.Policy, charge: Vector, equals: Equals) -> None:
        self.board = board
        self.worth = scores.BY_POLICY[policy]
        self.needs = scores.measured(charge)
        moved = set(board.touched[equals.made_at :])
        self.by_pool = {name: 0 for name in board.pools}
        for same in equals.groups:
            pool = next((pool for pool in same if pool.name not in moved), same[0])
            self.by_pool.update(
                dict.fromkeys([each.name for each in same], self.worth(board, pool, self.needs))
            )
        for name in moved:
            self.by_pool[name] = self.worth(board, board.pools[name], self.needs)
        self.seen = len(board.touched)
        self.ranked: list[Entry] = []
        self.ranked_at = self.seen
        self.unranked = set(self.by_pool)

    def get(self) -> dict[str, int]:
        board, seen = self.board, self.seen
        touched = board.touched
        if seen != len(touched):
            self.seen = len(touched)
            changed = touched[seen:]
            for name in changed if len(changed) == 1 else set(changed):
                self.by_pool[name] = self.worth(board, board.pools[name], self.needs)
            self.unranked.update(changed)
        return self.by_pool

    def ranking(self, patience: int) -> tuple[list[Entry], int]:
        """All pools, the best first, and when that was so: entries out of date are put right when they come to the top, so a
        few may be. Only what was touched is made anew; the rest is in order already, which sorting notices."""
        points, unranked, version = self.get(), self.unranked, self.board.version
        if not self.ranked or self.seen - self.ranked_at > patience:
            self.ranked_at = self.seen
            ranked = [entry for entry in self.ranked if entry[2] not in unranked]
            # Of all, take them in the order of the board, which is sorted more or less.
            names = points if len(unranked) == len(points) else unranked
            ranked += sorted([(0, -points[name], name, version.get(name, 0)) for name in names])
            ranked.sort()
            self.ranked = ranked
            self.unranked = set()
        return self.ranked, self.ranked_at


class Shelf:
    """Eligible pools by sort of request."""

    def __init__(self, board: Board, policy: scores.Policy) -> None:
        self.board = board
        self.policy = policy
        self.kept: dict[Sort, Eligible] = {}
        self.points: dict[tuple[tuple[str, int], ...], Points] = {}
        self.equals: Equals | None = None
        self.alike: dict[tuple[str, ...], dict[Sort, list[Pool]]] = {}
        self.refresh_after = max(16, len(board.pools) // 32)

    def points_of(self, charge: Vector) -> Points:
        key = tuple(sorted(charge.items()))
        found = self.points.get(key)
        if found is None:
            self.equals = self.equals or Equals(self.board)
            found = self.points[key] = Points(self.board, self.policy, charge, self.equals)
        return found

    def get(self, request: Request) -> Eligible:
        sort = self.sort_of(request)
        found = self.kept.get(sort)
        if found is None or len(self.board.touched) - found.made_at > self.refresh_after:
            found = self.kept[sort] = self.make(request, found)
        return found

    def sort_of(self, request: Request) -> Sort:
        return (
            request.machine_class,
            tuple(sorted(request.charge.items())),
            request.selector,
            request.tolerations,
            request.volume_pools,
            request.rejections,
            request.pinned,
            request.spread and (request.spread.topology_key, request.spread.is_required),
        )

    def make(self, request: Request, before: Eligible | None) -> Eligible:
        standing = self.standing(request) if before is None else before.standing
        where = self.where(request, standing) if before is None else before.where
        domains = self.domains(request, where) if before is None else before.domains
        ranking, made_at = self.points_of(request.charge).ranking(self.refresh_after)
        heaps: dict[str, list[Entry]] = {"": []}
        if request.spread is None:
            heaps[""] = [entry for entry in ranking if entry[2] in standing]
        else:
            heaps = {domain: [] for domain in where.values()}
            for entry in ranking:
                if (domain := where.get(entry[2])) is not None:
                    heaps[domain].append(entry)
        if any(standing.values()):
            for domain, heap in heaps.items():
                heaps[domain] = sorted((0, rank - standing[name], name, seen) for _, rank, name, seen in heap)
        return Eligible(heaps, standing, where, domains, made_at)

    def where(self, request: Request, standing: Mapping[str, int]) -> Mapping[str, str]:
        if request.spread is None:
            return {}
        return {name: domain_of(self.board, request, name) for name in standing}

    def domains(self, request: Request, where: Mapping[str, str]) -> tuple[str, ...]:
        if request.spread is None:
            return ()
        known = filters.domains_of(self.board, request, request.spread.topology_key)
        return tuple(sorted(known | set(where.values())))

    def standing(self, request: Request) -> dict[str, int]:
        """The pools that no standing predicate refuses, with the part of their score that stands too."""
        board = self.board
        if request.pinned:
            pools = [board.pools[request.pinned]] if request.pinned in board.pools else []
        elif is_particular(request):
            pools = list(board.pools.values())
        else:
            alike = self.looking_alike(relevant_labels(request)).values()
            standing: dict[str, int] = {}
            for same in alike:
                if self.is_eligible(same[0], request):
                    extra = scores.standing(board, same[0], request)
                    standing.update(dict.fromkeys([pool.name for pool in same], extra))
            return standing
        return {
            pool.name: scores.standing(board, pool, request)
            for pool in pools
            if self.is_eligible(pool, request)
        }

    def looking_alike(self, keys: tuple[str, ...]) -> dict[Sort, list[Pool]]:
        """Pools that standing predicates cannot tell apart, when only these labels are looked at."""
        found = self.alike.get(keys)
        if found is None:
            found = self.alike[keys] = {}
            for pool in self.board.pools.values():
                labels = tuple(pool.labels.get(key) for key in keys)
                look = (pool.why_not_ready, pool.is_cordoned, pool.taints, pool.classes, labels)
                found.setdefault(look, []).append(pool)
        return found

    def is_eligible(self, pool: Pool, request: Request) -> bool:
        board = self.board
        if any(any(predicate(pool, request)) for predicate in filters.STANDING):
            return False
        if any(filters.reachable(board, pool, request)):
            return False
        spread = request.spread
        return (
            spread is None
            or not spread.is_required
            or board.domain(spread.topology_key, pool.name) is not None
        )


def is_particular(request: Request) -> bool:
    """It knows pools by name, so that they are looked at one by one."""
    return bool(request.rejections or request.volume_pools)


def domain_of(board: Board, request: Request, pool: str) -> str:
    """Without spread all pools are one domain, and so are those without the label where spread is but a wish."""
    return "" if request.spread is None else board.domain(request.spread.topology_key, pool) or ""


def relevant_labels(request: Request) -> tuple[str, ...]:
    keys = {key for key, _ in request.selector}
    if request.spread is not None:
        keys.add(request.spread.topology_key)
    return tuple(sorted(keys))
