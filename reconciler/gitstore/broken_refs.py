"""Fetches refs apart from each other, once a fetch of all has failed, and remembers those that cannot be fetched.

Theory of operation
-------------------
One fetch brings all refs that differ. When it fails, the cause may be a single ref: an object that the server lost, a folder that git
refuses, a pack that takes longer than the deadline. Then

    1. source and target are fetched alone; if that fails too, the remote cannot be used, and nothing is known of any ref
    2. the reports are fetched in quarters, each again in quarters where it fails, down to single refs
    3. a single ref that fails is broken: it is left out, with the cause
    4. source and target are fetched again: if that fails, the remote went away meanwhile, and the refs may be as good as before

A ref that never ends must not stall a tick for longer than a heartbeat timeout. So the fetch of all has half of the time of a call, and 1 to 3
have the other half. A part has an equal share of what is left for it and its own parts, so that the way down to one slow ref always
ends in time. What then has less than a fair share waits for the next snapshot: it is not known to be broken. 4 has a little time beyond.

    a ref                                       is fetched
    not known to be broken                      with all others
    broken, at the id that failed               after all others, at the 1st, 2nd, 4th, 8th ... snapshot: servers are repaired
    broken, at another id                       after all others, so that whoever pushes such refs again and again holds up none
    another, at the id of a broken one          like that one
    not tried, because there was no time left   in the next snapshot, with all others
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

MAX_SNAPSHOTS = 64  # between two tries of the same commit
NEW_AT_ONCE = 100
PARTS = 4
# Of the time of a call:
FAIR = 1 / 20  # with less, a good ref might fail
LATE = (
    2 * FAIR
)  # for all refs that are fetched after the others; a tick that takes long decides nothing about lost hosts
RECHECK = 1 / 8  # for source and target, which have just come
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
        self._waiting: dict[str, Unfetched] = {}
        self._known: frozenset[str] = frozenset()  # they came once: tried before those that are new
        self._snapshots = 0
        self.failure: RemoteUnavailable | None = None

    def refs(self) -> Mapping[str, Unfetched]:
        """Those that are not here as the remote lists them."""
        broken = {ref: Unfetched(each.id, each.cause) for ref, each in self._broken.items()}
        return broken | self._waiting

    def select(
        self, there: Mapping[str, ObjectId], have: Mapping[str, ObjectId]
    ) -> tuple[list[str], list[str]]:
        """What differs and is to be fetched in this snapshot: with all others, and after them."""
        self._snapshots, self.failure, self._known = self._snapshots + 1, None, frozenset(have)
        differing = {ref for ref in there.keys() | have.keys() if there.get(ref) != have.get(ref)}
        self._broken = {ref: each for ref, each in self._broken.items() if ref in there and ref in differing}
        late = [ref for ref in self._broken if self._is_due(ref, there[ref])]
        self._note_known_ids(differing, there)
        needed = differing - self._broken.keys()
        new = sorted(ref for ref in needed - have.keys() if ref not in self._heads)
        # Who has just started needs them all before it can tell who is new.
        is_first = self._snapshots == 1 or not have
        # Those that wait longest come first.
        new.sort(key=lambda ref: ref not in self._waiting)
        self._waiting = {} if is_first else {ref: Unfetched(there[ref], WAITS) for ref in new[NEW_AT_ONCE:]}
        return sorted(needed - self._waiting.keys()), late

    def _note_known_ids(self, refs: Collection[str], there: Mapping[str, ObjectId]) -> None:
        """An object that could not be fetched under one name is not tried under another."""
        causes = {each.id: each.cause for each in self._broken.values()}
        for ref in refs:
            id = there.get(ref)
            if id in causes and ref not in self._broken and ref not in self._heads:
                self._broken[ref] = _Broken(id, causes[id], self._snapshots)

    def _is_due(self, ref: str, id: ObjectId) -> bool:
        age = self._snapshots - self._broken[ref].since
        return self._broken[ref].id != id or age & (age - 1) == 0 or age % MAX_SNAPSHOTS == 0

    def fetch_apart(
        self,
        fetch: Fetch,
        refs: Sequence[str],
        there: Mapping[str, ObjectId],
        failure: RemoteUnavailable,
        deadline: float,
        seconds: float,
    ) -> RemoteUnavailable | None:
        """After all together have failed with `failure`. Returns what is wrong with the remote; what is wrong with one report is noted.

        Ends at `deadline`, and a part of `seconds`, which is the time of a call, after it.
        """
        heads = [ref for ref in refs if ref in self._heads]
        reports = sorted(set(refs) - self._heads, key=lambda ref: (ref not in self._known, ref))
        is_ours = failure.kind is RemoteErrorKind.AUTH or not reports
        left = deadline - time.monotonic()
        if is_ours or left <= 0 or (heads and isinstance(fetch(heads, left), RemoteUnavailable)):
            return failure
        before = dict(self._broken)
        came = self._fetch_parts(_split(reports), fetch, there, deadline, seconds * FAIR)
        again = fetch(heads, seconds * RECHECK) if heads and self._broken != before else came
        if self._broken != before and isinstance(again, RemoteUnavailable):
            self._broken = before
            return failure
        return None

    def fetch_late(
        self,
        fetch: Fetch,
        refs: Sequence[str],
        there: Mapping[str, ObjectId],
        deadline: float,
        seconds: float,
    ) -> None:
        """Each alone, and together no longer than a part of `seconds`, which is the time of a call."""
        deadline = min(deadline, time.monotonic() + seconds * LATE)
        for ref in refs:
            left = min(deadline - time.monotonic(), seconds * FAIR)
            if left <= 0:
                self._wait([ref], there)
            elif isinstance(outcome := self._fetch_part([ref], fetch, left), RemoteUnavailable):
                self._note(ref, there, outcome)

    def _fetch_parts(
        self,
        parts: Sequence[Sequence[str]],
        fetch: Fetch,
        there: Mapping[str, ObjectId],
        deadline: float,
        fair: float,
    ) -> RefsFetched | RemoteUnavailable:
        """What came of the first that came, or the last failure where none did. A part has `fair` seconds at least, or it is not tried."""
        waiting, came = [*reversed(parts)], None
        while waiting:
            part = waiting.pop()
            share = (deadline - time.monotonic()) / (_levels(len(part)) + 1)
            if share < fair:
                self._wait(part, there)
            elif isinstance(outcome := self._fetch_part(part, fetch, share), RefsFetched):
                came = outcome
            elif len(part) > 1:
                waiting += reversed(_split(part))
            else:
                self._note(part[0], there, outcome)
        return came or self.failure or RefsFetched()

    def _fetch_part(
        self, refs: Sequence[str], fetch: Fetch, seconds: float
    ) -> RefsFetched | RemoteUnavailable:
        outcome = fetch(refs, seconds)
        if isinstance(outcome, RefsFetched):
            for ref in refs:
                self._broken.pop(ref, None)
        return outcome

    def _wait(self, refs: Sequence[str], there: Mapping[str, ObjectId]) -> None:
        """There was no time for them."""
        for ref in refs:
            known = self._broken.get(ref)
            if ref in there and (known is None or known.id != there[ref]):
                self._waiting[ref] = Unfetched(there[ref], NOT_TRIED)

    def _note(self, ref: str, there: Mapping[str, ObjectId], failure: RemoteUnavailable) -> None:
        self.failure = failure
        if id := there.get(ref):
            known = self._broken.get(ref)
            since = known.since if known is not None and known.id == id else self._snapshots
            self._broken[ref] = _Broken(id, failure.cause, since)


def _split(refs: Sequence[str]) -> list[Sequence[str]]:
    """In PARTS of about the same size, none of them empty."""
    size = -(-len(refs) // PARTS)
    return [refs[start : start + size] for start in range(0, len(refs), size)]


def _levels(count: int) -> int:
    """The fetches from so many refs down to a single one."""
    levels = 1
    while count > 1:
        count, levels = -(-count // PARTS), levels + 1
    return levels
