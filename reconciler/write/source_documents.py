"""What people changed in the source since the commit that `live` was made of, read from both commits.

`gitvirt plan` shows it, and a tick names in its commit what the change destroys: both by this function, so a plan reads the same before the
merge and after it. The cost is that of the files that changed.

A machine that is kept for an undo and declared again is compared with itself, so an equal declaration changes nothing. A file that was frozen until now is
compared with what is in force, which is its last good content on `live`, not with the text that was refused:
to restore that text changes nothing, and what else was changed in it meanwhile applies only now. A pool that loses its file and is
still announced is not gone: it loses what the file said.

Limits: without a `live` there is nothing to compare with; then every object is new, and a tick does not ask.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import partial
from typing import Any

from reconciler.decide.deletion import is_announced
from reconciler.decide.pool import announcement
from reconciler.gitstore.objects.tree import File
from reconciler.gitstore.repo import Repo
from reconciler.plan.source_changes import Documents, SourceChange, compare_sources
from reconciler.world.source.immutability import is_marked
from reconciler.world.view import View
from reconciler.write.effect_context import find_context
from schemas.kinds import Key
from schemas.manifest import parse
from schemas.manifest.ignore import is_manifest

OWN_METADATA = frozenset({"uid", "creationTimestamp", "deletionTimestamp", "ownerReferences"})
POOL_REFS = ("machinePoolRef", "volumePoolRef")


def read_source_changes(repo: Repo, view: View) -> tuple[SourceChange, ...]:
    """Each object that differs, with its effects."""
    before, after = read_changed_documents(repo, view)
    return compare_sources(before, after, partial(find_context, view))


def read_changed_documents(repo: Repo, view: View) -> tuple[Documents, Documents]:
    """The documents that differ, as they were and as they are. Frozen files are left out: they stay as they were, and problems say why."""
    before: dict[Key, Mapping[str, object]] = {}
    after: dict[Key, Mapping[str, object]] = {}
    frozen = view.frozen
    for change in repo.diff(view.last, view.source_commit):
        if change.path in frozen:
            continue
        # What is gone was a manifest if its name says so; of what is there the world knows whether it is read.
        if change.after is None or change.path in view.source.contents:
            before |= read_documents(repo, change.path, change.before)
            now_there = read_documents(repo, change.path, change.after)
            after |= now_there
            before |= read_accepted(repo, view, now_there)
    after |= list_undeclared(view, before.keys() - after.keys())
    same = {key for key in before.keys() & after.keys() if before[key] == after[key]}
    was, now = ({key: body for key, body in each.items() if key not in same} for each in (before, after))
    return was, now


def list_undeclared(view: View, gone: Iterable[Key]) -> dict[Key, Mapping[str, object]]:
    """Pools that their hosts announce, and that lost their file: they stay, with nothing but what the host says of them."""
    found: dict[Key, Mapping[str, object]] = {}
    for key in gone:
        if key in view.relations.absent and is_announced(view, key):
            state = view.find_pool(key)
            assert state is not None
            assert state.announced is not None, "it is announced"
            found[key] = announcement(key, state.announced.labels)
    return found


def read_accepted(
    repo: Repo, view: View, documents: Mapping[Key, Mapping[str, object]]
) -> dict[Key, Mapping[str, object]]:
    """What is in force of those whose file was frozen when `live` was written, and of machines that are kept for an undo: there are people's
    fields of their last good content."""
    found: dict[Key, Mapping[str, object]] = {}
    for key, body in documents.items():
        known = view.objects.get(key)
        is_kept = known is not None and known.record.undo is not None and not known.record.undo.is_returning
        place = known.live if known is not None and (is_kept or (known.source and is_marked(known))) else None
        if known is None or place is None or (file := view.live.files.get(place.path)) is None:
            continue
        if (written := read_documents(repo, place.path, file).get(key)) is not None:
            found[key] = strip_record(written, known.record.pool, body)
    return found


def strip_record(written: Mapping[str, Any], pool: str, declared: Mapping[str, Any]) -> Mapping[str, object]:
    """A document of `live` without the reconciler's fields (`world.record`). Where a pool is assigned the pin of people is not there to
    read: one to that pool was there before."""
    metadata = {name: value for name, value in written["metadata"].items() if name not in OWN_METADATA}
    rest = {name: value for name, value in written.items() if name != "status"} | {"metadata": metadata}
    if "spec" not in written:
        return rest
    spec = {name: value for name, value in written["spec"].items() if name != "claimRef"}
    for name in POOL_REFS:
        pin = (declared.get("spec") or {}).get(name)
        if pool:
            spec.pop(name, None)
            if pin == {"name": pool}:
                spec[name] = pin
    return {**rest, "spec": spec}


def read_documents(repo: Repo, path: str, file: File | None) -> dict[Key, Mapping[str, object]]:
    """The documents of one file by their keys; none for a file that is not there."""
    if file is None or not is_manifest(path):
        return {}
    return {each.key: each.body for each in parse(path, repo.read(file.id)).documents}
