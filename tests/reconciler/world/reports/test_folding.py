"""What is reported becomes status: facts from the report, orders and our own conditions from live, times only when something moved."""

from __future__ import annotations

import dataclasses
from datetime import UTC, datetime, timedelta

import msgspec

from reconciler.world.pools.pool_status import update_pool_status
from reconciler.world.record import Record, condition, stamp
from reconciler.world.reports.heartbeat import Heartbeat
from reconciler.world.reports.object_report import ObjectReport
from reconciler.world.reports.status_update import interface_status_from_report, status_from_report
from reconciler.world.world import World
from schemas.kinds import Key, Kind
from schemas.model import (
    Assignment,
    Condition,
    MachineNetworkInterfaceStatus,
    MachinePoolStatus,
    MachineStatus,
    NetworkInterfaceStatus,
    Rejection,
    VolumeStatus,
)
from schemas.report import objects as report
from tests.reconciler.world.scene import Scene, pool, with_record
from tests.reconciler.world.scene import report as report_of

NOW = datetime(2026, 5, 4, 12, tzinfo=UTC)
LATER = datetime(2026, 5, 4, 13, tzinfo=UTC)
POOL = Key(Kind.MACHINE_POOL, "", "pool-a")


def object_report(
    status: report.ReportedMachineStatus | report.ReportedVolumeStatus | None, phase: report.Phase = "present"
) -> ObjectReport:
    return ObjectReport("pool-a", "pool-a", "pool-a", "uid", "1", phase, status=status)


def ready(status: str = "True", time: str | None = None) -> report.ReportedCondition:
    return report.ReportedCondition(type="Ready", status=status, last_transition_time=time)  # type: ignore[arg-type]


RUNNING = report.ReportedMachineStatus(
    machine_id="sim://1",
    state="Running",
    conditions=(ready(time="2026-05-04T11:00:00Z"),),
    volumes=(report.AttachedVolume(name="root", state="Attached"),),
    network_interfaces=(
        report.AttachedInterface(
            name="lan", state="Attached", ips=("10.0.0.7",), mac_address="02:00:00:00:00:01"
        ),
    ),
)
ORDERED = MachineStatus(
    assignment=Assignment(pool="pool-a", id="1"),
    rejections=(Rejection(pool="pool-b"),),
    conditions=(Condition(type="Scheduled", status="True", last_transition_time="2026-01-01T00:00:00Z"),),
)


def test_facts_are_taken_and_orders_stay() -> None:
    status = status_from_report(Record(status=ORDERED), object_report(RUNNING), NOW)
    assert isinstance(status, MachineStatus)
    assert (status.state, status.machine_id) == ("Running", "sim://1")
    assert (status.assignment, status.rejections) == (ORDERED.assignment, ORDERED.rejections)
    assert [each.type for each in status.conditions] == ["Ready", "Scheduled"]
    assert status.conditions[0].last_transition_time == "2026-05-04T11:00:00Z"
    assert status.volumes[0].last_state_transition_time == stamp(NOW)
    assert status.network_interfaces[0].ips == ("10.0.0.7",)


def test_folding_the_same_again_changes_nothing_whenever_it_is() -> None:
    once = status_from_report(Record(status=ORDERED), object_report(RUNNING), NOW)
    assert status_from_report(Record(status=once), object_report(RUNNING), LATER) == once


def test_an_object_that_its_host_cannot_observe_keeps_its_state_and_is_not_known_to_be_ready() -> None:
    running = status_from_report(Record(status=ORDERED), object_report(RUNNING), NOW)
    unobserved = object_report(RUNNING, "unknown")
    once = status_from_report(Record(status=running), unobserved, LATER, "RuntimeUnreachable")
    assert isinstance(once, MachineStatus)
    found = condition(once.conditions, "Ready")
    assert found is not None
    assert (once.state, found.status, found.reason) == ("Running", "Unknown", "RuntimeUnreachable")
    assert found.message == "poollet pool-a cannot observe it: pool pool-a reports RuntimeUnreachable"
    assert found.last_transition_time == stamp(LATER)
    again = status_from_report(
        Record(status=once), unobserved, LATER + timedelta(hours=1), "RuntimeUnreachable"
    )
    assert again == once
    back = status_from_report(Record(status=once), object_report(RUNNING), LATER)
    assert isinstance(back, MachineStatus)
    assert condition(back.conditions, "Ready") == condition(running.conditions, "Ready")  # type: ignore[union-attr]


def test_an_object_without_a_status_is_unknown_where_its_pool_does_not_answer() -> None:
    running = status_from_report(Record(status=ORDERED), object_report(RUNNING), NOW)
    assert status_from_report(Record(status=running), object_report(None, "unknown"), LATER) == running
    found = status_from_report(Record(status=running), object_report(None, "unknown"), LATER, "RuntimeGone")
    assert isinstance(found, MachineStatus)
    assert condition(found.conditions, "Ready").status == "Unknown"  # type: ignore[union-attr]


def test_data_that_its_host_reports_as_lost_is_not_unknown() -> None:
    lost = report.ReportedCondition(type="Ready", status="False", reason="Lost")
    reported = report.ReportedVolumeStatus(state="Error", conditions=(lost,))
    found = status_from_report(Record(status=VolumeStatus()), object_report(reported, "unknown"), NOW)
    assert isinstance(found, VolumeStatus)
    assert [(each.status, each.reason) for each in found.conditions] == [("False", "Lost")]


