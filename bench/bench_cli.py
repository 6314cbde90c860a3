"""How long a person waits for a verb on a fleet of 10,000 machines, start of the process included, and for `--help`; what is
imported for that; and how many commits `history` looks at.

"First" is with an empty cache, so that all of the repo is fetched too, from a server that did its housekeeping before; else a mirror is there,
as after any verb before.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory

from bench import fleet
from bench.bench_reconcile import REPORT, Bench, new_machine, report, run_tick, run_until_converged
from bench.fleet_repo import MAIN, git
from bench.measure import figure, seconds
from reconciler.gitstore.objects.tree import File, ObjectId
from reconciler.gitstore.repo import FileChange, Repo
from reconciler.loop.tick import Reconciler
from reconciler.query.object_history import list_history
from schemas.kinds import Key, Kind
from schemas.report import MachineReport, ReportedCondition, ReportedMachineStatus, render

ROOT = Path(__file__).parents[1]
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(ROOT)}
SMALL = {"--help": ["--help"], "validate examples/repo": ["validate", str(ROOT / "examples/repo")]}
COUNT = "import sys; from reconciler.cli import main; code = main(sys.argv[1:]); print(len(sys.modules), file=sys.stderr)"
MACHINES = 10_000
COMMITS = 20
MOST_OF_FIRST = 0.4  # what was parsed once is not parsed again
ONE = ("machine", "web-1", "-n", "team-1")
VERBS = {
    "get machines -A": ("get", "machines", "-A"),
    "describe machine": ("describe", *ONE),
    "history machine": ("history", *ONE),
    "explain machine": ("explain", *ONE),
    "tree": ("tree",),
    "top": ("top",),
    "plan": ("plan",),
}


class Counting:
    """The part of a repo that history asks, and how many commits it read there."""

    def __init__(self, repo: Repo) -> None:
        self.repo = repo
        self.commits_read = 0

    def read(self, id: ObjectId) -> bytes:
        self.commits_read += 1
        return self.repo.read(id)

    def file(self, commit: ObjectId, path: str) -> File | None:
        return self.repo.file(commit, path)

    def changes(
        self, head: ObjectId, path: str | None = None, *, removals: bool = False
    ) -> Iterator[tuple[ObjectId, FileChange]]:
        return self.repo.changes(head, path, removals=removals)

    def diff(self, old: ObjectId | None, new: ObjectId | None) -> Iterator[FileChange]:
        return self.repo.diff(old, new)

    def commits(self, head: ObjectId, since: ObjectId | None) -> Iterator[ObjectId]:
        return self.repo.commits(head, since)


def call(arguments: Sequence[str], **more: str) -> None:
    command = [sys.executable, "-m", "reconciler", *arguments]
    subprocess.run(command, env=ENVIRONMENT | more, stdout=subprocess.DEVNULL, check=True)


def modules(arguments: list[str]) -> int:
    command = [sys.executable, "-c", COUNT, *arguments]
    done = subprocess.run(
        command, env=ENVIRONMENT, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, check=True
    )
    return int(done.stderr.split()[-1])


def bare() -> None:
    subprocess.run([sys.executable, "-c", "pass"], check=True)


def build_fleet(folder: Path) -> Bench:
    """Everything placed; then a few commits more, each with a machine of its own."""
    bench = Bench(folder)
    files = {path: text.encode() for path, text in fleet.files(len(fleet.KINDS) * MACHINES).items()}
    reconciler = bench.start(files.pop("gitvirt.yaml"))
    bench.push(MAIN, files)
    subprocess.run(("git", "-C", str(bench.remote), "symbolic-ref", "HEAD", MAIN), check=True)
    run_tick(reconciler)
    run_until_converged(reconciler)
    for number in range(COMMITS):
        path, data = new_machine(number)
        bench.push(MAIN, {path: data})
        run_tick(reconciler)
    print_history(reconciler.repo, "the newest", new_machine(COMMITS - 1)[0], f"new-{COMMITS - 1}", "team-0")
    print_history(reconciler.repo, "the oldest", "fleet/0000/machine-1.yaml", "web-1", "team-1")
    report_machines(bench, reconciler)
    reconciler.repo.close()
    git(bench.remote, "gc", "--quiet")
    return bench


def report_machines(bench: Bench, reconciler: Reconciler) -> None:
    """Each machine runs, as its host reports; `live` does not have that yet, so that verbs show every one by its report."""
    ready = ReportedCondition(type="Ready", status="True", reason="Running")
    entries: dict[tuple[str, ...], MachineReport] = {
        (key.namespace, key.name): MachineReport(
            known.record.uid,
            assignment.id,
            "present",
            assignment.pool,
            status=ReportedMachineStatus(
                machine_id=f"sim://{known.record.uid}", state="Running", conditions=(ready,)
            ),
        )
        for key, known in reconciler.world.objects.items()
        if key.kind is Kind.MACHINE and (assignment := known.record.assignment) is not None
    }
    assert len(entries) >= MACHINES, len(entries)
    bench.push(REPORT, dict(render(replace(report(), machines=entries))), is_report=True)


found: list[tuple[str, str]] = []


def print_history(repo: Repo, which: str, path: str, name: str, namespace: str) -> None:
    snapshot = repo.snapshot()
    head = getattr(snapshot, "target")  # noqa: B009 - the remote is a folder beside us
    counting = Counting(repo)
    events = list(islice(list_history(counting, head, path, Key(Kind.MACHINE, namespace, name)), 30))  # type: ignore[arg-type]
    assert events, path
    whole = sum(1 for _ in repo.commits(head, None))
    output = f"{counting.commits_read} of {whole} commits read for {len(events)} shown"
    found.append((f"history of {which} machine", output))


def once(arguments: Sequence[str], cache: Path) -> float:
    start = time.perf_counter()
    call(arguments, GITVIRT_CACHE=str(cache))
    return time.perf_counter() - start


def processor_seconds() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def warm_and_first(repo: Sequence[str], cache: Path) -> tuple[float, float]:
    """`get machines` in time of a processor: with an empty cache, and the least of a few runs after it."""
    times = []
    for _ in range(4):
        before = processor_seconds()
        once((*VERBS["get machines -A"], *repo), cache)
        times.append(processor_seconds() - before)
    return min(times[1:]), times[0]


def large(folder: Path) -> None:
    bench = build_fleet(folder)
    objects = len(fleet.KINDS) * MACHINES
    where = f"{MACHINES:,} machines, {objects:,} objects"
    repo = ("--repo", str(bench.remote))
    cache = folder / "cache"
    first = once((*VERBS["get machines -A"], *repo), cache)
    found.append((f"{where}: gitvirt get machines -A, first", f"{first:.2f} s"))
    warm, cold = warm_and_first(repo, folder / "another cache")
    figures = f"{cold:.2f} s first, {warm:.2f} s later, {warm / cold:.2f} of it"
    found.append((f"{where}: gitvirt get machines -A, of a processor", figures))
    assert warm < MOST_OF_FIRST * cold, (warm, cold)
    for name, arguments in VERBS.items():
        took = once((*arguments, *repo), cache)
        found.append((f"{where}: gitvirt {name}", f"{took:.2f} s"))
    checkout = folder / "checkout"
    subprocess.run(("git", "clone", "--quiet", str(bench.remote), str(checkout)), check=True)
    took = once(("validate", str(checkout)), cache)
    found.append((f"{where}: gitvirt validate of a checkout", f"{took:.2f} s"))


def main() -> None:
    found.append(("python itself", f"{seconds(bare, repeat=7) * 1000:.0f} ms"))
    for name, arguments in SMALL.items():
        call(arguments)  # once for the byte code
        wall = seconds(lambda arguments=arguments: call(arguments), repeat=7)  # type: ignore[misc]
        found.append((f"gitvirt {name}", f"{wall * 1000:.0f} ms, {modules(arguments)} modules"))
    with TemporaryDirectory(prefix="gv-") as name:
        large(Path(name))
    for what, output in found:
        figure(what, output)


if __name__ == "__main__":
    main()
