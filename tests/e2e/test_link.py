"""Hosts and reconcilers with a link between them, as processes: what the link changes, and what it never changes."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.linked_fleet import MACHINE, LinkedFleet, linked_fleet


@pytest.fixture
def folder() -> Iterator[Path]:
    """Short, because sockets are in it."""
    with tempfile.TemporaryDirectory(prefix="gv-") as found:
        yield Path(found)


def start(fleet: LinkedFleet) -> None:
    for name in fleet.servers:
        fleet.run_reconciler(name)
    for name in fleet.hosts:
        fleet.run_host(name)


@pytest.mark.early
def test_heartbeats_move_to_the_link_and_come_back_at_once(folder: Path) -> None:
    with linked_fleet(folder) as fleet:
        start(fleet)
        fleet.until(lambda: fleet.count_connected("one") == 2)
        fleet.commit({"machines/web-1.yaml": MACHINE.format(name="web-1")})
        fleet.until(lambda: fleet.is_running("web-1"))
        fleet.until(lambda: all(fleet.interval(name) == "5m" for name in fleet.hosts))
        at_rest = {name: fleet.head(f"refs/poollets/{name}") for name in fleet.hosts}
        commits = len(fleet.live_commits())
        deadline = time.monotonic() + 20  # longer than an interval of heartbeats to Git
        fleet.until(lambda: time.monotonic() > deadline)
        assert {name: fleet.head(f"refs/poollets/{name}") for name in fleet.hosts} == at_rest
        fleet.kill("one")
        took = fleet.until(lambda: all(fleet.interval(name) == "15s" for name in fleet.hosts))
        assert took < 8
        fleet.run_reconciler("one")
        fleet.until(lambda: fleet.count_connected("one") == 2)
        fleet.commit({"machines/web-2.yaml": MACHINE.format(name="web-2")})
        fleet.until(lambda: fleet.is_running("web-2"))
        subjects = fleet.live_commits()[: len(fleet.live_commits()) - commits]
        assert all("web-2" in each for each in subjects), subjects
