"""Manifests read and parsed in several processes at once: what `worker_pool` does with files."""

from __future__ import annotations

import marshal
from collections.abc import Iterator, Sequence
from typing import TypeAlias

from reconciler.query.documents import Ids, ParsedFiles, parse_files
from reconciler.query.source import ManifestSource
from reconciler.query.worker_pool import Task, share_batches
from schemas.kinds import Key, Kind
from schemas.manifest import Document

PackedFiles: TypeAlias = tuple[ParsedFiles, bytes]  # the documents apart


def parse_in_parallel(
    source: ManifestSource, batches: Sequence[Sequence[str]], then: Ids, processes: int
) -> Iterator[tuple[int, ParsedFiles]]:
    """The files of each batch. Raises WorkerLostError."""

    def parse(number: int) -> ParsedFiles:
        return parse_files(source, batches[number], then)

    return share_batches(len(batches), Task(parse, pack_files, unpack_files), processes)


def pack_files(batch: ParsedFiles) -> PackedFiles:
    """Documents are plain values, which marshal moves several times faster than pickle."""
    rows = [
        (
            each.path,
            each.index,
            each.kind.value,
            each.key.namespace,
            each.key.name,
            each.api_version,
            each.body,
        )
        for each in batch.documents
    ]
    batch.documents = []
    return batch, marshal.dumps(rows)


def unpack_files(packed: PackedFiles) -> ParsedFiles:
    """In this process. marshal is safe here alone: it reads what a worker of the same program wrote."""
    batch, rows = packed
    kinds = {kind.value: kind for kind in Kind}
    for path, index, kind_name, namespace, name, api_version, body in marshal.loads(rows):  # noqa: S302 - our own process wrote it
        kind = kinds[kind_name]
        batch.documents.append(Document(path, index, kind, Key(kind, namespace, name), api_version, body))
    return batch
