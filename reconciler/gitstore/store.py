"""The Repo: snapshots and writes, over a database of objects and a transport to the remote.

Owns what is the same for the mirror on disk and the twin in memory. It must not know processes, files or the Git library.

# Theory of operation

A **snapshot** lists the remote's refs once and fetches those that differ from the mirror. Everything it names can then be read without
the remote. Three rules keep a snapshot honest:

- With any ref that differs, source and target are fetched too. Otherwise a new target that merged a newer source would be
  compared with an older source, which looks like rewritten history.
- A ref that the remote lists but does not send is an error. It must never pass for a ref that does not exist: absence deletes objects.
  Where it is a report, it is that report's (`unfetched`), and the rest of the snapshot is as it should be: see broken_refs.py.
- Refs may move between list and fetch. The snapshot then has the newer value; nothing is read twice.

A **write** builds all commits first, stores them in the mirror, then pushes all refs in one atomic compare-and-swap:

| the push answers | the refs on the remote then | outcome | what the caller does |
|---|---|---|---|
| accepted | ours | Pushed | continues |
| conflict | ours: an earlier try had succeeded without an answer | Pushed | continues |
| conflict | another writer's | PushConflict | takes a snapshot and drafts again |
| no answer, and the transport could not find out by the refs | unknown | RemoteUnavailable, is_unknown | takes a snapshot later |
| rejected by a hook or a rule | as before | PushRefused | shows the words; the same push would fail again |
| failed before it was sent | as before | RemoteUnavailable | retries later |

An unknown outcome stays unknown even if the refs look unchanged, because the server may still be working on the push. The next
snapshot tells. Writing the same draft again is harmless: compare-and-swap fails if the first push succeeded after all.

**Damage.** A read of a missing object raises DamageError and notes the object. Before its next fetch the store lets the database heal
itself with a thorough check. An object that is missing even afterwards is not in this repo at all; it is not looked for again.
Repeated failures that may come from a damaged mirror (kinds MIRROR and PROTOCOL) ask for the same check, at the second failure in
a row and then at every doubling, because it takes seconds.

# Must never happen

- A ref that could not be read is reported as absent.
- One of several drafts is on the remote and another is not.
- A push is reported as done although the remote never had it.
- Housekeeping removes objects of the last two snapshots, which a tick still compares.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections import deque
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

from reconciler.gitstore.broken_refs import BrokenRefs, Fetch
from reconciler.gitstore.errors import DamageError
from reconciler.gitstore.objects.commit import Sign
from reconciler.gitstore.objects.commit_builder import BuiltCommit, CommitBuilder
from reconciler.gitstore.objects.database import ObjectDatabase, ObjectType
from reconciler.gitstore.objects.reader import ObjectReader
from reconciler.gitstore.objects.tree import ObjectId
from reconciler.gitstore.remote.transport import (
    PushConflict,
    RefSet,
    RefsFetched,
    RefsListed,
    RefsPushed,
    RefUpdate,
    RemoteErrorKind,
    RemoteUnavailable,
    Transport,
)
from reconciler.gitstore.repo import Draft, FileChange, Outcome, Pushed, Refs, Snapshot, Unchanged, Unfetched
from reconciler.gitstore.signatures.signing import SigningError

AnyRef = TypeVar("AnyRef")
# A tick compares its snapshot with the one before; both must outlive housekeeping.
_SNAPSHOTS_KEPT = 2
# Git looks each name up in all that the remote lists; beyond this many it is cheaper to ask for all reports.
_NAMES_AT_MOST = 64
# The deadline of a call to the remote. Less than the least heartbeat timeout (schemas.settings.fleet): a host whose call hangs can
# still make another one before it counts as lost. All fetches of a snapshot together take no longer, but for an eighth (broken_refs.py),
# and for what no shorter time can do: source and target come whole or not at all. Into an empty mirror they have CLONE_CALLS times as
# long, at once. Into one that is far behind twice as long after each fetch that took all of its time, so that a host reports in between. A
# connection over which nothing comes ends before that (git_command.py).
CALL_SECONDS = 40.0
CLONE_CALLS = 24
# What a damaged mirror may look like.
_OURS = (RemoteErrorKind.MIRROR, RemoteErrorKind.PROTOCOL)


class Store(ObjectReader):
    """See `Repo`. `seconds` bounds each call to the remote. One party writes; any thread may read."""

    def __init__(
        self,
        objects: ObjectDatabase,
        transport: Transport,
        refs: Refs,
        *,
        sign: Sign | None = None,
        seconds: float = CALL_SECONDS,
    ) -> None:
        super().__init__(objects)
        self._transport = transport
        self._refs = refs
        self._seconds = seconds
        self._builder = CommitBuilder(self, objects.is_descendant, sign)
        self._needed = _needed_names(refs)
        self._asked = RefSet(self._needed)
        self._have = self._read_refs()
        self._recent: deque[Mapping[str, ObjectId]] = deque([self._have], maxlen=_SNAPSHOTS_KEPT)
        self._broken = BrokenRefs([ref for ref in (refs.source, refs.target) if ref])
        self._absent: set[ObjectId] = set()  # missing even after a thorough look: just not in this repo
        self._failures = {"fetch": 0, "push": 0}  # in a row
        self._is_suspicious = False
        self._are_heads_slow = False  # their last fetch failed
        self._head_calls = 1  # how many times as long as a call they may take
        self._turn = threading.Lock()

    def snapshot(self) -> Snapshot | RemoteUnavailable:
        with self._turn:
            listed = self._transport.list_refs(self._needed, self._seconds)
            if isinstance(listed, RemoteUnavailable):
                return listed
            if failure := self._update_mirror(listed):
                return failure
            self._recent.append(dict(self._have))
            return _snapshot(self._refs, self._have, self._broken.refs(), listed.default_branch)

    def look_up(self, id: ObjectId) -> tuple[ObjectType, bytes]:
        """An object with its type: what a remote in memory falls back on that begins where this repo is."""
        return self._objects.get(id)

    def commits(self, head: ObjectId, since: ObjectId | None) -> Iterator[ObjectId]:
        try:
            yield from self._objects.commits(head, since)
        except DamageError:
            self.missing.add(head)
            raise

    def changes(
        self, head: ObjectId, path: str | None = None, *, removals: bool = False
    ) -> Iterator[tuple[ObjectId, FileChange]]:
        try:
            yield from self._objects.changes(head, path, removals=removals)
        except DamageError:
            self.missing.add(head)
            raise

    def is_descendant(self, commit: ObjectId, ancestor: ObjectId) -> bool:
        return self._objects.is_descendant(commit, ancestor)

    def write(self, drafts: Sequence[Draft]) -> Outcome:
        if len({draft.ref for draft in drafts}) != len(drafts):
            raise ValueError("two drafts of one ref")
        with self._turn:
            try:
                built = self._build(drafts)
            except SigningError as error:
                return RemoteUnavailable(RemoteErrorKind.MIRROR, error.cause, error.cure)
            if not built:
                return Unchanged()
            try:
                self._objects.add([object for _, made in built.values() for object in made.objects])
            except OSError as error:
                return _own_disk(error)
            updates = [RefUpdate(ref, draft.expected, made.commit) for ref, (draft, made) in built.items()]
            outcome = self._push(updates)
            if isinstance(outcome, Pushed):
                # The push is what counts. A ref that the mirror cannot move now is fetched by the next snapshot.
                with contextlib.suppress(OSError):
                    self._objects.point(outcome.commits)
                    self._have.update(outcome.commits)
            self._objects.forget()
            return outcome

    def build(self, draft: Draft) -> Sequence[bytes]:
        made = self._builder.build(draft)
        found = made.objects if made is not None else ()
        return [each.data for each in found if each.type is ObjectType.COMMIT]

    def _build(self, drafts: Sequence[Draft]) -> dict[str, tuple[Draft, BuiltCommit]]:
        """Those that change anything; first the drafts that others name."""
        built: dict[str, tuple[Draft, BuiltCommit]] = {}
        for draft in sorted(drafts, key=lambda each: bool(each.names)):
            named = [(key, built[ref][1].commit) for key, ref in draft.names if ref in built]
            if made := self._builder.build(replace(draft, trailers=(*draft.trailers, *named))):
                built[draft.ref] = draft, made
        return built

    def remove(self, refs: Mapping[str, ObjectId]) -> Outcome:
        with self._turn:
            outcome = self._push([RefUpdate(ref, id, None) for ref, id in sorted(refs.items())])
            if isinstance(outcome, Pushed):
                self._have = {ref: id for ref, id in self._have.items() if ref not in refs}
            return outcome

    def housekeep(self) -> RemoteUnavailable | None:
        pins = {id for refs in tuple(self._recent) for id in refs.values()}
        try:
            self._objects.repack(sorted(pins))
            with self._turn:
                self._objects.finish_repack(self._have.keys())
        except OSError as error:
            return _own_disk(error)
        return None

    @property
    def folder(self) -> Path | None:
        """Where what is made of these objects may lie: it is this party's alone until `close`, and goes when they go."""
        return self._objects.folder

    def close(self) -> None:
        self._objects.close()

    def _update_mirror(self, listed: RefsListed) -> RemoteUnavailable | None:
        """The mirror up to what was listed. Refs that move meanwhile are taken as the fetch found them."""
        try:
            if self.missing - self._absent or self._is_suspicious:
                self._heal(is_thorough=True)
            there = {ref: id for ref, id in listed.refs.items() if ref in self._asked}
            failure = self._fetch(there)
        except OSError as error:
            return _own_disk(error)
        # Reports that cannot be fetched may be a sign of a damaged mirror as well.
        self._count("fetch", failure or self._broken.failure)
        return failure

    def _fetch(self, there: Mapping[str, ObjectId]) -> RemoteUnavailable | None:
        """All that differs at once, and when that fails, each report apart."""
        differing, late = self._broken.select(there, self._have)
        heads = [ref for ref in (self._refs.source, self._refs.target) if ref and ref in there]
        if differing or late:
            # With any of them come source and target, as they are now: a target that merged a source newer than the one that
            # was listed would look like a source that was rewritten.
            differing = sorted({*heads, *differing})
        missing: set[str] = set()

        def fetch(refs: Sequence[str], seconds: float) -> RefsFetched | RemoteUnavailable:
            outcome = self._transport.fetch(self._names(refs), seconds)
            if isinstance(outcome, RefsFetched):
                missing.update(outcome.missing)
            if set(refs) <= set(heads):
                is_short = isinstance(outcome, RemoteUnavailable) and outcome.is_timeout
                self._head_calls = min(2 * self._head_calls, CLONE_CALLS) if is_short else 1
            return outcome

        outcome = self._fetch_heads(fetch, heads) if heads and differing else None
        failure = outcome if isinstance(outcome, RemoteUnavailable) else None
        deadline = time.monotonic() + self._seconds
        if failure is None and (set(differing) - set(heads) or (differing and outcome is None)):
            outcome = self._fetch_all(fetch, differing, heads, deadline)
        if failure is None and isinstance(outcome, RemoteUnavailable):
            failure = self._broken.fetch_apart(fetch, differing, there, outcome, deadline, self._seconds)
        self._are_heads_slow = failure is not None
        if failure is not None:
            self._have = self._read_refs()
            return failure
        if late:
            self._broken.fetch_late(fetch, late, there, deadline, self._seconds)
        if self._broken.failure:
            self._heal(is_thorough=False)
        if differing or late:
            self._have = self._read_refs()
        return self._find_lost(there.keys() - missing)

    def _find_lost(self, needed: Set[str]) -> RemoteUnavailable | None:
        """A ref that was listed and did not come is unknown, which must never pass for absent."""
        lost = sorted(needed - self._have.keys() - self._broken.refs().keys())
        if not lost:
            return None
        cause = f"the remote lists {lost[0]} but does not send it"
        return RemoteUnavailable(RemoteErrorKind.PROTOCOL, cause, "run `git fetch` to see why")

    def _fetch_heads(self, fetch: Fetch, heads: Sequence[str]) -> RefsFetched | RemoteUnavailable | None:
        """Source and target alone where they may need much time, so that no report is blamed; else None."""
        is_first = not any(ref in self._have for ref in heads)
        if not (is_first or self._are_heads_slow):
            return None
        return self._fetch_healed(
            fetch, heads, self._seconds * (CLONE_CALLS if is_first else self._head_calls)
        )

    def _fetch_all(
        self, fetch: Fetch, refs: Sequence[str], heads: Sequence[str], deadline: float
    ) -> RefsFetched | RemoteUnavailable:
        """In half of the time, where reports may be what takes it: the other half is for each of them apart."""
        share = 1 if set(refs) <= set(heads) else 2
        return self._fetch_healed(fetch, refs, (deadline - time.monotonic()) / share)

    def _fetch_healed(
        self, fetch: Fetch, refs: Sequence[str], seconds: float
    ) -> RefsFetched | RemoteUnavailable:
        """Once more where the mirror was damaged, and is not now."""
        deadline = time.monotonic() + seconds
        outcome = fetch(refs, seconds)
        if isinstance(outcome, RemoteUnavailable) and self._heal(is_thorough=False) and outcome.kind in _OURS:
            outcome = fetch(refs, max(deadline - time.monotonic(), 1))
        return outcome

    def _names(self, refs: Sequence[str]) -> Sequence[str]:
        """By name, or all reports where there are many, and none of them is to be left out."""
        if len(refs) <= _NAMES_AT_MOST or self._broken.refs():
            return refs
        return [name for name in self._needed if name.endswith("/*") or name in refs]

    def _read_refs(self) -> dict[str, ObjectId]:
        """What the mirror has, without what other settings made it fetch."""
        return {ref: id for ref, id in self._objects.refs().items() if ref in self._asked}

    def _heal(self, *, is_thorough: bool) -> bool:
        """Whether the mirror was changed, so that a second try makes sense."""
        changed = self._objects.heal(is_thorough)
        self._absent = set() if changed else self._absent | self.missing
        self.missing.clear()
        self._is_suspicious = False
        self._have = self._read_refs()
        return changed

    def _count(self, call: str, outcome: object) -> None:
        """A mirror whose damage was not noticed makes the same call fail again and again."""
        is_ours = isinstance(outcome, RemoteUnavailable) and outcome.kind in _OURS
        failures = self._failures[call] + 1 if is_ours else 0
        self._failures[call] = failures
        # The first or second in a row, and then ever more seldom, since a thorough look takes its time.
        is_own = isinstance(outcome, RemoteUnavailable) and outcome.kind is RemoteErrorKind.MIRROR
        self._is_suspicious |= failures >= 2 - is_own and failures & (failures - 1) == 0

    def _push(self, updates: Sequence[RefUpdate]) -> Outcome:
        outcome = self._transport.push(updates, self._seconds)
        self._count("push", outcome)
        new = {update.ref: update.new for update in updates if update.new}
        match outcome:
            case RefsPushed():
                return Pushed(new)
            case PushConflict(refs) if refs == new:
                return Pushed(new)  # an earlier try had landed, and only its answer was lost
            case _:
                return outcome


