"""What runtimes do not say, or say wrongly: nothing is deleted, made twice, or reported gone for it."""

from __future__ import annotations

from typing import Any

import pytest

from iri.change import SetPower
from iri.machine import Power, RuntimeMachine
from iri.runtime import KIND_NAMES
from iri.simulated.faults.fault_rules import FaultEffect, FaultRule
from iri.simulated.profile import Profile
from iri.simulated.provider_quirks import PROVIDERS
from poollet.decide.actions import update_call
from poollet.decide.memory import Memory
from poollet.runtimes.runtime_lists import ListKey
from schemas.kinds import Kind
from tests.poollet.documents import machine, referring, uid_of, volume
from tests.poollet.site import CLASSES_THERE, Site, kinds_of, runner, site

WEB = ("default", "web")


def hide(times: int, kinds: tuple[str, ...] = ("Machine", "Volume", "VolumeSnapshot")) -> Any:
    """So many of the next lists of these kinds are wrongly empty."""
    left = dict.fromkeys(kinds, times)

    def tamper(place: ListKey, objects: dict[str, object]) -> dict[str, object]:
        if left.get(KIND_NAMES[place.kind], 0):
            left[KIND_NAMES[place.kind]] -= 1
            return {}
        return objects

    return tamper


def running(*documents: Any, **more: Any) -> Site:
    here = site(*documents, **more)
    here.settle()
    here.calls.clear()
    return here


def test_one_wrongly_empty_list_changes_nothing() -> None:
    here = running(machine(spec={"volumes": referring("data")}), volume(claim="web"))
    before = here.round()
    here.tamper = hide(1)
    during = here.round()
    after = here.round(5)
    assert here.calls == []
    assert (during.machines, during.volumes) == (before.machines, before.volumes)
    assert (after.machines, after.volumes) == (before.machines, before.volumes)


@pytest.mark.parametrize("turn", range(4))
def test_a_wrongly_empty_list_at_any_time_makes_no_duplicate(turn: int) -> None:
    profile = Profile(classes=CLASSES_THERE, behavior="stock-ceph", behavior_flags={"rounds_to_gib": False})
    here = site(machine(), volume(), profile=profile)
    here.rounds(turn + 1, 0.2)
    here.tamper = hide(1)
    here.settle()
    here.restart()
    here.tamper = hide(1)
    here.settle()
    assert len(here.machines()) == 1
    assert len(here.volumes()) == 1


def test_a_poollet_that_lost_its_report_makes_no_duplicate_either() -> None:
    profile = Profile(classes=CLASSES_THERE, behavior="stock-cloud-hypervisor")
    here = running(machine(), profile=profile)
    here.restart()
    here.memory = Memory()
    here.settle()
    assert len(here.machines()) == 1


def test_a_machine_being_removed_is_gone_only_when_two_lists_lack_it() -> None:
    here = running(machine())
    here.put(machine(evicted=True))
    here.tamper = hide(1)
    assert here.round(0.1).machines[WEB].phase == "present"
    here.tamper = lambda _place, objects: objects
    assert here.settle().machines[WEB].phase == "gone"
    assert here.machines() == {}


def test_an_object_that_was_never_created_is_gone_only_when_two_lists_lack_it() -> None:
    here = site(machine(going=True))
    assert here.round().machines[WEB].phase == "present"
    assert here.settle().machines[WEB].phase == "gone"
    assert kinds_of(here.calls) == ["End"]


def test_while_a_runtime_does_not_answer_nothing_changes() -> None:
    here = running(machine(), volume())
    before = here.round()
    here.sim.faults.add(FaultRule(code="UNAVAILABLE"))
    here.put(machine(going=True), machine("new"), volume(going=True))
    decision = here.rounds(20, 5)
    assert here.calls == []
    assert decision.machines[WEB].phase == "unknown"
    assert decision.machines[WEB].status == before.machines[WEB].status
    assert decision.volumes[("default", "data")].phase == "unknown"
    assert decision.machines[("default", "new")].phase == "unknown"
    here.sim.faults.clear()
    after = here.settle()
    assert [entry.phase for entry in after.machines.values()] == ["present", "gone"]


def test_one_failing_object_delays_no_other() -> None:
    here = site(*(machine(f"m{number}") for number in range(4)))
    here.sim.faults.add(FaultRule(call="CreateMachine", code="INTERNAL", skip=1, times=1))
    first = here.rounds(3)
    states = [entry.status.machine_id != "" for entry in first.machines.values()]  # type: ignore[union-attr]
    assert sorted(states) == [False, True, True, True]
    here.settle()
    assert len(here.machines()) == 4


@pytest.mark.parametrize("behavior", sorted(PROVIDERS))
@pytest.mark.parametrize("effect", FaultEffect)
def test_a_lost_answer_makes_no_second_object(behavior: str, effect: FaultEffect) -> None:
    here = site(machine(), volume(), profile=Profile(classes=CLASSES_THERE, behavior=behavior))
    for call in ("CreateMachine", "CreateVolume"):
        here.sim.faults.add(FaultRule(call=call, effect=effect, code="DEADLINE_EXCEEDED", times=2))
    here.settle()
    assert len(here.machines()) == 1
    assert len(here.volumes()) == 1


def test_duplicates_are_reported_and_never_removed() -> None:
    profile = Profile(classes=CLASSES_THERE, behavior_flags={"duplicates": True})
    here = running(machine(), profile=profile)
    (first,) = here.machines().values()
    second = here.sim.runtime.create(RuntimeMachine(labels=first.labels, spec=first.spec))
    for going in (False, True):
        here.put(machine(going=going, spec={"power": "Off"}))
        decision = here.rounds(5)
        conditions = {one.type: one for one in decision.machines[WEB].status.conditions}  # type: ignore[union-attr]
        assert conditions["UpToDate"].reason == "DuplicateObjects"
    assert here.calls == [update_call(second, SetPower(Power.OFF))], "only one of them may run"
    assert len(here.machines()) == 2
    here.sim.runtime.remove(RuntimeMachine, next(iter(here.machines())))
    assert here.settle().machines[WEB].phase == "gone"


