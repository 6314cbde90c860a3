"""A deletion that is reverted in time gives back the same guest with the same disks, whoever is killed meanwhile, and wherever."""

from __future__ import annotations

from functools import cache

import pytest

from tests.poollet.fleet import SETTINGS, machine, machine_class
from tests.poollet.simulation import Kill, Simulation, When

HOSTS = ("host-1", "host-2")
WEB = machine("web", spec="  volumes:\n  - {name: root, localDisk: {}}\n")
PLAIN = {f"machines/other{number}.yaml": machine(f"other{number}") for number in range(2)}
SCRIPT: dict[int, dict[str, str | None]] = {
    0: {"gitvirt.yaml": SETTINGS, "classes/small.yaml": machine_class(), "machines/web.yaml": WEB, **PLAIN},
    8: {"machines/web.yaml": None},
    14: {"machines/web.yaml": WEB},
}
WHENS: tuple[When, ...] = ("before", "after")


def guests(simulation: Simulation) -> dict[str, str]:
    return {id: uid for name in HOSTS for id, uid in simulation.uids(name).items()}


def live(*kills: Kill) -> tuple[dict[str, str], Simulation]:
    """What runs before the deletion, and the simulation at its end."""
    before: dict[str, str] = {}
    simulation = Simulation(HOSTS, SCRIPT, kills, by_hand={8: lambda now: before.update(guests(now))})
    simulation.settle()
    return before, simulation


@cache
def count_calls() -> dict[str, int]:
    _, simulation = live()
    return {who: switch.calls for who, switch in simulation.kill_switches.items()}


def test_undisturbed_it_is_the_same_guest() -> None:
    before, simulation = live()
    assert len(before) == 3
    assert guests(simulation) == before
    assert simulation.outcome()["Machine/default/web"] == ("Running", "On", (("root", "Attached"),))


@pytest.mark.parametrize("who", ["reconciler", *HOSTS])
def test_whoever_is_killed_it_is_the_same_guest(who: str) -> None:
    calls = count_calls()[who]
    for at in range(calls // 3, calls, max(1, calls // 12)):
        for when in WHENS:
            before, simulation = live(Kill(who, at, when))
            after = guests(simulation)
            assert before.items() <= after.items(), (who, at, when)
            assert len(after) == 3, (who, at, when)