def test_silence_and_the_unknown_change_nothing() -> None:
    record = Record(status=status_from_report(Record(status=ORDERED), object_report(RUNNING), NOW))
    assert status_from_report(record, None, LATER) == record.status
    assert status_from_report(record, object_report(None, "unknown"), LATER) == record.status


def test_a_volume_tells_what_it_holds_and_amounts_that_are_none_are_left_out() -> None:
    seen = report.ReportedVolumeStatus(state="Available", resources={"storage": "10Gi", "odd": "much"})
    status = status_from_report(Record(status=VolumeStatus()), object_report(seen), NOW)
    assert isinstance(status, VolumeStatus)
    assert {name: str(amount) for name, amount in status.resources.items()} == {"storage": "10Gi"}
    assert status.last_state_transition_time == stamp(NOW)
    assert status_from_report(Record(status=status), object_report(seen), LATER) == status


def test_an_interface_is_what_its_machine_sees_and_nothing_without_one() -> None:
    seen = MachineNetworkInterfaceStatus(
        name="lan", state="Attached", ips=("10.0.0.7",), mac_address="02:00:00:00:00:01"
    )
    status = interface_status_from_report(NetworkInterfaceStatus(), seen, NOW)
    assert (status.state, status.ips, status.last_state_transition_time) == (
        "Available",
        ("10.0.0.7",),
        stamp(NOW),
    )
    assert interface_status_from_report(status, seen, LATER) == status
    assert interface_status_from_report(status, None, LATER) == NetworkInterfaceStatus()


def ready_of(world: World, record: Record, at: datetime) -> tuple[MachinePoolStatus, str, str]:
    status = update_pool_status(world.pools["pool-a"], record, at)
    assert isinstance(status, MachinePoolStatus)
    found = condition(status.conditions, "Ready")
    assert found is not None
    return status, found.status, found.reason


def test_a_pool_follows_its_report_and_how_fresh_that_is() -> None:
    scene = Scene({"p.yaml": pool("pool-a", "spec: {reserved: {cpu: 2}}\n")})
    scene.report("pool-a")
    world = scene.world()
    record = world.objects[POOL].record
    first, truth, _ = ready_of(world, record, NOW)
    assert truth == "True"
    assert {name: str(amount) for name, amount in first.allocatable.items()} == {
        "cpu": "18",
        "memory": "40Gi",
    }
    record = msgspec.structs.replace(record, status=first)
    assert ready_of(world, record, LATER)[0] == first  # at rest nothing moves
    scene.step(world, 80)
    lost, truth, reason = ready_of(world, record, LATER)
    assert (truth, reason, lost.state) == ("Unknown", "ReportLost", "Pending")
    assert lost.capacity == first.capacity  # what is there may still run
    scene.report("pool-a", report_of("pool-a", leaving="leaving"))
    scene.step(world)
    assert world.pools["pool-a"].heartbeat is Heartbeat.LEFT
    left, truth, _ = ready_of(world, record, LATER)
    assert (truth, left.state) == ("False", "Offline")


def test_a_state_never_says_ready_before_the_condition_does() -> None:
    """A pool that was declared before anybody announced it: its first report proves nothing yet."""
    scene = Scene({"p.yaml": pool("pool-a")})
    record = scene.world().objects[POOL].record
    not_reported = update_pool_status(scene.world().pools["pool-a"], record, NOW)
    scene.live({"p.yaml": with_record(pool("pool-a"), Kind.MACHINE_POOL, Record(status=not_reported))})
    scene.report("pool-a")
    world = scene.world()
    first, truth, _ = ready_of(world, world.objects[POOL].record, NOW)
    assert (first.state, truth) == ("Pending", "Unknown")
    scene.report("pool-a")
    scene.step(world)
    proven, truth, _ = ready_of(world, world.objects[POOL].record, NOW)
    assert (proven.state, truth) == ("Ready", "True")


def test_a_pool_that_is_being_removed_is_ready_in_neither() -> None:
    scene = Scene({"p.yaml": pool("pool-a")})
    scene.live()
    scene.report("pool-a")
    world = scene.world()
    leaving = dataclasses.replace(world.pools["pool-a"], why_not_ready="it is being removed")
    status = update_pool_status(leaving, world.objects[POOL].record, NOW)
    assert isinstance(status, MachinePoolStatus)
    assert (status.state, status.conditions[0].status) == ("Pending", "False")


def test_a_pool_that_was_lost_is_ready_again_only_when_its_report_changes() -> None:
    """Another process of ours sees the report for the first time: that proves nothing."""
    scene = Scene({"p.yaml": pool("pool-a")})
    scene.report("pool-a")
    world = scene.world()
    record = Record(status=ready_of(world, world.objects[POOL].record, NOW)[0])
    scene.step(world, 80)
    lost = ready_of(world, record, NOW)[0]
    scene.live({"p.yaml": with_record(pool("pool-a"), Kind.MACHINE_POOL, Record(status=lost))})
    another = World()
    scene.step(another)
    assert another.pools["pool-a"].why_not_ready
    assert ready_of(another, another.objects[POOL].record, LATER)[0] == lost
    scene.report("pool-a")
    scene.step(another)
    assert another.pools["pool-a"].why_not_ready == ""
    assert ready_of(another, another.objects[POOL].record, LATER)[1] == "True"