def _own_disk(error: OSError) -> RemoteUnavailable:
    """A full disk of ours stops a tick like a remote that is away, and is retried like it."""
    reason = error.strerror or str(error)
    return RemoteUnavailable(
        RemoteErrorKind.MIRROR,
        f"the mirror cannot be written: {reason}",
        "free space on its disk, or make its directory writable",
    )


def _needed_names(refs: Refs) -> list[str]:
    folders = (*_reports(refs), *([refs.inputs] if refs.inputs else []))
    below = [ref + "*" if ref.endswith("/") else ref for ref in folders]
    return [ref for ref in (refs.source, refs.target, *below) if ref]


def _reports(refs: Refs) -> tuple[str, ...]:
    """Folders end in `/`; a poollet names its own report ref alone, so that it does not fetch those of other hosts."""
    if isinstance(refs.reports, tuple):
        return refs.reports
    return (refs.reports,) if refs.reports else ()


def _snapshot(
    refs: Refs, have: Mapping[str, ObjectId], broken: Mapping[str, Unfetched], default_branch: str | None
) -> Snapshot:
    """Reports by the rest of their ref's name. The source and the target are never reports, even if a setting puts them below."""
    names: dict[str, str] = {}
    for needed in _reports(refs):
        folder = needed[: needed.rindex("/") + 1]
        found: list[str] = sorted({*have, *broken}) if needed == folder else [needed]
        names |= {ref: ref[len(folder) :] for ref in found if ref.startswith(folder)}
    named = {ref: name for ref, name in names.items() if ref not in (refs.source, refs.target)}
    source = have.get(refs.source) if refs.source else None
    target = have.get(refs.target) if refs.target else None
    reports = {name: have[ref] for ref, name in named.items() if ref in have and ref not in broken}
    unfetched = {name: broken[ref] for ref, name in named.items() if ref in broken}
    inputs = _below(refs, refs.inputs, have)
    unfetched_inputs = _below(refs, refs.inputs, broken)
    inputs = {name: id for name, id in inputs.items() if name not in unfetched_inputs}
    return Snapshot(source, target, reports, default_branch, unfetched, inputs, unfetched_inputs)


def _below(refs: Refs, folder: str | None, there: Mapping[str, AnyRef]) -> dict[str, AnyRef]:
    """What is below a folder of refs, by the rest of each name."""
    return {
        ref[len(folder) :]: found
        for ref, found in sorted(there.items())
        if folder and ref.startswith(folder) and ref not in (refs.source, refs.target)
    }
