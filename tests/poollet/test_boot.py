"""After a boot of the host: which guests start, and when."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace

from iri.identity import UID_LABELS
from iri.machine import HOST_BOOTED, MachineState, Power, RuntimeMachine, RuntimeMachineSpec
from iri.simulated import machine_calls
from iri.simulated.faults.fault_rules import FaultRule
from iri.simulated.host import SimulatedHost
from poollet.boot import BootRule, BootStarts, LandedFile
from schemas.kinds import Kind
from tests.poollet.documents import machine, uid_of
from tests.poollet.site import Site, site
from tests.poollet.stage import StagedHost, Time

OTHER = "another host"
MINUTE = 60_000


COMMIT, OTHER = "a" * 40, "b" * 40


class Booting:
    """A host with one guest, its poollet's rule, and the file of its last report."""

    def __init__(self, folder: Path, rule: BootRule, *, landed_ms_ago: int | None = None) -> None:
        self.time = Time()
        self.staged = StagedHost(self.time)
        self.landed = LandedFile(folder / "a.landed", self.time.clock)
        if landed_ms_ago is not None:
            self.landed.write(COMMIT)
            self.time.ms += landed_ms_ago
        self.rule = rule
        uid = {UID_LABELS[RuntimeMachine]: "one"}
        self.staged.runtime.create(RuntimeMachine(labels=uid, spec=RuntimeMachineSpec(class_name="small")))
        self.starts().attempt()  # an earlier run, which had the runtime hold its starts
        boot(self.staged.host)

    def starts(self) -> BootStarts:
        return BootStarts("a", {"sim": self.staged.runtime}, self.rule, self.landed, self.time.clock)

    def later(self, ms: int) -> None:
        self.time.ms += ms
        self.staged.host.run_due()

    @property
    def state(self) -> str:
        (found,) = self.staged.runtime.objects(RuntimeMachine).values()
        return found.status.state.name


def boot(host: SimulatedHost) -> None:
    with host.lock(even_when_down=True) as now_ns:
        machine_calls.restart_host(host, 0, now_ns)


def test_guests_wait_for_live_however_long_that_takes(tmp_path: Path) -> None:
    host = Booting(tmp_path, BootRule(), landed_ms_ago=1)
    starts = host.starts()
    for _ in range(5):
        assert not starts.attempt()
        host.later(10 * MINUTE)
        assert host.state == "TERMINATED"
    starts.on_applied()
    assert starts.attempt()
    assert host.state == "TERMINATED", "the pass orders each one's power"


def test_with_boot_start_guests_start_after_a_bounded_wait(tmp_path: Path) -> None:
    host = Booting(tmp_path, BootRule("start", wait_ms=MINUTE))
    starts = host.starts()
    host.later(MINUTE - 1)
    assert not starts.attempt()
    assert host.state == "TERMINATED"
    host.later(1)
    assert starts.attempt()
    host.later(MINUTE)
    assert host.state == "RUNNING"


def test_once_live_was_applied_nothing_is_released(tmp_path: Path) -> None:
    host = Booting(tmp_path, BootRule("start", wait_ms=MINUTE))
    starts = host.starts()
    starts.on_applied()
    host.later(2 * MINUTE)
    assert starts.attempt()
    assert host.state == "TERMINATED"


@pytest.mark.parametrize(
    ("landed_ms_ago", "want"),
    [(30_000, "RUNNING"), (50_000, "TERMINATED"), (None, "TERMINATED")],
)
def test_a_recent_report_needs_no_question(landed_ms_ago: int | None, want: str, tmp_path: Path) -> None:
    host = Booting(tmp_path, BootRule(age_ms=50_000), landed_ms_ago=landed_ms_ago)
    boot(host.staged.host)
    host.starts().attempt()
    host.later(MINUTE)
    assert host.state == want


def test_a_report_of_a_time_to_come_is_not_recent(tmp_path: Path) -> None:
    host = Booting(tmp_path, BootRule(age_ms=50_000), landed_ms_ago=0)
    host.time.wall_ms = -1
    assert host.landed.age_ms() is None
    (tmp_path / "a.landed").write_text("yesterday")
    assert host.landed.age_ms() is None


def test_a_host_remembers_its_last_report_and_no_other(tmp_path: Path) -> None:
    landed = LandedFile(tmp_path / "a.landed", Time().clock)
    assert landed.question_of(None) is None, "a new host"
    assert landed.question_of(COMMIT) is None
    landed.write(COMMIT)
    assert landed.question_of(COMMIT) == ""
    assert landed.question_of(None) is None, "its report was removed"
    assert landed.age_ms() is not None
    landed.write(OTHER, "run-1")
    assert landed.question_of(OTHER) == "run-1", "the next run goes on with the question"
    assert landed.question_of(COMMIT) is None
    assert landed.age_ms() is None, "guests of a host that asks do not start at once"
    (tmp_path / "a.landed").write_text("1700000000000")
    assert landed.question_of(COMMIT) is None, "an earlier version of gitvirt noted the time alone"
    assert landed.age_ms() is not None


def test_a_runtime_that_does_not_answer_is_called_again(tmp_path: Path) -> None:
    host = Booting(tmp_path, BootRule())
    starts = host.starts()
    starts.on_applied()
    host.staged.faults.add(FaultRule(call="HoldStarts", code="UNAVAILABLE", times=1))
    assert not starts.attempt()
    assert starts.attempt()


def test_a_runtime_that_does_not_answer_is_logged_once(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """It is called every second: a host whose runtime is off for a day would log nothing else."""
    host = Booting(tmp_path, BootRule())
    starts = host.starts()
    starts.on_applied()
    caplog.set_level("INFO", "poollet.boot")
    host.staged.faults.add(FaultRule(call="HoldStarts", code="UNAVAILABLE", times=3))
    assert [starts.attempt() for _ in range(4)] == [False, False, False, True]
    assert len([each for each in caplog.messages if "cannot hold starts yet" in each]) == 1


def test_a_runtime_without_the_host_service_needs_no_call(tmp_path: Path) -> None:
    host = Booting(tmp_path, BootRule("start", wait_ms=0))
    host.staged.host.set_profile(replace(host.staged.profile, behavior="stock-libvirt"))
    assert host.starts().attempt()


def boot_site(here: Site) -> Site:
    here.sim.runtime.hold_starts(release=False)
    boot(here.sim.host)
    return here


def test_a_pass_starts_what_live_assigns_to_this_host() -> None:
    here = site(machine())
    here.settle()
    boot_site(here)
    (there,) = here.machines().values()
    assert there.detail.reason == HOST_BOOTED
    here.settle()
    assert [one.status.state for one in here.machines().values()] == [MachineState.RUNNING]


def test_a_pass_never_starts_what_moved_away_or_left_live_meanwhile() -> None:
    here = site(machine(), machine("moved"), machine("deleted"))
    here.settle()
    boots = {id: one.detail.boots for id, one in here.machines().items()}
    boot_site(here)
    here.drop(machine("deleted"))
    here.put(machine("moved", host=OTHER))
    here.settle()
    found = here.machines()
    web, moved, deleted = (found[uid_of(Kind.MACHINE, name)] for name in ("web", "moved", "deleted"))
    assert web.status.state is MachineState.RUNNING
    assert (moved.spec.power, moved.detail.boots) == (Power.OFF, boots[moved.id])
    assert (deleted.status.state, deleted.detail.boots) == (MachineState.TERMINATED, boots[deleted.id])
