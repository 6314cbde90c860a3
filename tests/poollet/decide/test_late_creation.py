"""A creation that takes effect after its caller gave up: no answer is given too early, and nothing of it runs on."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from dataclasses import replace as changed

import pytest

from iri.errors import InvalidArgument, TimedOut
from iri.identity import ASSIGNMENT_LABEL
from iri.machine import MachineState, Power, RuntimeMachine
from iri.runtime import AnyObject
from iri.simulated.faults.fault_injection import FaultInjectingRuntime, wrap_calls
from iri.simulated.faults.fault_rules import FaultEffect, FaultRule
from iri.simulated.profile import Profile
from iri.simulated.runtime import SimulatedRuntime
from poollet.decide.late_creation import LATE_MS
from poollet.decide.memory import MOST_ENDED, add_ended, from_report
from schemas import report
from schemas.kinds import Key, Kind
from schemas.live_layout import POOL
from schemas.report import Report
from tests.poollet.decide.test_machines import WEB
from tests.poollet.documents import HOST, assignment_of, machine
from tests.poollet.site import CLASSES_THERE, Site, kinds_of, site

IDS = tuple(assignment_of(uid) for uid in ("one", "two"))
STOCK = Profile(classes=CLASSES_THERE, behavior="stock-cloud-hypervisor")


@dataclass
class LateRuntime(FaultInjectingRuntime):
    """Takes a creation, gives no answer in time, and carries it out when the test says so."""

    here: Site
    pending: list[Callable[[], object]] = field(default_factory=list)
    is_late: bool = True

    def __post_init__(self) -> None:
        one = self.here.sim
        super().__init__(SimulatedRuntime(one.host), wrap_calls(one.host, one.faults))
        one.runtime = self

    def create(self, desired: AnyObject) -> AnyObject:
        if not self.is_late:
            return super().create(desired)
        self.pending.append(lambda: super(LateRuntime, self).create(desired))
        raise TimedOut("no answer within 15 s")

    def carry_out(self) -> None:
        for each in self.pending:
            each()
        self.pending.clear()


def running(here: Site) -> list[RuntimeMachine]:
    return [one for one in here.machines().values() if one.status.state is MachineState.RUNNING]


@pytest.mark.parametrize("is_restarted", [False, True], ids=["", "restarted"])
def test_our_runtime_refuses_the_creation_before_gone(is_restarted: bool) -> None:
    here = site(machine())
    late = LateRuntime(here)
    here.round()
    if is_restarted:
        here.restart()
    here.put(machine(evicted=True))
    assert here.settle().machines[WEB].phase == "gone"
    with pytest.raises(InvalidArgument, match="was ended"):
        late.carry_out()
    assert here.machines() == {}


def test_gone_waits_for_a_runtime_that_cannot_end_the_assignment_now() -> None:
    here = site(machine(evicted=True))
    here.sim.faults.add(FaultRule(call="EndAssignments", code="UNAVAILABLE", times=3))
    decision = here.rounds(2)
    assert decision.machines[WEB].phase == "present"
    assert here.settle().machines[WEB].phase == "gone"
    assert kinds_of(here.calls) == ["End"] * 4


def test_an_object_that_appears_while_its_assignment_ends_is_removed_before_gone() -> None:
    here = site(machine())
    late = LateRuntime(here)
    here.round()
    here.put(machine(evicted=True))
    late.carry_out()
    assert here.settle().machines[WEB].phase == "gone"
    assert here.machines() == {}
    assert "Remove" in kinds_of(here.calls)


def test_a_stock_runtime_has_time_to_carry_out_a_creation_before_gone() -> None:
    here = site(machine(), profile=STOCK)
    LateRuntime(here)
    here.round()
    unanswered_ms = here.now_ms
    here.put(machine(evicted=True))
    while here.round(5).machines[WEB].phase != "gone":
        assert here.now_ms - unanswered_ms < 2 * LATE_MS
    assert here.now_ms - unanswered_ms >= LATE_MS


def test_on_a_stock_runtime_an_earlier_run_may_have_called_the_creation() -> None:
    here = site(machine(), profile=STOCK)
    LateRuntime(here)
    here.round()
    here.restart()
    started_ms = here.now_ms
    here.put(machine(evicted=True))
    while here.round(5).machines[WEB].phase != "gone":
        assert here.now_ms - started_ms < 2 * LATE_MS
    assert here.now_ms - started_ms >= LATE_MS


def test_what_a_stock_runtime_creates_after_gone_is_powered_off_and_reported() -> None:
    here = site(machine(), profile=STOCK)
    late = LateRuntime(here)
    here.round()
    here.put(machine(evicted=True))
    while here.round(5).machines[WEB].phase != "gone":
        continue
    here.drop(machine())
    here.round()
    here.restart()
    late.carry_out()
    assert here.machines(), "the creation took effect"
    decision = here.settle()
    assert running(here) == []
    (there,) = here.machines().values()
    assert there.spec.power is Power.OFF
    (orphan,) = decision.orphans
    assert there.labels[ASSIGNMENT_LABEL] in orphan.reason
    assert "reported as gone or rejected" in orphan.reason


def test_what_live_assigns_again_meanwhile_is_not_powered_off() -> None:
    """The fence was decided while `live` did not name the object."""
    here = site(machine(), profile=STOCK)
    late = LateRuntime(here)
    here.round()
    here.put(machine(evicted=True))
    while here.round(5).machines[WEB].phase != "gone":
        continue
    here.drop(machine())
    here.round()
    late.is_late = False
    late.carry_out()
    here.put(machine(round=1))
    here.settle()
    assert len(running(here)) == 1
    assert here.settle().orphans == ()


def test_a_rejection_after_a_creation_without_an_answer_ends_the_assignment_first() -> None:
    here = site(machine())
    late = LateRuntime(here)
    here.round()
    late.is_late = False
    here.sim.faults.add(FaultRule(call="CreateMachine", effect=FaultEffect.BEFORE, code="RESOURCE_EXHAUSTED"))
    assert here.settle().machines[WEB].phase == "rejected"
    assert kinds_of(here.calls)[-1] == "End"
    here.sim.faults.clear()
    with pytest.raises(InvalidArgument, match="was ended"):
        late.carry_out()


def test_a_creation_without_an_answer_is_not_forgotten_while_its_order_is_away() -> None:
    """As while an older `live` is recovered."""
    here = site(machine())
    late = LateRuntime(here)
    here.round()
    late.is_late = False
    here.drop(machine())
    here.rounds(3)
    here.put(machine())
    here.sim.faults.add(FaultRule(call="CreateMachine", effect=FaultEffect.BEFORE, code="RESOURCE_EXHAUSTED"))
    assert here.settle().machines[WEB].phase == "rejected"
    assert kinds_of(here.calls)[-1] == "End"
    here.sim.faults.clear()
    with pytest.raises(InvalidArgument, match="was ended"):
        late.carry_out()


def test_a_rejection_without_an_open_creation_is_final_at_once() -> None:
    here = site(machine())
    here.sim.faults.add(FaultRule(call="CreateMachine", code="RESOURCE_EXHAUSTED"))
    assert here.settle().machines[WEB].phase == "rejected"
    assert kinds_of(here.calls) == ["Create"]


def test_a_creation_that_takes_effect_twice_runs_once() -> None:
    here = site(machine(), profile=STOCK)
    late = LateRuntime(here)
    here.round()
    late.is_late = False
    here.rounds(5)
    assert len(running(here)) == 1
    (first,) = here.machines()
    late.carry_out()
    here.rounds(10)
    assert [one.id for one in running(here)] == [first]
    assert len(here.machines()) == 2, "data is kept"


def test_what_live_assigns_to_a_pool_of_another_poollet_on_this_host_is_powered_off() -> None:
    here = site(machine())
    here.settle()
    (there,) = here.machines().values()
    moved = machine(pool="b", host=HOST)
    here.put(moved)
    decision = here.settle()
    assert running(here) == []
    (orphan,) = decision.orphans
    assert "assigns it to pool b" in orphan.reason
    assert there.labels[POOL] == "a"


def test_an_object_of_another_poollet_on_a_shared_runtime_runs_on() -> None:
    here = site(machine(pool="b", host=HOST))
    there = site(machine(pool="b", host=HOST))
    there.facts = changed(
        there.facts, pools={(Kind.MACHINE_POOL, "b"): there.facts.pools[Kind.MACHINE_POOL, "a"]}
    )
    there.grants = {(Kind.MACHINE_POOL, "b"): there.grants[Kind.MACHINE_POOL, "a"]}
    there.settle()
    here.runners = there.runners
    decision = here.rounds(5)
    assert len(running(here)) == 1
    assert here.calls == []
    assert len(decision.orphans) == 1


def test_a_missing_label_is_no_ended_assignment() -> None:
    here = site()
    there = site(machine())
    there.settle()
    (one,) = there.machines().values()
    labels = {name: value for name, value in one.labels.items() if name != ASSIGNMENT_LABEL}
    here.sim.runtime.create(RuntimeMachine(labels=labels, spec=one.spec))
    here.memory = from_report(Report(ended=(one.labels[ASSIGNMENT_LABEL],)))
    here.rounds(10)
    assert len(running(here)) == 1
    assert here.calls == []


def test_the_newest_ended_assignments_stay_known_and_are_in_the_report() -> None:
    gone = {
        Key(Kind.MACHINE, "default", f"m{number:04}"): report.MachineReport("u", f"{number}", "gone", "a")
        for number in range(MOST_ENDED)
    }
    ended = add_ended(("old",), gone)
    assert len(ended) == MOST_ENDED
    assert "old" not in ended
    assert add_ended(ended, gone) == ended
    present = {key: report.MachineReport("u", f"other-{key.name}", "present", "a") for key in list(gone)[:1]}
    assert add_ended(ended, present) == ended
    assert report.read(report.render(Report(ended=IDS))).ended == IDS
