"""A result for each commit on `live`: do the rules make it of the inputs that it names?

Theory of operation
-------------------
The first-parent line is walked from the oldest commit of the range to the newest, by one World that goes from commit to commit, so that each
costs what changed. Where that does not give the same commit, a new World decides: it has no state that an earlier commit could have spoiled.

    result                when
    explained             tree, message, time and parents are equal
    differs               something else; the paths with both texts are listed
    signature differs     the same commit, but a recorded verdict on a signature is not that of the keys that are here (`signatures`)
    foreign               it has not the form of a reconciler's commit, or the reconciler passed over it
    inputs do not fit     the inputs cannot be read, are on no line, or are of another parent
    no inputs             it names none, or its line was removed (`audit.keep`)
    other version         it differs, and another version of the rules made it

A draft that merges the source and removes files becomes two commits with one message. They are one step here.

Inputs are untrusted: whoever may write `live` may write them. A forged tree needs forged inputs that lead to it, and then the reports in them
must carry the signatures of hosts. So without signed reports `explained` proves that the rules were followed, and not who told the facts.

Must never happen: a commit is explained by anything that was read elsewhere than in the repo; an error of one commit ends the walk.

Limits: a commit that the reconciler passed over is named and not compared: it is in no file.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from enum import StrEnum

from reconciler.audit.inputs_files import TICK, InputsError, UnknownFormatError, decode_inputs
from reconciler.audit.replay import Replay, replay
from reconciler.audit.rules_version import installed_rules
from reconciler.audit.signature_check import SignatureCheck
from reconciler.audit.steps import Step
from reconciler.audit.tick_inputs import TickInputs
from reconciler.gitstore.errors import RepoError
from reconciler.gitstore.live_commit import reconciled_source, why_foreign
from reconciler.gitstore.objects.commit import (
    INPUTS_TRAILER,
    RECONCILER_TRAILER,
    REPLACED_TRAILER,
    Commit,
    decode_commit,
)
from reconciler.gitstore.objects.tree import File, ObjectId
from reconciler.gitstore.repo import Draft, ExistingBlob, Repo
from reconciler.world.record import stamp
from reconciler.world.replay_world import ReplayWorld, UnknownVerdictError
from reconciler.world.source.parse_cache.cache import ParseCache
from reconciler.write.tick_commit import CommitIdentity

log = logging.getLogger(__name__)


class Result(StrEnum):
    EXPLAINED = "explained"
    DIFFERS = "differs"
    SIGNATURE_DIFFERS = "signature differs"
    FOREIGN = "foreign"
    DO_NOT_FIT = "inputs do not fit"
    NO_INPUTS = "no inputs"
    OTHER_VERSION = "other version"

    @property
    def is_problem(self) -> bool:
        return self in (Result.DIFFERS, Result.SIGNATURE_DIFFERS, Result.FOREIGN, Result.DO_NOT_FIT)


@dataclass(frozen=True, slots=True)
class PathDifference:
    """None: there is no such file."""

    path: str
    expected: bytes | None
    found: bytes | None


@dataclass(frozen=True, slots=True)
class AuditedCommit:
    commit: ObjectId
    time: datetime
    subject: str
    result: Result
    why: str = ""
    differences: tuple[PathDifference, ...] = ()
    version: str = ""  # of the rules that made it, as it says
    reports: int = 0  # that were read for it
    signed: int = 0  # of these, how many had to be signed by their host, and were
    author: str = ""  # as the commit says
    put_back_by: ObjectId | None = None  # the commit on the line that passed over this one


@dataclass(frozen=True, slots=True)
class WalkedLines:
    """The commits of the lines that end in `heads`, and when the oldest of them was made; None where there is none."""

    heads: tuple[ObjectId, ...]
    commits: frozenset[ObjectId]
    begin: datetime | None


@dataclass(slots=True)
class Auditor:
    """`lines` are the heads of the lines of inputs; `signatures` checks verdicts on signatures, if that is asked for."""

    repo: Repo
    lines: Sequence[ObjectId]
    signatures: SignatureCheck | None = None
    _readings: ParseCache = field(default_factory=ParseCache)
    _world: ReplayWorld | None = None
    _blobs: dict[ObjectId, bytes] = field(default_factory=dict)
    _here: set[ObjectId] = field(default_factory=set)
    _walked: WalkedLines | None = None

    def audit(self, steps: Iterable[Step]) -> Iterator[AuditedCommit]:
        for step in steps:
            try:
                yield self._audit(step)
            except RepoError as error:
                yield _result(step, Result.DO_NOT_FIT, f"it cannot be read: {error.cause}")

    def _audit(self, step: Step) -> AuditedCommit:
        foreign = next((why for _, each in step.commits if (why := why_foreign(each))), "")
        if foreign or step.is_beside:
            return _result(step, Result.FOREIGN, foreign or "it is not on the first-parent line")
        named = step.trailers(INPUTS_TRAILER)
        if not named:
            return _result(step, Result.NO_INPUTS, f"it names no {INPUTS_TRAILER}")
        if len(named) > 1:
            return _result(step, Result.DO_NOT_FIT, f"it names several {INPUTS_TRAILER}")
        if not self._is_on_line(named[0]):
            return self._why_unreachable(step, named[0])
        try:
            inputs = decode_inputs(self._files(named[0]))
        except UnknownFormatError as error:
            return _result(step, Result.OTHER_VERSION, str(error))
        except InputsError as error:
            return _result(step, Result.DO_NOT_FIT, f"inputs {named[0][:12]}: {error}")
        if why := self._why_unfit(step, inputs, named[0]):
            return _result(step, Result.DO_NOT_FIT, why)
        return self._compare(step, inputs, named[0])

    def _why_unreachable(self, step: Step, named: ObjectId) -> AuditedCommit:
        """Older than all lines that there are, or on none of them."""
        begin = self._walked.begin if self._walked is not None else None
        if begin is None or step.newest.time < begin:
            return _result(step, Result.NO_INPUTS, f"inputs {named[:12]} are older than audit.keep")
        return _result(step, Result.DO_NOT_FIT, f"inputs {named[:12]} are on no line of inputs")

    def _is_on_line(self, named: ObjectId) -> bool:
        if self._walked is None or self._walked.heads != tuple(self.lines):
            self._walked = self._walk()
        return named in self._walked.commits

    def _walk(self) -> WalkedLines:
        """Once for all commits that are audited: each line by its first parents."""
        commits: set[ObjectId] = set()
        begins: list[datetime] = []
        for head in self.lines:
            commit: ObjectId | None = head
            while commit is not None and commit not in commits:
                commits.add(commit)
                found = decode_commit(self.repo.read(commit))
                begins += [found.time] if self._is_inputs(commit) else []
                commit = found.first_parent
        return WalkedLines(tuple(self.lines), frozenset(commits), min(begins, default=None))

    def _is_inputs(self, commit: ObjectId) -> bool:
        """Others may have put a commit between; a report is below the first commit of a line."""
        try:
            return self.repo.file(commit, TICK) is not None
        except RepoError:
            return False

    def _files(self, commit: ObjectId) -> Mapping[str, bytes]:
        """Most blobs are those of the commit before."""
        files = {file.path: file.id for file in self.repo.files(commit)}
        self._blobs = {
            id: self._blobs[id] if id in self._blobs else self.repo.read(id) for id in {*files.values()}
        }
        return {path: self._blobs[id] for path, id in files.items()}

    def _why_unfit(self, step: Step, inputs: TickInputs, named: ObjectId) -> str:
        """Whether they are those of another commit."""
        if why := find_misfit(step, inputs, named):
            return why
        known = [inputs.source, *(each.commit for each in inputs.verdicts.hosts.values())]
        lost = next((each for each in known if each is not None and not self._has(each)), None)
        return f"inputs {named[:12]} name {_short(lost)}, which is not here" if lost is not None else ""

    def _has(self, commit: ObjectId) -> bool:
        if commit not in self._here and self.repo.is_descendant(commit, commit):
            self._here.add(commit)
        return commit in self._here

    def _compare(self, step: Step, inputs: TickInputs, named: ObjectId) -> AuditedCommit:
        made, why = self._replay(step, inputs, named, is_fresh=False)
        if not _is_equal(step, made):
            made, why = self._replay(step, inputs, named, is_fresh=True)
        if made is not None and _is_equal(step, made):
            return self._check_signatures(step, inputs)
        if inputs.rules.digest != installed_rules().digest:
            version = f"{inputs.rules.version} ({inputs.rules.digest})"
            cure = f"the rules of gitvirt {version} made it; verify it with that version"
            return _result(step, Result.OTHER_VERSION, cure, version=inputs.rules.version)
        differences = tuple(self._differences(step, made.draft)) if made is not None and made.draft else ()
        return _result(
            step, Result.DIFFERS, why or _why_different(step, made), differences, inputs.rules.version
        )

    def _replay(
        self, step: Step, inputs: TickInputs, named: ObjectId, *, is_fresh: bool
    ) -> tuple[Replay | None, str]:
        """None, and why, where the rules fail on these inputs. Then the World is worth nothing any more."""
        world = self._world
        if world is None or is_fresh:
            world = ReplayWorld(self._readings)
        self._world = None
        name = next(iter(step.trailers(RECONCILER_TRAILER)), "")
        try:
            made = replay(
                self.repo, world, inputs, CommitIdentity(name, step.newest.author), {INPUTS_TRAILER: named}
            )
        except UnknownVerdictError as error:
            return None, str(error)
        except RepoError as error:
            return None, f"the rules cannot read what it was made from: {error.cause}"
        except Exception as error:
            log.debug("a commit cannot be computed again", exc_info=True)
            return None, f"the rules fail on its inputs: {type(error).__name__}: {error}"
        self._world = world
        return made, ""

    def _check_signatures(self, step: Step, inputs: TickInputs) -> AuditedCommit:
        world = self._world
        assert world is not None, "it was replayed just now"
        reports = [each for each in inputs.verdicts.hosts.values() if each.commit is not None]
        signed = sum(
            world.must_be_signed(name) and not each.unsigned for name, each in inputs.verdicts.hosts.items()
        )
        found = _result(step, Result.EXPLAINED, version=inputs.rules.version)
        found = replace(found, reports=len(reports), signed=signed)
        if self.signatures is not None and (why := self.signatures.find_difference(self.repo, world, inputs)):
            return replace(found, result=Result.SIGNATURE_DIFFERS, why=why)
        return found

    def _differences(self, step: Step, draft: Draft) -> Iterator[PathDifference]:
        """The paths where the rules want another text than the commit has."""
        newest = step.commits[-1][0]
        changed = {change.path for change in self.repo.diff(draft.base, newest)}
        for path in sorted(changed | draft.edits.keys()):
            expected = self._expected(draft, path)
            found = self._text(self.repo.file(newest, path))
            if expected != found:
                yield PathDifference(path, expected, found)

    def _expected(self, draft: Draft, path: str) -> bytes | None:
        if path not in draft.edits:
            return self._text(self.repo.file(draft.base, path)) if draft.base is not None else None
        edit = draft.edits[path]
        return self.repo.read(edit.id) if isinstance(edit, ExistingBlob) else edit

    def _text(self, file: File | None) -> bytes | None:
        return self.repo.read(file.id) if file is not None else None


def find_misfit(step: Step, inputs: TickInputs, named: ObjectId) -> str:
    """Why these inputs are not those of this step, by the commit of `live` that they were read at. Empty if they may be."""
    replaced = step.trailers(REPLACED_TRAILER)
    first = step.commits[0][1]
    live = replaced[0] if replaced else step.parent if inputs.live is not None else None
    if inputs.live != live:
        return (
            f"inputs {named[:12]} were read at live {_short(inputs.live)}, and it was made on {_short(live)}"
        )
    if inputs.live is None and reconciled_source(first) != first.first_parent:
        return f"inputs {named[:12]} are of the first commit on live, and it is not the first"
    return ""


def _is_equal(step: Step, made: Replay | None) -> bool:
    """But for signatures, and the ids of signed commits of the same step."""
    found = [replace(each, signature="") for _, each in step.commits]
    if made is None or len(found) != len(made.commits):
        return False
    if len(found) > 1:
        found[-1] = replace(found[-1], parents=made.commits[-1].parents)
    return all(_plain(one) == _plain(other) for one, other in zip(found, made.commits, strict=True))


def _plain(commit: Commit) -> Commit:
    return replace(commit, message=commit.message.rstrip("\n"))


def _why_different(step: Step, made: Replay | None) -> str:
    """The first thing that differs."""
    if made is None or not made.commits:
        return "the rules write nothing here"
    newest, expected = step.newest, made.commits[-1]
    if newest.tree != expected.tree:
        return "the rules make other files"
    if _plain(newest).message != _plain(expected).message:
        return "the rules give it another message"
    if newest.time != expected.time:
        return f"the rules date it {stamp(expected.time)}"
    return "the rules give it other parents"


def _short(commit: ObjectId | None) -> str:
    return commit[:12] if commit else "(none)"


def _result(
    step: Step,
    result: Result,
    why: str = "",
    differences: tuple[PathDifference, ...] = (),
    version: str = "",
) -> AuditedCommit:
    subject = step.newest.message.partition("\n")[0]
    found = AuditedCommit(step.commits[-1][0], step.newest.time, subject, result, why, differences, version)
    return replace(found, author=step.newest.author.name, put_back_by=step.put_back_by)
