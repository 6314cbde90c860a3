"""Whichever process is killed, and wherever: all converge to the same end, nothing is created twice and no order is lost."""

from __future__ import annotations

import random
from collections.abc import Callable
from functools import cache

import pytest
from msgspec.structs import replace

from iri.machine import RuntimeMachine
from iri.simulated.faults.fault_rules import FaultRule
from tests.iri.quick_host import PROFILE
from tests.poollet.fleet import LIVE, SETTINGS, machine, machine_class
from tests.poollet.simulation import Kill, Simulation, When

HOSTS = ("host-1", "host-2")
VOLUME_CLASS = (
    "apiVersion: storage.ironcore.dev/v1alpha1\nkind: VolumeClass\nmetadata: {name: standard}\n"
    "capabilities: {tps: 1Mi, iops: 100}\nresizePolicy: ExpandOnly\n"
)


def volume(size: str = "1Gi") -> str:
    return (
        "apiVersion: storage.ironcore.dev/v1alpha1\nkind: Volume\nmetadata: {name: data}\n"
        f"spec:\n  volumeClassRef: {{name: standard}}\n  resources: {{storage: {size}}}\n  deletionPolicy: Delete\n"
    )


BASE: dict[str, str | None] = {
    "gitvirt.yaml": SETTINGS,
    "classes/small.yaml": machine_class(),
    "classes/standard.yaml": VOLUME_CLASS,
    "machines/web.yaml": machine("web"),
    "machines/db.yaml": machine("db", spec="  volumes:\n  - {name: data, volumeRef: {name: data}}\n"),
    "volumes/data.yaml": volume(),
}
SCRIPT: dict[int, dict[str, str | None]] = {
    0: BASE,
    8: {
        "machines/web.yaml": None,
        "machines/new.yaml": machine("new", spec="  power: Off\n"),
        "volumes/data.yaml": volume("2Gi"),
    },
}


@cache
def run_undisturbed(behavior: str = "gitvirt") -> Simulation:
    simulation = Simulation(HOSTS, SCRIPT, profile=replace(PROFILE, behavior=behavior))
    simulation.settle()
    return simulation


def points(behavior: str = "gitvirt") -> list[Kill]:
    """Every call of every party, before and after its effect."""
    whens: tuple[When, ...] = ("before", "after")
    return [
        Kill(who, at, when)
        for who, kill_switch in run_undisturbed(behavior).kill_switches.items()
        for at in range(1, kill_switch.calls + 1)
        for when in whens
    ]


def run_with_kills(*kills: Kill, behavior: str = "gitvirt") -> Simulation:
    simulation = Simulation(HOSTS, SCRIPT, kills, replace(PROFILE, behavior=behavior))
    simulation.settle()
    assert sum(kill_switch.struck for kill_switch in simulation.kill_switches.values())
    assert simulation.outcome() == run_undisturbed(behavior).outcome()
    return simulation


def test_an_undisturbed_fleet_converges_and_writes_nothing_more() -> None:
    simulation = run_undisturbed()
    assert simulation.outcome() == {
        "Machine/default/db": ("Running", "On", (("data", "Attached"),)),
        "Machine/default/new": ("Shutdown", "Off", ()),
        "Volume/default/data": ("Available", '{"storage": "2Gi"}'),
        "Machine": 2,
        "Volume": 1,
    }
    live, before = simulation.fleet.head(LIVE), simulation.state()
    for _ in range(20):
        simulation.round()
    assert simulation.fleet.head(LIVE) == live
    assert simulation.state() == before


STOCK = ("stock-libvirt", "stock-ceph", "stock-cloud-hypervisor")


@pytest.mark.parametrize("part", range(4))
def test_a_process_killed_at_any_call_leads_to_the_same_end(part: int) -> None:
    for kill in points()[part::89]:
        run_with_kills(kill)


