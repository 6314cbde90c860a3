"""Fetches refs apart from each other, once a fetch of all has failed, and remembers those that cannot be fetched.

Theory of operation
-------------------
One fetch brings all refs that differ. When it fails, the cause may be a single ref: an object that the server lost, a folder that git
refuses, a pack that takes longer than the deadline. Then

    1. source and target are fetched alone; if that fails too, the remote cannot be used, and nothing is known of any ref
    2. the reports are fetched by halves, each half again by halves where it fails, down to single refs
    3. a single ref that fails is broken: it is left out, with the cause
    4. source and target are fetched again: if that fails, the remote went away meanwhile, and the refs may be as good as before

    a ref                                       is fetched
    not known to be broken                      with all others
    broken, at the id that failed               after all others, at the 1st, 2nd, 4th, 8th ... snapshot: servers are repaired
    broken, at another id                       after all others, so that whoever pushes such refs again and again holds up none
    new, with more than NEW_AT_ONCE others      in a later snapshot, so that thousands of refs without a host cost no tick its time

Must never happen: a ref that could not be fetched passes for one that does not exist; a remote that is away passes for broken refs.

Limits: whose a ref is, is not known here. All reports are equal.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from reconciler.gitstore.remote.transport import ObjectId, RefsFetched, RemoteErrorKind, RemoteUnavailable
from reconciler.gitstore.repo import Unfetched

LATE_SECONDS = 3.0  # for all refs that are fetched after the others; a tick that takes long decides nothing about lost hosts
MAX_SNAPSHOTS = 64  # between two tries of the same commit
NEW_AT_ONCE = 100
NOT_TRIED = "there was no time left to fetch it"
WAITS = "it waits for its turn, because too many reports are new at once"
Fetch: TypeAlias = Callable[[Sequence[str], float], RefsFetched | RemoteUnavailable]


@dataclass(frozen=True, slots=True)
class _Broken:
    id: ObjectId
    cause: str
    since: int  # the snapshot


class BrokenRefs:
    """`failure` is that of the last ref that could not be fetched in the present snapshot, None where all came."""

    def __init__(self, heads: Collection[str]) -> None:
        self._heads = frozenset(heads)
        self._broken: dict[str, _Broken] = {}
        self._waiting: dict[str, ObjectId] = {}
        self._snapshots = 0
        self.failure: RemoteUnavailable | None = None

    def refs(self) -> Mapping[str, Unfetched]:
        """Those that are not here as the remote lists them."""
        broken = {ref: Unfetched(each.id, each.cause) for ref, each in self._broken.items()}
        return broken | {ref: Unfetched(id, WAITS) for ref, id in self._waiting.items()}

    def select(
        self, there: Mapping[str, ObjectId], have: Mapping[str, ObjectId]
    ) -> tuple[list[str], list[str]]:
        """What differs and is to be fetched in this snapshot: with all others, and after them."""
        self._snapshots, self.failure = self._snapshots + 1, None
        differing = {ref for ref in there.keys() | have.keys() if there.get(ref) != have.get(ref)}
        self._broken = {ref: each for ref, each in self._broken.items() if ref in there and ref in differing}
        late = [ref for ref in self._broken if self._is_due(ref, there[ref])]
        needed = differing - self._broken.keys()
        new = sorted(ref for ref in needed - have.keys() if ref not in self._heads)
        # Who has just started needs them all before it can tell who is new.
        is_first = self._snapshots == 1 or not have
        # Those that wait longest come first.
        new.sort(key=lambda ref: ref not in self._waiting)
        self._waiting = {} if is_first else {ref: there[ref] for ref in new[NEW_AT_ONCE:]}
        return sorted(needed - self._waiting.keys()), late

    def _is_due(self, ref: str, id: ObjectId) -> bool:
        age = self._snapshots - self._broken[ref].since
        return self._broken[ref].id != id or age & (age - 1) == 0 or age % MAX_SNAPSHOTS == 0

    def fetch_apart(
        self,
        fetch: Fetch,
        refs: Sequence[str],
        there: Mapping[str, ObjectId],
        failure: RemoteUnavailable,
        seconds: float,
    ) -> RemoteUnavailable | None:
        """After all together have failed with `failure`. Returns what is wrong with the remote; what is wrong with one report is noted."""
        heads = [ref for ref in refs if ref in self._heads]
        reports = [ref for ref in refs if ref not in self._heads]
        is_ours = failure.kind is RemoteErrorKind.AUTH or not reports
        if is_ours or (heads and isinstance(fetch(heads, seconds), RemoteUnavailable)):
            return failure
        before = dict(self._broken)
        came = self._fetch_by_halves(reports, fetch, there, time.monotonic() + seconds)
        if self._broken != before and isinstance(fetch(heads, seconds) if heads else came, RemoteUnavailable):
            self._broken = before
            return failure
        return None

    def fetch_late(self, fetch: Fetch, refs: Sequence[str], there: Mapping[str, ObjectId]) -> None:
        """Each alone, and together no longer than LATE_SECONDS."""
        deadline = time.monotonic() + LATE_SECONDS
        for ref in refs:
            self._fetch_by_halves([ref], fetch, there, min(deadline, time.monotonic() + LATE_SECONDS / 2))

    def _fetch_by_halves(
        self, refs: Sequence[str], fetch: Fetch, there: Mapping[str, ObjectId], deadline: float
    ) -> RefsFetched | RemoteUnavailable:
        """What came of the first that came, or the last failure where none did."""
        waiting, came = [list(refs)], None
        while waiting:
            part = waiting.pop()
            left = deadline - time.monotonic()
            outcome = (
                fetch(part, left)
                if left > 0
                else RemoteUnavailable(RemoteErrorKind.NETWORK, NOT_TRIED, "gitvirt tries again")
            )
            if isinstance(outcome, RefsFetched):
                came = outcome
                for ref in part:
                    self._broken.pop(ref, None)
            elif left > 0 and len(part) > 1:
                middle = len(part) // 2
                waiting += [part[middle:], part[:middle]]
            else:
                self._note(part, there, outcome)
        return came or self.failure or RefsFetched()

    def _note(self, refs: Sequence[str], there: Mapping[str, ObjectId], failure: RemoteUnavailable) -> None:
        self.failure = failure
        for ref in refs:
            if id := there.get(ref):
                known = self._broken.get(ref)
                since = known.since if known is not None and known.id == id else self._snapshots
                self._broken[ref] = _Broken(id, failure.cause, since)
