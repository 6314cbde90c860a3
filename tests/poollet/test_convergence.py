"""Whoever is killed, and wherever: everybody comes to the same rest, nothing is made twice and nothing ordered is lost."""

from __future__ import annotations

import random
from functools import cache

import pytest
from msgspec.structs import replace

from tests.iri.quick import PROFILE
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
def undisturbed(behaviour: str = "gitvirt") -> Simulation:
    simulation = Simulation(HOSTS, SCRIPT, profile=replace(PROFILE, behaviour=behaviour))
    simulation.settle()
    return simulation


def points(behaviour: str = "gitvirt") -> list[Kill]:
    """Every call of every party, before and after its effect."""
    whens: tuple[When, ...] = ("before", "after")
    return [
        Kill(who, at, when)
        for who, doom in undisturbed(behaviour).dooms.items()
        for at in range(1, doom.calls + 1)
        for when in whens
    ]


def settled(*kills: Kill, behaviour: str = "gitvirt") -> Simulation:
    simulation = Simulation(HOSTS, SCRIPT, kills, replace(PROFILE, behaviour=behaviour))
    simulation.settle()
    assert sum(doom.struck for doom in simulation.dooms.values())
    assert simulation.outcome() == undisturbed(behaviour).outcome()
    return simulation


def test_undisturbed_everything_comes_about_and_nothing_more_is_written() -> None:
    simulation = undisturbed()
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
def test_whoever_is_killed_at_any_call_the_end_is_the_same(part: int) -> None:
    for kill in points()[part::89]:
        settled(kill)


@pytest.mark.parametrize("behaviour", STOCK)
def test_a_runtime_that_makes_duplicates_is_never_led_to(behaviour: str) -> None:
    for kill in points(behaviour)[50::151]:
        settled(kill, behaviour=behaviour)


@pytest.mark.parametrize("seed", range(4))
def test_however_often_everybody_is_killed_the_end_is_the_same(seed: int) -> None:
    settled(*random.Random(seed).sample(points(), 30))


@pytest.mark.long
@pytest.mark.timeout(1200)
@pytest.mark.parametrize("behaviour", ["gitvirt", *STOCK])
@pytest.mark.parametrize("part", range(4))
def test_whoever_is_killed_at_each_call_the_end_is_the_same(part: int, behaviour: str) -> None:
    for kill in points(behaviour)[part::4]:
        settled(kill, behaviour=behaviour)


@pytest.mark.long
@pytest.mark.parametrize("seed", range(100, 180))
def test_whatever_the_chance_the_end_is_the_same(seed: int) -> None:
    chance = random.Random(seed)
    settled(*chance.sample(points(), chance.randint(2, 80)))
