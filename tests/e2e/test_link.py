"""Hosts and reconcilers with a link between them, as processes: what the link changes, and what it never changes."""

from __future__ import annotations

import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.e2e.linked_fleet import MACHINE, LinkedFleet, linked_fleet
from tests.servers.relay import Relay


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


@contextmanager
def cut_again_and_again(relay: Relay) -> Iterator[None]:
    """Every connection through it ends after a moment; the next one is taken."""
    over = threading.Event()

    def cut() -> None:
        while not over.wait(1.5):
            relay.cut_after = 1
            over.wait(0.3)
            relay.cut_after = None

    thread = threading.Thread(target=cut)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()
        relay.cut_after = None


def live_a_life(fleet: LinkedFleet) -> tuple[dict[str, str], list[str]]:
    """Two machines are made, one is switched off, the other one is deleted. What live holds then, and its commits."""
    fleet.run_reconciler("one")
    fleet.run_host("rack-1", has_link=fleet.is_listed)
    fleet.commit({f"machines/{name}.yaml": MACHINE.format(name=name) for name in ("web-1", "web-2")})
    fleet.until(lambda: fleet.is_running("web-1") and fleet.is_running("web-2"))
    off = MACHINE.format(name="web-1") + "  power: Off\n"
    fleet.commit({"machines/web-1.yaml": off, "machines/web-2.yaml": None})
    fleet.until(lambda: "state: Shutdown" in fleet.live("machines/web-1.yaml"))
    fleet.until(lambda: not fleet.live("machines/web-2.yaml"))
    head = fleet.head("refs/heads/live")
    deadline = time.monotonic() + 3
    fleet.until(lambda: time.monotonic() > deadline)
    assert fleet.head("refs/heads/live") == head, "it has converged"
    return fleet.live_tree(), fleet.live_commits()


@pytest.mark.early
def test_a_life_ends_with_the_same_tree_with_the_link_without_it_and_with_one_that_comes_and_goes(
    folder: Path,
) -> None:
    lives = {}
    for name in ("on", "off", "flapping"):
        place = folder / name
        place.mkdir()
        with linked_fleet(place, hosts=("rack-1",), is_listed=name != "off") as fleet:
            relay = Relay(fleet.servers["one"])
            try:
                if name == "flapping":
                    fleet.relays["one"] = relay.port
                    fleet.commit({"gitvirt.yaml": fleet.settings()})
                    with cut_again_and_again(relay):
                        lives[name] = live_a_life(fleet)
                        fleet.until(lambda: fleet.metric("one", "gitvirt_link_streams_total") > 1)
                else:
                    lives[name] = live_a_life(fleet)
            finally:
                fleet.end()
                relay.close()
    trees = {name: tree for name, (tree, _) in lives.items()}
    assert trees["on"] == trees["off"]
    assert trees["flapping"] == trees["off"]


@pytest.mark.early
def test_with_two_servers_either_may_be_killed(folder: Path) -> None:
    with linked_fleet(folder, servers=("one", "two")) as fleet:
        start(fleet)
        fleet.until(lambda: fleet.count_connected("one") == fleet.count_connected("two") == 2)
        fleet.kill("one")
        fleet.commit({"machines/web-1.yaml": MACHINE.format(name="web-1")})
        fleet.until(lambda: fleet.is_running("web-1"))
        fleet.run_reconciler("one")
        fleet.until(lambda: fleet.count_connected("one") == 2)
        fleet.kill("two")
        fleet.commit({"machines/web-2.yaml": MACHINE.format(name="web-2")})
        fleet.until(lambda: fleet.is_running("web-2"))


def test_a_host_that_is_killed_gets_nothing_new_and_comes_back_with_its_report(folder: Path) -> None:
    with linked_fleet(folder) as fleet:
        start(fleet)
        fleet.until(lambda: fleet.count_connected("one") == 2)
        fleet.commit({"machines/web-0.yaml": MACHINE.format(name="web-0")})
        fleet.until(lambda: fleet.is_running("web-0"))
        fleet.kill("rack-1")
        fleet.until(lambda: fleet.count_connected("one") == 1)
        names = [f"web-{number}" for number in range(1, 4)]
        fleet.commit({f"machines/{name}.yaml": MACHINE.format(name=name) for name in names})
        fleet.until(lambda: all(map(fleet.is_running, names)))
        assert all("pool: rack-2" in fleet.live(f"machines/{name}.yaml") for name in names)
        fleet.run_host("rack-1")
        fleet.until(lambda: fleet.count_connected("one") == 2)
        fleet.until(lambda: getattr(fleet.report("rack-1").poollet, "leaving", "") is None)


def test_a_host_whose_entry_is_removed_is_cut_off_and_says_why(folder: Path) -> None:
    with linked_fleet(folder) as fleet:
        start(fleet)
        fleet.until(lambda: fleet.count_connected("one") == 2)
        fleet.commit({"gitvirt.yaml": fleet.settings("rack-1")})
        fleet.until(lambda: "rack-1" not in fleet.live("gitvirt.yaml"))
        assert fleet.until(lambda: fleet.count_connected("one") == 1) < 5
        log = fleet.processes["rack-1"].log
        fleet.until(lambda: "list it under poollets.rack-1.certificates" in log.read_text())
        fleet.commit({"gitvirt.yaml": fleet.settings()})
        fleet.until(lambda: fleet.count_connected("one") == 2)
