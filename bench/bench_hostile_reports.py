"""Peak memory of a reconciler while one report is hostile, in a process of its own for each case, and of the git programs that it runs.

    python bench/bench_hostile_reports.py [CASE ...]

`normal` is the same fleet without such a report. The other cases are those of tests/reconciler/gitstore/hostile_reports.py, at the sizes of an
attack: millions of files in a few objects, blobs of 900 MB.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import tempfile
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

from reconciler.gitstore.bootstrap import open_store
from reconciler.gitstore.remote.access import RemoteAccess
from reconciler.gitstore.remote.address import parse_address
from reconciler.gitstore.repo import Refs
from reconciler.loop.outcome import Committed, NoChange
from reconciler.loop.tick import Reconciler
from reconciler.write.tick_commit import CommitIdentity
from tests.reconciler.gitstore import hostile_reports as hostile
from tests.reconciler.loop.fleet import REPORTS, SETTINGS, SMALL, machine
from tests.servers import repository

MACHINES = 2_000
NORMAL = "normal"
TOGETHER = "all at once"
CASES: dict[str, Callable[[Path], str]] = {
    "4 million machines": hostile.names,
    "134 million files": hostile.levels,
    "a wide folder": hostile.wide_folder,
    "one blob everywhere": hostile.one_blob_everywhere,
    "600,000 values": hostile.many_values,
    "a file of 900 MB": lambda repo: hostile.large_file(repo, 900),
    "a blob of 900 MB": lambda repo: hostile.large_blob(repo, 900),
}


def make_fleet(repo: Path, machines: int) -> None:
    repository.bare(repo)
    text = "---\n".join(machine(f"m{number}") for number in range(machines))
    files = {"gitvirt.yaml": SETTINGS, "classes.yaml": SMALL, "machines.yaml": text}
    lines = [f"100644 blob {hostile.put_blob(repo, data)}\t{path}" for path, data in files.items()]
    hostile.point(repo, "refs/heads/main", hostile.put_commit(repo, hostile.put_tree(repo, *lines)))


def run_ticks(repo: Path, mirrors: Path, *reports: str) -> dict[str, float]:
    """One tick without the reports, and three with them, in this process; what they took, in MB and seconds."""
    address = parse_address(str(repo), repo.parent)
    store = open_store(address, RemoteAccess(), Refs(), mirrors=mirrors, ambient=os.environ)
    reconciler = Reconciler(store, Refs(), CommitIdentity("bench"))
    for tick in range(4):
        for number, report in enumerate(reports if tick == 1 else ()):
            hostile.point(repo, f"{REPORTS}evil{number}", report)
        outcome = reconciler.tick(lambda: datetime.now(UTC))
        assert isinstance(outcome, Committed | NoChange), outcome
    reconciler.close()
    own, git = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return {
        "own": own.ru_maxrss / 1024,
        "git": git.ru_maxrss / 1024,
        "seconds": sum(each.ru_utime + each.ru_stime for each in (own, git)),
    }


def measure(case: str, machines: int = MACHINES) -> dict[str, float]:
    with tempfile.TemporaryDirectory() as folder:
        repo = Path(folder) / "fleet.git"
        make_fleet(repo, machines)
        cases = () if case == NORMAL else CASES if case == TOGETHER else (case,)
        reports = [CASES[each](repo) for each in cases]
        command = [sys.executable, __file__, "--ticks", str(repo), f"{folder}/mirrors", *reports]
        done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
        found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
        return found


def main(words: list[str]) -> None:
    if words[:1] == ["--ticks"]:
        sys.stdout.write(json.dumps(run_ticks(Path(words[1]), Path(words[2]), *words[3:])) + "\n")
        return
    normal = measure(NORMAL)
    for case in words or (NORMAL, *CASES, TOGETHER):
        found = normal if case == NORMAL else measure(case)
        share = found["own"] / normal["own"]
        sys.stdout.write(
            f"{case:22} {found['own']:5.0f} MB, {share:4.2f} of normal; git {found['git']:4.0f} MB; CPU {found['seconds']:5.1f} s\n"
        )


if __name__ == "__main__":
    main(sys.argv[1:])
