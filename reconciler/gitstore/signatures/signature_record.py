"""Verdicts on signatures, recorded when they are made; the record answers where the same commits are judged again without the keys.

Limits: neither checks a signature itself. A commit is known by its id, which covers its signature.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

from reconciler.gitstore.objects.database import ObjectType, hash_object
from reconciler.gitstore.objects.tree import ObjectId
from reconciler.gitstore.signatures.verifier import (
    BadSignature,
    CommitVerifier,
    GoodSignature,
    SignatureFault,
    Verdict,
)

NOT_RECORDED = BadSignature(SignatureFault.UNREADABLE, "there is no verdict on it")


class SignatureRecorder:
    """Asks `judge`, and puts each verdict into `record`: None for a good one. Who signed is of no effect there."""

    def __init__(self, judge: CommitVerifier, record: dict[ObjectId, BadSignature | None]) -> None:
        self._judge, self._record = judge, record

    def verify(self, commit: bytes, at: datetime) -> Verdict:
        verdict = self._judge.verify(commit, at)
        self._record[_id(commit)] = verdict if isinstance(verdict, BadSignature) else None
        return verdict


class RecordedSignatures:
    """Answers with the recorded verdicts. What has none counts as bad."""

    def __init__(self, record: Mapping[ObjectId, BadSignature | None]) -> None:
        self._record = record

    def verify(self, commit: bytes, at: datetime) -> Verdict:
        del at  # it was judged then
        return self._record.get(_id(commit), NOT_RECORDED) or GoodSignature("")


def _id(commit: bytes) -> ObjectId:
    return hash_object(ObjectType.COMMIT, commit).id
