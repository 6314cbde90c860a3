"""What a tick decided by besides the files of its commits: what this process judged, as values. No clock, no key and no memory is in them.

Theory of operation
-------------------
The rules ask for verdicts, and two things answer: in a tick, what the process saw and checked; when a commit of the past is computed again,
the record of that tick (`replay.ReplayWorld`). `collect_verdicts` takes the answers of a tick out of its World once its plan is made, since some
of them are given only where a rule asks.

    verdict                          the process has it from
    heartbeats, hosts without any    when it saw report refs change, by a clock that is never set; the link
    faults of a report               what could not be fetched or read then
    signatures                       keys in its environment
    whom it waits for                its start
    live_seen, ours, descents        commits that its mirror has, and perhaps no ref any more

Limits: values only. What may be concluded from a verdict is for the rules.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from reconciler.gitstore.objects.tree import ObjectId
from reconciler.gitstore.signatures.verifier import BadSignature
from reconciler.world.reports.heartbeat import Heartbeat


@dataclass(frozen=True, slots=True)
class HostVerdict:
    """Of one report ref. `commit` is the report that was used, None where nothing of it could be (`fault`) or the ref is gone."""

    commit: ObjectId | None = None
    host: str = ""  # who wrote it, as far as is known; a report that cannot be read does not say
    fault: str = ""
    is_no_commit: bool = False
    unsigned: str = ""
    is_refused: bool = False
    heartbeats: Mapping[str, Heartbeat] = field(default_factory=dict)  # by hostID, of all who wrote the ref
    disconnected: frozenset[str] = frozenset()  # hostIDs that should be connected over the link, and are not
    older: frozenset[str] = frozenset()  # hostIDs that were seen to write a newer report than this one
    # The commit and its date as the rules had them, where one asked.
    own_commit: ObjectId = ""
    time: datetime | None = None

    @property
    def is_there(self) -> bool:
        """Whether the ref is."""
        return self.commit is not None or bool(self.fault)


@dataclass(frozen=True, slots=True)
class Verdicts:
    """All of one tick. `signatures` are those of source commits, by commit; None is a good one."""

    hosts: Mapping[str, HostVerdict] = field(default_factory=dict)
    absent: Mapping[str, Heartbeat] = field(
        default_factory=dict
    )  # hosts without any report, where a rule asked
    is_late: bool = False
    awaited: tuple[tuple[str, str], ...] = ()  # name and hostID
    is_starting: bool = False  # the time for first reports is not over, and a pool waits for one
    # Whether the times since the start go on in which hosts that start together are written together: for grants, and for being ready;
    # and in which no host that lost its local state is answered.
    gathers: tuple[bool, bool, bool] = (False, False, False)
    live_seen: ObjectId | None = None  # a commit that the process saw on live and that live lacks
    ours: frozenset[ObjectId] = frozenset()  # commits that live lacks and a reconciler of this fleet wrote
    descents: frozenset[tuple[ObjectId, ObjectId]] = frozenset()  # the first has the second in its history
    signatures: Mapping[ObjectId, BadSignature | None] = field(default_factory=dict)


@dataclass(slots=True)
class VerdictRecord:
    """What steps of one update, and rules after it, found out on the way. `replayed` answers instead, where a tick of the past is
    computed again."""

    replayed: Verdicts | None = None
    signatures: dict[ObjectId, BadSignature | None] = field(default_factory=dict)
    ours: set[ObjectId] = field(default_factory=set)
    descents: set[tuple[ObjectId, ObjectId]] = field(default_factory=set)
