"""The same moment in other words: every message of `live` and of the reports is another, and nothing else is.

What is decided for such a twin must be the same in every field that is not a message: no code reads a message back.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from hashlib import sha256
from itertools import count
from typing import Any

import msgspec

from reconciler.decide.decide import make_plan
from reconciler.gitstore.objects.commit import decode_commit
from reconciler.gitstore.repo import Draft, Identity, Pushed, Snapshot
from reconciler.gitstore.report_author import own_commit
from reconciler.gitstore.store import Store
from reconciler.plan.suggestion import suggest
from reconciler.plan.types import Change, Plan
from reconciler.world.record import Record
from reconciler.world.reports.heartbeat import HeartbeatSeen, Writer
from reconciler.world.source.source_head import find_last_reconciled
from reconciler.world.world import World
from schemas import manifest
from schemas.edit import render

AUTHOR = Identity("twin", "twin@example.org")
COUNTER = count()
TEXTS = ("message", "reason")  # a reason of more than a word is a text: that of an eviction order


@dataclass(frozen=True, slots=True)
class Moment:
    """What a plan is made from."""

    store: Store
    snapshot: Snapshot
    heartbeats_seen: Mapping[Writer, HeartbeatSeen]
    now: datetime

    def plan(self) -> Plan:
        world = World(heartbeats_seen=dict(self.heartbeats_seen))
        return make_plan(world, world.advance(self.store, self.snapshot, self.now), self.now)

    def words(self) -> set[bytes]:
        """All that can be read."""
        commits = [self.snapshot.target, *self.snapshot.reports.values()]
        files = [file for commit in commits if commit for file in self.store.files(commit)]
        return {self.store.read(file.id) for file in files}


def reword_moment(moment: Moment) -> Moment:
    """The twin: `live` as one commit of a reconciler, and each report where its sighting says that it was."""
    store, snapshot = moment.store, moment.snapshot
    commits: dict[str, str] = {}
    seen_commits = [seen.commit for seen in moment.heartbeats_seen.values()]
    for head in filter(None, (*seen_commits, *snapshot.reports.values())):
        report = own_commit(store, head)
        for each in [each for each in dict.fromkeys((report, head)) if each not in commits]:
            commits[each] = _commit(store, each, None, below=commits[report] if each != report else None)
    reports = {name: commits[commit] for name, commit in snapshot.reports.items()}
    heartbeats_seen = {
        writer: replace(seen, commit=commits.get(seen.commit, ""))
        for writer, seen in moment.heartbeats_seen.items()
    }
    source, own = find_last_reconciled(store, snapshot.target)
    live = snapshot.target if own is None else _commit(store, own, source, commits)
    return Moment(store, replace(snapshot, target=live, reports=reports), heartbeats_seen, moment.now)


def _commit(
    store: Store,
    commit: str,
    source: str | None,
    twins: Mapping[str, str] | None = None,
    below: str | None = None,
) -> str:
    """The tree of `commit` in other words, as made of `source`; a commit that it names is the twin of that. `below` is the report
    that a candidate put its commit on top of."""
    ref = f"refs/twins/{below or next(COUNTER)}"
    if below is not None:
        store._objects.remote.refs[ref] = below  # type: ignore[attr-defined]
    draft = Draft(
        ref=ref,
        expected=below,
        base=None,
        edits={
            file.path: _rename(_reword(file.path, store.read(file.id)), twins or {})
            for file in store.files(commit)
        },
        message="in other words",
        author=AUTHOR,
        time=decode_commit(store.read(commit)).time,
        source=source,
        has_parents=source is not None or below is not None,
        even_if_unchanged=True,
    )
    outcome = store.write([draft])
    assert isinstance(outcome, Pushed), outcome
    return outcome.commits[ref]


def _rename(data: bytes, twins: Mapping[str, str]) -> bytes:
    for commit, twin in twins.items():
        data = data.replace(commit.encode(), twin.encode())
    return data


def _reword(path: str, data: bytes) -> bytes:
    if path.endswith(".json"):
        value = json.loads(data)
        return data if (twin := other_words(value)) == value else json.dumps(twin).encode()
    if not path.endswith(".yaml") or path == "gitvirt.yaml":
        return data
    read = manifest.parse(path, data)
    if read.problems or not any(other_words(each.body) != each.body for each in read.documents):
        return data
    return b"---\n".join(render(other_words(each.body)) for each in read.documents)


def other_words(value: Any, name: str = "") -> Any:
    match value:
        case dict():
            return {key: other_words(each, key) for key, each in value.items()}
        case list() | tuple():
            return [other_words(each, name) for each in value]
        case str() if name in TEXTS and (name == "message" or " " in value):
            return scramble(value)
        case _:
            return value


def scramble(text: str) -> str:
    """Another text for each text, without a word of it."""
    return f"~{sha256(text.encode()).hexdigest()[:12]}" if text else ""


def differing(one: Plan, other: Plan) -> list[tuple[object, object]]:
    """What the two decide otherwise, messages left out. A change of words alone is none."""
    changes = [
        {each.key: fields_of(each) for each in plan.changes if is_decision(each)} for plan in (one, other)
    ]
    found: list[tuple[object, object]] = [
        (changes[0].get(key), changes[1].get(key))
        for key in sorted(changes[0] | changes[1])
        if changes[0].get(key) != changes[1].get(key)
    ]
    for of in (held_of, unplaced_of, due_of, problems_of):
        if of(one) != of(other):
            found.append((of(one), of(other)))
    return found


def is_decision(change: Change) -> bool:
    return plain(change.before) != plain(change.after) or change.body is not None


def fields_of(change: Change) -> object:
    return change.key, plain(change.after), change.body


def held_of(plan: Plan) -> object:
    return sorted((str(each.kind), each.keys, each.trailer) for each in plan.pending_approvals)


def unplaced_of(plan: Plan) -> object:
    return [
        (
            each.key,
            suggest(each.refusals),
            [
                (refusal.pool, [replace(reason, message="") for reason in refusal.reasons])
                for refusal in each.refusals
            ],
        )
        for each in plan.unschedulable
    ]


def due_of(plan: Plan) -> object:
    return plan.due


def problems_of(plan: Plan) -> object:
    return sorted((each.code, each.file, each.object, each.severity) for each in plan.problems)


def plain(record: Record | None) -> object:
    """Without messages, and without ids that are made from a commit, which is another one for the twin."""
    value = msgspec.to_builtins(record, enc_hook=str)
    return without_words(value)


def without_words(value: Any, name: str = "") -> Any:
    match value:
        case dict():
            return {
                key: without_words(each, key)
                for key, each in value.items()
                if key not in ("message", "id", "report_commit", "reportCommit")
            }
        case list() | tuple():
            return [without_words(each, name) for each in value]
        case str() if name in ("reason", "assignment") and (" " in value or "~" in value or name != "reason"):
            return ""
        case _:
            return value
