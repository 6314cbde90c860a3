"""Reconcilers that serve the link, and hosts that connect to it, each in a process of its own, over one repo on this disk."""

from __future__ import annotations

import contextlib
import re
import signal
import socket
import time
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from iri.address import UnixAddress
from iri.simulated.host import SimulatedHost
from iri.simulated.server import SimulatedServer
from schemas.report import Report, read
from tests.e2e.process import Process
from tests.iri.quick_host import PROFILE
from tests.servers.link_certificates import LinkCertificate, link_settings, make_certificate
from tests.servers.repository import bare, git

FLEET = "7c9e6679-7425-40de-944b-e07fc1f90ae7"
CLASSES = (
    "apiVersion: compute.ironcore.dev/v1alpha1\nkind: MachineClass\nmetadata: {name: small}\n"
    "capabilities: {cpu: '1', memory: 1Gi}\n"
)
MACHINE = (
    "apiVersion: compute.ironcore.dev/v1alpha1\nkind: Machine\nmetadata: {{name: {name}}}\n"
    "spec:\n  machineClassRef: {{name: small}}\n  image: example.org/images/debian:12\n"
)
PATIENCE = 150.0
# What an offer adds to an assignment: no decision reads it.
ACCEPTED = re.compile(r"\n +accepted: true|, accepted: true")
VOLATILE = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}|[0-9a-f]{40}|\d{4}-\d\d-\d\dT[0-9:.]+Z")


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port: int = found.getsockname()[1]
        return port


