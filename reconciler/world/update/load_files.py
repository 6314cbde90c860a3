"""First step of an update: which commits are used, and the files of the source and of `live` that differ, read into documents.

Theory of operation
-------------------
Four commits take part, and no two of them need be the same:

    head of the source      what people pushed last; used unless source_head.py holds it
    last                    the source commit that `live` was made of, as the newest commit of a reconciler there says
    own_live                that newest commit of a reconciler on `live`; its files are what `live` means in this package
    head of live            may have commits of others on top, which are never read: the next commit is made on `own_live`

Where no commit on `live` is a reconciler's, `last` is None and `own_live` is the head: this is a first start, or `live` was lost.

Files are taken in by difference: the source from the commit that the State has to the one to use, `live` from the old
`own_live` to the new one. `news` are the paths between `last` and the source in use: what people changed that no tick has handled yet.

The settings are read between the files and the documents, because they say which files are manifests. When they change, every
file is looked at again, and everything that a report mentions is touched, since another poollet may own its pool now.

Must never happen: what others committed on top of a reconciler's commit is taken for a record; settings of a commit that is held
are used; the id of the fleet is taken from the commit that it protects against.
"""

from __future__ import annotations

from reconciler.gitstore.objects.tree import ObjectId
from reconciler.gitstore.repo import FileChange, Repo
from reconciler.world.objects.object_state import ObjectState, Origin
from reconciler.world.source import rules, source_head
from reconciler.world.source.contents import Doc, object_at
from reconciler.world.source.files import (
    BranchUpdate,
    is_retained,
    needed_objects,
    update_live,
    update_source,
)
from reconciler.world.state import State
from reconciler.world.update.delta import Delta, UpdateInputs
from schemas.kinds import Kind
from schemas.model import Object
from schemas.settings.fleet import FleetSettings, SignatureSettings


def load_files(state: State, inputs: UpdateInputs) -> Delta:
    """Chooses the commits, then reads the source before `live`: which documents of `live` are decoded depends on the source."""
    repo, live = inputs.repo, inputs.snapshot.target
    own = state.own_live  # the newest commit on live that a reconciler made; where there is none, the head
    if state.is_fresh or live != state.live_commit:
        state.last, made = source_head.find_last_reconciled(repo, live)
        own = made or live
    chosen = select_source(state, inputs, own)
    if chosen != state.head:
        state.head, state.problems = chosen, None
    news: dict[str, FileChange] = {}
    if state.last is not None and chosen.use is not None and chosen.use != state.last:
        news = {change.path: change for change in repo.diff(state.last, chosen.use)}
    delta = load_source(state, repo, chosen.use, news, own)
    if live != state.live_commit:
        delta.add(load_live(state, repo, live, own))
    return delta


def select_source(state: State, inputs: UpdateInputs, own: ObjectId | None) -> source_head.SourceHead:
    """The source commit that is used, by trust, history and the fleet's id, in this order. The settings that judge a head are
    those of the source that was reconciled last, never those that the head brings along.
    """
    repo = inputs.repo
    chosen = source_head.select_source_head(
        repo,
        inputs.snapshot.source,
        state.last,
        (signature_settings(state, inputs, own), inputs.source_verifier),
        inputs.now,
        lambda: fleet_id(repo, own),
    )
    if chosen.use == state.last:
        return chosen
    chosen = source_head.drop_used(repo, chosen, own)
    return source_head.check_fleet_id(chosen, state.last, fleet_id(repo, own), fleet_id(repo, chosen.use))


def signature_settings(state: State, inputs: UpdateInputs, own: ObjectId | None) -> SignatureSettings:
    """Those of the source that was reconciled last; without that, those of the head itself."""
    if state.assumes_signed:
        return SignatureSettings()
    commit = state.last or inputs.snapshot.source
    if commit != state.signatures[0]:
        if commit is not None and commit == state.source_commit:
            settings: FleetSettings | None = state.rules.settings
        else:
            kept = rules.settings_at(inputs.repo, own)
            settings = rules.settings_at(inputs.repo, commit) or kept
        state.signatures = (commit, settings.signatures if settings else SignatureSettings())
    return state.signatures[1]


def fleet_id(repo: Repo, commit: ObjectId | None) -> str:
    """As the settings at a commit have it; empty without any that can be read."""
    settings = rules.settings_at(repo, commit)
    return settings.fleet.id if settings else ""


