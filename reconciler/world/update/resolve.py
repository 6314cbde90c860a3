"""Third step of an update: the new state of each touched object, and which source files are frozen for it.

Keeps `objects`, `relations` and `population` in step: `resolve_keys` is the only place that changes them, always all three.
A pool is passed on to the next step even when its document is the same, since its announcement may be another.
"""

from __future__ import annotations

from collections.abc import Iterable

from reconciler.gitstore.repo import Repo
from reconciler.world.objects.object_state import ObjectState
from reconciler.world.objects.relations import absences
from reconciler.world.objects.resolve import announced_pool, resolve_object
from reconciler.world.source.freeze import files_to_judge, freeze_files
from reconciler.world.source.renamed_files import declares_nothing, find_renamed
from reconciler.world.state import State
from reconciler.world.update.delta import POOLS, Changed, Delta
from reconciler.world.update.load_files import load_object
from schemas.kinds import Key


def resolve_objects(state: State, repo: Repo, loaded: Delta) -> tuple[Changed, Delta]:
    """Resolves twice. Only resolved objects show whether a file changes immutable fields; such a file is then frozen as a whole, and
    its objects are resolved again, as they were before."""
    delta = Delta()
    changed = resolve_keys(state, repo, loaded.touched, delta)
    paths = files_to_judge(state, loaded.to_judge, changed)
    if paths:
        turned = freeze_files(state, repo, paths)
        delta.source_paths |= turned.paths
        delta.dirty |= turned.keys
        for key, (before, after) in resolve_keys(state, repo, turned.keys, delta).items():
            changed[key] = (changed[key][0] if key in changed else before, after)
    note_renamed(state, repo, delta)
    return changed, delta


def note_renamed(state: State, repo: Repo, delta: Delta) -> None:
    """Finds what files that are gone may have become, once it is known which objects are absent.

    Only a first update looks through all files. Later ones know the new files by what changed, and by what they found before. A file
    that is in doubt no longer is among the paths to write, since nothing else changed in it.
    """
    before = state.renamed.new
    paths = differing_paths(state) if state.is_fresh else {*state.news, *before}
    absent = [state.objects[key] for key in sorted(state.relations.absent)]
    state.renamed = find_renamed(absent, state.source, state.live, paths, state.news, repo.read)
    delta.source_paths |= (paths if state.is_fresh else before) - state.renamed.new


def differing_paths(state: State) -> set[str]:
    """Files of the source that `live` lacks, and those without an object that it has with another content. With objects, nearly all
    differ: `live` has their status."""
    on_live, source = state.live.files, state.source
    return {
        path
        for path, file in source.files.items()
        if on_live.get(path) != file and (path not in on_live or declares_nothing(path, source))
    }


def resolve_keys(state: State, repo: Repo, touched: Iterable[Key], delta: Delta) -> Changed:
    """Resolves the keys and updates the relations between objects. Returns the keys whose state changed.

    `absences` runs at the end, over all of them: whether a generated object is absent depends on its owner, which may come
    after it in the same update.
    """
    changed: Changed = {}
    for key in touched:
        before, after = state.objects.get(key), resolve_key(state, repo, key, delta)
        if before == after:
            if key.kind in POOLS:
                changed[key] = (before, after)
            continue
        if after is None:
            del state.objects[key]
        else:
            state.objects[key] = after
        state.relations.replace(before, after)
        state.population.replace(before, after)
        changed[key] = (before, after)
    absences(changed, state.objects, state.relations)
    return changed


def resolve_key(state: State, repo: Repo, key: Key, delta: Delta) -> ObjectState | None:
    """What the branches say of the key. A pool without any document comes into being by its announcement, where the settings
    of both the last and the present source are open to that.
    """
    found = resolve_object(key, state.source, state.live, lambda doc: load_object(state, repo, doc, delta))
    if found is None and key.kind in POOLS and state.rules.policy.has_open_pools:
        announcement = state.announcement(key)
        return announced_pool(key, announcement) if announcement else None
    return found
