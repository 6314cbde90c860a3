"""What an update of the World is made from, and what each of its steps changed. Values only.

A Delta only grows while an update runs, and the World adds those of several updates until they are acknowledged. So each
field must be safe to have too much in: a key more is looked at for nothing, a flag more makes waiting objects be tried again.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from reconciler.gitstore.repo import Repo, Snapshot
from reconciler.gitstore.signatures.signature_record import RecordedSignatures, SignatureRecorder
from reconciler.gitstore.signatures.signers import Signers
from reconciler.gitstore.signatures.verifier import CommitVerifier, Verifier
from reconciler.world.objects.object_state import ObjectState
from reconciler.world.pools.capacity_ledger import Charge
from reconciler.world.reports.heartbeat import ReadTimes
from reconciler.world.state import State
from reconciler.world.verdicts import VerdictRecord
from schemas.kinds import Key, Kind

POOLS = (Kind.MACHINE_POOL, Kind.VOLUME_POOL)
POOL_OF_CLASS = {Kind.MACHINE_CLASS: Kind.MACHINE_POOL, Kind.VOLUME_CLASS: Kind.VOLUME_POOL}

Changed = dict[Key, tuple[ObjectState | None, ObjectState | None]]
"""Objects that are not as they were: before, after. A pool is here too when only its announcement may be another."""


@dataclass(frozen=True, slots=True)
class UpdateInputs:
    """The snapshot to reach, and when it was read. `environ` is the environment that signatures are checked in; `verdict_record` gets what the
    steps find out and no file says."""

    repo: Repo
    snapshot: Snapshot
    now: datetime
    environ: Mapping[str, str]
    read_times: ReadTimes | None = None
    verdict_record: VerdictRecord = field(default_factory=VerdictRecord)

    def verifier(self, signers: Signers) -> CommitVerifier:
        """For the signers of a branch or of one poollet. It starts programs, so it is made only where a fleet asks for signatures."""
        given = self.verdict_record.replayed
        return RecordedSignatures(given.signatures) if given is not None else Verifier(signers, self.environ)

    def source_verifier(self, signers: Signers) -> CommitVerifier:
        """The same for the source branch, whose verdicts are recorded: no report says them."""
        return SignatureRecorder(self.verifier(signers), self.verdict_record.signatures)


@dataclass(slots=True)
class Delta:
    """`touched` are the keys with another document or report; `dirty` those for which a decision may come out differently."""

    touched: set[Key] = field(default_factory=set)
    dirty: set[Key] = field(default_factory=set)
    source_paths: set[str] = field(default_factory=set)
    live_paths: set[str] = field(default_factory=set)
    to_judge: set[str] = field(default_factory=set)  # source files that may change immutable fields
    blobs_read: int = 0
    has_new_rules: bool = False  # other settings or ignore patterns than before
    frees_room: bool = False  # an object that waits for a pool may fit now

    def add(self, other: Delta) -> None:
        self.touched |= other.touched
        self.dirty |= other.dirty
        self.source_paths |= other.source_paths
        self.live_paths |= other.live_paths
        self.to_judge |= other.to_judge
        self.blobs_read += other.blobs_read
        self.has_new_rules |= other.has_new_rules
        self.frees_room |= other.frees_room

    def charge(self, state: State, of: object, charge: Charge | None) -> None:
        """Charges in the ledger, and notes whether room became free by it, and whose quotas are used otherwise. The only way that an update
        charges anything."""
        before = state.ledger.charges.get(of)
        self.frees_room |= state.ledger.set(of, charge)
        for each in (before, charge) if before != charge else ():
            if each is not None:
                self.dirty |= state.quotas.get(each.namespace, set())
