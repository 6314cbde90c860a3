"""Step of an update after the reports: is `live` rewound, and which recoveries do hosts wait for. The rule is reports/rewind.py's.

Runs in each update, because each report may name another commit. A commit is looked for in the history of `live` once.

What it touches: every pool and every object, when the evidence is another than before; while `live` is lost or rewound every object stays
dirty, since one tick decides all of them.
"""

from __future__ import annotations

from collections.abc import Iterator

from reconciler.gitstore.approval import is_approval_of
from reconciler.gitstore.errors import RepoError
from reconciler.gitstore.live_commit import reconciled_source
from reconciler.gitstore.live_recovery import (
    Recovery,
    approve_recovery,
    recovery_digest,
    recovery_digests,
)
from reconciler.gitstore.objects.commit import decode_commit
from reconciler.gitstore.objects.tree import ObjectId
from reconciler.gitstore.repo import Repo
from reconciler.gitstore.signatures.signers import SignersError, parse_signers
from reconciler.gitstore.signatures.verifier import BadSignature
from reconciler.world.changes import Confirm
from reconciler.world.objects.resolve import on_live
from reconciler.world.pools.grants import POOL_STATUS
from reconciler.world.record import record_of
from reconciler.world.reports.heartbeat import Heartbeat
from reconciler.world.reports.host_report import HostReport
from reconciler.world.reports.rewind import NO_REWIND, PendingRecovery, Rewind, difference
from reconciler.world.source import rules
from reconciler.world.state import State
from reconciler.world.update.delta import Delta, UpdateInputs
from schemas import manifest
from schemas.kinds import Kind
from schemas.manifest.ignore import is_manifest


def judge_live(state: State, inputs: UpdateInputs) -> Delta:
    """Sets `rewind` and `recoveries`, and notes in `live_seen` what this process saw, unless `live` lacks that."""
    history, repo = state.live_history, inputs.repo
    history.advance(repo, state.live_commit)
    named = {name: commit for name, commit in _list_applied(state)}
    history.forget_others({*named.values()})
    rewind = _find_rewind(state, inputs, named)
    if state.last is not None and rewind.own is None:
        state.live_seen.commit = state.own_live
    state.rewind, was = rewind, state.rewind
    if not state.is_live_lost:
        state.live_seen.lost_since = None
    elif state.live_seen.lost_since is None:
        state.live_seen.lost_since = state.reports.time
    recoveries = tuple(_pending(state, repo, named))
    delta = Delta()
    if rewind != was:
        delta.touched = {pool.key for pools in state.pools_by_kind.values() for pool in pools.values()}
        delta.touched |= state.objects.keys()
        delta.dirty = set(delta.touched)
    elif rewind.is_proven:
        delta.dirty = set(state.objects)
    state.recoveries = recoveries
    state.recovery_digests = frozenset(_digests(state, repo, named))
    return delta


def _known_reports(state: State) -> Iterator[HostReport]:
    """Those that count, of poollets that may serve a pool, and that are not a farewell."""
    for name, report in state.reports.by_poollet.items():
        if not report.is_accepted or state.reports.heartbeats[report.writer] is Heartbeat.LEFT:
            continue
        if any(state.authority.owns(name, pool) for pool in report.announced_keys):
            yield report


def _list_applied(state: State) -> Iterator[tuple[str, ObjectId]]:
    for report in _known_reports(state):
        if report.poollet is not None and report.poollet.live_commit:
            yield report.name, report.poollet.live_commit


def _find_rewind(state: State, inputs: UpdateInputs, named: dict[str, ObjectId]) -> Rewind:
    history, repo = state.live_history, inputs.repo
    seen = state.live_seen.commit
    own = seen if seen is not None and _is_missing(state, repo, seen) else None
    reports: dict[str, tuple[str, ...]] = {}
    for name, commit in named.items():
        if not history.contains(repo, commit) and history.recovery_of(repo, commit) is None:
            reports[name] = (commit,)
    commits = frozenset(each for found in reports.values() for each in found) | ({own} if own else set())
    for report in _known_reports(state):
        if higher := tuple(_higher_epochs(state, report)):
            reports[report.name] = (*reports.get(report.name, ()), *higher)
    if not reports and own is None:
        return NO_REWIND
    found = Rewind(own, reports, commits)
    is_proven = own is not None or len(reports) > 1 or _is_approved(state, found)
    is_proven = is_proven or any(
        _is_written_by_us(state, inputs, name, named[name]) for name in reports if name in named
    )
    return Rewind(own, reports, commits, is_proven)


def _is_missing(state: State, repo: Repo, commit: ObjectId) -> bool:
    history = state.live_history
    return not history.contains(repo, commit) and history.recovery_of(repo, commit) is None


