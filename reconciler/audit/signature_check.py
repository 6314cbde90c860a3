"""Recorded verdicts on signatures, compared with the keys that are here now.

A verdict is judged at the time of its tick: a key that has expired since was good then. A key that is not here any more makes a good
verdict of then a bad one now; the message says which commit it is about.

Limits: starts ssh-keygen or gpg once for each commit. Where the fleet asked for no signature, nothing is checked.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from reconciler.audit.tick_inputs import TickInputs, digest_signers
from reconciler.gitstore.objects.tree import ObjectId
from reconciler.gitstore.repo import Repo
from reconciler.gitstore.signatures.signers import Signers, SignersError, parse_signers
from reconciler.gitstore.signatures.verifier import BadSignature, CommitVerifier, Verifier
from reconciler.world.replay_world import ReplayWorld
from reconciler.world.reports.signed import judge


class CheckedReport(NamedTuple):
    """A report under the name of its host, with what its record says of its signature."""

    host: str
    commit: ObjectId
    signers: str
    is_unsigned: bool
    is_refused: bool


@dataclass(slots=True)
class SignatureCheck:
    """`ambient` is the environment with the keys. `_checked` are reports that were checked: for which host, under which signers, and with
    which recorded verdict. The signers are those of the replayed settings, because a record may name others than it was made under."""

    ambient: Mapping[str, str]
    _checked: set[CheckedReport] = field(default_factory=set)

    def find_difference(self, repo: Repo, world: ReplayWorld, inputs: TickInputs) -> str:
        """The first verdict that is another one now; empty if there is none. `world` has just replayed these inputs."""
        return next(self._differences(repo, world, inputs), "")

    def _differences(self, repo: Repo, world: ReplayWorld, inputs: TickInputs) -> Iterator[str]:
        for commit, bad in inputs.verdicts.signatures.items():
            now = self._judge_source(repo, world, inputs, commit)
            if bool(now) != (bad is not None):
                yield _words(f"source commit {commit[:12]}", bad.words if bad is not None else "", now)
        settings = world.rules.settings, world.rules.before
        signers = digest_signers(*settings)
        for name, each in inputs.verdicts.hosts.items():
            if each.commit is None:
                continue
            checked = CheckedReport(name, each.commit, signers, bool(each.unsigned), each.is_refused)
            if checked in self._checked:
                continue
            report = copy.copy(world.reports.by_poollet[name])
            judge(report, repo.read(report.own_commit), settings, self._verifier, inputs.now)
            if (bool(report.unsigned), report.is_refused) != (checked.is_unsigned, checked.is_refused):
                yield _words(f"report {each.commit[:12]} of {name}", each.unsigned, report.unsigned)
            self._checked.add(checked)

    def _judge_source(self, repo: Repo, world: ReplayWorld, inputs: TickInputs, commit: ObjectId) -> str:
        try:
            signers = parse_signers(world.signatures[1].signers)
        except SignersError as error:
            return error.cause
        verdict = self._verifier(signers).verify(repo.read(commit), inputs.now)
        return verdict.words if isinstance(verdict, BadSignature) else ""

    def _verifier(self, signers: Signers) -> CommitVerifier:
        return Verifier(signers, self.ambient)


def _words(what: str, then: str, now: str) -> str:
    return f"{what}: signature {then or 'good'} when it was recorded -> {now or 'good'} with the keys that are here"
