"""A deletion that is reverted in time gives back the same guest with the same disks, whoever is killed meanwhile, and wherever."""

from __future__ import annotations

from functools import cache

import pytest

from schemas.model import Volume
from tests.poollet.fleet import SETTINGS, machine, machine_class
from tests.poollet.simulation import Kill, Simulation, When
from tests.poollet.test_convergence import VOLUME_CLASS, volume

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


def test_a_volume_is_handed_over_and_a_revert_waits_for_it() -> None:
    """The next machine gets it once the first one is off, and the first one starts again once it has it back: both are never on with it."""
    has_data = "  - {name: data, volumeRef: {name: data}}\n"
    web, new = (
        machine("web", spec=f"  volumes:\n  - {{name: root, localDisk: {{}}}}\n{has_data}"),
        machine("new", spec=f"  volumes:\n{has_data}"),
    )
    script: dict[int, dict[str, str | None]] = {
        0: {
            **SCRIPT[0],
            "machines/web.yaml": web,
            "volumes/data.yaml": volume(),
            "classes/standard.yaml": VOLUME_CLASS,
        },
        10: {"machines/web.yaml": None, "machines/new.yaml": new},
        20: {"machines/web.yaml": web},
        30: {"machines/new.yaml": None},
    }
    seen: list[tuple[str, str, str]] = []
    before: dict[str, str] = {}

    def look(now: Simulation) -> None:
        found = now.outcome()
        states = {name: found.get(f"Machine/default/{name}", ("",)) for name in ("web", "new")}
        held = {one.metadata.name: one.spec.claim_ref for one in now.live().all(Volume)}["data"]
        seen.append((held.name if held else "", str(states["web"][0]), str(states["new"][0])))  # type: ignore[index]
        before.update(before or guests(now))

    simulation = Simulation(HOSTS, script, (), by_hand={at: look for at in (10, 20, 30)})
    simulation.settle()
    look(simulation)
    assert seen == [
        ("web", "Running", ""),
        ("new", "Shutdown", "Running"),
        ("new", "Shutdown", "Running"),
        ("web", "Running", ""),
    ]
    assert guests(simulation) == before
