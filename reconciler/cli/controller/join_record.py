"""Which tokens were used: a ref of the fleet's repo with one commit for each host that joined. So no server has to remember anything, and two
of them cannot accept one token.

    refs/gitvirt/joins      NONCE.json for each token of the last day

The file and the proposal are pushed together or not at all, by compare-and-swap on this ref. The file stays where people delete the branch
of the proposal. A token is good for an hour at most, so what is older than FORGOTTEN_AFTER has no effect and is removed with the next commit.

That a nonce is there follows from the name of its file alone: a file that cannot be read still means that the token was used.

Must never happen: a ref that could not be read passes for one that is empty.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

import msgspec

from reconciler.cli.fleet_repo import FleetRepo
from reconciler.gitstore.objects.commit import decode_commit, parse_trailers
from reconciler.gitstore.objects.tree import ObjectId
from reconciler.gitstore.repo import Draft, Edit, Identity, Repo
from reconciler.link.join_desk import JoinRefusal, JoinRefusedError

JOINS_REF = "refs/gitvirt/joins"
PROPOSAL_TRAILER = "Proposal-Commit"
FORGOTTEN_AFTER = timedelta(days=1)
SUFFIX = ".json"


class RecordedJoin(msgspec.Struct, frozen=True, rename="camel"):
    """What became of one token. `identity` is that of the host's certificate; `expires` counts seconds since 1970, as in the claim."""

    name: str
    identity: str
    branch: str
    is_merged: bool
    reason: str
    expires: int


@dataclass(frozen=True)
class JoinRecord:
    """The ref as one snapshot has it."""

    repo: Repo
    head: ObjectId | None

    @classmethod
    def of(cls, fleet: FleetRepo) -> JoinRecord:
        """Of a fleet that was opened with `one_ref=JOINS_REF`."""
        name = JOINS_REF.rpartition("/")[2]
        if broken := fleet.snapshot.unfetched.get(name):
            cause, cure = "the server cannot read which tokens were used", "join again later"
            raise JoinRefusedError(
                JoinRefusal.FAILED, cause, cure, detail=f"{JOINS_REF} cannot be read: {broken.cause}"
            )
        return cls(fleet.repo, fleet.snapshot.reports.get(name))

    def list_nonces(self) -> frozenset[str]:
        if self.head is None:
            return frozenset()
        return frozenset(each.path.removesuffix(SUFFIX) for each in self.repo.files(self.head))

    def read(self, nonce: str) -> RecordedJoin | None:
        """None where there is none that can be read."""
        file = self.repo.file(self.head, nonce + SUFFIX) if self.head is not None else None
        if file is None:
            return None
        try:
            return msgspec.json.decode(self.repo.read(file.id), type=RecordedJoin)
        except (msgspec.DecodeError, UnicodeDecodeError):
            return None

    def find_commit(self, nonce: str) -> str:
        """The commit of the proposal. Empty where the record does not name it."""
        if self.head is None:
            return ""
        for id, change in self.repo.changes(self.head, nonce + SUFFIX):
            if change.after is not None:
                trailers = parse_trailers(decode_commit(self.repo.read(id)).message)
                return next((value for name, value in trailers if name == PROPOSAL_TRAILER), "")
        return ""

    def draft(
        self, nonce: str, made: RecordedJoin, proposal_ref: str, author: Identity, now: datetime
    ) -> Draft:
        """The record of one more host, which names the commit on `proposal_ref` of the same write."""
        edits: dict[str, Edit] = {**self._list_forgotten(now), nonce + SUFFIX: msgspec.json.encode(made)}
        return Draft(
            ref=JOINS_REF,
            expected=self.head,
            base=self.head,
            edits=edits,
            message=f"{made.name} joins with a token",
            author=author,
            time=now,
            names=((PROPOSAL_TRAILER, proposal_ref),),
        )

    def _list_forgotten(self, now: datetime) -> Mapping[str, Edit]:
        limit = (now - FORGOTTEN_AFTER).timestamp()
        known = ((nonce, self.read(nonce)) for nonce in self.list_nonces())
        return {nonce + SUFFIX: None for nonce, found in known if found is not None and found.expires < limit}
