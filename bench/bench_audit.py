"""What the audit trail costs, and how fast it is verified: two equal fleets, one of which records the inputs of its commits.

Both have a real Git server. Before each tick all hosts send a heartbeat, one of them another capacity, and people change one machine. The two
reconcilers tick in turns, so that whatever else the machine does concerns both. Alone: `python -m bench.bench_audit [MACHINES COMMITS]`.
"""

from __future__ import annotations

import gc
import os
import statistics
import subprocess
import sys
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory

from bench import fleet
from bench.bench_reconcile import ZONE
from bench.fleet_repo import MAIN, ROBOT, git
from bench.measure import figure
from reconciler.audit.steps import list_steps
from reconciler.audit.verify import Auditor, Result
from reconciler.gitstore.mirror.mirror import Mirror
from reconciler.gitstore.remote import address
from reconciler.gitstore.remote.access import RemoteAccess
from reconciler.gitstore.remote.git_transport import GitTransport
from reconciler.gitstore.repo import Draft, Edit, Pushed, Refs, Snapshot
from reconciler.gitstore.store import Store
from reconciler.loop.outcome import Committed, NoChange
from reconciler.loop.tick import ProcessInputs, Reconciler
from reconciler.write.tick_commit import CommitIdentity
from schemas.report import PoolletReport, PoolReport, Report, ReportedPoolStatus, render
from schemas.report.objects import ObjectRef
from schemas.settings.fleet import DEFAULT_INPUTS

MACHINES, COMMITS = 2_000, 100
FIRST = 3
FLEET = "7a1cbd1c-6d2c-4b6e-9b5e-0c5f6a1e3f00"
START = datetime(2026, 5, 4, 12, tzinfo=UTC)
REPORTS = "refs/poollets/"
MACHINE = """\
apiVersion: compute.ironcore.dev/v1alpha1
kind: Machine
metadata:
  name: m-{number}
  namespace: team-0
  labels: {{app: web, mark: "{mark}"}}
spec:
  machineClassRef:
    name: class-{size}
  machinePoolSelector:
    topology.ironcore.dev/zone: zone-{zone}
"""


def machine(number: int, mark: int = 0) -> bytes:
    text = MACHINE.format(number=number, mark=mark, size=number % fleet.CLASSES, zone=number % 4)
    return text.encode()


def report(number: int, cores: int = 100_000) -> Report:
    name = f"pool-{number}"
    status = ReportedPoolStatus(
        state="Ready",
        available_machine_classes=tuple(ObjectRef(name=f"class-{size}") for size in range(fleet.CLASSES)),
        capacity={"cpu": cores, "memory": "400Ti"},
    )
    poollet = PoolletReport(
        fleet=FLEET, name=name, host_id=name, instance="00000000-0000-4000-8000-000000000001", interval="1h"
    )
    return Report(
        poollet=poollet, pools={name: PoolReport(status=status, labels={ZONE: f"zone-{number % 4}"})}
    )


def processor_seconds() -> float:
    """Of this process and the gits that it waited for: whatever else the machine does is not in it."""
    used = os.times()
    return used.user + used.system + used.children_user + used.children_system


class Line:
    """A fleet with a server of its own. `clock` is the same in both, so that they write the same."""

    def __init__(self, folder: Path, settings: str, refs: Refs) -> None:
        self.remote, self.refs = folder / "remote.git", refs
        subprocess.run(("git", "init", "--quiet", "--bare", str(self.remote)), check=True)
        self.people = self.client(folder / "people", Refs())
        self.heads: dict[str, str] = {}
        self.now = START
        self.files: dict[str, Edit] = {
            **{path: text.encode() for path, text in fleet.base(1).items()},
            "gitvirt.yaml": settings.encode(),
        }
        around = ProcessInputs(start_wait=None)
        self.reconciler = Reconciler(
            self.client(folder / "mirror", refs), refs, CommitIdentity("bench"), around=around
        )

    def client(self, folder: Path, refs: Refs) -> Store:
        mirror = Mirror(folder, str(self.remote))
        place = address.parse_address(str(self.remote), folder)
        transport = GitTransport(mirror.repo, place, RemoteAccess(), os.environ, inherit=(mirror.lock,))
        return Store(mirror, transport, refs)

    def draft(self, ref: str, files: Mapping[str, Edit]) -> Draft:
        head, is_main = self.heads.get(ref), ref == MAIN
        return Draft(
            ref=ref,
            expected=head,
            base=head if is_main else None,
            edits=files,
            message="change",
            author=ROBOT,
            time=self.now,
            has_parents=is_main,
            even_if_unchanged=True,
        )

    def push(self, files: Mapping[str, Edit], changed: int, cores: int) -> None:
        """People's files and the reports of all hosts, of which one is another than before."""
        drafts = [
            self.draft(
                f"{REPORTS}pool-{each}", dict(render(report(each, cores if each == changed else 100_000)))
            )
            for each in range(fleet.POOLS)
        ]
        outcome = self.people.write([self.draft(MAIN, files), *drafts])
        assert isinstance(outcome, Pushed), outcome
        self.heads |= outcome.commits

    def tick(self) -> float:
        gc.collect()
        start = processor_seconds()
        outcome = self.reconciler.tick(lambda: self.now)
        took = processor_seconds() - start
        assert isinstance(outcome, Committed), outcome
        return took

    def converge(self) -> None:
        for _ in range(10):
            self.now += timedelta(seconds=1)
            outcome = self.reconciler.tick(lambda: self.now)
            if isinstance(outcome, NoChange):
                return
        raise AssertionError("it does not come to rest")

    def stored_bytes(self) -> int:
        """Packed, as a server stores it after its housekeeping."""
        git(self.remote, "gc", "--quiet", "--prune=now")
        return int(git(self.remote, "rev-list", "--disk-usage", "--objects", "--all"))


