"""Volumes against the snapshots they are restored from."""

from __future__ import annotations

from collections.abc import Iterator

from schemas.validate.finding import Finding
from schemas.validate.tree import Tree


def findings(tree: Tree) -> Iterator[Finding]:
    for source in tree.volume_sources:
        spec = source.spec
        if not (spec.data_source and spec.data_source.volume_snapshot_ref and spec.resources):
            continue
        namespace = source.entry.key.namespace
        snapshot = tree.snapshots.get((namespace, spec.data_source.volume_snapshot_ref.name))
        origin = tree.volumes.get((namespace, snapshot.object.spec.volume_ref.name)) if snapshot else None
        if snapshot is None or origin is None or origin.object.spec.resources is None:
            continue
        need, have = origin.object.spec.resources.storage, spec.resources.storage
        if have < need:
            yield source.entry.finding(
                "GV351",
                f"{source.pointer}/resources/storage",
                f"{have} is too small for snapshot {snapshot.key.name}: it is of volume {origin.key.name}, which has {need}",
                f"ask for at least {need}",
            )._replace(also=(snapshot.path, origin.path))