@dataclass
class LinkedFleet:
    """`servers` are ports of the link, by the name of the reconciler; all of them are listed."""

    folder: Path
    servers: Mapping[str, int]
    hosts: tuple[str, ...]
    is_listed: bool = True
    relays: dict[str, int] = field(default_factory=dict)  # ports in front of servers, where hosts connect
    link: LinkCertificate = field(default_factory=lambda: make_certificate("link", is_link=True))
    certificates: dict[str, LinkCertificate] = field(default_factory=dict)
    processes: dict[str, Process] = field(default_factory=dict)
    http: dict[str, int] = field(default_factory=dict)
    inside: tuple[str, ...] = ()  # words that take processes into a network namespace

    def end(self) -> None:
        for process in self.processes.values():
            with contextlib.suppress(ProcessLookupError):
                process.process.send_signal(signal.SIGCONT)
            process.stop()

    @property
    def repo(self) -> Path:
        return self.folder / "fleet.git"

    def begin(self) -> None:
        self.certificates |= {name: make_certificate(name) for name in self.hosts}
        self.link.write(self.folder, "link")
        bare(self.repo)
        self.commit({"gitvirt.yaml": self.settings(), "classes/small.yaml": CLASSES})

    def settings(self, *without: str) -> str:
        if not self.is_listed:
            return f"fleet: {{id: {FLEET}}}\nsecrets: {{plain: allow}}\n"
        addresses = [f"127.0.0.1:{self.relays.get(name, port)}" for name, port in self.servers.items()]
        listed = {name: made for name, made in self.certificates.items() if name not in without}
        text = link_settings(FLEET, addresses, self.link, listed, "secrets: {plain: allow}\n")
        return text + "heartbeat: {link: 500ms}\n"

    def commit(self, files: Mapping[str, str | None]) -> str:
        """On the source branch."""
        head = self.head("refs/heads/main")
        index = {"GIT_INDEX_FILE": str(self.folder / "index")}
        git(self.repo, "read-tree", *([head] if head else ["--empty"]), **index)
        for path, text in files.items():
            blob = "0" * 40 if text is None else git(self.repo, "hash-object", "-w", "--stdin", given=text)
            mode = "0" if text is None else "100644"
            git(self.repo, "update-index", "--index-info", given=f"{mode} {blob}\t{path}\n", **index)
        tree = git(self.repo, "write-tree", **index)
        commit = git(self.repo, "commit-tree", tree, *(["-p", head] if head else []), "-m", "change")
        git(self.repo, "update-ref", "refs/heads/main", commit)
        return commit

    def head(self, ref: str) -> str:
        return git(self.repo, "for-each-ref", "--format=%(objectname)", ref)

    def live(self, path: str) -> str:
        """Empty while there is no such file."""
        head = self.head("refs/heads/live")
        is_there = bool(head) and git(self.repo, "ls-tree", "--name-only", head, path)
        return git(self.repo, "show", f"{head}:{path}") if is_there else ""

    def live_tree(self) -> dict[str, str]:
        """What is on live, but for ids and times, and whether offers were accepted."""
        paths = git(self.repo, "ls-tree", "-r", "--name-only", "live").splitlines()
        texts = {path: git(self.repo, "show", f"live:{path}") for path in paths}
        return {
            path: VOLATILE.sub("*", ACCEPTED.sub("", text))
            for path, text in texts.items()
            if path != "gitvirt.yaml"
        }

    def live_commits(self) -> list[str]:
        return git(self.repo, "log", "--format=%s", "--first-parent", "live").splitlines()

    def report(self, name: str) -> Report:
        commit = self.head(f"refs/poollets/{name}")
        if not commit:
            return Report()
        paths = git(self.repo, "ls-tree", "-r", "--name-only", commit).splitlines()
        return read({path: git(self.repo, "cat-file", "blob", f"{commit}:{path}").encode() for path in paths})

    def interval(self, name: str) -> str:
        by = self.report(name).poollet
        return by.interval if by is not None else ""

    def run_reconciler(self, name: str, *more: str) -> None:
        self.http[name] = free_port()
        files = ("--link-key", f"{self.folder}/link.key", "--link-certificate", f"{self.folder}/link.crt")
        port = self.servers.get(name)
        link = ("--link", f"127.0.0.1:{port}", *files) if port is not None else ()
        arguments = (
            "run",
            "--repo",
            str(self.repo),
            "--name",
            name,
            "--listen",
            f"127.0.0.1:{self.http[name]}",
        )
        given = {"GITVIRT_CACHE": str(self.folder / f"cache-{name}")}
        self.processes[name] = Process(
            self.folder / f"{name}.log", self.inside, (*arguments, *link, *more), given
        )

    def run_host(self, name: str, *, has_link: bool = True) -> None:
        key, certificate = self.certificates[name].write(self.folder, name)
        link = f"link: {{key: {key}, certificate: {certificate}}}\n" if has_link else ""
        config = self.folder / f"{name}.yaml"
        config.write_text(
            f"name: {name}\nhostID: {name}\nrepo: {{url: {self.repo}, mirror: {self.folder / f'mirror-{name}'}}}\n"
            f"runtimes:\n- {{name: sim, machine: {self.folder / name}.sock}}\n"
            f"pools: [{{name: {name}}}]\nintervals: {{poll: 4s}}\n{link}"
        )
        arguments = ("poollet", "--config", str(config))
        self.processes[name] = Process(self.folder / f"{name}.log", self.inside, arguments, {})

    def metric(self, name: str, metric: str) -> float:
        """Of a reconciler; 0 while it does not answer."""
        with contextlib.suppress(OSError):
            url = f"http://127.0.0.1:{self.http[name]}/metrics"
            with urllib.request.urlopen(url, timeout=5) as answer:
                text = answer.read().decode()
            found = re.search(rf"^{re.escape(metric)} (\S+)$", text, re.MULTILINE)
            return float(found[1]) if found else 0.0
        return 0.0

    def count_connected(self, name: str) -> int:
        return int(self.metric(name, "gitvirt_link_hosts"))

    def kill(self, name: str) -> None:
        self.processes[name].kill()

    def pause(self, name: str, number: int = signal.SIGSTOP) -> None:
        self.processes[name].process.send_signal(number)

    def logs(self) -> str:
        return "\n".join(f"--- {name}\n{each.log_text}" for name, each in self.processes.items())

    def until(self, holds: Callable[[], object], seconds: float = PATIENCE) -> float:
        started = time.monotonic()
        while not holds():
            assert time.monotonic() - started < seconds, f"it did not come about\n{self.logs()}"
            time.sleep(0.05)
        return time.monotonic() - started

    def is_running(self, machine: str) -> bool:
        return "state: Running" in self.live(f"machines/{machine}.yaml")


@contextmanager
def linked_fleet(
    folder: Path,
    servers: tuple[str, ...] = ("one",),
    hosts: tuple[str, ...] = ("rack-1", "rack-2"),
    *,
    is_listed: bool = True,
) -> Iterator[LinkedFleet]:
    """The repo and the runtimes of the hosts; processes are for the test to start, and end with it."""
    made = LinkedFleet(folder, {name: free_port() for name in servers}, hosts, is_listed)
    made.begin()
    with ExitStack() as runtimes:
        for number, name in enumerate(hosts):
            runtime = SimulatedServer(SimulatedHost(PROFILE, number), [UnixAddress(folder / f"{name}.sock")])
            runtimes.enter_context(runtime)
        try:
            yield made
        finally:
            made.end()
