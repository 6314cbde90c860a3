"""The whole of a fleet on one private network: Git server, person, reconciler, hosts."""

from __future__ import annotations

import contextlib
import re
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pygit2

from reconciler.cli.exits import Exit
from tests.e2e import audit
from tests.e2e.fleet import FLEET, Person, Reconciler, Server
from tests.e2e.host import Host, host
from tests.e2e.network import Network, network
from tests.servers.gitolite import gitolite_server
from tests.servers.repository import bare, git, hook
from tests.servers.web import WebServer, web_server

PATIENCE_SECONDS = 150.0
RULES = """
repo fleet
    R                             = @all
    RWC     refs/heads/live$      = reconciler
    RW+CD   refs/poollets/host-a$ = host-a
    RW+CD   refs/poollets/host-b$ = host-b
    RW+C    refs/heads/main$      = ann
    RW+CD   refs/heads/topic/     = ann
"""
HOOK = Path(__file__).parents[2] / "docs" / "git" / "pre-receive"
RIGHTS = """
ann         refs/heads/main
reconciler  refs/heads/live
host-a      refs/poollets/host-a
host-b      refs/poollets/host-b
"""
HOSTS = ("host-a", "host-b")
USERS = ("ann", "reconciler", *HOSTS)
SETTINGS = "fleet: {{id: {fleet}}}\nheartbeat: {{interval: {heartbeat}s}}\nlimits: {{undo: 0s}}\n"
CLASSES = """apiVersion: compute.ironcore.dev/v1alpha1
kind: MachineClass
metadata: {name: micro}
capabilities: {cpu: 1, memory: 8Mi}
---
apiVersion: compute.ironcore.dev/v1alpha1
kind: MachineClass
metadata: {name: linux}
capabilities: {cpu: 1, memory: 112Mi}
---
apiVersion: storage.ironcore.dev/v1alpha1
kind: VolumeClass
metadata: {name: disk}
capabilities: {tps: 100Mi, iops: 1000}
resizePolicy: ExpandOnly
"""
POOL = """apiVersion: compute.ironcore.dev/v1alpha1
kind: MachinePool
metadata: {{name: {name}}}
spec:
  overcommit: {{cpu: "8"}}
"""


@dataclass
class World:
    folder: Path
    network: Network
    server: Server
    ann: Person
    reconcilers: dict[str, Reconciler] = field(default_factory=dict)
    hosts: dict[str, Host] = field(default_factory=dict)

    def record_history(self, story: Callable[[World], None], folder: Path) -> str:
        """The history that a story leaves behind, once nothing else of it is left."""
        try:
            story(self)
        except Exception as error:
            error.add_note(self.logs())
            raise
        for one in self.hosts.values():
            assert not one.leftovers()
        return audit.report(self.server.repo, folder)

    def reconciler(self, name: str) -> Reconciler:
        made = Reconciler(name, self.network.machine(), self.folder / name, self.server)
        self.reconcilers[name] = made
        made.start()
        return made

    def until(self, holds: Callable[[], bool]) -> None:
        ends = time.monotonic() + PATIENCE_SECONDS
        while not holds():
            assert time.monotonic() < ends, "it did not come about"
            time.sleep(0.3)

    def live(self, path: str) -> str:
        """What that file is on `live`; empty where it is not. Looked at often, so no process is started for it."""
        repo = pygit2.Repository(self.server.repo)
        head = repo.references.get("refs/heads/live")
        if head is None:
            return ""
        tree = repo[head.target].peel(pygit2.Tree)
        return tree[path].read_raw().decode() if path in tree else ""

    def is_on_live(self, commit: str) -> bool:
        return commit in git(self.server.repo, "rev-list", "live").split()

    def until_running(self, *machines: str) -> None:
        self.until(lambda: all("state: Running" in self.live(f"machines/{name}.yaml") for name in machines))

    def pool_of(self, machine: str) -> str:
        found = re.search(
            r"machinePoolRef:\s*\{?\s*name: ([a-z0-9-]+)", self.live(f"machines/{machine}.yaml")
        )
        return found[1] if found else ""

    def approvals(self) -> list[str]:
        """The trailers that `gitvirt plan` asks for. Rewritten history is an error to it."""
        shown = self.ann.gitvirt("plan", "--repo", self.server.url, codes=(Exit.OK, Exit.PROBLEMS))
        found = re.findall(r"Gitvirt-Approve: [0-9a-f]+", shown)
        assert found, shown
        return list(dict.fromkeys(found))

    @property
    def guests(self) -> dict[str, dict[str, int]]:
        """The process of each guest by its machine's uid, by host."""
        return {name: host.guests for name, host in self.hosts.items()}

    def begin(self) -> None:
        """A reconciler, and all hosts ready."""
        self.reconciler("control-1")
        self.until(lambda: bool(self.live("gitvirt.yaml")))
        for one in self.hosts.values():
            one.start()
        for name in self.hosts:
            self.ann.wait("pool", name, "condition=Ready")

    def end(self, *files: str) -> None:
        """All objects leave the source, which is seen, and Ann approves that."""
        commit = self.ann.commit("the end", dict.fromkeys(files))
        self.until(lambda: self.is_on_live(commit))
        self.ann.commit("the end, and I mean it", {}, *self.approvals())
        self.until(lambda: not any(map(self.live, files)))

    @property
    def guest_counts(self) -> dict[str, int]:
        return {name: len(guests) for name, guests in self.guests.items()}

    def logs(self) -> str:
        control = [f"--- {name}\n{one.log_text}" for name, one in self.reconcilers.items()]
        return "\n".join([*control, *(host.logs() for host in self.hosts.values())])


