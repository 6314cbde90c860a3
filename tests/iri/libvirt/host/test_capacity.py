"""What a host has to give: totals less the reserve, and how many machines of a class that is."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import settings as trying
from hypothesis import strategies as st

from iri.host import RuntimeMachineClass
from iri.libvirt.domain.traits import ClassTraits
from iri.libvirt.host.capacity import GIB, HostFacts, capacity, quantity
from iri.libvirt.host.settings import HostSettings

MIB = 1 << 20
FACTS = HostFacts(architecture="x86_64", cpus=8, memory_bytes=16 * GIB)
HUGE = HostFacts(architecture="x86_64", cpus=8, memory_bytes=16 * GIB, huge_pages={2 * MIB: 2048, GIB: 0})
NONE: Mapping[str, int] = {}


def settings(**changes: object) -> HostSettings:
    return HostSettings(**{"reserved": NONE, **changes})  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("facts", "given_", "want"),
    [
        (FACTS, settings(), {"cpu": 8, "memory": 16 * GIB, "storage": 100}),
        (FACTS, HostSettings(), {"cpu": 8, "memory": 15 * GIB, "storage": 100}),
        (FACTS, settings(reserved={"cpu": 2, "storage": 30}), {"cpu": 6, "memory": 16 * GIB, "storage": 70}),
        (FACTS, settings(reserved={"cpu": 20}), {"cpu": 0, "memory": 16 * GIB, "storage": 100}),
        (FACTS, settings(overcommit={"cpu": 4}), {"cpu": 8, "memory": 16 * GIB, "storage": 100}),
        (HUGE, settings(), {"cpu": 8, "memory": 16 * GIB, "storage": 100, "hugepages-2Mi": 4 * GIB}),
    ],
)
def test_capacity(facts: HostFacts, given_: HostSettings, want: dict[str, int]) -> None:
    assert capacity(facts, 100, given_) == want


def small(**resources: int) -> RuntimeMachineClass:
    return RuntimeMachineClass(name="small", resources=resources)


@pytest.mark.parametrize(
    ("wanted", "facts", "given_", "want"),
    [
        (small(cpu=2, memory=GIB), FACTS, settings(), 4),
        (small(cpu=1, memory=4 * GIB), FACTS, settings(), 4),
        (small(cpu=2, memory=GIB), FACTS, settings(overcommit={"cpu": 4}), 16),
        (small(cpu=9, memory=GIB), FACTS, settings(), 0),
        (small(cpu=1, **{"nvidia.com/gpu": 1}), FACTS, settings(), 0),
        (small(cpu=1, storage=30), FACTS, settings(), 3),
        (small(), FACTS, settings(), 0),
        (small(cpu=1, memory=GIB), HUGE, settings(traits={"small": ClassTraits(is_hugepages=True)}), 4),
        (small(cpu=1, memory=2 * GIB), HUGE, settings(), 6),
        (
            small(cpu=1, memory=2 * GIB),
            HUGE,
            settings(traits={"small": ClassTraits(is_hugepages=True)}, overcommit={"memory": 2}),
            2,
        ),
        (small(cpu=1, memory=GIB), FACTS, settings(traits={"small": ClassTraits(is_hugepages=True)}), 0),
    ],
)
def test_quantity(wanted: RuntimeMachineClass, facts: HostFacts, given_: HostSettings, want: int) -> None:
    assert quantity(wanted, facts, 100, given_) == want


counts = st.integers(0, 1 << 40)


@trying(deadline=None)
@given(counts, counts, counts, st.integers(1, 64), st.integers(1, 1 << 36))
def test_the_machines_of_a_class_fit_the_host(
    cpus: int, memory: int, reserve: int, cpu: int, bytes_: int
) -> None:
    facts = HostFacts(cpus=cpus, memory_bytes=memory)
    given_ = settings(reserved={"memory": reserve})
    count = quantity(small(cpu=cpu, memory=bytes_), facts, 0, given_)
    has = capacity(facts, 0, given_)
    assert count * cpu <= has["cpu"]
    assert count * bytes_ <= has["memory"]
    assert (count + 1) * cpu > has["cpu"] or (count + 1) * bytes_ > has["memory"]


@pytest.mark.parametrize("wrong", [{"reserved": {"cpu": -1}}, {"overcommit": {"cpu": 0.5}}])
def test_invalid_settings_are_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(ValueError, match="cpu"):
        settings(**wrong)