def load_source(
    state: State, repo: Repo, use: ObjectId | None, news: dict[str, FileChange], own: ObjectId | None
) -> Delta:
    """Brings `source` and `rules` to the commit `use`. `news` are the changes since the source that was reconciled last.

    A file that is held for immutable fields and changes is released here, read as it is now, and judged again by `resolve`.
    """
    delta = Delta()
    changes = list(repo.diff(state.source_commit, use)) if use != state.source_commit else []
    for change in changes:
        if change.after is not None:
            state.source.files[change.path] = change.after
        else:
            state.source.files.pop(change.path, None)
    ruled = rules.rules(repo, state.source.files, news, own, state.rules)
    has_new_rules = ruled is not state.rules
    if has_new_rules:  # which files count as manifests may be another: all are looked at again
        state.rules, state.problems = ruled, None
        gone = [change for change in changes if change.after is None]
        changes = [*gone, *(FileChange(path, None, file) for path, file in state.source.files.items())]
    update = update_source(repo, state.readings, state.source, changes, ruled)
    state.news = frozenset(news)
    delta.to_judge = news.keys() | {path for path, *_ in changes if state.held.pop(path, None)}
    state.source_commit = use
    is_start = state.is_fresh and state.last
    delta.source_paths = set(news) if is_start else {change.path for change in changes}
    if has_new_rules and not state.is_fresh:
        delta.has_new_rules = True
        update.keys.update(pool.key for pools in state.pools_by_kind.values() for pool in pools.values())
        for report in state.reports.by_poollet.values():
            update.keys.update(report.entries, report.announced_keys)
    note_update(state, update, delta)
    return delta


def load_live(state: State, repo: Repo, live: ObjectId | None, own: ObjectId | None) -> Delta:
    """Reads the last commit on live by a reconciler. Foreign commits above it are not read: the next commit is made on the
    reconciler's own, so foreign edits are reverted."""
    delta = Delta()
    changes = list(repo.diff(state.own_live, own))
    update = update_live(repo, state.readings, state.live, changes, needed_objects(state.source))
    delta.live_paths = paths_of_other_reconcilers(state, repo, own, changes)
    foreign = repo.diff(own, live) if own != live else ()
    state.foreign_edits = tuple(sorted(change.path for change in foreign))
    state.own_live, state.live_commit = own, live
    if any(is_retained(change.path) for change in changes):
        load_retained(state, repo, delta)
    note_update(state, update, delta)
    return delta


def paths_of_other_reconcilers(
    state: State, repo: Repo, own: ObjectId | None, changes: list[FileChange]
) -> set[str]:
    """The files of live that differ from before, but for what we wrote there ourselves.

    Another reconciler writes while two run for a moment. A first update has nothing to compare with, so it returns none.
    """
    if state.is_fresh:
        return set()
    if own is not None and state.written is not None and repo.is_descendant(own, state.written):
        changes = list(repo.diff(state.written, own)) if own != state.written else []
    return {change.path for change in changes}


def note_update(state: State, update: BranchUpdate, delta: Delta) -> None:
    """Adds the keys that a load touched. If a file became malformed or readable again, that concerns all its documents on live."""
    delta.blobs_read += update.blobs_read
    if update.flipped:
        state.problems = None
    for path in update.flipped:
        keys = {*state.live.keys_at(path), *state.source.keys_at(path)}
        update.keys |= keys
        delta.dirty |= keys  # the object may be the same; the reason that is shown is another
    delta.touched |= update.keys


def load_retained(state: State, repo: Repo, delta: Delta) -> None:
    """Retained volumes are few, and known by uid: their key may be declared again. They stay charged."""
    for uid in state.retained_volumes:
        delta.charge(state, ("retained", uid), None)
    state.retained_volumes = {}
    for path, contents in state.live.contents.items():
        for doc in contents.docs if is_retained(path) else ():
            if doc.record is not None:
                found = load_object(state, repo, doc, delta)
                kept = ObjectState(doc.key, found, Origin.RETAINED, doc.record, None, doc.place)
                state.retained_volumes[doc.record.uid] = kept
    counted = (Kind.VOLUME, "Retained")
    if state.retained_volumes or state.relations.state_counts[counted]:
        state.relations.state_counts[counted] = len(state.retained_volumes)
    for uid, kept in state.retained_volumes.items():
        delta.charge(state, ("retained", uid), state.ledger.charge_of(kept, {}))


def load_object(state: State, repo: Repo, doc: Doc, delta: Delta) -> Object:
    """The object of a document on live, decoded only when it is asked for."""
    if doc.object is not None:
        return doc.object
    delta.blobs_read += 1
    return object_at(doc.place, repo.read(state.live.files[doc.place.path].id))
