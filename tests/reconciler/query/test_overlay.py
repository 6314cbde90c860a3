"""Verbs show what hosts report now, before the reconciler wrote it; and nothing that the reconciler would refuse."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import msgspec
import pytest

from reconciler.gitstore.repo import Snapshot
from reconciler.query.cached_inventory import read_cached_inventory
from reconciler.query.disk_cache import DiskCache
from reconciler.query.inventory import FleetInventory
from reconciler.query.newest_reports import read_newest_reports
from reconciler.query.overlay import is_same, with_reports
from schemas.kinds import Key, Kind
from schemas.model import Condition, MachinePoolStatus, MachineStatus, VolumeStatus
from schemas.model.quantity import parse
from schemas.report.objects import ReportedVolumeStatus, VolumeReport
from schemas.settings.fleet import PoolletEntry, SignatureSettings
from tests.reconciler.lifecycle.hosts import Fleet
from tests.reconciler.lifecycle.test_unobserved import HostOfRuntime
from tests.reconciler.world.scene import SMALL, machine

WEB, POOL = Key(Kind.MACHINE, "default", "web"), Key(Kind.MACHINE_POOL, "", "a")


class Shown:
    """A fleet that converged, and what a verb shows of it. Every look is also made with what the look before kept."""

    def __init__(self, folder: Path) -> None:
        self.cache = DiskCache(folder)
        self.host = HostOfRuntime("a")
        self.fleet = Fleet({"small.yaml": SMALL, "web.yaml": machine("web")}, self.host)
        self.fleet.settle()
        self.settings = self.fleet.reconciler.world.rules.settings

    def look(self) -> FleetInventory:
        snapshot = self.fleet.snapshot()
        return self.read(snapshot, self.cache)

    def read(self, snapshot: Snapshot, cache: DiskCache) -> FleetInventory:
        kinds = (Kind.MACHINE, Kind.MACHINE_POOL)
        found = read_cached_inventory(self.fleet.store, snapshot.target, kinds, cache)
        for kind in kinds:
            reports = read_newest_reports(self.fleet.store, snapshot, kind, cache)
            found = with_reports(found, kind, reports, self.settings, datetime.now(UTC))
        return found

    def machine(self) -> MachineStatus:
        status = getattr(self.look().items[WEB].object, "status", None)
        assert isinstance(status, MachineStatus)
        return status

    def pool(self) -> MachinePoolStatus:
        status = getattr(self.look().items[POOL].object, "status", None)
        assert isinstance(status, MachinePoolStatus)
        return status


@pytest.fixture(name="shown")
def make_shown(tmp_path: Path) -> Shown:
    return Shown(tmp_path)


def ready(status: MachineStatus | MachinePoolStatus) -> Condition:
    return next(each for each in status.conditions if each.type == "Ready")


def test_a_report_shows_before_the_reconciler_wrote_it(shown: Shown) -> None:
    assert ready(shown.machine()).status == "True"
    shown.host.is_stopped = True
    shown.fleet.hosts_report()
    for _ in range(2):
        status = shown.machine()
        assert (status.state, ready(status).status, ready(status).reason) == (
            "Running",
            "Unknown",
            "RuntimeUnreachable",
        )
        assert shown.pool().state == "Error"
        assert ready(shown.pool()).reason == "RuntimeUnreachable"
    item = shown.look().items[WEB]
    assert {each["type"]: each["status"] for each in item.body["status"]["conditions"]}["Ready"] == "Unknown"
    assert item.body["metadata"]["name"] == "web"
    shown.host.is_stopped = False
    shown.fleet.hosts_report()
    assert ready(shown.machine()).status == "True"


def test_after_the_reconciler_wrote_it_the_same_is_shown(shown: Shown) -> None:
    shown.host.is_stopped = True
    shown.fleet.hosts_report()
    before = shown.machine()
    shown.fleet.tick()
    after = shown.machine()
    assert (after.state, ready(after).reason) == (before.state, ready(before).reason)


def test_a_machine_that_its_host_reports_as_gone_does_not_run(shown: Shown) -> None:
    """A machine that moves was shown as Running on its old pool again, between the report and the next tick."""
    assignment = shown.machine().assignment
    assert assignment is not None
    recreated = machine("web").replace(
        "  name: web\n", f"  name: web\n  annotations: {{gitvirt.dev/recreate: {assignment.id}}}\n", 1
    )
    assert "recreate" in recreated
    shown.fleet.source({"web.yaml": recreated})
    shown.fleet.tick()
    assert shown.machine().evict is not None
    for _ in range(3):
        shown.fleet.hosts_report()
    status = shown.machine()
    assert (status.state, ready(status).status, ready(status).reason) == ("Terminated", "False", "Terminated")
    shown.fleet.settle()
    assert shown.machine().state == "Pending", "the next one"


def foreign(shown: Shown) -> None:
    shown.settings = msgspec.structs.replace(
        shown.settings, fleet=msgspec.structs.replace(shown.settings.fleet, id="of another fleet")
    )


def require_signatures(shown: Shown) -> None:
    shown.settings = msgspec.structs.replace(
        shown.settings,
        signatures=SignatureSettings(mode="enforce"),
        poollets={"a": PoolletEntry(signers=("ssh-ed25519 AAAA",))},
    )


def of_another_owner(shown: Shown) -> None:
    shown.settings = msgspec.structs.replace(shown.settings, poollets={"b": PoolletEntry(pools=("a",))})


@pytest.mark.parametrize("refuse", [foreign, require_signatures, of_another_owner])
def test_a_report_that_the_reconciler_would_refuse_does_not_show(
    shown: Shown, refuse: Callable[[Shown], None]
) -> None:
    refuse(shown)
    shown.host.is_stopped = True
    shown.fleet.hosts_report()
    assert ready(shown.machine()).status == "True"
    assert shown.pool().state == "Ready"


def test_a_host_whose_heartbeat_expired_is_shown_as_live_has_it(shown: Shown) -> None:
    shown.fleet.silent.add("a")
    shown.fleet.settle(80)
    assert ready(shown.machine()).reason == "PoolLost"
    assert shown.pool().state == "Pending"


@pytest.mark.parametrize(("size", "is_known"), [("10Gi", True), ("10240Mi", True), ("20Gi", False)])
def test_a_volume_that_grew_is_not_as_live_has_it(size: str, is_known: bool) -> None:
    status = VolumeStatus(state="Available", resources={"storage": parse("10Gi")})
    seen = ReportedVolumeStatus(state="Available", resources={"storage": size})
    report = VolumeReport(uid="1", assignment="2", phase="present", pool="a", status=seen)
    assert is_same(status, report) is is_known
