"""The whole way, in real processes over a local bare repo: people's commit, reconciler, 10 poollets, simulated hosts, status on `live`.

`--full` measures the large figures too: 10,000 machines, and 1,000 pools of 8 processes. They take minutes.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

from bench.fleet_repo import MAIN, NOW, ROBOT
from bench.measure import figure, percentile
from poollet.sync.live_index import LiveIndex
from reconciler.gitstore.approval import HoldKind, approval_digest, approval_trailer
from reconciler.gitstore.bootstrap import open_store
from reconciler.gitstore.remote import address
from reconciler.gitstore.remote.access import RemoteAccess
from reconciler.gitstore.repo import Draft, Edit, Pushed, Refs, Snapshot
from reconciler.gitstore.store import Store
from schemas.model import Machine, MachinePool

FLEET = "7c9e6679-7425-40de-944b-e07fc1f90ae7"
SETTINGS = f"fleet: {{id: {FLEET}}}\n"
CLASS = (
    "apiVersion: compute.ironcore.dev/v1alpha1\nkind: MachineClass\nmetadata: {name: small}\n"
    "capabilities: {cpu: '1', memory: 1Gi}\n"
)
BATCHES = (100, 500, 1_000)
MOST = 10_000
SINGLE = 50
PATIENCE = 300.0
LOOK = 0.02


class Site:
    """A bare repo, hosts, poollets and a reconciler; and whoever commits and watches."""

    def __init__(self, folder: Path, poollets: int, processes: int) -> None:
        self.folder, self.repo = folder, folder / "fleet.git"
        subprocess.run(("git", "init", "--quiet", "--bare", "-b", "main", str(self.repo)), check=True)
        # Whoever collects garbage in the background would outlive the folder.
        subprocess.run(("git", f"--git-dir={self.repo}", "config", "receive.autogc", "false"), check=True)
        self.store = self.party("people", Refs(reports=None))
        self.live = LiveIndex()
        self.names = [f"host-{number}" for number in range(poollets)]
        self._processes = processes
        self.commit({"gitvirt.yaml": SETTINGS, "classes/small.yaml": CLASS})

    def party(self, name: str, refs: Refs) -> Store:
        place = address.parse_address(str(self.repo), self.folder)
        return open_store(place, RemoteAccess(), refs, mirrors=self.folder / name, ambient=os.environ)

    def commit(self, files: Mapping[str, str | None], message: str = "change") -> None:
        snapshot = self.store.snapshot()
        assert isinstance(snapshot, Snapshot)
        edits: dict[str, Edit] = {
            path: None if text is None else text.encode() for path, text in files.items()
        }
        head = snapshot.source
        outcome = self.store.write(
            [Draft(ref=MAIN, expected=head, base=head, edits=edits, message=message, author=ROBOT, time=NOW)]
        )
        assert isinstance(outcome, Pushed), outcome

    def until(self, holds: Callable[[LiveIndex], bool]) -> float:
        """Seconds until `live` is so."""
        start = time.perf_counter()
        while time.perf_counter() - start < PATIENCE:
            snapshot = self.store.snapshot()
            assert isinstance(snapshot, Snapshot), snapshot
            if snapshot.target is not None:
                self.live.advance(self.store, snapshot.target)
                if holds(self.live):
                    return time.perf_counter() - start
            time.sleep(LOOK)
        raise TimeoutError("it did not come about")

    @contextmanager
    def running(self) -> Iterator[None]:
        with ExitStack() as stack:
            per = -(-len(self.names) // self._processes)
            for first in range(0, len(self.names), per):
                stack.enter_context(self._hosts(first, min(per, len(self.names) - first)))
            environment = {"GITVIRT_CACHE": str(self.folder / "reconciler")}
            stack.enter_context(self._process(["run", "--repo", str(self.repo)], environment))
            for number in range(0, len(self.names), per):
                configs = [
                    word
                    for name in self.names[number : number + per]
                    for word in ("--config", self._config(name))
                ]
                stack.enter_context(self._process(["poollet", "--log-level", "warning", *configs], {}))
            yield

    def _config(self, name: str) -> str:
        socket = self.folder / f"{name.removeprefix('host-')}.sock"
        path = self.folder / f"{name}.yaml"
        path.write_text(
            f"name: {name}\nrepo: {{url: {self.repo}, mirror: {self.folder / 'poollets'}}}\n"
            f"runtimes: [{{name: sim, machine: {socket}, volume: {socket}}}]\npools: [{{name: {name}}}]\n"
        )
        return str(path)

    @contextmanager
    def _hosts(self, first: int, count: int) -> Iterator[None]:
        words = [sys.executable, "-m", "bench.simulated_hosts", str(self.folder), str(first), str(count)]
        hosts = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        assert hosts.stdout is not None
        assert hosts.stdin is not None
        try:
            assert hosts.stdout.readline() == b"serving\n"
            yield
        finally:
            hosts.stdin.close()
            hosts.wait(60)
            hosts.stdout.close()

    @contextmanager
    def _process(self, words: Sequence[str], environment: Mapping[str, str]) -> Iterator[None]:
        log = self.folder / f"{words[0]}-{time.monotonic_ns()}.log"
        with log.open("wb") as file:
            ambient = {**os.environ, "GRPC_ENABLE_FORK_SUPPORT": "0", **environment}
            made = subprocess.Popen([sys.executable, "-m", "reconciler", *words], stderr=file, env=ambient)
        try:
            yield
        finally:
            made.terminate()
            try:
                made.wait(60)
            except subprocess.TimeoutExpired:
                made.kill()
                made.wait()


@contextmanager
def site(poollets: int, processes: int) -> Iterator[Site]:
    with tempfile.TemporaryDirectory(prefix="gv-") as name:
        made = Site(Path(name), poollets, processes)
        with made.running():
            yield made
        made.store.close()


def machine(name: str) -> str:
    return (
        "apiVersion: compute.ironcore.dev/v1alpha1\nkind: Machine\n"
        f"metadata: {{name: {name}}}\nspec:\n  machineClassRef: {{name: small}}\n"
    )


def files(prefix: str, count: int) -> dict[str, str]:
    return {f"machines/{prefix}{n // 100:03}/{n}.yaml": machine(f"{prefix}-{n}") for n in range(count)}


def ready(live: LiveIndex) -> int:
    return sum(pool.status.state == "Ready" for pool in live.all(MachinePool))


def running(live: LiveIndex, prefix: str) -> int:
    found = (one for one in live.all(Machine) if one.name.startswith(prefix))
    return sum(one.status.state == "Running" for one in found)


def pools(made: Site) -> None:
    count = len(made.names)
    took = made.until(lambda live: ready(live) == count)
    figure(f"{count} pools announced and Ready", f"{took:.1f} s after the start of all processes")


def many(made: Site, prefix: str, count: int) -> None:
    wanted = files(prefix, count)
    made.commit(wanted)
    took = made.until(lambda live: running(live, f"{prefix}-") == count)
    figure(f"{count} machines committed at once, Running on live", f"{took:.1f} s, {count / took:.0f}/s")
    # So many at once take a person's consent.
    uids = [one.metadata.uid for one in made.live.all(Machine) if one.name.startswith(f"{prefix}-")]
    approval = approval_trailer(approval_digest(FLEET, HoldKind.DELETION, uids))
    made.commit(dict.fromkeys(wanted), f"all of them\n\n{approval}")
    took = made.until(lambda live: not any(one.name.startswith(f"{prefix}-") for one in live.all(Machine)))
    figure(f"{count} machines deleted and gone from live", f"{took:.1f} s")


def one_by_one(made: Site) -> None:
    """Where the time goes: until it has a pool on live, until it is Running there."""
    placed, ran = [], []
    for number in range(SINGLE):
        name = f"single-{number}"
        made.commit({f"machines/{name}.yaml": machine(name)})

        def find(live: LiveIndex, name: str = name) -> Machine | None:
            return next((one for one in live.all(Machine) if one.name == name), None)

        placed.append(
            made.until(lambda live: (one := find(live)) is not None and one.status.assignment is not None)
        )
        ran.append(
            placed[-1]
            + made.until(lambda live: (one := find(live)) is not None and one.status.state == "Running")
        )
    rest = statistics.median(late - early for early, late in zip(placed, ran, strict=True))
    figure(
        "one machine, commit to Running on live",
        f"p50 {statistics.median(ran):.2f} s, p99 {percentile(ran, 99):.2f} s; of p50 {statistics.median(placed):.2f} s"
        f" until it has a pool, {rest:.2f} s from there",
    )


def at_rest(made: Site, seconds: float) -> None:
    """Pushes and bytes a minute and pool: heartbeats."""

    def heads() -> set[str]:
        lines = subprocess.run(
            ("git", f"--git-dir={made.repo}", "for-each-ref", "--format=%(objectname)", "refs/poollets"),
            check=True,
            capture_output=True,
            text=True,
        ).stdout
        return set(lines.split())

    def size() -> int:
        return sum(file.stat().st_size for file in (made.repo / "objects").rglob("*") if file.is_file())

    seen, before, start = heads(), size(), time.perf_counter()
    first = len(seen)
    while time.perf_counter() - start < seconds:
        time.sleep(0.5)
        seen |= heads()
    minutes = (time.perf_counter() - start) / 60 * len(made.names)
    figure(
        "at rest, a pool and a minute",
        f"{(len(seen) - first) / minutes:.1f} pushes, {(size() - before) / minutes:.0f} bytes on the remote",
    )


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--full", action="store_true")
    is_full = parser.parse_args().full
    with site(poollets=10, processes=2) as made:
        pools(made)
        one_by_one(made)
        for count in BATCHES:
            many(made, f"of{count}", count)
        time.sleep(10)  # the report about the last removal still has to be written
        at_rest(made, 60.0 if is_full else 24.0)
    if is_full:
        with site(poollets=10, processes=2) as made:
            pools(made)
            many(made, f"of{MOST}", MOST)
        with site(poollets=1000, processes=8) as made:
            pools(made)
            at_rest(made, 60.0)


if __name__ == "__main__":
    main()
