"""Files into entries: read, parse, check each document by itself. In this process, or in several when it is worth it.

Files are worked on in batches. Batches may end in any order; their results are joined by number, so that the entries, and with them the
problems, come in the same order whatever the number of processes. Documents are decoded in this process only: objects are costly to move
between processes, plain values are not.

`unreadable` matters beyond its own problem: a file that may declare anything must not make the objects in it count as removed.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from reconciler.query.source import ManifestSource
from schemas import manifest
from schemas.kinds import Key
from schemas.manifest import Document
from schemas.model import decode
from schemas.problem import Problem, Severity
from schemas.validate import check_document
from schemas.validate.finding import Finding
from schemas.validate.inputs import ValidationPolicy
from schemas.validate.tree import AnyDeclaration, Declaration

Ids: TypeAlias = Mapping[str, str]
Progress: TypeAlias = Callable[[int, int], None]  # files read, of how many

FEW = 4_000  # files that one process parses sooner than others are started
BATCH = 500


class WorkerLostError(Exception):
    """Another process ended in the middle of its work, as the system does to one when memory runs out.

    The whole check fails then. It could be repeated with one process, but the memory is short, and a verdict on a part of the files is worthless.
    """


@dataclass(slots=True)
class FileResults:
    """Results about several files besides their documents."""

    problems: list[Problem] = field(default_factory=list)
    unreadable: list[str] = field(default_factory=list)  # files that may hold anything
    refused: list[Key] = field(default_factory=list)  # identities whose documents are invalid
    same: list[str] = field(default_factory=list)  # files that are as they were at the earlier revision
    foreign: int = 0


@dataclass(slots=True)
class ParsedFiles(FileResults):
    """The content of several files, each read by itself."""

    documents: list[Document] = field(default_factory=list)


@dataclass(slots=True)
class LoadedFiles(FileResults):
    """The same for all files, with documents decoded and checked."""

    entries: list[AnyDeclaration] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)


def load(
    source: ManifestSource,
    paths: Sequence[str],
    policy: ValidationPolicy,
    then: Ids,
    progress: Progress,
    *,
    may_fork: bool = True,
) -> LoadedFiles:
    """`then` are the ids that files had at an earlier revision."""
    cores = len(os.sched_getaffinity(0)) if may_fork else 1
    if len(paths) - manifest.count_kept() > FEW and cores > 1:
        from reconciler.query.parallel import parse_in_parallel

        batches = parse_in_parallel(source, list(split_batches(paths)), then, cores)
    else:
        batches = enumerate(parse_files(source, part, then) for part in split_batches(paths))
    return join_batches(batches, len(paths), policy, progress)


def split_batches(paths: Sequence[str]) -> Iterator[Sequence[str]]:
    """So large that a batch costs more than handing it over, and so small that the last one does not keep a single process busy."""
    return (paths[start : start + BATCH] for start in range(0, len(paths), BATCH))


def join_batches(
    batches: Iterable[tuple[int, ParsedFiles]], files: int, policy: ValidationPolicy, progress: Progress
) -> LoadedFiles:
    """Batches arrive in any order; their contents are joined in the order of their numbers."""
    loaded, entries = LoadedFiles(), {}
    for done, (number, batch) in enumerate(batches, 1):
        entries[number] = decode_batch(batch, policy, loaded)
        loaded.problems += batch.problems
        loaded.unreadable += batch.unreadable
        loaded.refused += batch.refused
        loaded.same += batch.same
        loaded.foreign += batch.foreign
        progress(min(done * BATCH, files), files)
    loaded.entries = [entry for number in sorted(entries) for entry in entries[number]]
    return loaded


def decode_batch(batch: ParsedFiles, policy: ValidationPolicy, loaded: LoadedFiles) -> list[AnyDeclaration]:
    """The objects of a batch; findings of rules that look at one document alone are added to `loaded`."""
    entries: list[AnyDeclaration] = []
    for document in batch.documents:
        object = decode(document.kind, document.body)
        entry: AnyDeclaration = Declaration(document.path, document.index, document.key, object)
        entries.append(entry)
        loaded.findings += check_document(entry, document.body, policy)
    return entries


def parse_files(source: ManifestSource, paths: Sequence[str], then: Ids) -> ParsedFiles:
    """Runs in this process or in a worker, and reads the source only. `then` are ids of blobs at the earlier revision."""
    batch = ParsedFiles()
    for path in paths:
        data = source.read(path)
        if isinstance(data, Problem):
            batch.problems.append(data)
            batch.unreadable.append(path)
            continue
        if path in then and then[path] == hash_blob(data):
            batch.same.append(path)
        found = manifest.parse(path, data)
        batch.documents += found.documents
        batch.problems += found.problems
        batch.foreign += found.foreign
        batch.refused += found.invalid
        if any(problem.severity is Severity.ERROR and not problem.object for problem in found.problems):
            batch.unreadable.append(path)  # one of its documents may be anything
    return batch


def hash_blob(data: bytes) -> str:
    """The id that Git gives to these bytes. Computed here, so that a folder without Git can be compared with a revision."""
    return hashlib.sha1(b"blob %d\0%b" % (len(data), data), usedforsecurity=False).hexdigest()
