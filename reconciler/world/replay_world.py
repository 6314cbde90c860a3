"""A World to which the verdicts of a tick of the past are given. For all else it is the World: it reads the same commits by the same steps.

    asked                                in a tick                         here
    the heartbeat of a host              HeartbeatWatch                    ReplayedWatch: the recorded one
    a report that could not be read      its fault                         the recorded fault; nothing is read
    a signature                          Verifier                          the recorded verdict
    whom the process waits for           StartWait                         recorded
    hosts that a lost live waits for     find_missing_hosts                none: else nothing had been written

Must never happen: a clock, a key or a ref of today takes part.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from datetime import datetime, timedelta

from reconciler.gitstore.objects.tree import ObjectId
from reconciler.gitstore.repo import Repo, Snapshot, Unfetched
from reconciler.world.changes import WorldChanges
from reconciler.world.reports.heartbeat import EVER, Heartbeat, ReadTimes, Writer
from reconciler.world.reports.heartbeat_watch import HeartbeatWatch
from reconciler.world.reports.host_report import HostReport
from reconciler.world.reports.recovery_wait import MissingHost
from reconciler.world.reports.reports import Reports
from reconciler.world.reports.start_wait import FIRST_READY, FIRST_REPORTS, AwaitedHost
from reconciler.world.source.parse_cache.cache import ParseCache
from reconciler.world.verdicts import HostVerdict, VerdictRecord, Verdicts
from reconciler.world.world import World

NOTHING = "0" * 40  # the id of a report that is not read
NO_VERDICT = HostVerdict()


class UnknownVerdictError(Exception):
    """The record has no answer to what a rule asks. It is not the record of that tick, or another version of the rules wrote it."""


class ReplayedWatch(HeartbeatWatch):
    """The twin of HeartbeatWatch with the verdicts of one tick."""

    def __init__(self) -> None:
        super().__init__()
        self.given = Verdicts()

    @property
    def is_late(self) -> bool:
        return self.given.is_late

    @property
    def writers(self) -> list[Writer]:
        return sorted((name, host) for name, each in self.given.hosts.items() for host in each.heartbeats)

    def recall(self, report: HostReport) -> bool:
        """What the process knew of the report without reading it."""
        known = self.given.hosts.get(report.name, NO_VERDICT)
        report.is_no_commit = known.is_no_commit
        if known.own_commit:
            report.own_commit = known.own_commit
        report.time = known.time or report.time
        is_other = report.host != known.host
        report.host = known.host
        return is_other

    def note(self, report: HostReport) -> None:
        """A heartbeat is given."""

    def judge(self, writer: Writer, *, has_report: bool) -> Heartbeat | None:
        del has_report  # what is forgotten is not in the record
        return self.given.hosts.get(writer[0], NO_VERDICT).heartbeats.get(writer[1])

    def is_newest(self, writer: Writer) -> bool:
        return writer[1] not in self.given.hosts.get(writer[0], NO_VERDICT).older

    def has_lost_link(self, writer: Writer, usual: timedelta) -> bool:
        del usual
        return writer[1] in self.given.hosts.get(writer[0], NO_VERDICT).disconnected

    def expect(self, writer: Writer, timeout: timedelta) -> bool:
        del timeout
        if self.judge(writer, has_report=True) is None:
            raise UnknownVerdictError(f"the inputs have no heartbeat of host {writer[1]}, which has a grant")
        return False

    def await_host(self, host: str, timeout: timedelta) -> Heartbeat:
        del timeout
        if host not in self.given.absent:
            raise UnknownVerdictError(
                f"the inputs do not say whether host {host}, which has no report, is lost"
            )
        return self.given.absent[host]

    def due(self, beats: Iterable[tuple[Writer, Heartbeat]]) -> datetime | None:
        """Nothing happens later in the past."""
        del beats
        return None


class ReplayWorld(World):
    """Takes `replay` instead of `advance`; of one tick after the other, or of a single one."""

    def __init__(self, readings: ParseCache | None = None) -> None:
        super().__init__(readings=readings)
        self._watch = ReplayedWatch()
        self.reports = Reports(self._watch)

    def replay(
        self, repo: Repo, refs: tuple[ObjectId | None, ObjectId | None], now: datetime, given: Verdicts
    ) -> WorldChanges:
        """`refs` are the source and `live` as they were read. After an error the World cannot be used any more."""
        self._watch.given = given
        self.live_seen.commit = given.live_seen
        self.verdict_record = VerdictRecord(given)
        try:
            changes = self.advance(repo, snapshot_of(refs, given), now, ReadTimes(EVER, EVER))
        finally:
            self.acknowledge()
        return replace(changes, due=None)

    def must_be_signed(self, poollet: str) -> bool:
        """Whether the fleet refuses a report of that poollet without the signature of its host."""
        settings = self.rules.settings
        entry = settings.poollets.get(poollet)
        return settings.signatures.mode == "enforce" and entry is not None and bool(entry.signers)

    @property
    def awaited_hosts(self) -> tuple[AwaitedHost, ...]:
        return tuple(AwaitedHost(name, host, 0.0) for name, host in self._watch.given.awaited)

    @property
    def time_for_first_reports(self) -> timedelta:
        return timedelta(seconds=1) if self._watch.given.is_starting else timedelta(0)

    def time_to_gather(self, time: timedelta) -> timedelta:
        of_grants, of_ready, of_answers = self._watch.given.gathers
        goes_on = {FIRST_REPORTS: of_grants, FIRST_READY: of_ready}.get(time, of_answers)
        return timedelta(seconds=1) if goes_on else timedelta(0)

    @property
    def missing_hosts(self) -> tuple[MissingHost, ...]:
        return ()


def snapshot_of(refs: tuple[ObjectId | None, ObjectId | None], given: Verdicts) -> Snapshot:
    """The snapshot of that tick, as far as the record has it."""
    hosts = {name: each for name, each in given.hosts.items() if each.is_there}
    return Snapshot(
        *refs,
        reports={name: each.commit for name, each in hosts.items() if each.commit is not None},
        unfetched={name: Unfetched(NOTHING, each.fault) for name, each in hosts.items() if each.fault},
    )
