"""The whole report: times change only with a status, and texts are those of now."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest

from poollet.decide.decision import Decision
from poollet.report.assemble import Pools, assemble_report, carry_times, select_error_entries, stamp
from poollet.report.entries import Conditions
from schemas import report
from schemas.report import Report, ReportedCondition

OLD, NOW = "2026-01-01T00:00:00Z", "2026-01-02T00:00:00Z"
BY = report.PoolletReport("f", "host-1", "h", "run-1", "15s")
WEB = ("default", "web")


def at(time: str | None, status: str = "False", reason: str = "", message: str = "") -> ReportedCondition:
    return ReportedCondition("Ready", status, reason, message, last_transition_time=time)  # type: ignore[arg-type]


def other(time: str | None) -> ReportedCondition:
    return ReportedCondition("UpToDate", "False", last_transition_time=time)


NEW = at(None)
FULL_1, FULL_2 = "needs 8Gi, has 2Gi", "needs 8Gi, has 6Gi"

# the conditions now, those of the last report, what is reported
TIMES: dict[str, tuple[Conditions, Conditions, Conditions]] = {
    "none": ((), (at(OLD),), ()),
    "the first time": ((NEW,), (), (at(NOW),)),
    "the same status": ((NEW,), (at(OLD),), (at(OLD),)),
    "another status": ((at(None, "True"),), (at(OLD),), (at(NOW, "True"),)),
    "another reason": ((at(None, reason="B"),), (at(OLD, reason="A"),), (at(OLD, reason="B"),)),
    "another type": ((NEW,), (other(OLD),), (at(NOW),)),
    "each by its own type": ((NEW, other(None)), (other(OLD),), (at(NOW), other(OLD))),
    "a last report without times": ((NEW,), (at(None),), (at(NOW),)),
    "an error that differs in a number": (
        (at(None, reason="ResourceExhausted", message=FULL_2),),
        (at(OLD, reason="ResourceExhausted", message=FULL_1),),
        (at(OLD, reason="ResourceExhausted", message=FULL_2),),
    ),
    "another error with the same words": (
        (at(None, reason="Internal", message=FULL_2),),
        (at(OLD, reason="Unavailable", message=FULL_1),),
        (at(OLD, reason="Internal", message=FULL_2),),
    ),
}


@pytest.mark.parametrize(("now", "before", "want"), TIMES.values(), ids=TIMES.keys())
def test_a_time_changes_with_its_status_alone(now: Conditions, before: Conditions, want: Conditions) -> None:
    assert carry_times(now, before, NOW) == want


def machine(uid: str, time: str | None) -> report.MachineReport:
    return report.MachineReport(
        uid, "a", "present", status=report.ReportedMachineStatus(conditions=(at(time),))
    )


def volume(uid: str, time: str | None) -> report.VolumeReport:
    return report.VolumeReport(
        uid, "a", "present", status=report.ReportedVolumeStatus(conditions=(at(time),))
    )


def snapshot(uid: str, time: str | None) -> report.SnapshotReport:
    return report.SnapshotReport(
        uid, "a", "present", status=report.ReportedSnapshotStatus(conditions=(at(time),))
    )


def pool(uid: str | None, time: str | None) -> report.PoolReport:
    return report.PoolReport(uid=uid, status=report.ReportedPoolStatus("Ready", (at(time),)))


def disks(uid: str | None, time: str | None) -> report.VolumePoolReport:
    return report.VolumePoolReport(uid=uid, status=report.ReportedVolumePoolStatus("Available", (at(time),)))


# the decision and the pools now, the last report, the time of the one condition
DATED: dict[str, tuple[Decision, Pools, Report, str]] = {
    "a machine that was reported": (
        Decision(machines={WEB: machine("u", None)}),
        Pools({}, {}),
        Report(machines={WEB: machine("u", OLD)}),
        OLD,
    ),
    "another machine of the name": (
        Decision(machines={WEB: machine("v", None)}),
        Pools({}, {}),
        Report(machines={WEB: machine("u", OLD)}),
        NOW,
    ),
    "a volume that was reported": (
        Decision(volumes={WEB: volume("u", None)}),
        Pools({}, {}),
        Report(volumes={WEB: volume("u", OLD)}),
        OLD,
    ),
    "a volume of a machine's name": (
        Decision(volumes={WEB: volume("u", None)}),
        Pools({}, {}),
        Report(machines={WEB: machine("u", OLD)}),
        NOW,
    ),
    "a snapshot that was reported": (
        Decision(snapshots={WEB: snapshot("u", None)}),
        Pools({}, {}),
        Report(snapshots={WEB: snapshot("u", OLD)}),
        OLD,
    ),
    "a snapshot, the first time": (
        Decision(snapshots={WEB: snapshot("u", None)}),
        Pools({}, {}),
        Report(),
        NOW,
    ),
    "a pool goes by its name, for its uid comes later": (
        Decision(),
        Pools({"a": pool("u", None)}, {}),
        Report(pools={"a": pool(None, OLD)}),
        OLD,
    ),
    "a pool of another name": (
        Decision(),
        Pools({"a": pool("u", None)}, {}),
        Report(pools={"b": pool("u", OLD)}),
        NOW,
    ),
    "a volume pool goes by its name": (
        Decision(),
        Pools({}, {"a": disks("u", None)}),
        Report(volume_pools={"a": disks(None, OLD)}),
        OLD,
    ),
    "a volume pool of a machine pool's name": (
        Decision(),
        Pools({}, {"a": disks("u", None)}),
        Report(pools={"a": pool("u", OLD)}),
        NOW,
    ),
}


@pytest.mark.parametrize(("decision", "pools", "before", "want"), DATED.values(), ids=DATED.keys())
def test_an_entry_keeps_the_times_of_the_same_object(
    decision: Decision, pools: Pools, before: Report, want: str
) -> None:
    found = assemble_report(BY, pools, decision, (), before, NOW)
    entries = (found.pools, found.volume_pools, found.machines, found.volumes, found.snapshots)
    statuses = [one.status for of_kind in entries for one in of_kind.values()]
    times = [
        one.last_transition_time for status in statuses if status is not None for one in status.conditions
    ]
    assert times == [want]


def test_everything_that_was_decided_is_in_the_report() -> None:
    orphan = report.Orphan("Machine", "a", "7")
    event = report.ReportedEvent("Machine", "web", "Normal", "Created", 1, OLD)
    gone = report.MachineReport("u", "a", "gone")
    decision = Decision(machines={WEB: gone}, orphans=(orphan,))
    found = assemble_report(BY, Pools({}, {}), decision, (event,), Report(), NOW)
    assert found == Report(poollet=BY, machines={WEB: gone}, orphans=(orphan,), events=(event,))


MOMENTS: dict[str, tuple[datetime, str]] = {
    "utc": (datetime(2026, 5, 4, 12, 0, 1, tzinfo=UTC), "2026-05-04T12:00:01Z"),
    "another zone": (
        datetime(2026, 5, 4, 1, 0, tzinfo=timezone(timedelta(hours=2))),
        "2026-05-03T23:00:00Z",
    ),
    "parts of a second are left out": (
        datetime(2026, 5, 4, 12, 0, 1, 999_999, tzinfo=UTC),
        "2026-05-04T12:00:01Z",
    ),
}


@pytest.mark.parametrize(("moment", "want"), MOMENTS.values(), ids=MOMENTS.keys())
def test_a_stamp_is_in_utc_and_whole_seconds(moment: datetime, want: str) -> None:
    assert stamp(moment) == want


def test_only_the_text_of_a_call_is_no_news() -> None:
    error, fact = (
        at(OLD, reason="ResourceExhausted", message=FULL_1),
        at(OLD, reason="Shrinks", message="2 -> 1"),
    )

    def entry(*conditions: ReportedCondition) -> report.MachineReport:
        return report.MachineReport(
            "u", "a", "present", status=report.ReportedMachineStatus(conditions=conditions)
        )

    def event(reason: str, message: str) -> report.ReportedEvent:
        return report.ReportedEvent("Machine", "web", "Warning", reason, 1, OLD, message=message)

    found = Report(
        machines={WEB: entry(error, fact), ("default", "db"): entry(fact)},
        pools={"a": pool("p", OLD)},
        events=(event("Failed", FULL_1), event("Created", "")),
    )
    assert select_error_entries(found) == Report(
        machines={WEB: entry(at(OLD, reason="ResourceExhausted"), fact)},
        events=(event("Failed", ""), event("Created", "")),
    )
