"""The report lease: which run of which host may write a poollet's report ref. Pure.

Theory of operation. A report ref has one writer at a time. The fence of a pool is its grant on `live` (`status.host`); the lease only
keeps a host without the grant from writing over the report of the host that has it. With each look the ref is judged again:

    the ref is                        `live` says of the pools that this poollet serves    verdict
    empty                             (not asked)                                          Acquire
    written by this run               (not asked)                                          Acquire (keep)
    written by this host, other run   (not asked)                                          Acquire; StepDown once own report has landed
    ... that did not end cleanly, and was in another boot of the host or had machines that
        this host lacks                                                                    Wait; StepDown once the ref moved
    written by another host           granted to this host, all that are granted at all    Acquire
    written by another host           one is granted to another host                       Candidate
    written by another host           none is granted, and `live` is older than the report Wait
    written by another host           none is granted, its heartbeat is not expired        Wait; Candidate once the ref moved
    written by another host           none is granted, its heartbeat expired, or it left   Acquire
    written by another host           cannot be applied, or read as a whole, at present    Wait

A restarted poollet finds its own host's report and goes on at once. Two runs on one host: the one whose report was replaced ends.
A clone has the same hostID where its hardware cannot be told apart or where poollet.yaml names the id. Its boot is another one, or its runtime
lacks the other one's machines. So it waits for the other run's sign of life until its heartbeat has expired: if there is one, this run ends.
A run that was connected over the link names minutes in its report. This run then connects as well, and so takes the place of the other
one: if that is alive, it is not connected to all servers any more, and pushes at once. So from then on the timeout of hosts without the link is
enough (`answers_by`).
`live` is older than a report that names a commit of it (`liveCommit`) which it does not contain: it was lost, or rewound. Then the report
is all that tells what runs on the other host, and the reconciler writes `live` again from it. While `live` is missing, a report
without a poollet.json that can be read counts as one that names such a commit.
A Candidate writes `candidate.json` beside the other host's report, and nothing else; so does a host that waits. It names
the objects that it has, because nothing may be placed a second time. It acts on no assignment, but it
powers off the machines that `live` assigns to another host, for it may be the host that was cut off. A report whose poollet.json
cannot be read counts as another host's.

A sign of life of the other host is another commit of its own (gitstore/report_author.py): a candidate's is on top of it.

Must never happen:
- two hosts write one ref in turns: of two hosts at most one is granted, and without a grant the one whose heartbeat lives keeps the ref;
- a candidate's own push counts as the other host's sign of life, which would keep a dead host's lease for ever;
- while `live` is lost, the report of a host that acted on it is overwritten: its machines would be placed a second time.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from poollet.sync.live_view import PoolGrant, PoolId
from reconciler.gitstore.approval import commit_command
from reconciler.gitstore.objects.tree import ObjectId
from reconciler.gitstore.report_author import CANDIDATE
from schemas.report import PoolletReport
from schemas.settings import fleet
from schemas.settings.duration import format_duration

CLONE = (
    "another poollet named {} with the hostID {} is alive, in another boot or with machines that this host lacks: one of the two hosts is a "
    "clone; give it a name and a hostID of its own in poollet.yaml"
)
AFTER_CRASH = (
    "the last run of {} did not end cleanly, and was in another boot of the host or had machines that this host lacks; waiting until its "
    "heartbeat expires, in case it runs on another host"
)

# The grants of this poollet's pools on `live`; None while `live` cannot be applied, so that they are not known.
Grants: TypeAlias = Mapping[PoolId, PoolGrant] | None


@dataclass(frozen=True, slots=True)
class Acquire:
    """The ref may be written."""


@dataclass(frozen=True, slots=True)
class Wait:
    """Not yet. `until_ms` is when the other host's heartbeat expires, None where nothing but a change of `live` ends it. Meanwhile the host
    says what it has, as a Candidate does: the reconciler may wait no longer than it does itself."""

    until_ms: int | None
    message: str


@dataclass(frozen=True, slots=True)
class StepDown:
    """Another run on this host writes it. The process ends and says so."""

    message: str


@dataclass(frozen=True, slots=True)
class Candidate:
    """Another host has the lease. `until_ms` as in Wait."""

    message: str
    until_ms: int | None = None


LeaseVerdict: TypeAlias = Acquire | Wait | StepDown | Candidate


@dataclass(frozen=True, slots=True)
class RefContents:
    """What the ref holds. No commit: it does not exist. `own_commit` is the newest one of the report's writer: above it there are those
    of candidates."""

    commit: ObjectId | None = None
    files: Mapping[str, bytes] = field(default_factory=dict)
    own_commit: ObjectId | None = None
    fault: str = ""  # why nothing of it can be read
    has_others: bool = False  # what no report has

    @property
    def report_files(self) -> Mapping[str, bytes]:
        """Without what a candidate wrote beside the report."""
        return {path: data for path, data in self.files.items() if path != CANDIDATE}


@dataclass
class ReportLease:
    """One run of a poollet before its ref. `moment_ms` are of a clock that never jumps."""

    name: str
    host_id: str
    instance: str
    ref: str
    has_landed: bool = False  # a report of this run is on the ref
    boot_id: str = ""  # of the host; empty where it is unknown
    # By when another run of this poollet, had it been connected over the link, would have pushed; None while that is not known.
    answers_by: Callable[[], int | None] = lambda: None
    is_patient: bool = True  # a run that ends soon cannot wait for another one's sign of life
    _replaced: set[str] = field(
        default_factory=set
    )  # other runs on this host whose reports this one replaced
    _seen: RefContents | None = None  # of another host, when it gave its last sign of life
    _since_ms: int = 0
    _has_moved: bool = False

    def judge(
        self,
        found: RefContents,
        by: PoolletReport | None,
        grants: Grants,
        moment_ms: int,
        *,
        is_live_older: bool = False,
        lacks: bool = False,
    ) -> LeaseVerdict:
        """`by` is who wrote the report, None where that cannot be read. `is_live_older`: the report may name a commit of `live` that
        `live` does not contain."""
        if found.commit is None:
            return Acquire()
        if by is not None and by.host_id == self.host_id:
            return self._judge_own(found, by, moment_ms, lacks=lacks)
        self._watch(found, moment_ms)
        if is_live_older and grants is not None and not grants:
            verdict: LeaseVerdict = Wait(None, self._wait_for_live(by))
        else:
            verdict = self._judge_other(by, grants, moment_ms)
        if not isinstance(verdict, Acquire):
            self.has_landed = False
        return verdict

    def _judge_own(
        self, found: RefContents, by: PoolletReport, moment_ms: int, *, lacks: bool
    ) -> LeaseVerdict:
        """Two runs on one host. A run that finds the report of another one takes the ref over once; when that
        other run writes again after this run's report has landed, both are alive and this one ends."""
        if by.instance in {self.instance, *self._replaced}:
            return Acquire()
        if self.has_landed:
            return StepDown(
                f"another poollet named {self.name} runs on this host and writes its report; stop one of the two"
            )
        is_other_boot = by.boot_id not in ("", self.boot_id) and self.boot_id != ""
        if self.is_patient and by.leaving is None and (lacks or is_other_boot):
            self._watch(found, moment_ms)
            if self._has_moved:
                return StepDown(CLONE.format(self.name, self.host_id))
            until_ms = self._since_ms + _timeout_ms(by)
            if (by_ms := self.answers_by()) is not None:
                until_ms = min(until_ms, by_ms)
            if moment_ms < until_ms:
                return Wait(until_ms, AFTER_CRASH.format(self.name))
        self._replaced.add(by.instance)
        return Acquire()

    def _judge_other(self, by: PoolletReport | None, grants: Grants, moment_ms: int) -> LeaseVerdict:
        """The rows of the table for a report of another host. Grants come before heartbeats: a host that has
        them all needs no wait, and while another host has one this host never takes the ref, however long
        that other one gives no sign of life."""
        writer = name_writer(by)
        if grants is None:
            return Wait(
                None,
                f"{writer} wrote the report of {self.name}; waiting for a `live` that can be applied, which says whose its pools are",
            )
        others = {pool: grant.host for pool, grant in grants.items() if grant.host != self.host_id}
        if others:
            return Candidate(self._ways_out(others, grants))
        if grants or (by is not None and by.leaving == "leaving"):
            return Acquire()
        until_ms = self._since_ms + _timeout_ms(by)
        if moment_ms >= until_ms:
            return Acquire()
        if not self._has_moved:
            seconds = (until_ms - moment_ms + 999) // 1000
            return Wait(
                until_ms,
                f"{writer} wrote the report of {self.name} last; this host, {self.host_id}, takes the report over unless it changes within {format_duration(seconds)}",
            )
        message = (
            f"another poollet named {self.name} is alive on {writer}, and this is host {self.host_id}; "
            "give one of the two another name in poollet.yaml, or stop the other one"
        )
        return Candidate(message, until_ms)

    def _watch(self, found: RefContents, moment_ms: int) -> None:
        """Since when the other host has given no sign of life."""
        if self._seen is None:
            self._since_ms = moment_ms
        elif found.own_commit != self._seen.own_commit:
            self._since_ms, self._has_moved = moment_ms, True
        self._seen = found

    def _wait_for_live(self, by: PoolletReport | None) -> str:
        """For people: `live` has to be written again first, or the other host's report deleted by hand."""
        writer = name_writer(by)
        return (
            f"{writer} wrote the report of {self.name}, and `live` lacks what that host applied: it is lost or was rewound. Waiting until "
            f"the reconciler has written `live` again and granted the pools. If {writer} is gone for good, delete its report: "
            f"`git push origin --delete {self.ref}`; then what it still runs is placed a second time"
        )

    def _ways_out(self, others: Mapping[PoolId, str], grants: Mapping[PoolId, PoolGrant]) -> str:
        """For people: the two commits that end a Candidate's wait, as commands to copy."""
        # One trailer for both kinds of a name that one host has. Every pool is named: with one left out this host stays a candidate.
        hosts = sorted({(name, host) for (_, name), host in others.items()})
        names = sorted({name for name, _ in hosts})
        pools = ", ".join(f"pool {name} to host {host}" for name, host in hosts)
        own = ", ".join(sorted({name for _, name in grants} - set(names)))
        waits = f". The pools that are granted to this host ({own}) wait for that too" if own else ""
        destroyed = commit_command(
            f"{self.name}: its host is destroyed", *(f"Pool-Destroyed: {name}={host}" for name, host in hosts)
        )
        moved = commit_command(
            f"{self.name}: its host is now {self.host_id}",
            *(f"Pool-Host: {name}={self.host_id}" for name in names),
        )
        return (
            f"this is host {self.host_id}, and `live` grants {pools}. Until a commit on the source branch "
            "says what became of the other host, this host powers off those of its machines that `live` assigns to another host, because "
            f"a machine that runs on two hosts may destroy its disks. It keeps their data, and does nothing else{waits}. If that host is gone with all that it had, run `{destroyed}` and "
            f"`git push`. If this host has its disks, run `{moved}` and `git push`. Either takes effect once the heartbeat of the other "
            "host has expired. If that host is to stay, give this poollet another name in poollet.yaml"
        )


def name_writer(by: PoolletReport | None) -> str:
    return "an unknown host" if by is None else f"host {by.host_id}"


def _timeout_ms(by: PoolletReport | None) -> int:
    """How long the lease waits for a sign of life of the other host (`by`), in milliseconds: the timeout that its own interval implies.

    Where that cannot be read, the shortest timeout. Nothing runs twice by that: the wait only matters while neither host has a grant,
    and a host without a grant acts on no assignment.
    """
    return (
        fleet.MIN_HEARTBEAT_TIMEOUT_MILLISECONDS
        if by is None
        else fleet.heartbeat_timeout_milliseconds(by.interval)
    )
