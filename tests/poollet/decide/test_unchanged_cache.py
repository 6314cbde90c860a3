"""A converged machine is not decided again until an input of its report changes; with one, the outcome is as without the cache."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from iri.change import SetPower
from iri.machine import Power
from poollet.decide.decide import decide
from schemas.kinds import Kind
from tests.poollet.documents import document, interfaces, machine, referring, secret, volume
from tests.poollet.site import POOLS, A, Site, site

WITH_ALL = {"networkInterfaces": interfaces("lan"), "ignitionRef": {"name": "boot"}}


def converge() -> Site:
    here = site(machine(spec=WITH_ALL), secret("boot", **{"ignition.yaml": "#cloud-config"}))
    here.facts = replace(here.facts, plain_secrets=True)
    here.settle()
    return here


def is_cached(here: Site) -> bool:
    """Whether the next decision takes the machine's report from the cache; the decision is the same without a cache."""
    before = here.memory.unchanged
    decision = decide(here.inputs())
    uncached = decide(replace(here.inputs(), memory=replace(here.memory, unchanged={})))
    assert (decision.machines, decision.actions) == (uncached.machines, uncached.actions)
    return any(decision.memory.unchanged.get(ref) is known for ref, known in before.items())


def change_facts(here: Site, **facts: object) -> None:
    here.facts = replace(here.facts, **facts)  # type: ignore[arg-type]


def offer_less(here: Site) -> None:
    pool = replace(POOLS[A], classes=frozenset(("large",)))
    change_facts(here, pools={**POOLS, A: pool})


def fill(here: Site) -> None:
    pool = replace(POOLS[A], allocatable={"cpu": 0})
    change_facts(here, pools={**POOLS, A: pool})


def switch_off(here: Site) -> None:
    (id,) = here.machines()
    here.sim.runtime.change(id, SetPower(Power.OFF))


# what happens to a converged machine, and whether its report is taken from the cache
CHANGES: dict[str, tuple[Callable[[Site], None], bool]] = {
    "nothing": (lambda _: None, True),
    "another machine comes": (lambda here: here.put(machine("db")), True),
    "an object that it does not name comes": (lambda here: here.put(volume()), True),
    "the pool is full": (fill, True),
    "its document changes": (lambda here: here.put(machine(spec={**WITH_ALL, "power": "Off"})), False),
    "its document is read again": (lambda here: here.put(machine(spec=WITH_ALL)), False),
    "its assignment changes": (lambda here: here.put(machine(spec=WITH_ALL, round=1)), False),
    "it is paused": (
        lambda here: here.put(machine(spec=WITH_ALL, annotations={"gitvirt.dev/paused": "true"})),
        False,
    ),
    "the host changes it": (switch_off, False),
    "its secret changes": (lambda here: here.put(secret("boot", **{"ignition.yaml": "#other"})), False),
    "the host has its secret": (lambda here: here.with_secrets(boot=b"x"), False),
    "plain secrets are denied": (lambda here: change_facts(here, plain_secrets=False), False),
    "its network changes": (
        lambda here: here.put(document(Kind.NETWORK, "lan", spec={"ipv4": {"cidr": "10.9.0.0/24"}})),
        False,
    ),
    "its own interface comes": (
        lambda here: here.put(
            document(Kind.NETWORK_INTERFACE, "web-lan", spec={"networkRef": {"name": "lan"}})
        ),
        False,
    ),
    "its class changes": (
        lambda here: here.put(
            document(Kind.MACHINE_CLASS, "small", capabilities={"cpu": "1", "memory": "2Gi"})
        ),
        False,
    ),
    "its class is not offered": (offer_less, False),
    "its runtime has another name": (lambda here: change_facts(here, providers={"sim": "other"}), False),
}


@pytest.mark.parametrize(("change", "want"), CHANGES.values(), ids=CHANGES.keys())
def test_a_report_is_reused_until_an_input_changes(change: Callable[[Site], None], want: bool) -> None:
    here = converge()
    assert is_cached(here)
    change(here)
    assert is_cached(here) is want


def test_a_machine_with_a_volume_is_not_cached() -> None:
    here = site(machine(spec={"volumes": referring("data")}), volume(claim="web"))
    here.settle()
    assert here.machines()
    assert not here.memory.unchanged


def test_a_machine_that_cannot_become_as_desired_is_not_cached() -> None:
    def disk(size: str) -> dict[str, object]:
        return {"volumes": [{"name": "root", "localDisk": {"sizeLimit": size}}]}

    here = site(machine(spec=disk("1Gi")))
    here.settle()
    assert here.memory.unchanged
    here.put(machine(spec=disk("2Gi")))
    here.settle()
    assert not here.memory.unchanged
