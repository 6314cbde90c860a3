"""The line of inputs that a tick's inputs are put on, as a Draft that is pushed together with the commit on `live`.

Theory of operation
-------------------
The parents of a commit of inputs are the one before on its line, and each report that it names and the one before does not. So every report that
a rule read stays reachable, with author, date and signature, for as long as the line is kept. The source is in the history of `live`, but for one that
was read and not merged: not signed as it must be, or rewritten and waiting for an approval. That is a parent too, or the next force push would
leave a commit on `live` that can never be verified.

Hosts write a report every few seconds, mostly with the same files. Then the earlier commit of the same files stays named, as long as who may
sign is the same: the rules read the files alone. Where a rule did read the commit itself or its date, the verdict has both (`own_commit`).
So a commit of inputs costs what changed, not the number of hosts.

    the line on the remote                            the next commit
    is there, and its files can be read               its child, with the files that differ
    is there, and is something else                   its child, with all files
    is not there: a new month, or a person removed    the first of a line, with all files and all reports
    could not be fetched                              none: the tick writes `live` without inputs

Must never happen: a report that an inputs commit names is not reachable from it, or a source neither from it nor from the commit on `live`.

Limits: what is on the line is read as the files of hosts and no more; `verify` judges it. The line is remembered by its commit, so that whoever
moves it meanwhile costs a tick one more look.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC
from math import ceil
from typing import NamedTuple

from reconciler.audit.inputs_files import (
    HOSTS,
    WAITS,
    InputsError,
    decode_host,
    encode_host,
    encode_inputs,
    host_path,
    name_of_host,
    read_signers,
)
from reconciler.audit.tick_inputs import TickInputs
from reconciler.gitstore.errors import RepoError
from reconciler.gitstore.objects.database import ObjectType, hash_object
from reconciler.gitstore.objects.tree import ObjectId
from reconciler.gitstore.repo import Draft, Edit, Repo
from reconciler.world.verdicts import HostVerdict

DAYS_OF_LINE = 28  # at least; a calendar month
MONTH = re.compile(r"[0-9]{4}-[0-9]{2}")  # the name of a line


@dataclass(slots=True)
class KnownLine:
    """What a commit of a line has: the blob of each file, and the report that it names of each host, with the tree of that."""

    commit: ObjectId | None = None
    blobs: dict[str, ObjectId] = field(default_factory=dict)
    reports: dict[str, tuple[ObjectId, ObjectId]] = field(default_factory=dict)
    signers: str = ""
    source: ObjectId | None = None  # the last one that is below it and was not merged into live


class NewFile(NamedTuple):
    path: str
    data: bytes
    id: ObjectId


class EncodedHost(NamedTuple):
    verdict: HostVerdict
    file: NewFile


class InputsLine:
    """Remembers the newest commit of the line, as a cache. `next` is what the draft will make of it, once it landed."""

    def __init__(self, repo: Repo) -> None:
        self._repo = repo
        self._known = KnownLine()
        self._next = KnownLine()
        self._encoded: dict[str, EncodedHost] = {}

    def draft(self, inputs: TickInputs, lines: Mapping[str, ObjectId], folder: str, made: Draft) -> Draft:
        """`lines` are those below `folder` on the remote, `made` is the draft of the commit on `live`."""
        name = line_of(inputs)
        before = lines.get(name)
        if before != self._known.commit:
            self._known = self._read(before)
        known = self._known
        hosts = dict(self._choose_reports(inputs))
        self._encoded = {name: self._encode(name, each) for name, each in hosts.items()}
        files = [_file(path, data) for path, data in encode_inputs(inputs).items()]
        files += (each.file for each in self._encoded.values())
        blobs = {each.path: each.id for each in files}
        edits: dict[str, Edit] = {
            each.path: each.data for each in files if each.id != known.blobs.get(each.path)
        }
        edits |= dict.fromkeys(known.blobs.keys() - blobs.keys())
        earlier: set[ObjectId | None] = {commit for commit, _ in known.reports.values()}
        named: set[ObjectId | None] = {each.commit for each in hosts.values()}
        if self._is_left_out(inputs, made):
            named.add(inputs.source)
        source = inputs.source if inputs.source in named else known.source
        earlier |= {known.source}
        self._next = KnownLine(None, blobs, self._trees(hosts), inputs.signers, source)
        return Draft(
            ref=folder + name,
            expected=before,
            base=before if known.blobs else None,
            edits=edits,
            message="record what a commit on live was made from",
            author=made.author,
            time=inputs.now,
            merges=sorted(filter(None, named - earlier)),
            even_if_unchanged=True,
        )

    def _is_left_out(self, inputs: TickInputs, made: Draft) -> bool:
        """Whether the source that was read is neither merged by the commit nor below what it is made on."""
        source = inputs.source
        if source is None or source == made.source:
            return False
        return inputs.live is None or not self._repo.is_descendant(inputs.live, source)

    def note_landed(self, commit: ObjectId) -> None:
        """The draft was pushed, and is this commit."""
        self._known = replace(self._next, commit=commit)

    def _encode(self, name: str, verdict: HostVerdict) -> EncodedHost:
        """Most are as in the tick before."""
        before = self._encoded.get(name)
        if before is not None and before.verdict == verdict:
            return before
        return EncodedHost(verdict, _file(host_path(name), encode_host(verdict)))

    def _choose_reports(self, inputs: TickInputs) -> Iterator[tuple[str, HostVerdict]]:
        """Each with the earlier report that has the same files, where there is one."""
        same_signers = inputs.signers == self._known.signers
        for name, verdict in inputs.verdicts.hosts.items():
            commit, tree = self._known.reports.get(name, ("", ""))
            is_same = same_signers and verdict.commit is not None and self._tree(verdict.commit) == tree
            yield name, replace(verdict, commit=commit) if is_same else verdict

    def _trees(self, hosts: Mapping[str, HostVerdict]) -> dict[str, tuple[ObjectId, ObjectId]]:
        known = self._known.reports
        return {
            name: known[name]
            if name in known and known[name][0] == each.commit
            else (each.commit, self._tree(each.commit))
            for name, each in hosts.items()
            if each.commit is not None
        }

    def _tree(self, commit: ObjectId) -> ObjectId:
        """The first header of a commit. There may be thousands, so no more of it is read."""
        return self._repo.read(commit).partition(b"\n")[0].removeprefix(b"tree ").decode("ascii", "replace")

    def _read(self, commit: ObjectId | None) -> KnownLine:
        """Whatever cannot be read there is written again."""
        if commit is None:
            return KnownLine()
        try:
            files = {file.path: file.id for file in self._repo.files(commit)}
            known = KnownLine(commit, files, signers=read_signers(self._repo.read(files.get(WAITS, ""))))
            for path, id in files.items():
                if path.startswith(HOSTS) and (name := name_of_host(path)):
                    report = decode_host(self._repo.read(id)).commit
                    # A report that is named and not reachable would stay so for ever.
                    if report is not None and self._repo.is_descendant(commit, report):
                        known.reports[name] = report, self._tree(report)
        except (RepoError, InputsError):
            return KnownLine(commit)
        return known


def _file(path: str, data: bytes) -> NewFile:
    return NewFile(path, data, hash_object(ObjectType.BLOB, data).id)


def line_of(inputs: TickInputs) -> str:
    """The calendar month, in UTC."""
    return inputs.now.astimezone(UTC).strftime("%Y-%m")


def find_old_lines(lines: Mapping[str, ObjectId], keep_days: float) -> dict[str, ObjectId]:
    """The lines that are older than what is kept. They are counted, so that a clock that is wrong for an hour removes one at most; the newest
    one, which has just been written, is never among them. A ref that is not named by a month is another tool's: it is neither counted nor removed."""
    kept = ceil(keep_days / DAYS_OF_LINE) + 1
    months = sorted(filter(MONTH.fullmatch, lines))
    return {name: lines[name] for name in months[:-kept]}
