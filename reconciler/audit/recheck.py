"""Recorded verdicts on signatures, compared with the keys that are here now.

A verdict is judged at the time of its tick: a key that has expired since was good then. A key that is not here any more makes a good
verdict of then a bad one now; the message says which commit it is about.

Limits: starts ssh-keygen or gpg once for each commit. Where the fleet asked for no signature, nothing is checked.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from reconciler.audit.tick_inputs import TickInputs
from reconciler.gitstore.objects.tree import ObjectId
from reconciler.gitstore.repo import Repo
from reconciler.gitstore.signatures.signers import Signers, SignersError, parse_signers
from reconciler.gitstore.signatures.verifier import BadSignature, JudgesCommits, Verifier
from reconciler.world.replay_world import ReplayWorld
from reconciler.world.reports.signed import judge


@dataclass(slots=True)
class SignatureCheck:
    """`ambient` is the environment with the keys. `_known` are reports that were checked under the same signers."""

    ambient: Mapping[str, str]
    _known: set[tuple[str, ObjectId, str]] = field(default_factory=set)

    def find_difference(self, repo: Repo, world: ReplayWorld, inputs: TickInputs) -> str:
        """The first verdict that is another one now; empty if there is none. `world` has just replayed these inputs."""
        return next(self._differences(repo, world, inputs), "")

    def _differences(self, repo: Repo, world: ReplayWorld, inputs: TickInputs) -> Iterator[str]:
        for commit, bad in inputs.verdicts.signatures.items():
            now = self._judge_source(repo, world, inputs, commit)
            if bool(now) != (bad is not None):
                yield _words(f"source commit {commit[:12]}", bad.words if bad is not None else "", now)
        for name, each in inputs.verdicts.hosts.items():
            if each.commit is None or (name, each.commit, inputs.signers) in self._known:
                continue
            report = copy.copy(world.reports.by_poollet[name])
            judge(
                report,
                repo.read(report.own_commit),
                (world.rules.settings, world.rules.before),
                self._verifier,
                inputs.now,
            )
            if (bool(report.unsigned), report.is_refused) != (bool(each.unsigned), each.is_refused):
                yield _words(f"report {each.commit[:12]} of {name}", each.unsigned, report.unsigned)
            self._known.add((name, each.commit, inputs.signers))

    def _judge_source(self, repo: Repo, world: ReplayWorld, inputs: TickInputs, commit: ObjectId) -> str:
        try:
            signers = parse_signers(world.signatures[1].signers)
        except SignersError as error:
            return error.cause
        verdict = self._verifier(signers).verify(repo.read(commit), inputs.now)
        return verdict.words if isinstance(verdict, BadSignature) else ""

    def _verifier(self, signers: Signers) -> JudgesCommits:
        return Verifier(signers, self.ambient)


def _words(what: str, then: str, now: str) -> str:
    return f"{what}: signature {then or 'good'} when it was recorded -> {now or 'good'} with the keys that are here"