def run(machines: int, commits: int) -> None:
    with TemporaryDirectory(prefix="gv-") as name:
        folder = Path(name)
        (folder / "plain").mkdir()
        (folder / "audited").mkdir()
        settings = f"fleet:\n  id: {FLEET}\n"
        plain = Line(folder / "plain", settings, Refs())
        audited = Line(
            folder / "audited", f"{settings}audit: {{ref: {DEFAULT_INPUTS}}}\n", Refs(inputs=DEFAULT_INPUTS)
        )
        lines = (plain, audited)
        for line in lines:
            files = {f"m/{number // 100:04}/{number}.yaml": machine(number) for number in range(machines)}
            line.push({**line.files, **files}, 0, 100_000)
            line.converge()
        before = [line.stored_bytes() for line in lines]
        times: tuple[list[float], list[float]] = ([], [])
        for step in range(commits):
            number = step % machines
            for place in (0, 1) if step % 2 else (1, 0):
                line = lines[place]
                line.now += timedelta(seconds=10)
                line.push(
                    {f"m/{number // 100:04}/{number}.yaml": machine(number, step + 1)},
                    step % fleet.POOLS,
                    90_000 + step,
                )
                times[place].append(line.tick())
        grown = [line.stored_bytes() - was for line, was in zip(lines, before, strict=True)]
        print_figures(machines, commits, times, grown)
        verify(audited, folder, machines)


def print_figures(
    machines: int, commits: int, times: tuple[list[float], list[float]], grown: list[int]
) -> None:
    plain, audited = (statistics.mean(each) for each in times)
    of = f"{machines:,} machines on {fleet.POOLS} hosts"
    figure(f"{of}: a tick that writes, without a record", f"{plain * 1000:.0f} ms of a processor")
    figure(f"{of}: the same with a record", f"{audited * 1000:.0f} ms, {audited / plain:.3f} times as long")
    # In each step two hosts differ from the step before: one is another, and the last one is again as it was.
    figure(f"{of}: stored more, for each commit", f"{(grown[1] - grown[0]) / commits:,.0f} bytes")
    figure(f"{of}: for each changed host", f"{(grown[1] - grown[0]) / commits / 2:,.0f} bytes")


def verify(line: Line, folder: Path, machines: int) -> None:
    """As a process that has fetched the repo."""
    store = line.client(folder / "auditor", line.refs)
    found = store.snapshot()
    assert isinstance(found, Snapshot)
    assert found.target is not None
    start = processor_seconds()
    steps = list_steps(store, found.target)
    auditor = Auditor(store, tuple(found.inputs.values()))
    # The first commits place everything: once in the life of a fleet.
    few = [each.result for each in auditor.audit(steps[:FIRST])]
    first = processor_seconds() - start
    start = processor_seconds()
    results = [each.result for each in auditor.audit(steps[FIRST:])]
    took = processor_seconds() - start
    assert {*few, *results} == {Result.EXPLAINED}, (few, results)
    of = f"{machines:,} machines: audit verify"
    figure(f"{of}, the first {FIRST} commits, which place all", f"{first:.1f} s of a processor")
    figure(f"{of}, each further commit", f"{len(results) / took:.1f} commits/s of a processor")
    start = processor_seconds()
    (newest,) = Auditor(store, tuple(found.inputs.values())).audit(steps[-1:])
    assert newest.result is Result.EXPLAINED
    figure(f"{of} of a single commit", f"{processor_seconds() - start:.2f} s of a processor")


if __name__ == "__main__":
    run(*(int(each) for each in sys.argv[1:])) if sys.argv[1:] else run(MACHINES, COMMITS)
