"""The demo's steps. Each is a commit or a failure, and waits until the fleet has answered it.

Declare machines, add one by commit, fail its host, bring it back, delete a machine, revert that, delete it for good, open a console, show the history. A step that
does not finish within PATIENCE_SECONDS is a bug, and names the logs.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

from reconciler.cli.demo.console import open_session
from reconciler.cli.demo.processes import PATIENCE_SECONDS, UNDO, DemoProcesses
from reconciler.cli.demo.screen import DemoScreen
from reconciler.cli.exits import CommandError, Exit
from reconciler.cli.fleet_changes import follow_fleet
from reconciler.cli.fleet_repo import FleetRepo, locate_repo, open_fleet
from reconciler.cli.objects import columns
from reconciler.query.inventory import FleetInventory, InventoryItem, read_inventory
from reconciler.query.pool_usage import pool_of
from schemas.kinds import Kind
from schemas.settings.duration import format_duration

WEB_3 = """apiVersion: compute.ironcore.dev/v1alpha1
kind: Machine
metadata:
  name: web-3
  labels:
    app: web
spec:
  machineClassRef:
    name: small
  volumes:
    - name: root
      localDisk:
        sizeLimit: 10Gi
        image: registry.example.org/images/debian:12
"""
KEEP = "gitvirt demo --keep"
NEXT = (
    ("gitvirt init my-fleet", "a repo of your own; docs/tutorial.md goes on from there"),
    (KEEP, "leaves this fleet running"),
    ("sudo gitvirt demo --runtime libvirt", "the same with real guests"),
    ("gitvirt help", "concepts, verbs, problem codes"),
)


def run_scenario(screen: DemoScreen, processes: DemoProcesses, *, keep: bool) -> None:
    """Plays from the empty folder to the last act. `keep` leaves the fleet running until Ctrl-C."""
    start = time.monotonic()
    processes.hosts.prepare()
    screen.say("A fleet is a Git repository. This one has three hosts, four machines and a database volume")
    processes.make_repo()
    for line in processes.git(processes.checkout, "log", "--format=%h %an: %s", "main").splitlines():
        screen.quote(line)
    screen.say(processes.hosts.title)
    processes.reconcile()
    processes.begin_hosts()
    location = locate_repo(str(processes.repo), processes.environment, processes.folder)
    with open_fleet(location, processes.environment, with_reports=False) as fleet:
        scenario = Scenario(processes, screen, fleet)
        scenario.act()
        scenario.finish(time.monotonic() - start, keep=keep)
        if keep:
            scenario.play()


@dataclass(frozen=True, slots=True)
class Scenario:
    """The play: each act is a commit or a failure, and is over when the target branch shows the answer. It asks no
    process how it is; it looks at the repo, as a user would."""

    processes: DemoProcesses
    screen: DemoScreen
    fleet: FleetRepo

    def act(self) -> None:
        """All acts in order. The times that it tells are measured, from the commit or the failure to the answer on
        the target branch."""
        say, processes, hosts = self.screen.say, self.processes, self.processes.hosts
        took = self.wait(all_running, "all machines run")
        say(f"All machines run after {format_duration(took)}. A commit adds one more")
        (processes.checkout / "machines/web-3.yaml").write_text(hosts.fit_manifest(WEB_3))
        processes.commit("add web-3")
        took = self.wait(lambda now: all_running(now) and has(now, "web-3"), "web-3 runs")
        lost = self.host_of("web-3")
        say(
            f"web-3 runs on {lost}, {format_duration(took)} after its commit. {hosts.failing.format(name=lost)}"
        )
        guests = hosts.guests(lost)
        processes.fail(lost)
        took = self.wait(lambda now: not is_ready(now, lost), f"{lost} is not ready")
        still = f"The reconciler noticed after {format_duration(took)}. {describe_guests(len(guests))}"
        say(f"{still}, so gitvirt leaves them alone. Now the host comes back")
        processes.come_back(lost)
        took = self.wait(lambda now: all_running(now) and is_ready(now, lost), f"{lost} is back")
        same = ", in the same QEMU process" if guests and guests == hosts.guests(lost) else ""
        say(
            f"{lost} is back after {format_duration(took)}, with every machine as before{same}. A commit removes web-3"
        )
        (processes.checkout / "machines/web-3.yaml").unlink()
        processes.commit("web-3 is no longer needed")
        self.undo()
        (processes.checkout / "machines/web-3.yaml").unlink()
        processes.commit("web-3 is really no longer needed")
        took = self.wait(lambda now: not has(now, "web-3"), "web-3 is gone")
        say(
            f"Gone after {format_duration(took)}: stopped, {UNDO} later ordered on live, confirmed by the host, its file removed"
        )
        host = self.host_of("web-1")
        console = open_session(processes, host, "web-1", hosts.keys)
        say(f"The serial console of web-1, as `gitvirt console web-1` on {host} shows it")
        for line in console:
            self.screen.quote(line)

    def undo(self) -> None:
        """The file of web-3 was removed: the machine is stopped and kept, and a revert brings back the same one."""
        before = self.uid_of("web-3")
        took = self.wait(lambda now: is_kept(now, "web-3"), "web-3 is to stop")
        self.screen.say(
            f"web-3 was ordered to stop after {format_duration(took)}, and its disk is kept for {UNDO} (limits.undo). Someone needs it: git revert"
        )
        self.processes.git(self.processes.checkout, "revert", "--no-edit", "HEAD")
        self.processes.git(self.processes.checkout, "push", "--quiet", "origin", "main")
        took = self.wait(lambda now: all_running(now) and has(now, "web-3"), "web-3 is back")
        same = "the same machine, with its disk" if self.uid_of("web-3") == before else "a new machine"
        self.screen.say(
            f"web-3 runs again after {format_duration(took)}: {same}. Now a commit removes it for good"
        )

    def finish(self, seconds: float, *, keep: bool) -> None:
        """Shows the history of the play and what to try next, which is not what `keep` does already."""
        self.screen.say(f"The history of these {format_duration(seconds)}: git log --graph live")
        history = self.processes.git(self.processes.repo, "log", "--graph", "--format=%h %an: %s", "live")
        for line in history.rstrip().splitlines():
            self.screen.quote(line)
        self.screen.say("What to try next")
        for command, about in NEXT:
            if not (keep and command == KEEP):
                self.screen.suggest(command, about)

    def play(self) -> None:
        """Keeps the fleet running and its picture up to date until Ctrl-C, for whoever wants to try the commands
        that it names."""
        screen, processes = self.screen, self.processes
        host = self.host_of("web-1")
        console = f"gitvirt console --address {processes.socket(host)} web-1"
        screen.say("The fleet runs until Ctrl-C. In another terminal:")
        for line in (
            f"export GITVIRT_REPO={processes.repo}",
            "gitvirt get machines -A; gitvirt tree; gitvirt top; gitvirt explain machine db",
            f"cd {processes.checkout}    # change something, commit, push",
            " ".join((*processes.hosts.inside(host), console)),
            f"less {processes.folder / 'logs'}/*",
        ):
            screen.quote(line)
        screen.terminal.line()
        now = self.fleet.again()
        while not processes.interrupt.came:
            screen.show(now.repo, read_inventory(now.repo, now.snapshot.target), "Ctrl-C ends it")
            now = next(follow_fleet(now, processes.interrupt.waker, 1.0), now)

    def wait(self, is_so: Callable[[FleetInventory], bool], what: str) -> float:
        """Shows the fleet until it is as wanted; how long that took."""
        start = time.monotonic()
        now = self.fleet.again()
        while True:
            found = read_inventory(now.repo, now.snapshot.target)
            took = time.monotonic() - start
            if is_so(found):
                self.screen.show(now.repo, found)
                self.screen.settle()
                return took
            self.screen.show(now.repo, found, f"{format_duration(took)}  until {what}")
            self.processes.check()
            if took > PATIENCE_SECONDS:
                cause = f"{what}: not reached after {format_duration(PATIENCE_SECONDS)}"
                cure = f"this is a bug; the logs were in {self.processes.folder / 'logs'}"
                raise CommandError(cause, cure, Exit.TIMED_OUT)
            now = next(follow_fleet(now, self.processes.interrupt.waker, 1.0), now)

    def host_of(self, name: str) -> str:
        """The pool that a machine is assigned to. The play cannot know it: the scheduler chooses."""
        return pool_of(self.find(name))

    def uid_of(self, name: str) -> str:
        """Which life of a machine it is."""
        return self.find(name).object.metadata.uid

    def find(self, name: str) -> InventoryItem:
        now = self.fleet.again()
        item = read_inventory(now.repo, now.snapshot.target).get(Kind.MACHINE, "default", name)
        if item is None:
            raise CommandError(f"{name} is gone", f"the logs are in {self.processes.folder / 'logs'}")
        return item


def describe_guests(guests: int) -> str:
    if guests == 0:
        return "Its machines may still be running"
    return "Its guest keeps running" if guests == 1 else f"Its {guests} guests keep running"


def all_running(fleet: FleetInventory) -> bool:
    machines = fleet.of(Kind.MACHINE)
    return bool(machines) and all(columns.state(item) == "Running" for item in machines)


def has(fleet: FleetInventory, name: str) -> bool:
    return fleet.get(Kind.MACHINE, "default", name) is not None


def is_kept(fleet: FleetInventory, name: str) -> bool:
    item = fleet.get(Kind.MACHINE, "default", name)
    return item is not None and columns.shown_state(item).word == columns.DELETED


def is_ready(fleet: FleetInventory, pool: str) -> bool:
    item = fleet.get(Kind.MACHINE_POOL, "", pool)
    return item is not None and columns.state(item) == "Ready"
