"""`gitvirt history` in a repo with 100,000 commits on the target branch, made by `git fast-import`.

Each commit but three is a change of one of 2,000 machines. The longest ways: a machine that was removed by one of the first commits, by its
name and by its uid, and a machine that lives since the first one. A way may cost no more than a few times what Git takes to list all removals.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from uuid import UUID, uuid5

from bench.measure import figure

COMMITS = int(os.environ.get("COMMITS", "100000"))
MACHINES = 2_000
FOLDERS = 20
RUNS = 3
MOST_OF_GIT = 3.0  # times
START_SECONDS = 0.5  # of the process, for what it imports
FLEET = UUID("6f1c1f0e-0d0f-4b5e-9b3e-5a1f6f0f7a11")
SETTINGS = b"fleet: {id: %s}\n" % str(FLEET).encode()
PATH, DELETING = "fleet/05/web-1.yaml", ".gitvirt/deleting/Machine/default/web-1.yaml"
ORDERED, REMOVED = 50, 60  # the commits that ordered and confirmed the deletion of web-1
DOCUMENT = """\
apiVersion: compute.ironcore.dev/v1alpha1
kind: Machine
metadata:
  name: {name}
  namespace: default
  uid: {uid}
spec:
  machineClassRef:
    name: small
  volumes:
    - name: root
      localDisk:
        sizeLimit: 5Gi
status:
  state: Running
  message: "{mark}"
"""


def uid(name: str) -> str:
    return str(uuid5(FLEET, name))


def put(path: str, data: bytes) -> bytes:
    return b"M 100644 inline %s\ndata %d\n%s\n" % (path.encode(), len(data), data)


def document(path: str, name: str, mark: int) -> bytes:
    return put(path, DOCUMENT.format(name=name, uid=uid(name), mark=mark).encode())


def machine(number: int, mark: int) -> bytes:
    return document(f"fleet/{number % FOLDERS:02}/m-{number}.yaml", f"m-{number}", mark)


def commit(branch: str, number: int) -> bytes:
    who = b"committer gitvirt <gitvirt@example.org> %d +0000" % (1_700_000_000 + number)
    return b"commit refs/heads/%s\n%s\ndata 7\nchange\n\n" % (branch.encode(), who)


def stream() -> Iterator[bytes]:
    yield commit("main", 0) + put("gitvirt.yaml", SETTINGS)
    for number in range(COMMITS):
        yield commit("live", number)
        if number == 0:
            yield put("gitvirt.yaml", SETTINGS) + document(PATH, "web-1", 0)
            yield from (machine(each, 0) for each in range(MACHINES))
        elif number == ORDERED:
            yield f"D {PATH}\n".encode() + document(DELETING, "web-1", 1)
        elif number == REMOVED:
            yield f"D {DELETING}\n".encode()
        else:
            yield machine(number * 7 % MACHINES, number)


def build(bare: Path) -> None:
    subprocess.run(("git", "init", "--quiet", "--bare", "--initial-branch=main", str(bare)), check=True)
    command = ("git", "-C", str(bare), "fast-import", "--quiet", "--depth=50")
    subprocess.run(command, input=b"".join(stream()), check=True)


def run(words: tuple[str, ...], environment: dict[str, str]) -> tuple[float, float, str]:
    """Wall time, processor time of it and the git that it starts, and what it printed."""
    command = [sys.executable, "-m", "reconciler", *words]
    start, used = time.perf_counter(), processor_seconds()
    done = subprocess.run(command, env=environment, capture_output=True, check=True, text=True)
    return time.perf_counter() - start, processor_seconds() - used, done.stdout


def processor_seconds() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def list_removals(bare: Path) -> float:
    """What Git alone takes, in seconds of a processor."""
    words = ("log", "--first-parent", "--diff-filter=D", "--raw", "--no-abbrev", "--format=%H", "-z", "live")
    used = processor_seconds()
    subprocess.run(("git", "-C", str(bare), *words), stdout=subprocess.DEVNULL, check=True)
    return processor_seconds() - used


def main() -> None:
    ways = {
        "deleted, by name": ("web-1", 3),
        "deleted, by uid": (uid("web-1"), 3),
        "alive since the first commit": ("m-7", COMMITS // MACHINES + 1),
    }
    with TemporaryDirectory(prefix="gv-") as name:
        folder = Path(name)
        build(folder / "fleet.git")
        environment = os.environ | {"GITVIRT_CACHE": str(folder / "cache"), "HOME": name}
        repo = ("--repo", str(folder / "fleet.git"), "--limit", "0")
        first, _, _ = run(("history", "web-1", *repo), environment)
        figures = [("the first verb, which fetches the repo", f"{first:.2f} s")]
        of_git = min(list_removals(folder / "fleet.git") for _ in range(RUNS))
        figures.append(("Git alone, which lists all removals", f"{of_git:.2f} s of a processor"))
        for what, (words, want) in ways.items():
            runs = [run(("history", words, *repo), environment) for _ in range(RUNS)]
            shown = len(runs[0][2].splitlines()) - 1
            assert shown in (want, want - 1), (what, shown)
            wall, used = min(each[0] for each in runs), min(each[1] for each in runs)
            assert used < START_SECONDS + MOST_OF_GIT * of_git, (what, used, of_git)
            figures.append((what, f"{wall:.2f} s, {used:.2f} s of a processor, {shown} commits shown"))
    for what, value in figures:
        figure(f"history in {COMMITS:,} commits: {what}", value)


if __name__ == "__main__":
    main()
