"""Verdicts on signatures that are noted when they are made, and given when the same is judged again without the keys.

Limits: neither checks a signature itself. A commit is known by its id, which covers its signature.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

from reconciler.gitstore.objects.database import ObjectType, hash_object
from reconciler.gitstore.objects.tree import ObjectId
from reconciler.gitstore.signatures.verifier import (
    BadSignature,
    GoodSignature,
    JudgesCommits,
    SignatureFault,
    Verdict,
)

NOT_NOTED = BadSignature(SignatureFault.UNREADABLE, "there is no verdict on it")


class NotedSignatures:
    """Asks `judge`, and puts each verdict into `notes`: None for a good one. Who signed is of no effect there."""

    def __init__(self, judge: JudgesCommits, notes: dict[ObjectId, BadSignature | None]) -> None:
        self._judge, self._notes = judge, notes

    def verify(self, commit: bytes, at: datetime) -> Verdict:
        verdict = self._judge.verify(commit, at)
        self._notes[_id(commit)] = verdict if isinstance(verdict, BadSignature) else None
        return verdict


class GivenSignatures:
    """Answers with the notes. What has none counts as bad."""

    def __init__(self, notes: Mapping[ObjectId, BadSignature | None]) -> None:
        self._notes = notes

    def verify(self, commit: bytes, at: datetime) -> Verdict:
        del at  # it was judged then
        return self._notes.get(_id(commit), NOT_NOTED) or GoodSignature("")


def _id(commit: bytes) -> ObjectId:
    return hash_object(ObjectType.COMMIT, commit).id
