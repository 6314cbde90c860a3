"""The whole of a fleet on one private network: Git server, person, reconciler, hosts."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from reconciler.cli.exits import Exit
from tests.e2e.fleet import FLEET, Person, Reconciler, Server
from tests.e2e.host import Host, host
from tests.e2e.network import Place, network
from tests.servers.gitolite import gitolite_server
from tests.servers.repository import bare, git, hook, ref
from tests.servers.web import WebServer

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
"""
HOSTS = ("host-a", "host-b")
USERS = ("ann", "reconciler", *HOSTS)
SETTINGS = f"fleet: {{id: {FLEET}}}\nheartbeat: {{interval: 5s}}\n"
CLASSES = """apiVersion: compute.ironcore.dev/v1alpha1
kind: MachineClass
metadata: {name: micro}
capabilities: {cpu: 1, memory: 8Mi}
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
    """`machine` is one more on the network."""

    folder: Path
    machine: Callable[[], Place]
    server: Server
    ann: Person
    reconcilers: dict[str, Reconciler] = field(default_factory=dict)
    hosts: dict[str, Host] = field(default_factory=dict)

    def reconciler(self, name: str) -> Reconciler:
        made = Reconciler(name, self.machine(), self.folder / name, self.server)
        self.reconcilers[name] = made
        made.start()
        return made

    def until(self, holds: Callable[[], bool]) -> None:
        ends = time.monotonic() + PATIENCE_SECONDS
        while not holds():
            assert time.monotonic() < ends, "it did not come about"
            time.sleep(0.3)

    def live(self, path: str) -> str:
        """What that file is on `live`; empty where it is not."""
        repo = self.server.repo
        is_there = (
            ref(repo, "refs/heads/live") and path in git(repo, "ls-tree", "-r", "--name-only", "live").split()
        )
        return git(repo, "show", f"live:{path}") if is_there else ""

    def is_on_live(self, commit: str) -> bool:
        return commit in git(self.server.repo, "rev-list", "live").split()

    def pool_of(self, machine: str) -> str:
        found = re.search(
            r"machinePoolRef:\s*\{?\s*name: ([a-z0-9-]+)", self.live(f"machines/{machine}.yaml")
        )
        return found[1] if found else ""

    def disk_bytes(self, host: str, guest: str, target: str) -> int:
        """As QEMU gives it to the guest."""
        shown = self.hosts[host].libvirtd.virsh("domblkinfo", guest, target).stdout
        return int(re.findall(r"^Capacity:\s+(\d+)", shown, re.MULTILINE)[0])

    def confirmations(self) -> list[str]:
        """The trailers that `gitvirt plan` asks for. Rewritten history is an error to it."""
        shown = self.ann.gitvirt("plan", "--repo", self.server.url, codes=(Exit.OK, Exit.PROBLEMS))
        return list(dict.fromkeys(re.findall(r"Confirm-[A-Z][a-z]+: [0-9a-f]+", shown)))

    @property
    def guests(self) -> dict[str, dict[str, int]]:
        """The process of each guest by its machine's uid, by host."""
        return {name: host.guests for name, host in self.hosts.items()}

    def logs(self) -> str:
        control = [f"--- {name}\n{one.logged}" for name, one in self.reconcilers.items()]
        return "\n".join([*control, *(host.logs() for host in self.hosts.values())])


@contextlib.contextmanager
def over_ssh() -> Iterator[World]:
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
        world = World(folder, lines.machine, server, _person(server, folder, lines.machine()))
        with _peopled(world, lines.join, repos):
            yield world


@contextlib.contextmanager
def over_http(web: WebServer) -> Iterator[World]:
    """nginx and a hook that holds the rights per ref, both in the network of the tests; one host."""
    here = Place("127.0.0.1", os.getpid())
    with _folder() as folder:
        repo = bare(web.repos / f"{folder.name}.git")
        hook(repo, "pre-receive", HOOK.read_text())
        (repo / "rights").write_text(RIGHTS)
        access = {}
        for user in ("ann", "reconciler", "host-a"):
            web.allow(user, f"secret of {user}")
            token = folder / f"token-{user}"
            token.write_text(f"secret of {user}")
            access[user] = {"GITVIRT_USERNAME": user, "GITVIRT_TOKEN_FILE": str(token)}
        server = Server(web.url(repo.name), repo, access)
        repos = {"host-a": {"username": "host-a", "tokenFile": str(folder / "token-host-a")}}
        world = World(folder, lambda: here, server, _person(server, folder, here))
        with _peopled(world, lambda _: here, repos):
            yield world


@contextlib.contextmanager
def _folder() -> Iterator[Path]:
    folder = Path(tempfile.mkdtemp(prefix="e2e-"))
    try:
        yield folder
    finally:
        shutil.rmtree(folder)


def _person(server: Server, folder: Path, place: Place) -> Person:
    """With a fleet that she has pushed."""
    ann = Person("ann", place, folder / "ann" / "fleet", server)
    ann.checkout.mkdir(parents=True)
    ann.git("init", "--quiet", "--initial-branch=main")
    ann.git("remote", "add", "origin", server.url)
    ann.write({"gitvirt.yaml": SETTINGS, "classes/small.yaml": CLASSES})
    ann.write({f"pools/{name}.yaml": POOL.format(name=name) for name in HOSTS})
    ann.git("add", "--all")
    ann.git("commit", "--quiet", "--message", "a fleet")
    ann.git("push", "--quiet", "origin", "main")
    return ann


@contextlib.contextmanager
def _peopled(
    world: World, place: Callable[[int], Place], repos: Mapping[str, Mapping[str, str]]
) -> Iterator[None]:
    """With hosts that reach the repo so, none of which has started anything yet."""
    with contextlib.ExitStack() as ended:
        for name, access in repos.items():
            settings = {"url": world.server.url, **access}
            world.hosts[name] = ended.enter_context(host(name, place, settings))
        try:
            yield
        finally:
            for one in world.reconcilers.values():
                one.stop()
