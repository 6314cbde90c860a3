"""The reported text about calls that fail or have no effect changes only with what the runtime says of them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from msgspec.structs import replace

from iri.errors import Internal
from iri.host import RuntimeClasses, RuntimeMachineClass, RuntimeVolumeClass
from iri.simulated.faults.fault_injection import FaultInjectingRuntime
from iri.simulated.provider_quirks import PROVIDERS
from poollet.decide.decide import decide
from schemas.report import Report, ReportedCondition
from tests.iri.quick_host import PROFILE
from tests.poollet.fleet import Fleet, machine, machine_class, uid
from tests.poollet.stage import Run, StagedHost, Time

GIB = 1 << 30
CLASSES = RuntimeClasses(
    machines=(
        RuntimeMachineClass(name="small", resources={"cpu": 1, "memory": GIB}),
        RuntimeMachineClass(name="large", resources={"cpu": 2, "memory": 2 * GIB}),
    ),
    volumes=(RuntimeVolumeClass(name="standard", tps=1 << 20, iops=100),),
)
OFFICE = "apiVersion: networking.ironcore.dev/v1alpha1\nkind: Network\nmetadata: {name: office}\n"
NIC = (
    "  networkInterfaces:\n  - name: lan\n    ephemeral:\n      networkInterfaceTemplate:\n"
    "        spec: {networkRef: {name: office}}\n"
)
SECONDS = 5 * 3600
ROUND_MS = 40_000


def text(power: str, size: str, more: str = "", spec: str = "") -> str:
    made = machine("web", "host-1", uid(1), uid(9), more, f"  power: {power}\n{spec}")
    return made.replace("{name: small}", f"{{name: {size}}}")


def run_rounds(run: Run, seconds: int) -> list[Report]:
    """The reports that differ from the one before."""
    reports: list[Report] = []
    for _ in range(seconds * 1000 // ROUND_MS):
        run.turn()
        run.time.ms += ROUND_MS
        found = run.report()
        if not reports or reports[-1].machines != found.machines:
            reports.append(found)
    return reports


def start_site(behavior: str) -> Run:
    time = Time()
    profile = replace(PROFILE, behavior=behavior, classes=CLASSES)
    files = {
        "classes/small.yaml": machine_class(),
        "classes/large.yaml": machine_class("large", "2", "2Gi"),
        "office.yaml": OFFICE,
        "web.yaml": text("On", "small"),
    }
    run = Run(Fleet(files), time, StagedHost(time, profile), decide=decide)
    run_rounds(run, 120)
    return run


def at_rest(behavior: str) -> Run:
    """Power, class, interface, annotations: all that a runtime may refuse or ignore is wanted at once."""
    run = start_site(behavior)
    restart = "  annotations: {gitvirt.dev/restart: now}\n"
    run.fleet.commit({"web.yaml": text("Off", "large", restart, NIC)})
    run_rounds(run, 1800)
    return run


@pytest.mark.parametrize("behavior", sorted(PROVIDERS))
def test_a_converged_host_reports_the_same_text(behavior: str) -> None:
    reports = run_rounds(at_rest(behavior), SECONDS)
    assert [one.machines for one in reports[1:]] == []


STOCK = sorted(PROVIDERS.keys() - {"gitvirt"})


@pytest.mark.parametrize("behavior", STOCK)
def test_a_restart_keeps_reported_errors_until_they_are_known_again(behavior: str) -> None:
    run = at_rest(behavior)
    before = run.report().machines
    assert fault_of(run.report())
    again = Run(run.fleet, run.time, run.machine, decide=decide, instance=2)
    reports = run_rounds(again, 3600)
    assert [one.machines for one in reports] == [before]


@pytest.mark.parametrize("behavior", STOCK)
def test_errors_of_calls_that_are_not_needed_any_more_disappear(behavior: str) -> None:
    run = at_rest(behavior)
    again = Run(run.fleet, run.time, run.machine, decide=decide, instance=2)
    again.fleet.commit({"web.yaml": text("On", "small")})
    run_rounds(again, 600)
    assert not fault_of(again.report())


def test_an_error_is_reported_as_it_is_now() -> None:
    """Also where only a number differs, and by the run that comes after. The condition itself is as old as its status."""
    run = start_site("gitvirt")
    runtime = Counting(run.machine)
    run = Run(run.fleet, run.time, run.machine, decide=decide, instance=2, runtime=runtime)
    run.fleet.commit({"web.yaml": text("Off", "small")})
    reports = run_rounds(run, 1800)
    run = Run(run.fleet, run.time, run.machine, decide=decide, instance=3, runtime=runtime)
    reports += run_rounds(run, 1800)
    assert runtime.count > 6
    errors = [one for report in reports for one in errors_of(report)]
    assert errors[-1].message == f"request {runtime.count} of 2026-01-{runtime.count:02} got no answer"
    assert len({one.last_transition_time for one in errors}) == 1


def errors_of(report: Report) -> list[ReportedCondition]:
    status = report.machines[("default", "web")].status
    conditions = status.conditions if status is not None else ()
    return [one for one in conditions if one.type == "UpToDate" and one.reason == "Internal"]


def fault_of(report: Report) -> str:
    status = report.machines[("default", "web")].status
    current = [one for one in status.conditions if one.type == "UpToDate"] if status is not None else []
    return current[0].message if current else ""


class Counting(FaultInjectingRuntime):
    """Its errors name each request."""

    def __init__(self, machine: StagedHost) -> None:
        super().__init__(machine.runtime, self._inject)
        self.count = 0

    @contextmanager
    def _inject(self, call: str) -> Iterator[None]:
        if call == "UpdateMachinePower":
            self.count += 1
            raise Internal(f"request {self.count} of 2026-01-{self.count:02} got no answer")
        yield
