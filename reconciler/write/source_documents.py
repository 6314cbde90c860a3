"""What people changed in the source since the commit that `live` was made of, read from both commits.

`gitvirt plan` shows it, and a tick names in its commit what the change destroys: both by this function, so a plan reads the same before the
merge and after it. The cost is that of the files that changed.

Limits: without a `live` there is nothing to compare with; then every object is new, and a tick does not ask.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from reconciler.gitstore.objects.tree import File
from reconciler.gitstore.repo import Repo
from reconciler.plan.source_changes import Documents, SourceChange, compare_sources
from reconciler.world.view import View
from reconciler.write.effect_context import find_context
from schemas.kinds import Key
from schemas.manifest import parse
from schemas.manifest.ignore import is_manifest


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
            after |= read_documents(repo, change.path, change.after)
    same = {key for key in before.keys() & after.keys() if before[key] == after[key]}
    was, now = ({key: body for key, body in each.items() if key not in same} for each in (before, after))
    return was, now


def read_documents(repo: Repo, path: str, file: File | None) -> dict[Key, Mapping[str, object]]:
    """The documents of one file by their keys; none for a file that is not there."""
    if file is None or not is_manifest(path):
        return {}
    return {each.key: each.body for each in parse(path, repo.read(file.id)).documents}
