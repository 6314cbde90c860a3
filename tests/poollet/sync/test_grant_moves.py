"""A pool whose grant moves from one host to another, through Git: nothing runs twice, and nothing is said for the other host."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from iri.machine import Power, RuntimeMachine
from iri.runtime import AnyObject
from iri.simulated.faults.fault_injection import FaultInjectingRuntime, wrap_calls
from iri.simulated.faults.fault_rules import FaultRule
from poollet.decide.decide import decide
from schemas import report
from tests.poollet.fleet import LIVE, REPORTS, SETTINGS, Fleet, grant_files, machine, machine_class, uid
from tests.poollet.stage import Run, StagedHost, Time

WEB = ("default", "web")
TIMEOUT_MS = 60_000
GOING = "  deletionTimestamp: '2026-05-04T12:00:00Z'\n"


def web(host: str, epoch: int, assignment: int = 9, more: str = "") -> str:
    text = machine("web", "host-1", uid(1), uid(assignment), more=more)
    return text.replace("host-1's own", host).replace("epoch: 1", f"epoch: {epoch}")


class TwoHosts:
    """The first host runs `web` and is cut off; then a second one bears its name."""

    def __init__(self, more: str = "") -> None:
        self.time = Time()
        self.fleet = Fleet({"classes/small.yaml": machine_class()})
        self.grant("first", 1, more=more)
        self.first, self.second = StagedHost(self.time, seed=1), StagedHost(self.time, seed=2)
        self.old = self.run("first", self.first, 1)
        self.turns(self.old, 8)
        self.new = self.run("second", self.second, 2)

    def grant(self, host: str, epoch: int, assignment: int = 9, more: str = "") -> None:
        pool = grant_files("host-1", host, epoch)
        self.fleet.commit({"pools/host-1.yaml": pool, "web.yaml": web(host, epoch, assignment, more)})

    def run(self, host: str, machine: StagedHost, instance: int) -> Run:
        return Run(self.fleet, self.time, machine, host_id=host, instance=instance, decide=decide)

    def turns(self, run: Run, count: int) -> None:
        for _ in range(count):
            run.turn()
            self.time.ms += 5_000

    @property
    def entry(self) -> report.MachineReport:
        return self.new.report().machines[WEB]

    def powers(self, host: StagedHost) -> list[Power]:
        return [one.spec.power for one in host.runtime.objects(RuntimeMachine).values()]


def test_a_second_host_creates_nothing_and_says_nothing_before_the_grant_moves() -> None:
    hosts = TwoHosts()
    before = hosts.old.files()
    hosts.time.ms += TIMEOUT_MS
    hosts.turns(hosts.new, 12)
    assert (hosts.powers(hosts.first), hosts.powers(hosts.second)) == ([Power.ON], [])
    after = hosts.old.files()
    assert {path for path in after if before.get(path) != after[path]} == {"candidate.json"}


def test_the_host_that_gets_the_grant_creates_it_and_the_former_one_powers_it_off() -> None:
    hosts = TwoHosts()
    hosts.turns(hosts.new, 2)
    hosts.grant("second", 2)
    hosts.turns(hosts.new, 8)
    assert (hosts.entry.phase, hosts.entry.assignment) == ("present", uid(9))
    assert hosts.powers(hosts.second) == [Power.ON]
    # The former host is back: it fences what is no longer its own, and waits.
    hosts.turns(hosts.old, 4)
    assert hosts.powers(hosts.first) == [Power.OFF]
    assert "`live` grants pool host-1 to host second" in hosts.old.publisher.waiting
    assert hosts.new.report().poollet.host_id == "second"  # type: ignore[union-attr]
    assert len(hosts.first.runtime.objects(RuntimeMachine)) == 1, "its data stays"


def test_a_former_host_that_is_restarted_powers_off_too() -> None:
    hosts = TwoHosts()
    hosts.grant("second", 2)
    hosts.turns(hosts.new, 8)
    again = hosts.run("first", hosts.first, 3)
    hosts.turns(again, 4)
    assert hosts.powers(hosts.first) == [Power.OFF]
    hosts.turns(hosts.new, 4)
    assert hosts.powers(hosts.second) == [Power.ON]


def test_a_host_with_a_new_id_has_its_machines_off_until_the_grant_moves_to_that_id() -> None:
    """It cannot be told from a clone of the host that has the grant, whose machines run."""
    hosts = TwoHosts()
    before = list(hosts.first.runtime.objects(RuntimeMachine))
    hosts.new = hosts.run("second", hosts.first, 2)
    hosts.turns(hosts.new, 4)
    assert hosts.powers(hosts.first) == [Power.OFF]
    hosts.grant("second", 2)
    hosts.turns(hosts.new, 8)
    assert (hosts.entry.phase, hosts.powers(hosts.first)) == ("present", [Power.ON])
    assert list(hosts.first.runtime.objects(RuntimeMachine)) == before


def test_what_the_former_host_answered_is_no_answer_of_the_new_one() -> None:
    """It said that web is gone; the new host is asked again, for its own part."""
    hosts = TwoHosts(more=GOING)
    assert hosts.old.report().machines[WEB].phase == "gone"
    hosts.grant("second", 2)
    hosts.turns(hosts.new, 8)
    assert (hosts.entry.phase, hosts.powers(hosts.second)) == ("present", [Power.ON])


def test_a_report_of_an_unknown_host_is_not_remembered() -> None:
    hosts = TwoHosts(more=GOING)
    hosts.fleet.commit({"poollet.json": None}, REPORTS + "host-1")
    hosts.grant("first", 1)
    again = hosts.run("first", hosts.first, 3)
    hosts.turns(again, 8)
    assert again.report().machines[WEB].phase == "rejected", "its runtime remembers that the assignment ended"


@pytest.mark.parametrize("leaving", ["stopping", "leaving"])
def test_the_farewell_of_the_granted_host_gives_nothing_away(leaving: str) -> None:
    hosts = TwoHosts()
    hosts.old.agent.leaving = leaving  # type: ignore[assignment]
    hosts.turns(hosts.old, 2)
    hosts.turns(hosts.new, 20)
    assert not hosts.new.publisher.has_landed
    assert hosts.powers(hosts.second) == []


class ForgetfulRuntime(FaultInjectingRuntime):
    """Its lists lack everything while `is_forgetful`."""

    is_forgetful = False

    def objects(self, kind: type[AnyObject]) -> Mapping[str, AnyObject]:
        return {} if self.is_forgetful else super().objects(kind)


def test_a_host_that_waits_believes_no_single_list_that_lacks_what_it_has() -> None:
    hosts = TwoHosts()
    runtime = ForgetfulRuntime(hosts.first.runtime, wrap_calls(hosts.first.host, hosts.first.faults))
    hosts.first.runtime = runtime
    hosts.new = hosts.run("second", hosts.first, 2)
    hosts.turns(hosts.new, 3)
    for is_forgetful in (True, False, True, False):
        runtime.is_forgetful = is_forgetful
        hosts.turns(hosts.new, 1)
        assert list_held(hosts) == [("Machine", "web", uid(1))]
    runtime.is_forgetful = True
    hosts.turns(hosts.new, 3)
    assert list_held(hosts) == []


@pytest.mark.parametrize("is_rewound", [False, True], ids=["lost", "rewound to before the grant"])
def test_a_second_host_writes_no_report_while_live_lacks_what_the_first_one_applied(is_rewound: bool) -> None:
    """Its report is what a lost `live` is written again from: without it the machines would be placed a second time."""
    hosts = TwoHosts()
    before, head = hosts.old.files(), hosts.fleet.head()
    del hosts.fleet.remote.refs[LIVE]
    if is_rewound:
        hosts.fleet.commit({"gitvirt.yaml": SETTINGS, "classes/small.yaml": machine_class()})
    for _ in range(40):
        hosts.turns(hosts.new, 1)
    after = hosts.old.files()
    moved = {path for path in after.keys() | before.keys() if before.get(path) != after.get(path)}
    assert moved == {"candidate.json"}
    assert hosts.powers(hosts.second) == []
    assert "git push origin --delete refs/poollets/host-1" in hosts.new.publisher.waiting
    # `live` is back: it says whose the pool is.
    assert head is not None
    hosts.fleet.remote.refs[LIVE] = head
    hosts.grant("second", 2)
    hosts.new = hosts.run("second", hosts.second, 3)
    hosts.turns(hosts.new, 8)
    assert hosts.powers(hosts.second) == [Power.ON]


def list_held(hosts: TwoHosts) -> list[tuple[str, str, str | None]]:
    """What the second host says that it has."""
    found = hosts.old.report().candidate
    assert found is not None
    assert found.host_id == "second"
    return [(one.kind, one.name, one.uid) for one in found.objects]


def test_a_host_that_waits_says_what_it_has() -> None:
    """Its hostID is new and its disks are not; or `live` was rewound to a time at which another host had the grant."""
    hosts = TwoHosts()
    del hosts.fleet.remote.refs[LIVE]
    hosts.fleet.commit({"gitvirt.yaml": SETTINGS, "classes/small.yaml": machine_class()})
    hosts.new = hosts.run("second", hosts.first, 2)
    hosts.turns(hosts.new, 3)
    assert list_held(hosts) == [("Machine", "web", uid(1))]
    head = hosts.fleet.head(REPORTS + "host-1")
    hosts.turns(hosts.new, 3)
    assert hosts.fleet.head(REPORTS + "host-1") == head, "once is enough"
    # It ends, and what it has stays there; its next run finds no runtime, and takes nothing back.
    hosts.new.agent.leaving = "stopping"
    hosts.turns(hosts.new, 2)
    again = hosts.run("second", hosts.first, 3)
    hosts.first.faults.add(FaultRule(call="ListMachines", code="UNAVAILABLE"))
    hosts.turns(again, 3)
    assert list_held(hosts) == [("Machine", "web", uid(1))]


def test_what_a_host_that_waits_says_follows_what_it_has() -> None:
    hosts = TwoHosts()
    hosts.new = hosts.run("second", hosts.first, 2)
    hosts.turns(hosts.new, 3)
    assert list_held(hosts) == [("Machine", "web", uid(1))]
    for id in list(hosts.first.runtime.objects(RuntimeMachine)):
        hosts.first.runtime.remove(RuntimeMachine, id)
    hosts.turns(hosts.new, 4)
    assert list_held(hosts) == []


def test_a_second_host_writes_no_report_while_the_pool_cannot_be_read_on_live() -> None:
    hosts = TwoHosts()
    hosts.fleet.commit({"pools/host-1.yaml": "kind: [\n"})
    hosts.new = hosts.run("second", hosts.second, 2)
    hosts.turns(hosts.new, 40)
    assert not hosts.new.publisher.has_landed
    hosts.grant("first", 1)
    hosts.turns(hosts.new, 2)
    assert "`live` grants pool host-1 to host first" in hosts.new.publisher.waiting


def test_a_cleared_grant_stops_nothing_and_starts_nothing() -> None:
    hosts = TwoHosts()
    hosts.grant("", 2)
    hosts.turns(hosts.old, 4)
    assert hosts.powers(hosts.first) == [Power.ON]
    found = hosts.old.report()
    assert found.machines == {}
    assert [one.name for one in found.orphans] == ["web"]


def test_a_machine_that_is_assigned_to_another_pool_is_powered_off_and_reported() -> None:
    hosts = TwoHosts()
    text = machine("web", "host-2", uid(1), uid(10))
    hosts.fleet.commit({"web.yaml": text})
    hosts.turns(hosts.old, 6)
    assert hosts.powers(hosts.first) == [Power.OFF]
    found = hosts.old.report()
    assert found.machines == {}
    (orphan,) = found.orphans
    assert "to host host-2's own" in orphan.reason
    assert "Fenced" in [one.reason for one in found.events]
    before = hosts.old.files()
    hosts.turns(hosts.old, 12)
    assert hosts.old.files() == before, "nothing more is written of it"
