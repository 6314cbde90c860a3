"""Commits on `live` that have the form of a reconciler's, and that this process did not write: does anything but their form show that one did?

Theory of operation
-------------------
Whoever may push to `live` can imitate the form (`gitstore.live_commit`). A process knows what it wrote. Of each other commit that has come to the
first-parent line since its last look, and at its start of the head alone, it checks what it can:

    it can check    when                                      unproven where
    its signature   it signs its own commits                  it has none, or one of neither its own key nor a signer of gitvirt.yaml
    its inputs      `audit.ref` is set, and was set before    it names none or several, they are on no line, cannot be read, or are of another commit

An unproven commit is logged once. With `signatures {mode: enforce}` one that is not signed so also holds: nothing is written for as long as it is in
the history of `live` and has no signature of a key that is listed now. At a start that is so where the mode was the same before: else people could not turn it
on. Inputs alone hold nothing: a server may have refused them.

Must never happen: a commit that this process wrote counts as unproven, since that would stop a fleet for ever.

Limits: this is for a process that writes; verbs do not know its key. It computes no commit again: `verify` does.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime

from reconciler.audit.inputs_files import InputsError, decode_inputs
from reconciler.audit.steps import Step, list_steps
from reconciler.audit.verify import find_misfit
from reconciler.gitstore.errors import RepoError
from reconciler.gitstore.live_commit import reconciled_source
from reconciler.gitstore.objects.commit import INPUTS_TRAILER, decode_commit
from reconciler.gitstore.objects.tree import ObjectId
from reconciler.gitstore.repo import Repo, Snapshot
from reconciler.gitstore.signatures.signers import Signers, SignersError, parse_signers
from reconciler.gitstore.signatures.trust import first_parent_line
from reconciler.gitstore.signatures.verifier import BadSignature, Verifier
from reconciler.world.world import World
from schemas.problem import Problem
from schemas.settings.fleet import SignatureSettings

log = logging.getLogger(__name__)

CURE = "find out who wrote it: docs/audit.md has the steps that put live back"


@dataclass(frozen=True, slots=True)
class UnprovenCommit:
    commit: ObjectId
    why: str
    code: str = ""  # of its signature

    def __str__(self) -> str:
        return f"commit {self.commit[:12]} on live has the form of a reconciler's, and {self.why}"


@dataclass
class LiveCheck:
    """Of one process, on one `live`. `own` are the keys that it signs with; None: it signs nothing."""

    repo: Repo
    own: Signers | None
    ambient: Mapping[str, str]
    _seen: ObjectId | None = (
        None  # the newest commit on the line that was looked at, or that this process wrote
    )
    _held: frozenset[ObjectId] = frozenset()  # not signed, while that is enforced
    _verifiers: dict[tuple[str, ...], Verifier] = field(default_factory=dict)

    def note_written(self, commit: ObjectId) -> None:
        """This process wrote it."""
        self._seen = commit

    def look(self, world: World, snapshot: Snapshot, now: datetime) -> tuple[Problem, ...]:
        """After each update of the World: what holds the fleet. All that is unproven is logged."""
        head = world.own_live
        if head is None or (head == self._seen and not self._held):
            return ()
        settings, before, is_start = world.rules.settings, world.rules.before, self._seen is None
        is_enforced = settings.signatures.mode == "enforce"
        is_enforced &= not is_start or before.signatures.mode == "enforce"
        try:
            news = [] if head == self._seen else self._list_news(head)
            held = [each for each in self._held if self.repo.is_descendant(head, each)]
            found = list(self._judge_signatures([*held, *news], settings.signatures, now))
            if news and settings.audit.ref and before.audit.ref:
                found += self._judge_inputs(head, snapshot)
        except RepoError as error:
            log.warning("commits on live cannot be checked cause=%s", error.cause)
            self._seen = None  # the next look is as at a start
            return ()
        self._seen = head
        for each in found:
            if each.commit not in self._held:
                log.warning("unproven commit on live cause=%s cure=%s", str(each), CURE)
        unsigned = [each for each in found if each.code] if is_enforced else []
        self._held = frozenset(each.commit for each in unsigned)
        return tuple(
            Problem(file="", code=each.code, message=f"{each}; nothing is written on top of it", hint=CURE)
            for each in unsigned
        )

    def _list_news(self, head: ObjectId) -> list[ObjectId]:
        """On the first-parent line, the oldest first; without what others put there, which the reconciler passes over."""
        line = reversed(first_parent_line(self.repo, head, self._seen))
        return [each for each in line if reconciled_source(decode_commit(self.repo.read(each))) is not None]

    def _judge_signatures(
        self, commits: Iterable[ObjectId], signatures: SignatureSettings, now: datetime
    ) -> Iterator[UnprovenCommit]:
        if self.own is None:
            return
        verifier = self._verifier(signatures.signers)
        for commit in commits:
            verdict = verifier.verify(self.repo.read(commit), now)
            if isinstance(verdict, BadSignature):
                yield UnprovenCommit(
                    commit, f"no known reconciler signed it: {verdict.words}", verdict.fault.code
                )

    def _verifier(self, lines: tuple[str, ...]) -> Verifier:
        """Its own key always counts: a list that cannot be read adds none."""
        assert self.own is not None, "the caller asked"
        if lines not in self._verifiers:
            try:
                others = parse_signers(lines)
            except SignersError:
                others = Signers()
            both = Signers((*self.own.ssh, *others.ssh), self.own.fingerprints | others.fingerprints)
            self._verifiers = {lines: Verifier(both, self.ambient)}
        return self._verifiers[lines]

    def _judge_inputs(self, head: ObjectId, snapshot: Snapshot) -> Iterator[UnprovenCommit]:
        if snapshot.unfetched_inputs:
            return  # what cannot be known now is not held against it
        since = self._seen
        if since is None:  # the head alone, with the merge below it where a draft became two commits
            parent = decode_commit(self.repo.read(head)).first_parent
            since = decode_commit(self.repo.read(parent)).first_parent if parent is not None else None
        steps = [each for each in list_steps(self.repo, head, since) if not each.is_beside]
        for step in steps[-1:] if self._seen is None else steps:
            why = self._why_unproven(step, snapshot.inputs.values())
            if reconciled_source(step.newest) is not None and why:
                yield UnprovenCommit(step.commits[-1][0], why)

    def _why_unproven(self, step: Step, lines: Iterable[ObjectId]) -> str:
        named = step.trailers(INPUTS_TRAILER)
        if len(named) != 1:
            return f"it names {'several' if named else 'no'} {INPUTS_TRAILER}"
        if not any(self.repo.is_descendant(line, named[0]) for line in lines):
            return f"its inputs {named[0][:12]} are on no line of inputs"
        try:
            files = {file.path: self.repo.read(file.id) for file in self.repo.files(named[0])}
            return find_misfit(step, decode_inputs(files), named[0])
        except InputsError as error:
            return f"its inputs {named[0][:12]} are not those of a tick: {error}"
