"""The whole of a fleet on one private network: Git server, person, reconciler, hosts."""

from __future__ import annotations

import contextlib
import re
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from tests.e2e.fleet import FLEET, Person, Reconciler, Server
from tests.e2e.host import Host, host
from tests.e2e.network import Network, network
from tests.servers.gitolite import gitolite_server
from tests.servers.repository import git

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


@dataclass
class World:
    folder: Path
    network: Network
    server: Server
    ann: Person
    reconcilers: dict[str, Reconciler]
    hosts: dict[str, Host]

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
        """What that file is on `live`; empty where it is not."""
        if path not in git(self.server.repo, "ls-tree", "-r", "--name-only", "live").splitlines():
            return ""
        return git(self.server.repo, "show", f"live:{path}")

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

    @property
    def guests(self) -> dict[str, dict[str, int]]:
        """The process of each guest by its machine's uid, by host."""
        return {name: host.guests for name, host in self.hosts.items()}

    def logs(self) -> str:
        control = [f"--- {name}\n{one.logged}" for name, one in self.reconcilers.items()]
        return "\n".join([*control, *(host.logs() for host in self.hosts.values())])


@contextlib.contextmanager
def over_ssh() -> Iterator[World]:
    with contextlib.ExitStack() as ended:
        folder = Path(tempfile.mkdtemp(prefix="e2e-"))
        ended.callback(shutil.rmtree, folder)
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
        ann = Person("ann", lines.machine(), folder / "ann" / "fleet", server)
        ann.checkout.mkdir(parents=True)
        ann.git("init", "--quiet", "--initial-branch=main")
        ann.git("remote", "add", "origin", server.url)
        ann.write({"gitvirt.yaml": SETTINGS, "classes/small.yaml": CLASSES})
        ann.git("add", "--all")
        ann.git("commit", "--quiet", "--message", "a fleet")
        ann.git("push", "--quiet", "origin", "main")
        hosts = {}
        for name in HOSTS:
            repo = {"url": server.url, "identity": str(keys[name]), "knownHosts": known}
            hosts[name] = ended.enter_context(host(name, lines, repo))
        world = World(folder, lines, server, ann, {}, hosts)
        try:
            yield world
        finally:
            for one in world.reconcilers.values():
                one.stop()
