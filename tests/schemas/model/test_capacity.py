"""The laws of the one fit: it never overcommits, more room never hurts, and order does not matter."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from schemas.kinds import Kind
from schemas.model import Machine, MachineClass, MachinePool, Volume, decode
from schemas.model.capacity import (
    CPU,
    WHOLE_HOST,
    Shortfall,
    add,
    allocatable,
    fits,
    format_amount,
    needs,
    share,
    stocks,
    subtract,
)
from schemas.model.charge import class_counts, format_vector, machine_charge, pool_allocatable, volume_charge
from schemas.model.quantity import NANO, Quantity, parse

RESOURCES = ["cpu", "memory", "storage", "nvidia.com/gpu", "class/machine.small"]
VECTORS = st.dictionaries(st.sampled_from(RESOURCES), st.integers(0, 10), max_size=5)
STOCKS = st.dictionaries(st.sampled_from(RESOURCES), st.integers(0, 30), max_size=5)


def admit(needs_list: list[dict[str, int]], free: dict[str, int]) -> list[dict[str, int]]:
    taken = []
    for need in needs_list:
        if not fits(need, free):
            free = subtract(free, need)
            taken.append(need)
    return taken


@given(st.lists(VECTORS, max_size=12), STOCKS)
def test_admitted_needs_never_exceed_the_stock(
    needs_list: list[dict[str, int]], stock: dict[str, int]
) -> None:
    for resource, used in add(admit(needs_list, stock)).items():
        assert used <= stock.get(resource, 0)


@given(VECTORS, STOCKS, st.sampled_from(RESOURCES), st.integers(0, 5))
def test_more_room_or_less_need_never_makes_it_not_fit(
    need: dict[str, int], free: dict[str, int], resource: str, change: int
) -> None:
    if not fits(need, free):
        assert not fits(need, add([free, {resource: change}]))
        assert not fits({**need, resource: max(0, need.get(resource, 0) - change)}, free)


@given(VECTORS, STOCKS)
def test_every_shortfall_has_need_and_stock(need: dict[str, int], free: dict[str, int]) -> None:
    short = fits(need, free)
    assert set(short) == {
        Shortfall(resource, wanted, free.get(resource, 0))
        for resource, wanted in need.items()
        if wanted > free.get(resource, 0)
    }


@given(st.permutations([{"cpu": 1}, {"memory": 2}, {"cpu": 3, "storage": 1}, {"cpu": 0}]))
def test_the_order_of_charges_does_not_matter(charges: list[dict[str, int]]) -> None:
    assert add(charges) == {"cpu": 4, "memory": 2, "storage": 1}


AMOUNTS = st.dictionaries(
    st.sampled_from(["cpu", "memory"]), st.integers(0, 10**12).map(Quantity), min_size=1
)


@given(st.lists(AMOUNTS, max_size=8))
def test_rounding_never_hides_a_need(needs_list: list[dict[str, Quantity]]) -> None:
    charged = add(needs(each) for each in needs_list)
    for resource in ("cpu", "memory"):
        exact = sum(each[resource].nano for each in needs_list if resource in each)
        assert charged.get(resource, 0) * (NANO // 1000 if resource == CPU else NANO) >= exact


@given(AMOUNTS)
def test_rounding_never_invents_a_stock(stated: dict[str, Quantity]) -> None:
    for resource, count in stocks(stated).items():
        assert count * (NANO // 1000 if resource == CPU else NANO) <= stated[resource].nano


@pytest.mark.parametrize(
    ("capacity", "reserved", "overcommit", "expected"),
    [
        ({"cpu": 8000}, {}, {}, {"cpu": 8000}),
        (
            {"cpu": 8000, "memory": 64},
            {"cpu": 1000, "memory": 4},
            {"cpu": Fraction(4)},
            {"cpu": 28000, "memory": 60},
        ),
        ({"cpu": 1000}, {}, {"cpu": Fraction(11, 10)}, {"cpu": 1100}),
        ({"memory": 10}, {}, {"memory": Fraction(3, 7)}, {"memory": 4}),
        ({"cpu": 1000}, {"cpu": 2000}, {"cpu": Fraction(4)}, {"cpu": 0}),
        ({"cpu": 1000}, {"memory": 5}, {}, {"cpu": 1000}),
    ],
)
def test_allocatable_is_capacity_minus_reserve_times_overcommit(
    capacity: dict[str, int],
    reserved: dict[str, int],
    overcommit: dict[str, Fraction],
    expected: dict[str, int],
) -> None:
    assert allocatable(capacity, reserved, overcommit) == expected


@given(st.integers(1, 10**6), st.integers(1, 10**6))
def test_shares_fill_a_host_that_only_reports_counts(small: int, large: int) -> None:
    """As many of one class as the host states, and of two classes never more than the host."""
    assert share(small) * small <= WHOLE_HOST < share(small) * (small + 1)
    half = small // 2
    rest = (WHOLE_HOST - half * share(small)) // share(large)
    assert Fraction(half, small) + Fraction(rest, large) <= 1 + Fraction(1, 10**6)


def machine_class(**capabilities: object) -> MachineClass:
    body: dict[str, Any] = {"apiVersion": "compute.ironcore.dev/v1alpha1", "metadata": {"name": "small"}}
    found = decode(Kind.MACHINE_CLASS, {**body, "capabilities": capabilities})
    assert isinstance(found, MachineClass)
    return found


def machine(*volumes: dict[str, object], power: str = "On") -> Machine:
    body: dict[str, Any] = {"apiVersion": "compute.ironcore.dev/v1alpha1", "metadata": {"name": "web"}}
    spec = {"machineClassRef": {"name": "small"}, "power": power, "volumes": list(volumes)}
    found = decode(Kind.MACHINE, {**body, "spec": spec})
    assert isinstance(found, Machine)
    return found


def volume(**spec: object) -> Volume:
    body: dict[str, Any] = {"apiVersion": "storage.ironcore.dev/v1alpha1", "metadata": {"name": "root"}}
    found = decode(Kind.VOLUME, {**body, "spec": spec})
    assert isinstance(found, Volume)
    return found


LOCAL: dict[str, object] = {"name": "a", "localDisk": {"sizeLimit": "1Gi"}}
OLD: dict[str, object] = {"name": "b", "emptyDisk": {"sizeLimit": "2Gi"}}
UNSIZED: dict[str, object] = {"name": "c", "localDisk": {"image": "debian:13"}}
REMOTE: dict[str, object] = {"name": "d", "volumeRef": {"name": "root"}}
TEMPLATE = {"spec": {"volumeClassRef": {"name": "fast"}, "resources": {"storage": "5Gi"}}}
EPHEMERAL: dict[str, object] = {"name": "e", "ephemeral": {"volumeTemplate": TEMPLATE}}


@pytest.mark.parametrize(
    ("volumes", "storage"),
    [
        ((), None),
        ((REMOTE, EPHEMERAL), None),
        ((LOCAL,), 1),
        ((LOCAL, OLD, REMOTE), 3),
        ((LOCAL, UNSIZED), 11),
    ],
)
def test_a_machine_uses_its_class_and_its_local_disks(
    volumes: tuple[dict[str, object], ...], storage: int | None
) -> None:
    small = machine_class(cpu="500m", memory="1.5Gi", **{"nvidia.com/gpu": 1})
    expected = {"cpu": 500, "memory": 3 * 2**29, "nvidia.com/gpu": 1}
    if storage is not None:
        expected["storage"] = storage * 2**30
    assert machine_charge(small, machine(*volumes).spec) == expected
    assert machine_charge(small, machine(*volumes, power="Off").spec) == expected
    counted = machine_charge(small, machine(*volumes).spec, is_counted=True)
    assert counted == {**expected, "class/machine.small": 1}


def test_storage_of_the_class_and_of_local_disks_add_up() -> None:
    small = machine_class(cpu=1, memory="1Gi", storage="4Gi")
    assert machine_charge(small, machine(LOCAL).spec)["storage"] == 5 * 2**30


def test_a_volume_uses_its_size() -> None:
    found = volume(volumeClassRef={"name": "fast"}, resources={"storage": "1.5"})
    assert volume_charge(found.spec) == {"storage": 2}
    assert volume_charge(found.spec, is_counted=True) == {"storage": 2, "class/volume.fast": 2}
    assert volume_charge(volume().spec) == {}


def test_a_pool_offers_its_capacity_without_the_reserve() -> None:
    body: dict[str, Any] = {"apiVersion": "compute.ironcore.dev/v1alpha1", "metadata": {"name": "rack"}}
    spec = {"overcommit": {"cpu": "1.5"}, "reserved": {"cpu": "1", "memory": "4Gi"}}
    pool = decode(Kind.MACHINE_POOL, {**body, "spec": spec})
    assert isinstance(pool, MachinePool)
    stated = {"cpu": parse("8"), "memory": parse("64Gi"), "class/machine.small": parse("4")}
    assert pool_allocatable(pool.spec, stated) == {"cpu": 10500, "memory": 60 * 2**30}
    counts_only = {"class/machine.small": parse("4")}
    assert pool_allocatable(pool.spec, counts_only) == {"class/machine.small": 4}


@given(VECTORS.filter(lambda need: any(need.values())), STOCKS)
def test_a_class_count_is_the_number_that_fits(need: dict[str, int], free: dict[str, int]) -> None:
    count = class_counts(free, {"small": need})["class/machine.small"]
    assert not fits({resource: wanted * count for resource, wanted in need.items()}, free)
    assert fits({resource: wanted * (count + 1) for resource, wanted in need.items()}, free)


def test_amounts_are_formatted_without_rounding() -> None:
    assert format_vector({"memory": 3 * 2**29, "cpu": 1500, "nvidia.com/gpu": 2}) == {
        "cpu": "1500m",
        "memory": "1536Mi",
        "nvidia.com/gpu": "2",
    }
    assert format_amount("cpu", 4000) == "4"


@given(VECTORS)
def test_a_formatted_vector_reads_back(vector: dict[str, int]) -> None:
    assert needs({resource: parse(text) for resource, text in format_vector(vector).items()}) == vector