def _higher_epochs(state: State, report: HostReport) -> Iterator[str]:
    """Epochs under which the host acted, and that `live` has not reached although the pool is granted there."""
    for pool, announced in sorted(report.pools.items()):
        doc = on_live(pool, state.live)
        status = doc.record.status if doc is not None and doc.record is not None else None
        is_granted = isinstance(status, POOL_STATUS) and status.host is not None
        if (
            is_granted
            and announced.epoch > getattr(status, "epoch", 0)
            and state.authority.owns(report.name, pool)
        ):
            yield f"{pool.name}@{announced.epoch}"


def _is_approved(state: State, found: Rewind) -> bool:
    fleet = state.rules.settings.fleet.id
    digests = [recovery_digest(fleet, each) for each in found.subjects]
    return any(
        each.about is Confirm.APPROVAL and is_approval_of(each.value, digest)
        for each in state.head.confirmations
        for digest in digests
    )


def _is_written_by_us(state: State, inputs: UpdateInputs, name: str, commit: ObjectId) -> bool:
    """Whether the mirror has the commit, and a reconciler of this fleet wrote it: it names a source commit that it contains, and the
    fleet's id. A commit that came with the report itself shows nothing, because the host may have made it."""
    repo, settings = inputs.repo, state.rules.settings
    if inputs.verdict_record.replayed is not None:
        return commit in inputs.verdict_record.replayed.ours
    if not repo.is_descendant(commit, commit):
        return False  # the mirror lacks it
    try:
        data = repo.read(commit)
        source = reconciled_source(decode_commit(data))
        found = rules.settings_at(repo, commit)
    except RepoError:
        return False
    if not source or not repo.is_descendant(commit, source):
        return False
    if found is None or found.fleet.id != settings.fleet.id:
        return False
    if repo.is_descendant(state.reports.by_poollet[name].commit, commit):
        return False
    if settings.signatures.mode != "off":
        try:
            verdict = inputs.verifier(parse_signers(settings.signatures.signers)).verify(data, inputs.now)
        except SignersError:
            return False
        if isinstance(verdict, BadSignature):
            return False
    inputs.verdict_record.ours.add(commit)
    return True


def _digests(state: State, repo: Repo, named: dict[str, ObjectId]) -> Iterator[str]:
    """Of all recoveries that some host has not applied yet, and of those that an approval would begin."""
    fleet = state.rules.settings.fleet.id
    yield from (recovery_digest(fleet, each) for each in state.rewind.subjects)
    for commit in {*named.values()}:
        if not state.live_history.contains(repo, commit):
            recovery = state.live_history.recovery_of(repo, commit)
            if recovery is not None:
                yield from recovery_digests(fleet, recovery)


def _pending(state: State, repo: Repo, named: dict[str, ObjectId]) -> Iterator[PendingRecovery]:
    """Recoveries that hosts have not applied and no commit approves, also none of the new source commits."""
    history, fleet = state.live_history, state.rules.settings.fleet.id
    waiting: dict[ObjectId, tuple[Recovery, list[str]]] = {}
    for name, commit in sorted(named.items()):
        if history.contains(repo, commit):
            continue
        recovery = history.recovery_of(repo, commit)
        if recovery is not None and not history.is_approved(repo, recovery, fleet):
            waiting.setdefault(recovery.commit, (recovery, []))[1].append(name)
    known = {each.commit: each.differences for each in state.recoveries}
    for recovery, hosts in waiting.values():
        given = [each.value for each in state.head.confirmations if each.about is Confirm.APPROVAL]
        if approve_recovery(given, recovery, fleet):
            continue
        differences = known.get(recovery.commit)
        if differences is None:
            differences = tuple(_differences(repo, recovery))
        yield PendingRecovery(recovery.commit, tuple(hosts), differences)


def _differences(repo: Repo, recovery: Recovery) -> Iterator[str]:
    """Machines that the recovery assigns to another pool than the `live` before it did."""
    before, after = _pools(repo, recovery.before, recovery), _pools(repo, recovery.commit, recovery)
    for name in sorted(before | after):
        if before.get(name, "") != after.get(name, ""):
            yield difference(name, before.get(name, ""), after.get(name, ""))


def _pools(repo: Repo, commit: ObjectId | None, recovery: Recovery) -> dict[str, str]:
    """The pool of each machine in files that the recovery changed. What cannot be read has none."""
    found: dict[str, str] = {}
    for change in repo.diff(recovery.before, recovery.commit):
        file = change.before if commit == recovery.before else change.after
        if file is None or not is_manifest(change.path):
            continue
        for document in manifest.parse(change.path, repo.read(file.id)).documents:
            if document.key.kind is Kind.MACHINE:
                name = f"{document.key.namespace}/{document.key.name}"
                found[name] = record_of(document.key.kind, document.body).pool
    return found
