"""The reconciler end to end on a local bare repo: one machine, ten thousand in one commit, cold start, memory, rest.

Each size has a process of its own. Alone: `python -m bench.bench_reconcile [--full | OBJECTS ...]`; `--full` adds 100,000 objects.
"""

from __future__ import annotations

import gc
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory

from bench import fleet
from bench.fleet_repo import MAIN, ROBOT, party
from bench.measure import figure, percentile
from reconciler.gitstore.remote.access import RemoteAccess
from reconciler.gitstore.repo import Draft, Edit, Pushed, Refs
from reconciler.gitstore.store import Store
from reconciler.loop.outcome import Committed, NoChange
from reconciler.loop.tick import ProcessInputs, Reconciler
from reconciler.world.source.parse_cache.cache import NAME, ParseCache
from reconciler.write.tick_commit import CommitIdentity
from schemas.report import (
    PoolletReport,
    PoolReport,
    Report,
    ReportedPoolStatus,
    ReportedVolumePoolStatus,
    VolumePoolReport,
    render,
)
from schemas.report.objects import ObjectRef

SIZES = (1_000, 10_000)
FULL = (*SIZES, 100_000)
MANY = 10_000
SINGLES = 30
FLEET = "7a1cbd1c-6d2c-4b6e-9b5e-0c5f6a1e3f00"
ZONE = "topology.ironcore.dev/zone"

NEW = """\
apiVersion: compute.ironcore.dev/v1alpha1
kind: Machine
metadata:
  name: new-{name}
  namespace: team-0
spec:
  machineClassRef:
    name: class-{size}
  machinePoolSelector:
    topology.ironcore.dev/zone: zone-{zone}
"""


REPORT = "refs/poollets/pool"


def now() -> datetime:
    return datetime.now(UTC)


def resident_mebibytes() -> float:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20


def new_machine(number: int) -> tuple[str, bytes]:
    text = NEW.format(name=number, size=number % fleet.CLASSES, zone=number % 4)
    return f"new/{number // 100:04}/{number}.yaml", text.encode()


def report() -> Report:
    """One host that has all pools, with room for everything."""
    classes = tuple(ObjectRef(name=f"class-{size}") for size in range(fleet.CLASSES))
    machines = ReportedPoolStatus(
        state="Ready",
        available_machine_classes=classes,
        capacity={"cpu": 100_000, "memory": "400Ti", "storage": "4000Ti"},
    )
    volumes = ReportedVolumePoolStatus(
        state="Available", available_volume_classes=(ObjectRef(name="fast"),), capacity={"storage": "1000Ti"}
    )
    zones = {f"pool-{number}": {ZONE: f"zone-{number % 4}"} for number in range(fleet.POOLS)}
    poollet = PoolletReport(
        fleet=FLEET,
        name="pool",
        host_id="host",
        instance="00000000-0000-4000-8000-000000000001",
        interval="1h",
    )
    return Report(
        poollet=poollet,
        pools={name: PoolReport(status=machines, labels=labels) for name, labels in zones.items()},
        volume_pools={
            name: VolumePoolReport(status=volumes, labels=labels) for name, labels in zones.items()
        },
    )


