"""A restore of the repo: from the restored `live` until every machine is confirmed where it runs. 100 hosts, 1,000 machines.

Real reconciler and poollets with simulated hosts, on a repo in memory and a simulated clock: each poollet looks every 10 seconds, as by
default. A person approves in the round in which the reconciler asks. Alone: `python -m bench.bench_restore [HOSTS MACHINES]`.
"""

from __future__ import annotations

import sys
import time

from bench.measure import figure
from bench.simulated_hosts import PROFILE
from iri.machine import RuntimeMachine
from poollet.decide.decide import decide
from reconciler.decide.compose import pending_approvals
from reconciler.gitstore.repo import Refs
from reconciler.loop.tick import ProcessInputs, Reconciler
from reconciler.world.reports.start_wait import StartWait
from reconciler.write.tick_commit import CommitIdentity
from schemas.kinds import Kind
from tests.poollet.fleet import LIVE, MAIN, SETTINGS, Fleet, machine, machine_class
from tests.poollet.stage import Run, StagedHost, Time

HOSTS, MACHINES = 100, 1_000
ROUND_MS = 10_000
MOST_ROUNDS = 60


class Site:
    def __init__(self, hosts: int, machines: int) -> None:
        self.time, self.fleet = Time(), Fleet(is_bare=True)
        self.machines = machines
        self.fleet.commit({"gitvirt.yaml": SETTINGS, "classes.yaml": machine_class()}, MAIN)
        names = [f"host-{number}" for number in range(1, hosts + 1)]
        self.runs = [
            Run(self.fleet, self.time, StagedHost(self.time, PROFILE, seed=number), name=name, decide=decide)
            for number, name in enumerate(names, 1)
        ]
        self.start_reconciler()

    def start_reconciler(self) -> None:
        """One that remembers nothing."""
        around = ProcessInputs(start_wait=StartWait())
        self.reconciler = Reconciler(self.fleet.client(Refs()), Refs(), CommitIdentity("one"), around=around)

    def declare(self, first: int, last: int) -> None:
        files = {f"machines/m{number}.yaml": machine(f"m{number}") for number in range(first, last)}
        self.fleet.commit(files, MAIN)

    def round(self) -> None:
        self.time.ms += ROUND_MS
        self.reconciler.tick(self.time.clock.now)
        for run in self.runs:
            run.turn()

    def approve(self) -> None:
        for each in pending_approvals(self.reconciler.world):
            if each.trailer:
                self.fleet.commit({"note": each.trailer}, MAIN, message=f"yes\n\n{each.trailer}")

    def count_confirmed(self) -> int:
        """Machines that `live` has as running, and whose host reports them under that assignment and follows `live`."""
        world = self.reconciler.world
        count = 0
        for key, known in world.objects.items():
            if key.kind is Kind.MACHINE and not world.recoveries:
                report = world.accepted_reports(key).report
                is_running = getattr(known.record.status, "state", "") == "Running"
                count += is_running and report is not None and report.phase == "present"
        return count

    def until_confirmed(self, number: int) -> int:
        """In how many rounds."""
        for rounds in range(1, MOST_ROUNDS):
            self.round()
            self.approve()
            is_held = any(
                "LiveRewritten" in str(run.report().pools) for run in self.runs[:1] + self.runs[-1:]
            )
            if self.count_confirmed() == number and not is_held:
                return rounds
        raise AssertionError(f"only {self.count_confirmed():,} of {number:,} were confirmed")


def main(hosts: int, machines: int) -> None:
    site = Site(hosts, machines)
    half = machines // 2
    site.declare(0, half)
    site.until_confirmed(half)
    backup = site.fleet.head(LIVE)
    assert backup is not None
    site.declare(half, machines)
    site.until_confirmed(machines)
    ran = guests(site)
    site.fleet.remote.refs[LIVE] = backup
    site.start_reconciler()
    began, cpu = site.time.ms, time.process_time()
    rounds = site.until_confirmed(machines)
    assert guests(site) == ran, "a machine moved"
    seconds = (site.time.ms - began) / 1000
    figure(
        f"restore of {hosts:,} hosts and {machines:,} machines, half of them unknown to the backup",
        f"{seconds:.0f} simulated s ({rounds} rounds) to every machine confirmed; {time.process_time() - cpu:.1f} s of CPU for all parties",
    )


def guests(site: Site) -> dict[str, list[str]]:
    return {run.name: sorted(run.machine.host.state.objects(RuntimeMachine)) for run in site.runs}


if __name__ == "__main__":
    counts = [int(each) for each in sys.argv[1:]] or [HOSTS, MACHINES]
    main(*counts)
