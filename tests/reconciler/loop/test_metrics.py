"""What is counted, by the names that dashboards rely on."""

from datetime import UTC, datetime

from reconciler.loop.metrics import Metrics
from reconciler.plan.types import Action, Change, PendingApproval, Plan, UnschedulableObject
from reconciler.world.record import NOTHING
from schemas.kinds import Key, Kind
from schemas.problem import Problem, Severity

WEB = Key(Kind.MACHINE, "default", "web-1")
PLAN = Plan(
    "a",
    "b",
    changes=(Change(WEB, Action.SCHEDULE, NOTHING, NOTHING),),
    pending_approvals=(
        PendingApproval("too many", trailer="Gitvirt-Approve: 0123456789abcdef"),
        PendingApproval("in use"),
    ),
    unschedulable=(UnschedulableObject(WEB, ()), UnschedulableObject(WEB, ())),
    problems=(
        Problem(file="a", code="GV101", message="x"),
        Problem(file="b", code="GV101", message="y", severity=Severity.NOTICE),
    ),
)


def test_exposition() -> None:
    metrics = Metrics()
    metrics.count_tick("committed", 0.3)
    metrics.set_success(datetime(2030, 1, 1, tzinfo=UTC).timestamp(), {"Machine": 7})
    metrics.set_plan(PLAN, 2)
    metrics.count_changes(PLAN)
    metrics.set_states(
        {(Kind.MACHINE, "Running"): 6, (Kind.MACHINE, "Unknown"): 1, (Kind.MACHINE_POOL, "Error"): 0}
    )
    metrics.set_health(["SourceHeld"])
    lines = set(metrics.exposition().decode().splitlines())
    assert {
        'gitvirt_ticks_total{outcome="committed"} 1.0',
        'gitvirt_tick_duration_seconds_bucket{le="0.25"} 0.0',
        'gitvirt_tick_duration_seconds_bucket{le="0.5"} 1.0',
        'gitvirt_changes_total{action="schedule"} 1.0',
        "gitvirt_unschedulable_objects 2.0",
        "gitvirt_pending_approvals 1.0",
        "gitvirt_held 1.0",
        'gitvirt_problems{severity="error"} 1.0',
        'gitvirt_problems{severity="warning"} 0.0',
        'gitvirt_objects{kind="Machine"} 7.0',
        'gitvirt_object_states{kind="Machine",state="Running"} 6.0',
        'gitvirt_object_states{kind="Machine",state="Unknown"} 1.0',
        'gitvirt_object_states{kind="MachinePool",state="Error"} 0.0',
        'gitvirt_health_problems{cause="SourceHeld"} 1.0',
        'gitvirt_health_problems{cause="Blocked"} 0.0',
        "gitvirt_last_success_timestamp_seconds 1.893456e+09",
    } <= lines


def test_two_reconcilers_in_one_process_count_apart() -> None:
    one, other = Metrics(), Metrics()
    one.count_tick("committed", 1)
    assert b'gitvirt_ticks_total{outcome="committed"}' not in other.exposition()
