"""From a commit to Running in status on `live`, through everybody: people, the reconciler, poollets and simulated hosts.

All in processes of their own over a bare repo on the local disk. `--machines 10000` and `--pools 1000` are for larger runs.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import pygit2

from bench.measure import figure, percentile
from bench.simulated_hosts import socket
from reconciler.diff.identity import digest

FLEET = "7c9e6679-7425-40de-944b-e07fc1f90ae7"
MAIN, LIVE, REPORTS = "refs/heads/main", "refs/heads/live", "refs/poollets/"
PATIENCE_SECONDS = 600.0
POLL_SECONDS = 0.02
PEOPLE = pygit2.Signature("people", "people@example.org", 1_700_000_000, 0)
CLASS = """\
apiVersion: compute.ironcore.dev/v1alpha1
kind: MachineClass
metadata: {name: small}
capabilities: {cpu: "1", memory: 1Gi}
"""
MACHINE = """\
apiVersion: compute.ironcore.dev/v1alpha1
kind: Machine
metadata:
  name: NAME
spec:
  machineClassRef: {name: small}
  volumes:
    - name: root
      localDisk: {sizeLimit: 10Gi, image: registry.example.org/debian:12}
"""


class Fleet:
    """The repo: people commit to it, and see how far everybody is."""

    def __init__(self, folder: Path, hosts: Sequence[str], heartbeat: str = "15s") -> None:
        self.path = folder / "fleet.git"
        self.repo = pygit2.init_repository(self.path, bare=True)
        known = "\n".join(f"  {name}: {{}}" for name in hosts)
        settings = f"fleet: {{id: {FLEET}}}\nheartbeat: {{interval: {heartbeat}}}\npoollets:\n{known}\n"
        self.commit({"gitvirt.yaml": settings, "classes/small.yaml": CLASS})
        self._seen: dict[str, tuple[pygit2.Oid, bool]] = {}

    def commit(self, files: dict[str, str | None], message: str = "change") -> None:
        index = pygit2.Index()
        parents = []
        if MAIN in self.repo.references:
            parents = [self._commit(MAIN).id]
            index.read_tree(self._commit(MAIN).tree)
        for path, text in files.items():
            if text is None:
                index.remove(path)
            else:
                blob = self.repo.create_blob(text.encode())
                index.add(pygit2.IndexEntry(path, blob, pygit2.enums.FileMode.BLOB))
        tree = index.write_tree(self.repo)
        self.repo.create_commit(MAIN, PEOPLE, PEOPLE, message, tree, parents)

    def live(self) -> dict[str, bool]:
        """Whether each machine on `live` is Running; only what changed is read."""
        found = {}
        for name, id in self._machines():
            known = self._seen.get(name)
            if known is None or known[0] != id:
                known = (id, b"state: Running" in self._text(id))
                self._seen[name] = known
            found[name] = known[1]
        return found

    def uids(self) -> list[str]:
        lines = [line for _, id in self._machines() for line in self._text(id).decode().splitlines()]
        return [line.split()[1] for line in lines if line.startswith("  uid: ")]

    def _machines(self) -> list[tuple[str, pygit2.Oid]]:
        if LIVE not in self.repo.references:
            return []
        tree = self._commit(LIVE).tree
        if "machines" not in tree:
            return []
        folder = tree["machines"]
        assert isinstance(folder, pygit2.Tree)
        return [(entry.name or "", entry.id) for entry in folder]

    def _commit(self, ref: str) -> pygit2.Commit:
        return self.repo.references[ref].peel(pygit2.Commit)

    def _text(self, id: pygit2.Oid) -> bytes:
        blob = self.repo[id]
        assert isinstance(blob, pygit2.Blob)
        return blob.data

    def reports(self) -> list[str]:
        return [name for name in self.repo.references if name.startswith(REPORTS)]


def until(holds: Callable[[], bool], what: str) -> float:
    """Seconds until it does."""
    start = time.perf_counter()
    while not holds():
        assert time.perf_counter() - start < PATIENCE_SECONDS, what
        time.sleep(POLL_SECONDS)
    return time.perf_counter() - start


@contextmanager
def process(folder: Path, name: str, *arguments: str) -> Iterator[subprocess.Popen[bytes]]:
    environment = os.environ | {"GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_NOSYSTEM": "1"}
    with (folder / f"{name}.log").open("wb") as log:
        child = subprocess.Popen(
            [sys.executable, "-m", *arguments],
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE if name == "hosts" else log,
            stderr=log,
        )
        try:
            yield child
        finally:
            child.terminate()
            child.wait(30)


def settings_of(folder: Path, number: int, url: Path) -> str:
    place = folder / f"host-{number}.yaml"
    address = socket(folder, number)
    place.write_text(
        f"name: host-{number}\nhostID: host-{number}\n"
        f"repo: {{url: {url}, mirror: {folder}/mirror-{number % 2}}}\n"
        f"runtimes: [{{name: sim, machine: {address}}}]\npools: [{{name: host-{number}}}]\n"
    )
    return str(place)


@contextmanager
def site(hosts: int, processes: int = 2) -> Iterator[Fleet]:
    """Hosts, their poollets in some processes, and a reconciler, all ready."""
    with TemporaryDirectory(prefix="b") as temporary, ExitStack() as stack:
        folder = Path(temporary)
        fleet = Fleet(folder, [f"host-{number}" for number in range(hosts)])
        served = stack.enter_context(
            process(folder, "hosts", "bench.simulated_hosts", str(folder), str(hosts))
        )
        assert served.stdout is not None
        served.stdout.readline()
        for share in range(processes):
            configs = [settings_of(folder, number, fleet.path) for number in range(share, hosts, processes)]
            words = [word for config in configs for word in ("--config", config)]
            stack.enter_context(process(folder, f"poollets-{share}", "reconciler", "poollet", *words))
        stack.enter_context(process(folder, "reconciler", "reconciler", "run", "--repo", str(fleet.path)))
        until(lambda: len(fleet.reports()) == hosts and LIVE in fleet.repo.references, "everybody reports")
        yield fleet


def many(count: int) -> None:
    """Made at once, and removed at once."""
    with site(hosts=10) as fleet:
        names = [f"m{number}.yaml" for number in range(count)]
        fleet.commit({f"machines/{name}": MACHINE.replace("NAME", name[:-5]) for name in names})
        made = until(lambda: sum(fleet.live().values()) == count, f"{count} machines run")
        figure(f"{count} machines committed at once until Running on live", f"{made:.1f} s")
        files: dict[str, str | None] = {f"machines/{name}": None for name in names}
        fleet.commit(files, f"remove\n\nConfirm-Deletion: {digest(fleet.uids())}\n")
        removed = until(lambda: not fleet.live(), f"{count} machines are gone")
        figure(f"{count} machines removed at once until gone from live", f"{removed:.1f} s")


def one_by_one(count: int) -> None:
    """One machine after the other on a site at rest."""
    with site(hosts=2) as fleet:
        times = []
        for number in range(count):
            name = f"m{number}.yaml"
            fleet.commit({f"machines/{name}": MACHINE.replace("NAME", name[:-5])})
            times.append(until(partial(is_running, fleet, name), "it runs"))
        shown = f"p50 {percentile(times, 50):.2f} s, p99 {percentile(times, 99):.2f} s"
        figure("one machine from commit to Running on live", shown)


def is_running(fleet: Fleet, name: str) -> bool:
    return fleet.live().get(name, False)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--machines", type=int, action="append", help="how many at once")
    arguments = parser.parse_args()
    one_by_one(10)
    for count in arguments.machines or (100, 1000):
        many(count)


if __name__ == "__main__":
    main()