@contextlib.contextmanager
def over_ssh(heartbeat_seconds: int) -> Iterator[World]:
    """gitolite on a machine of the network, which holds the rights per ref."""
    with contextlib.ExitStack() as ended:
        folder = ended.enter_context(_folder())
        lines = ended.enter_context(network())
        forge = lines.machine()
        gitolite = ended.enter_context(gitolite_server(folder / "git", forge.address, forge.inside))
        keys = gitolite.configure(RULES, *USERS)
        known = str(gitolite.ssh.known_hosts)
        access = {
            user: {
                "GITVIRT_IDENTITY": str(key),
                "GITVIRT_KNOWN_HOSTS": known,
                "GITVIRT_SSH_CONFIG": "/dev/null",
            }
            for user, key in keys.items()
        }
        server = Server(gitolite.url("fleet"), gitolite.repos / "fleet.git", access)
        repos = {name: {"identity": str(keys[name]), "knownHosts": known} for name in HOSTS}
        world = World(folder, lines, server, _person(server, folder, lines, heartbeat_seconds))
        with _add_people(world, repos):
            yield world


@contextlib.contextmanager
def over_https(heartbeat_seconds: int) -> Iterator[World]:
    """nginx on a machine of the network; the hook of docs/git.md holds the rights per ref."""
    with contextlib.ExitStack() as ended:
        folder = ended.enter_context(_folder())
        lines = ended.enter_context(network())
        forge = lines.machine()
        web = ended.enter_context(
            web_server(folder / "web", "no-bearer", address=forge.address, inside=forge.inside)
        )
        repo = bare(web.repos / "fleet.git")
        hook(repo, "pre-receive", HOOK.read_text())
        (repo / "rights").write_text(RIGHTS)
        repos = {user: _account(web, user, folder / f"token-{user}") for user in USERS}
        access = {
            user: {
                "GITVIRT_USERNAME": account["username"],
                "GITVIRT_TOKEN_FILE": account["tokenFile"],
                "GITVIRT_CA_FILE": account["caFile"],
            }
            for user, account in repos.items()
        }
        server = Server(web.url(repo.name, "https"), repo, access)
        world = World(folder, lines, server, _person(server, folder, lines, heartbeat_seconds))
        with _add_people(world, {name: repos[name] for name in HOSTS}):
            yield world


def _account(web: WebServer, user: str, token: Path) -> dict[str, str]:
    """As a poollet.yaml names it."""
    web.allow(user, f"secret of {user}")
    token.write_text(f"secret of {user}")
    return {"username": user, "tokenFile": str(token), "caFile": str(web.authority.ca)}


@contextlib.contextmanager
def _folder() -> Iterator[Path]:
    folder = Path(tempfile.mkdtemp(prefix="e2e-"))
    try:
        yield folder
    finally:
        shutil.rmtree(folder)


def _person(server: Server, folder: Path, lines: Network, heartbeat_seconds: int) -> Person:
    """With a fleet that she has pushed."""
    ann = Person("ann", lines.machine(), folder / "ann" / "fleet", server)
    ann.checkout.mkdir(parents=True)
    ann.git("init", "--quiet", "--initial-branch=main")
    ann.git("remote", "add", "origin", server.url)
    settings = SETTINGS.format(fleet=FLEET, heartbeat=heartbeat_seconds)
    ann.write({"gitvirt.yaml": settings, "classes/small.yaml": CLASSES})
    ann.write({f"pools/{name}.yaml": POOL.format(name=name) for name in HOSTS})
    ann.git("add", "--all")
    ann.git("commit", "--quiet", "--message", "a fleet")
    ann.git("push", "--quiet", "origin", "main")
    return ann


@contextlib.contextmanager
def _add_people(world: World, repos: Mapping[str, Mapping[str, str]]) -> Iterator[None]:
    """With hosts that reach the repo so, none of which has started anything yet."""
    with contextlib.ExitStack() as ended:
        for name, access in repos.items():
            settings = {"url": world.server.url, **access}
            world.hosts[name] = ended.enter_context(host(name, world.network.join, settings))
        try:
            yield
        finally:
            for one in world.reconcilers.values():
                one.stop()
