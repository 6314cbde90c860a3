"""A fleet of real processes on a bare repo: `gitvirt run`, poollets, and a simulated host for each, which outlives its poollet.

The hosts are in the test's own process, so the test sees each change of theirs. While it waits for anything, it looks at the laws: no
machine runs twice, no volume is attached to two machines, and nothing leaves a host that the test did not allow to end.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import signal
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import pygit2

from iri.address import UnixAddress
from iri.identity import UID_LABELS
from iri.machine import AttachmentState, MachineState, RuntimeMachine
from iri.simulated.host import SimulatedHost
from iri.simulated.runtime import SimulatedRuntime
from iri.simulated.server import SimulatedServer
from iri.volume import RuntimeVolume
from tests.accidents.clocks import Clocks, compile_clocks
from tests.e2e.process import Process
from tests.iri.quick_host import PROFILE
from tests.servers.repository import bare

PATIENCE_SECONDS = 150.0
TIMEOUT_SECONDS = 50.0  # of heartbeats: the least there is
FLEET = "7d0c7e8a-51b1-4a9e-8f0a-0d5a4e4b9f11"
SETTINGS = f"fleet: {{id: {FLEET}}}\nheartbeat: {{interval: 2s}}\nlimits: {{undo: 0s}}\n"
CLASSES = """apiVersion: compute.ironcore.dev/v1alpha1
kind: MachineClass
metadata: {name: small}
capabilities: {cpu: 1, memory: 1Gi}
---
apiVersion: storage.ironcore.dev/v1alpha1
kind: VolumeClass
metadata: {name: standard}
capabilities: {tps: 1Mi, iops: 100}
"""


def machine(name: str, spec: str = "") -> str:
    return (
        "apiVersion: compute.ironcore.dev/v1alpha1\nkind: Machine\n"
        f"metadata: {{name: {name}}}\nspec:\n  machineClassRef: {{name: small}}\n{spec}"
    )


def pinned(pool: str) -> str:
    return f"  machinePoolRef: {{name: {pool}}}\n"


def volume(name: str, spec: str = "") -> str:
    return (
        "apiVersion: storage.ironcore.dev/v1alpha1\nkind: Volume\n"
        f"metadata: {{name: {name}}}\nspec:\n  volumeClassRef: {{name: standard}}\n  resources: {{storage: 1Gi}}\n{spec}"
    )


def with_volume(name: str) -> str:
    return f"  volumes:\n    - {{name: data, volumeRef: {{name: {name}}}}}\n"


class Member(Process):
    """A process of the fleet with clocks of its own. What it started is frozen with it."""

    def __init__(
        self, log: Path, arguments: tuple[str, ...], given: Mapping[str, str], clocks: Clocks
    ) -> None:
        self.clocks = clocks
        self.log_start = log.stat().st_size if log.exists() else 0
        super().__init__(log, (), arguments, {**given, **clocks.environment})

    def freeze(self) -> None:
        os.killpg(self.process.pid, signal.SIGSTOP)

    def thaw(self) -> None:
        os.killpg(self.process.pid, signal.SIGCONT)

    def kill(self) -> None:
        """With what it started, as when the kernel ends its control group. It may have ended by itself."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()


@dataclass
class Host:
    """A simulated host and its poollet."""

    name: str
    folder: Path
    server: SimulatedServer
    poollet: Member | None = None

    @property
    def runtime(self) -> SimulatedRuntime:
        return SimulatedRuntime(self.server.host)

    @property
    def machines(self) -> dict[str, RuntimeMachine]:
        """By uid."""
        found = self.runtime.objects(RuntimeMachine).values()
        return {one.labels[UID_LABELS[RuntimeMachine]]: one for one in found}

    @property
    def volumes(self) -> dict[str, RuntimeVolume]:
        found = self.runtime.objects(RuntimeVolume).values()
        return {one.labels[UID_LABELS[RuntimeVolume]]: one for one in found}

    @property
    def running(self) -> set[str]:
        return {uid for uid, one in self.machines.items() if one.status.state is MachineState.RUNNING}

    @property
    def attached(self) -> set[tuple[str, str]]:
        """Handles of volumes, each with the uid of a machine that may write it."""
        return {
            (one.handle, uid)
            for uid, machine in self.machines.items()
            for one in machine.status.volumes
            if one.handle and one.state in (AttachmentState.PENDING, AttachmentState.ATTACHED)
        }