@pytest.mark.parametrize("behavior", STOCK)
def test_no_runtime_gets_a_second_object_of_one_uid(behavior: str) -> None:
    for kill in points(behavior)[50::151]:
        run_with_kills(kill, behavior=behavior)


@pytest.mark.parametrize("seed", range(4))
def test_repeated_kills_of_all_processes_lead_to_the_same_end(seed: int) -> None:
    run_with_kills(*random.Random(seed).sample(points(), 30))


def births(simulation: Simulation) -> dict[str, tuple[int, int]]:
    """When each machine was made, and how often it was booted."""
    return {
        id: (one.created_at, one.detail.boots)
        for host in simulation.machines.values()
        for id, one in host.runtime.objects(RuntimeMachine).items()
    }


def run_with_faults(
    by_hand: dict[int, Callable[[Simulation], None]],
    empty: dict[str, range] | None = None,
    behavior: str = "gitvirt",
) -> Simulation:
    """All processes come to the same end, and what ran at the beginning was never recreated or booted again."""
    simulation = Simulation(
        HOSTS, SCRIPT, profile=replace(PROFILE, behavior=behavior), by_hand=by_hand, empty=empty or {}
    )
    while simulation.rounds < 6:
        simulation.round()
    before = births(simulation)
    simulation.settle()
    after = births(simulation)
    assert {id: after[id] for id in before.keys() & after.keys()} == {
        id: before[id] for id in before.keys() & after.keys()
    }
    assert simulation.outcome() == run_undisturbed(behavior).outcome()
    return simulation


def silence(call: str, code: str, times: int = 0) -> Callable[[Simulation], None]:
    def act(simulation: Simulation) -> None:
        for host in simulation.machines.values():
            host.faults.add(FaultRule(call=call, code=code, times=times))

    return act


def clear_faults(simulation: Simulation) -> None:
    for host in simulation.machines.values():
        host.faults.clear()


def test_hosts_without_contact_for_a_while_lose_nothing() -> None:
    seen: list[str] = []

    def look(simulation: Simulation) -> None:
        seen.extend(run.report().pools[name].status.state for name, run in simulation.runs.items())
        seen.extend(one.phase for run in simulation.runs.values() for one in run.report().machines.values())
        clear_faults(simulation)

    run_with_faults({6: silence("", "UNAVAILABLE"), 11: look})
    assert set(seen) == {"Error", "unknown"}


@pytest.mark.parametrize("behavior", ["gitvirt", "stock-libvirt"])
def test_a_list_that_is_empty_once_removes_and_creates_nothing(behavior: str) -> None:
    run_with_faults({}, dict.fromkeys(HOSTS, range(6, 7)), behavior)


@pytest.mark.parametrize("call", ["CreateMachine", "DeleteMachine", "AttachVolume", "ExpandVolume"])
def test_calls_that_fail_for_a_while_are_retried(call: str) -> None:
    run_with_faults({0: silence(call, "INTERNAL", 3), 8: silence(call, "DEADLINE_EXCEEDED", 3)})


# Into so many parts that each takes about 20 s of a processor, and less than a minute. All of them take about 16 minutes.
PARTS = {"gitvirt": 4, "stock-libvirt": 32, "stock-ceph": 4, "stock-cloud-hypervisor": 4}


@pytest.mark.long
@pytest.mark.timeout(1200)
@pytest.mark.parametrize(
    ("behavior", "part"), [(behavior, part) for behavior, many in PARTS.items() for part in range(many)]
)
def test_a_process_killed_at_each_call_leads_to_the_same_end(behavior: str, part: int) -> None:
    for kill in points(behavior)[part :: PARTS[behavior]]:
        run_with_kills(kill, behavior=behavior)


@pytest.mark.long
@pytest.mark.parametrize("seed", range(100, 180))
def test_every_seed_leads_to_the_same_end(seed: int) -> None:
    chance = random.Random(seed)
    run_with_kills(*chance.sample(points(), chance.randint(2, 80)))