def test_an_update_that_the_runtime_ignores_is_reported_and_given_up() -> None:
    profile = Profile(classes=CLASSES_THERE, behavior="stock-libvirt")
    here = site(machine(spec={"power": "Off"}), profile=profile)
    decision = here.rounds(60, 5)
    calls_made = len(here.calls)
    assert kinds_of(here.calls)[1:] == ["SetPower"] * (calls_made - 1)
    conditions = {one.type: one for one in decision.machines[WEB].status.conditions}  # type: ignore[union-attr]
    assert (conditions["UpToDate"].reason, decision.machines[WEB].status.state) == ("NoEffect", "Running")  # type: ignore[union-attr]
    assert here.rounds(100, 60).machines == decision.machines
    assert len(here.calls) == calls_made < 10
    here.put(machine(going=True))
    assert here.settle().machines[WEB].phase == "gone"


def test_a_runtime_that_drops_sizes_and_ignores_updates_converges() -> None:
    profile = Profile(classes=CLASSES_THERE, behavior="stock-cloud-hypervisor")
    here = running(machine(spec={"volumes": referring("data")}), volume(claim="web"), profile=profile)
    here.put(volume(claim="web", size="2Gi"))
    here.settle()
    count = len(here.calls)
    here.rounds(30, 10)
    assert len(here.calls) == count


@pytest.mark.parametrize("behavior", sorted(PROVIDERS))
def test_a_machine_lives_from_creation_to_removal_at_any_provider(behavior: str) -> None:
    profile = Profile(classes=CLASSES_THERE, behavior=behavior)
    here = site(machine(spec={"volumes": referring("data")}), volume(claim="web"), profile=profile)
    assert here.settle().machines[WEB].status.state == "Running"  # type: ignore[union-attr]
    here.put(machine(), volume())
    here.settle()
    (there,) = here.machines().values()
    assert there.spec.volumes == ()
    here.put(machine(going=True), volume(going=True))
    decision = here.settle()
    assert [one.phase for one in decision.machines.values()] == ["gone"]
    assert [one.phase for one in decision.volumes.values()] == ["gone"]
    assert (here.machines(), here.volumes()) == ({}, {})


def test_the_next_list_resolves_an_internal_error_for_an_unknown_id() -> None:
    profile = Profile(classes=CLASSES_THERE, behavior="stock-ceph")
    here = running(volume(), profile=profile)
    here.put(volume(going=True))
    (id,) = here.volumes()
    here.sim.faults.add(FaultRule(call="DeleteVolume", effect=FaultEffect.AFTER, code="INTERNAL", times=1))
    decision = here.settle()
    assert decision.volumes[("default", "data")].phase == "gone"
    assert id not in here.volumes()


def test_an_object_at_another_runtime_is_not_created_again() -> None:
    here = running(machine())
    here.runners["other"] = runner(lambda: here.now_ms, seed=2)
    here.runners["other"].runtime.create(
        RuntimeMachine(
            labels=here.machines()[uid_of(Kind.MACHINE, "web")].labels,
            spec=next(iter(here.machines().values())).spec,
        )
    )
    here.sim.runtime.remove(RuntimeMachine, uid_of(Kind.MACHINE, "web"))
    decision = here.rounds(10)
    assert here.machines() == {}
    conditions = {one.type: one for one in decision.machines[WEB].status.conditions}  # type: ignore[union-attr]
    assert (conditions["UpToDate"].reason, here.calls) == ("DuplicateObjects", [])


def test_absence_before_a_recreation_does_not_count_afterwards() -> None:
    here = running(machine(evicted=True))
    assert here.settle().machines[WEB].phase == "gone"
    here.put(machine(round=1))
    assert kinds_of(here.round().actions[0].calls) == ["Create"]
    here.put(machine(round=1, evicted=True))
    here.tamper = hide(1)
    assert here.round().machines[WEB].phase == "present"
    assert len(here.machines()) == 1


def test_an_empty_list_is_doubted_longer_than_one_that_lacks_one_object() -> None:
    here = running(machine())
    here.put(machine(evicted=True))
    here.tamper = hide(2)
    here.round(3)
    assert here.round(3).machines[WEB].phase == "present"
    assert len(here.machines()) == 1


def test_a_machine_moved_from_another_pool_is_created_soon() -> None:
    here = site(machine(status={"machineID": "gitvirt-simulated://elsewhere", "state": "Shutdown"}))
    started_ms = here.now_ms
    while not here.machines():
        here.round(0.2)
        assert here.now_ms - started_ms < 2_000
    assert kinds_of(here.calls) == ["Create"]


def test_an_error_that_was_reported_of_a_machine_does_not_reject_it_under_its_next_assignment() -> None:
    here = site(machine(), profile=Profile(classes=CLASSES_THERE, behavior="stock-cloud-hypervisor"))
    here.settle()
    here.documents = [machine(class_name="medium")]
    conditions = here.settle().machines[("default", "web")].status.conditions  # type: ignore[union-attr]
    assert "Unimplemented" in {one.reason for one in conditions}
    here.restart()
    here.documents = [machine(class_name="medium", evicted=True)]
    assert here.settle().machines[("default", "web")].phase == "gone"
    here.documents = [machine(class_name="medium", round=1)]
    assert here.settle().machines[("default", "web")].phase == "present"
    assert [one.spec.class_name for one in here.machines().values()] == ["medium"]