@dataclass
class Fleet:
    folder: Path
    library: Path
    hosts: dict[str, Host] = field(default_factory=dict)
    reconcilers: dict[str, Member] = field(default_factory=dict)
    may_end: set[str] = field(default_factory=set)
    known: set[tuple[str, str]] = field(default_factory=set)

    @property
    def repo(self) -> Path:
        return self.folder / "fleet.git"

    # Processes

    def add_host(self, name: str) -> Host:
        folder = self.folder / name
        folder.mkdir()
        server = SimulatedServer(SimulatedHost(PROFILE, 7), [UnixAddress(folder / "s")])
        server.start()
        host = self.hosts[name] = Host(name, folder, server)
        settings = {
            "name": name,
            "hostID": f"id-{name}",
            "repo": {"url": str(self.repo), "mirror": str(folder / "mirror")},
            "runtimes": [{"name": "sim", "machine": str(folder / "s"), "volume": str(folder / "s")}],
            "pools": [{"name": name}, {"name": name, "kind": "VolumePool"}],
            "intervals": {"poll": "2s", "list": "1s"},
        }
        (folder / "poollet.yaml").write_text(json.dumps(settings))
        self.start_poollet(name)
        return host

    def start_poollet(self, name: str, **given: str) -> Member:
        host = self.hosts[name]
        arguments = ("poollet", "--config", str(host.folder / "poollet.yaml"))
        host.poollet = Member(host.folder / "log", arguments, given, self._clocks(host.folder / "clocks"))
        return host.poollet

    def start_reconciler(self, name: str = "control", **given: str) -> Member:
        folder = self.folder / name
        folder.mkdir(exist_ok=True)
        arguments = ("run", "--repo", str(self.repo), "--name", name, "--interval", "2s")
        environment = {"GITVIRT_CACHE": str(folder / "cache"), **given}
        self.reconcilers[name] = Member(
            folder / "log", arguments, environment, self._clocks(folder / "clocks")
        )
        return self.reconcilers[name]

    def _clocks(self, path: Path) -> Clocks:
        return Clocks(self.library, path)

    # People

    def commit(
        self, message: str, files: Mapping[str, str | None], *trailers: str, branch: str = "main"
    ) -> str:
        repo, ref = pygit2.Repository(self.repo), f"refs/heads/{branch}"
        head = repo.references.get(ref)
        index = pygit2.Index()
        if head is not None:
            index.read_tree(repo[head.target].peel(pygit2.Tree))
        for path, text in files.items():
            if text is None:
                index.remove(path)
            else:
                blob = repo.create_blob(text.encode())
                index.add(pygit2.IndexEntry(path, blob, pygit2.enums.FileMode.BLOB))
        ann = pygit2.Signature("Ann", "ann@example.org")
        parents = [] if head is None else [head.target]
        text = "\n\n".join(filter(None, (message, "\n".join(trailers))))
        return str(repo.create_commit(ref, ann, ann, text, index.write_tree(repo), parents))

    # What is so

    def live(self, path: str, ref: str = "refs/heads/live") -> str:
        repo = pygit2.Repository(self.repo)
        head = repo.references.get(ref)
        if head is None:
            return ""
        tree = repo[head.target].peel(pygit2.Tree)
        return tree[path].read_raw().decode() if path in tree else ""

    def head(self, ref: str) -> str:
        found = pygit2.Repository(self.repo).references.get(ref)
        return "" if found is None else str(found.target)

    def report_time(self, name: str) -> int:
        """When the host says that it wrote its report, in Unix seconds."""
        repo = pygit2.Repository(self.repo)
        return repo.references[f"refs/poollets/{name}"].peel(pygit2.Commit).commit_time

    def state_of(self, name: str, folder: str = "machines") -> str:
        found = re.search(r"\bstate: (\w+)", self.live(f"{folder}/{name}.yaml"))
        return found[1] if found else ""

    def uid_of(self, name: str, folder: str = "machines") -> str:
        found = re.search(r"\buid: ([0-9a-f-]+)", self.live(f"{folder}/{name}.yaml"))
        return found[1] if found else ""

    def host_of(self, name: str) -> list[str]:
        """The hosts that run the machine."""
        uid = self.uid_of(name)
        return [host.name for host in self.hosts.values() if uid in host.running]

    def has_pool(self, name: str) -> bool:
        """Declared or announced, and ready."""
        return "reason: Reported" in self.live(f".gitvirt/pools/{name}.yaml") + self.live(
            f"pools/{name}.yaml"
        )

    def is_running(self, *names: str) -> bool:
        return all(self.state_of(name) == "Running" and len(self.host_of(name)) == 1 for name in names)

    def words_since(self, commit: str) -> str:
        """The messages of the commits on live that came after it, or of all."""
        repo = pygit2.Repository(self.repo)
        walker = repo.walk(repo.references["refs/heads/live"].target)
        if commit:
            walker.hide(pygit2.Oid(hex=commit))
        return "\n".join(one.message for one in walker)

    # Laws

    def check_laws(self) -> None:
        found = Counter(uid for host in self.hosts.values() for uid in host.running)
        twice = [uid for uid, count in found.items() if count > 1]
        assert not twice, f"{twice} on two hosts\n{self.logs()}"
        writers = Counter(handle for host in self.hosts.values() for handle, _ in host.attached)
        shared = [handle for handle, count in writers.items() if count > 1]
        assert not shared, f"{shared} attached twice\n{self.logs()}"
        present = {
            (host.name, uid) for host in self.hosts.values() for uid in (*host.machines, *host.volumes)
        }
        ended = {each for each in self.known - present if each[1] not in self.may_end}
        assert not ended, f"{ended} left without consent\n{self.logs()}"
        self.known = present

    def until(self, holds: Callable[[], object], what: str = "") -> None:
        end = time.monotonic() + PATIENCE_SECONDS
        while not holds():
            self.check_laws()
            assert time.monotonic() < end, f"{what or 'it'} did not come about\n{self.logs()}"
            time.sleep(0.05)
        self.check_laws()

    def run_machine(self, name: str, spec: str = "") -> None:
        """One more machine: proof that the fleet works."""
        self.commit(f"{name} is needed", {f"machines/{name}.yaml": machine(name, spec)})
        self.until(lambda: self.is_running(name), f"{name} running")

    def logs(self) -> str:
        members = [*self.reconcilers.items(), *((one.name, one.poollet) for one in self.hosts.values())]
        texts = [f"--- {name}\n{one.log_text[-6000:]}" for name, one in members if one is not None]
        return "\n".join([*texts, f"--- live\n{self._files_of_live()}"])

    def _files_of_live(self) -> str:
        repo = pygit2.Repository(self.repo)
        head = repo.references.get("refs/heads/live")
        if head is None:
            return "no live"
        index = pygit2.Index()
        index.read_tree(repo[head.target].peel(pygit2.Tree))
        return "\n".join(f"{entry.path}\n{self.live(entry.path)}" for entry in index)[-8000:]

    def close(self) -> None:
        for one in [*self.reconcilers.values(), *(host.poollet for host in self.hosts.values())]:
            if one is not None and one.process.poll() is None:
                one.kill()
        for host in self.hosts.values():
            host.server.stop()
        end = time.monotonic() + PATIENCE_SECONDS
        while self.folder.exists():  # a git program that a killed process had started may still write
            shutil.rmtree(self.folder, ignore_errors=True)
            assert time.monotonic() < end, f"{self.folder} cannot be removed"


@contextlib.contextmanager
def fleet(*hosts: str, files: Mapping[str, str] | None = None) -> Iterator[Fleet]:
    """Each host is ready, and so is the reconciler."""
    folder = Path(tempfile.mkdtemp(prefix="gv-"))
    made = Fleet(folder, compile_clocks(folder))
    try:
        bare(made.repo)
        made.commit("a fleet", {"gitvirt.yaml": SETTINGS, "classes.yaml": CLASSES, **(files or {})})
        made.start_reconciler()
        for name in hosts:
            made.add_host(name)
        for name in hosts:
            made.until(partial(made.has_pool, name), f"pool {name}")
        yield made
    finally:
        made.close()