class Bench:
    """A remote, a user who pushes to it, and the reconciler with its mirror."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.remote = folder / "remote.git"
        subprocess.run(("git", "init", "--quiet", "--bare", str(self.remote)), check=True)
        self.people = party(folder / "people", str(self.remote), RemoteAccess())[1]
        self.heads: dict[str, str] = {}

    def reconciler(self) -> Reconciler:
        return open_reconciler(self.folder)

    def start(self, settings: bytes) -> Reconciler:
        """A reconciler for which the host is confirmed. A process that just started places nothing until each host has written again."""
        bench_report = dict(render(report()))
        self.push(REPORT, bench_report, is_report=True)
        self.push(MAIN, {"gitvirt.yaml": settings})
        reconciler = self.reconciler()
        run_until_converged(reconciler)
        self.push(REPORT, bench_report, is_report=True, message="heartbeat")
        run_until_converged(reconciler)
        assert not reconciler.world.awaited_hosts
        return reconciler

    def push(
        self, ref: str, files: Mapping[str, Edit], *, is_report: bool = False, message: str = "change"
    ) -> None:
        head = self.heads.get(ref)
        draft = Draft(
            ref=ref,
            expected=head,
            base=None if is_report else head,
            edits=files,
            message=message,
            author=ROBOT,
            time=now(),
            has_parents=not is_report,
            even_if_unchanged=is_report,
        )
        outcome = self.people.write([draft])
        assert isinstance(outcome, Pushed), outcome
        self.heads[ref] = outcome.commits[ref]


def open_reconciler(folder: Path) -> Reconciler:
    store: Store = party(folder / "mirror", str(folder / "remote.git"), RemoteAccess())[1]
    return Reconciler(
        store, Refs(), CommitIdentity("bench"), around=ProcessInputs(readings=ParseCache(store.folder))
    )


def measure_tick(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def run_tick(reconciler: Reconciler) -> None:
    outcome = reconciler.tick(now)
    assert isinstance(outcome, Committed), outcome


def run_until_converged(reconciler: Reconciler) -> int:
    """Ticks until there is nothing to write; how many wrote."""
    for count in range(10):
        outcome = reconciler.tick(now)
        assert isinstance(outcome, Committed | NoChange), outcome
        if isinstance(outcome, NoChange):
            return count
    raise AssertionError("the reconciler does not come to rest")


def run(objects: int) -> dict[str, float]:
    with TemporaryDirectory(prefix="gv-") as name:
        bench = Bench(Path(name))
        files = {path: text.encode() for path, text in fleet.files(objects).items()}
        reconciler = bench.start(files.pop("gitvirt.yaml"))
        bench.push(MAIN, files)
        found = {"first": measure_tick(lambda: run_tick(reconciler))}
        run_until_converged(reconciler)
        gc.collect()
        found["rest"] = sorted(measure_tick(lambda: run_until_converged(reconciler)) for _ in range(9))[4]
        singles = []
        for number in range(SINGLES):
            path, data = new_machine(number)
            bench.push(MAIN, {path: data})
            singles.append(measure_tick(lambda: run_tick(reconciler)))
            run_until_converged(reconciler)
        found |= {"p50": percentile(singles, 50), "p99": percentile(singles, 99)}
        bench.push(MAIN, dict(new_machine(number) for number in range(SINGLES, SINGLES + MANY)))
        found["many"] = measure_tick(lambda: run_tick(reconciler))
        run_until_converged(reconciler)
        placed = sum(
            b"machinePoolRef" in reconciler.repo.read(file.id)
            for path, file in reconciler.world.live.files.items()
            if path.startswith("new/")
        )
        assert placed == SINGLES + MANY, placed
        reconciler.close()
        found |= cold(bench.folder)
        (bench.folder / "mirror" / NAME).unlink()
        return found | {"anew": cold(bench.folder)["cold"]}


def cold(folder: Path) -> dict[str, float]:
    """A process that finds a mirror, as after a restart, with what was read before or without: to the end of its first tick."""
    start = time.perf_counter()
    arguments = (sys.executable, "-m", "bench.bench_reconcile", "--cold", str(folder))
    done = subprocess.run(arguments, check=True, capture_output=True, text=True)
    took = time.perf_counter() - start
    return {"cold": took, **json.loads(done.stdout)}


def first_tick(folder: Path) -> dict[str, float]:
    reconciler = open_reconciler(folder)
    outcome = reconciler.tick(now)
    assert isinstance(outcome, NoChange), outcome
    return {"mebibytes": resident_mebibytes(), "known": len(reconciler.world.objects)}


def print_figures(objects: int, found: Mapping[str, float]) -> None:
    figure(f"{objects:,} objects: one machine pushed -> poolRef pushed, p50", f"{found['p50'] * 1000:.0f} ms")
    figure(f"{objects:,} objects: the same, p99", f"{found['p99'] * 1000:.0f} ms")
    figure(
        f"{objects:,} objects: {MANY:,} machines in one commit -> all placed and pushed",
        f"{found['many']:.2f} s",
    )
    figure(f"{objects:,} objects: a tick at rest", f"{found['rest'] * 1000:.1f} ms")
    figure(f"{objects:,} objects: everything new, placed and pushed in one tick", f"{found['first']:.1f} s")
    known = int(found["known"])
    figure(
        f"{known:,} objects: cold start of the process to the end of its first tick", f"{found['cold']:.1f} s"
    )
    figure(
        f"{known:,} objects: the same when nothing is kept of what was read before", f"{found['anew']:.1f} s"
    )
    figure(f"{known:,} objects: resident memory after it", f"{found['mebibytes']:.0f} MiB")


def main(arguments: list[str]) -> None:
    match arguments:
        case ["--cold", folder]:
            print(json.dumps(first_tick(Path(folder))))
        case ["--run", size]:
            print(json.dumps(run(int(size))))
        case _:
            sizes = FULL if arguments == ["--full"] else tuple(int(each) for each in arguments) or SIZES
            for objects in sizes:
                call = (sys.executable, "-m", "bench.bench_reconcile", "--run", str(objects))
                done = subprocess.run(call, check=True, stdout=subprocess.PIPE, text=True)
                print_figures(objects, json.loads(done.stdout))


if __name__ == "__main__":
    main(sys.argv[1:])
