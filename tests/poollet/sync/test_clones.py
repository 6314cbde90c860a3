"""A clone of a host: the same poollet.yaml, the same machine-id, and both run. Only one of the two ever runs the machines."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from iri.machine import MachineState, RuntimeMachine
from iri.simulated.machine_calls import restart_host
from poollet.decide.decide import decide
from tests.iri.quick_host import PROFILE
from tests.poollet.fleet import Fleet, machine, machine_class, uid
from tests.poollet.stage import Run, StagedHost, Time

TURN_MS = 2_500


class Clones:
    """A host with a machine that runs, and a second host that takes itself for the first one."""

    def __init__(self, *, has_copies: bool) -> None:
        self.time = Time()
        self.fleet = Fleet(
            {"classes/small.yaml": machine_class(), "web.yaml": machine("web", "host-1", uid(1), uid(9))}
        )
        self.first_host, self.second_host = StagedHost(self.time), StagedHost(self.time)
        self.first = self.run(self.first_host, 1)
        for _ in range(8):
            self.turn(self.first)
        assert running(self.first_host) == 1
        if has_copies:
            (one,) = self.first_host.runtime.objects(RuntimeMachine).values()
            self.second_host.runtime.create(RuntimeMachine(labels=one.labels, spec=one.spec))
            self.second_host.runtime.hold_starts(release=False)
            with self.second_host.host.lock(even_when_down=True) as now_ns:
                restart_host(self.second_host.host, 0, now_ns)
        assert running(self.second_host) == 0

    def run(self, host: StagedHost, instance: int, boot: str = "boot one") -> Run:
        return Run(self.fleet, self.time, host, instance=instance, decide=decide, boot_id=boot)

    def turn(self, *runs: Run) -> None:
        for one in runs:
            if not one.publisher.ended:
                one.turn()
        self.time.ms += TURN_MS


def running(host: StagedHost) -> int:
    found = host.runtime.objects(RuntimeMachine).values()
    return sum(one.status.state in (MachineState.RUNNING, MachineState.PENDING) for one in found)


@pytest.mark.parametrize("has_copies", [False, True], ids=["without its machines", "with copies of them"])
def test_a_clone_starts_nothing_and_ends_while_the_first_host_goes_on(has_copies: bool) -> None:
    """The copies are of a disk, so they met another boot; a host without them may be in any boot."""
    clones = Clones(has_copies=has_copies)
    second = clones.run(clones.second_host, 2, "boot two" if has_copies else "boot one")
    for _ in range(60):
        clones.turn(clones.first, second)
        assert running(clones.second_host) == 0
    assert "clone" in second.publisher.ended
    assert not clones.first.publisher.ended
    assert clones.first.report().candidate is None, "what a clone said ends with it"
    assert running(clones.first_host) == 1


def test_a_clone_that_is_started_again_and_again_never_acts() -> None:
    clones = Clones(has_copies=False)
    for instance in range(2, 6):
        again = clones.run(clones.second_host, instance)
        while not again.publisher.ended:
            clones.turn(clones.first, again)
    assert running(clones.second_host) == 0
    assert not clones.first.publisher.ended


@pytest.mark.parametrize("is_other_boot", [False, True])
def test_a_host_that_crashed_goes_on_once_its_last_run_is_silent(is_other_boot: bool) -> None:
    clones = Clones(has_copies=is_other_boot)
    again = clones.run(clones.second_host, 2, "boot two" if is_other_boot else "boot one")
    began_ms = clones.time.ms
    while not running(clones.second_host):
        clones.turn(again)
        assert clones.time.ms - began_ms < 200_000
    assert clones.time.ms - began_ms >= 50_000


def test_a_host_that_waits_after_a_crash_says_what_it_has() -> None:
    """The reconciler may wait no longer for the host than the host for its last run: what it has must be known by then."""
    clones = Clones(has_copies=False)
    again = clones.run(clones.first_host, 2, "boot two")
    clones.turn(again)
    clones.turn(again)
    assert again.publisher.waiting
    found = again.report().candidate
    assert found is not None
    assert [(one.kind, one.name, one.uid) for one in found.objects] == [("Machine", "web", uid(1))]
    while not again.publisher.has_landed:
        clones.turn(again)
    clones.turn(again)
    assert again.report().candidate is None


def test_a_restart_in_the_same_boot_waits_for_nothing() -> None:
    clones = Clones(has_copies=False)
    again = clones.run(clones.first_host, 2)
    for _ in range(3):
        clones.turn(again)
    assert again.publisher.has_landed


def test_a_poollet_ends_when_its_runtime_reports_another_hardware() -> None:
    time, fleet = Time(), Fleet()
    host = StagedHost(time, replace(PROFILE, hardware_id="two"))
    same, other = (
        Run(fleet, time, host, instance=number, hardware_id=hardware)
        for number, hardware in ((1, "two"), (2, "one"))
    )
    for one in (same, other):
        one.turn()
    assert same.publisher.has_landed
    assert "hardware" in other.publisher.ended
    assert not other.publisher.has_landed
