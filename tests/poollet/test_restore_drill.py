"""A restore drill: backup, changes, restore, recovery, on a real bare repo with real reconcilers, poollets and simulated hosts.

No machine ever runs on two hosts, and all converge after the approvals that `gitvirt plan` prints.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from iri.identity import UID_LABELS
from iri.machine import RuntimeMachine
from poollet.decide.decide import decide
from reconciler.decide.compose import pending_approvals
from reconciler.gitstore.memory import Fault, no_fault
from reconciler.gitstore.mirror.mirror import Mirror
from reconciler.gitstore.objects.commit import SOURCE_TRAILER, Sign
from reconciler.gitstore.remote import address
from reconciler.gitstore.remote.access import RemoteAccess
from reconciler.gitstore.remote.git_transport import GitTransport
from reconciler.gitstore.repo import Refs
from reconciler.gitstore.store import Store
from reconciler.loop.outcome import Committed, NoChange, Outcome, TickBlocked
from reconciler.loop.tick import ProcessInputs, Reconciler
from reconciler.world.reports.start_wait import StartWait
from reconciler.write.tick_commit import CommitIdentity
from tests.poollet.fleet import LIVE, MAIN, SETTINGS, Fleet, machine, machine_class
from tests.poollet.stage import Note, Run, StagedHost, Time
from tests.servers import repository

A, B = "host-1", "host-2"
NAME = "machinepoollet.ironcore.dev/machine-name"
POOL = (
    "apiVersion: compute.ironcore.dev/v1alpha1\nkind: MachinePool\nmetadata: {{name: {name}}}\n"
    "spec:\n  unschedulable: {cordon}\n"
)
DRAINED = "  taints: [{key: gitvirt.dev/drain, effect: NoExecute, value: force}]\n"
ROUND_MS = 20_000
VARIANTS = ("all", "silent", "down", "mirror", "live")


class BareFleet(Fleet):
    """The repo is a bare one on disk, and each party has a mirror of it."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.repo = folder, repository.bare(folder / "fleet.git")
        self.mirrors: list[Mirror] = []
        super().__init__(is_bare=True)

    def client(self, refs: Refs, fault: Fault = no_fault, sign: Sign | None = None) -> Store:
        mirror = Mirror(self.folder / f"mirror-{len(self.mirrors)}", str(self.repo))
        self.mirrors.append(mirror)
        place = address.parse_address(str(self.repo), self.folder)
        transport = GitTransport(mirror.repo, place, RemoteAccess(), os.environ, inherit=(mirror.lock,))
        return Store(mirror, transport, refs, sign=sign, seconds=60)

    def head(self, ref: str = LIVE) -> str | None:
        return repository.git(self.repo, "for-each-ref", "--format=%(objectname)", ref).strip() or None

    def close(self) -> None:
        for mirror in self.mirrors:
            mirror.close()


@dataclass
class Drill:
    fleet: BareFleet
    time: Time = field(default_factory=Time)
    hosts: dict[str, StagedHost] = field(default_factory=dict)
    runs: dict[str, Run] = field(default_factory=dict)
    notes: dict[str, Note] = field(default_factory=dict)
    lives: int = 0
    silent: set[str] = field(default_factory=set)
    approved: list[str] = field(default_factory=list)
    reconciler: Reconciler = field(init=False)
    outcome: Outcome | None = None

    def __post_init__(self) -> None:
        self.start_reconciler()
        for number, name in enumerate((A, B)):
            self.hosts[name] = StagedHost(self.time, seed=number + 1)
            self.start_poollet(name, Note())

    def start_poollet(self, name: str, note: Note, more_pools: tuple[str, ...] = ()) -> None:
        """On a disk with that note of its last report."""
        self.notes[name], self.lives = note, self.lives + 1
        self.runs[name] = Run(
            self.fleet,
            self.time,
            self.hosts[name],
            name=name,
            instance=self.lives,
            decide=decide,
            note=note,
            more_pools=more_pools,
        )

    def start_reconciler(self) -> None:
        """A process without memory and without a mirror."""
        around = ProcessInputs(start_wait=StartWait())
        self.reconciler = Reconciler(self.fleet.client(Refs()), Refs(), CommitIdentity("one"), around=around)

    def round(self) -> None:
        self.time.ms += ROUND_MS
        self.outcome = self.reconciler.tick(self.time.clock.now)
        assert isinstance(self.outcome, Committed | NoChange | TickBlocked), self.outcome
        for name in self.hosts:
            if name not in self.silent:
                self.runs[name].turn()
            self.check()

    def rounds(self, count: int) -> None:
        for _ in range(count):
            self.round()

    def check(self) -> None:
        names = [name for host in self.hosts for name in self.guests(host)]
        assert len(names) == len(set(names)), f"on two hosts: {sorted(names)}"

    def guests(self, host: str) -> dict[str, str]:
        """The uid of each machine on the host, by name."""
        found = self.hosts[host].host.state.objects(RuntimeMachine).values()
        return {
            one.labels[NAME]: one.labels[UID_LABELS[RuntimeMachine]] for one in found if not one.deleted_at
        }

    def approve(self) -> None:
        """People approve what is printed, once each."""
        for each in pending_approvals(self.reconciler.world):
            if each.trailer and each.trailer not in self.approved:
                self.approved.append(each.trailer)
                self.fleet.commit({"note": each.trailer}, MAIN, message=f"yes\n\n{each.trailer}")

    def recover(self) -> None:
        for _ in range(12):
            self.round()
            self.approve()

    def is_held(self) -> bool:
        return any("LiveRewritten" in str(run.report().pools) for run in self.runs.values())

    def restore(self, variant: str, backup: Path) -> None:
        """Then people push the source that their clones have."""
        repo, later = self.fleet.repo, self.fleet.head(MAIN)
        assert later is not None
        if variant == "live":
            repository.git(repo, "update-ref", LIVE, repository.git(backup, "rev-parse", LIVE).strip())
            return
        clone = self.fleet.folder / "clone.git"
        repository.git(self.fleet.folder, "clone", "--quiet", "--mirror", str(repo), str(clone))
        if variant == "mirror":
            repository.git(backup, "push", "--quiet", "--mirror", str(repo))
        else:
            shutil.rmtree(repo)
            repository.git(self.fleet.folder, "clone", "--quiet", "--mirror", str(backup), str(repo))
        repository.git(clone, "push", "--quiet", str(repo), MAIN)


@pytest.fixture
def drill(tmp_path: Path) -> Iterator[Drill]:
    fleet = BareFleet(tmp_path)
    fleet.commit(
        {
            "gitvirt.yaml": SETTINGS,
            "classes.yaml": machine_class(),
            "old.yaml": machine("old"),
            "b.yaml": POOL.format(name=B, cordon="true"),
        },
        MAIN,
    )
    yield Drill(fleet)
    fleet.close()


@pytest.mark.parametrize("is_fresh", [False, True], ids=["running", "fresh"])
@pytest.mark.parametrize("variant", VARIANTS)
def test_no_machine_runs_twice_by_a_restore(drill: Drill, variant: str, is_fresh: bool) -> None:
    drill.rounds(6)
    assert list(drill.guests(A)) == ["old"]
    backup = drill.fleet.folder / "backup.git"
    if variant == "down":
        drill.silent.add(B)
        drill.rounds(1)
    repository.git(drill.fleet.folder, "clone", "--quiet", "--mirror", str(drill.fleet.repo), str(backup))
    drill.fleet.commit({"web.yaml": machine("web")}, MAIN)
    drill.rounds(3)
    ran = drill.guests(A)
    assert sorted(ran) == ["old", "web"]
    drill.fleet.commit({"b.yaml": POOL.format(name=B, cordon="false")}, MAIN)
    drill.rounds(2)
    if variant == "silent":
        drill.silent.add(A)
    drill.restore(variant, backup)
    drill.silent.discard(B)
    if is_fresh:
        drill.start_reconciler()
    if variant == "silent":
        drill.rounds(6)
        drill.silent.clear()
    drill.recover()
    assert drill.guests(A) == ran
    assert drill.guests(B) == {}
    assert not drill.is_held()
    assert isinstance(drill.outcome, NoChange)
    assert len(drill.approved) <= 1 + is_fresh


@pytest.mark.parametrize("is_fresh", [False, True], ids=["running", "fresh"])
@pytest.mark.parametrize("has_disk", [True, False], ids=["restarted", "reinstalled"])
def test_a_host_that_starts_after_a_restore_takes_no_order_of_the_backup(
    drill: Drill, *, has_disk: bool, is_fresh: bool
) -> None:
    """Its report and live are both out of the backup, and order it to run what has moved to another host since."""
    drill.rounds(6)
    assert list(drill.guests(A)) == ["old"]
    backup = drill.fleet.folder / "backup.git"
    repository.git(drill.fleet.folder, "clone", "--quiet", "--mirror", str(drill.fleet.repo), str(backup))
    drill.fleet.commit(
        {
            "b.yaml": POOL.format(name=B, cordon="false"),
            "a.yaml": POOL.format(name=A, cordon="true") + DRAINED,
        },
        MAIN,
    )
    drill.rounds(8)
    moved = drill.guests(B)
    assert list(moved) == ["old"]
    drill.restore("all", backup)
    drill.start_poollet(A, drill.notes[A] if has_disk else Note())
    drill.silent.add(B)
    if is_fresh:
        drill.start_reconciler()
    for _ in range(6):
        drill.time.ms += ROUND_MS
        drill.runs[A].turn()
    assert drill.guests(A) == {}, "no reconciler has answered"
    drill.silent.clear()
    drill.recover()
    assert (drill.guests(A), drill.guests(B)) == ({}, moved)
    assert not drill.is_held()
    assert drill.runs[A].publisher.asks == "", "it was answered"


def test_a_host_that_lost_its_disk_acts_again_once_the_reconciler_has_answered(drill: Drill) -> None:
    drill.rounds(6)
    drill.start_poollet(A, Note())
    drill.runs[A].turn()
    assert drill.runs[A].publisher.asks
    drill.fleet.commit({"web.yaml": machine("web")}, MAIN)
    drill.rounds(4)
    assert not drill.runs[A].publisher.asks
    assert sorted(drill.guests(A)) == ["old", "web"]
    commits = repository.git(drill.fleet.repo, "log", "--format=%s", LIVE).splitlines()
    drill.start_poollet(A, drill.notes[A])
    drill.rounds(3)
    assert not drill.runs[A].publisher.asks, "it remembers"
    assert repository.git(drill.fleet.repo, "log", "--format=%s", LIVE).splitlines() == commits


@pytest.mark.parametrize("is_restored", [False, True], ids=["answered", "restored"])
def test_an_answer_between_two_runs_serves_the_next_run_of_the_same_disk(
    drill: Drill, is_restored: bool
) -> None:
    """As with `--once`. Not where the Git server was restored meanwhile: then that run's report is not the one on the ref."""
    drill.rounds(6)
    backup = drill.fleet.folder / "backup.git"
    repository.git(drill.fleet.folder, "clone", "--quiet", "--mirror", str(drill.fleet.repo), str(backup))
    drill.fleet.commit({"web.yaml": machine("web")}, MAIN)
    drill.start_poollet(A, Note())
    for _ in range(3):
        drill.time.ms += ROUND_MS
        drill.runs[A].turn()
    question = drill.runs[A].publisher.asks
    assert question
    drill.silent.add(A)
    drill.rounds(3)
    assert sorted(drill.guests(A)) == ["old"], "that run is over"
    if is_restored:
        drill.restore("all", backup)
    drill.start_poollet(A, drill.notes[A])
    for _ in range(6):
        drill.time.ms += ROUND_MS
        drill.runs[A].turn()
    assert drill.runs[A].publisher.asks == (drill.runs[A].agent.setup.instance if is_restored else "")
    assert sorted(drill.guests(A)) == (["old"] if is_restored else ["old", "web"])


def test_the_grant_of_another_pool_is_no_answer_to_a_host_that_has_orders_already(drill: Drill) -> None:
    """The reconciler is fresh and awaits the other host, which runs what the backup assigns to this one."""
    drill.rounds(6)
    backup = drill.fleet.folder / "backup.git"
    repository.git(drill.fleet.folder, "clone", "--quiet", "--mirror", str(drill.fleet.repo), str(backup))
    drained = {"b.yaml": POOL.format(name=B, cordon="false"), "a.yaml": POOL.format(name=A, cordon="true")}
    drill.fleet.commit({**drained, "a.yaml": drained["a.yaml"] + DRAINED}, MAIN)
    drill.rounds(8)
    assert list(drill.guests(B)) == ["old"]
    drill.fleet.commit({"a.yaml": POOL.format(name=A, cordon="false")}, MAIN)
    drill.rounds(2)
    drill.restore("all", backup)
    drill.silent.add(B)
    drill.hosts[A] = StagedHost(drill.time, seed=1)
    drill.start_poollet(A, Note(), more_pools=("host-1-more",))
    for _ in range(6):
        drill.time.ms += ROUND_MS
        drill.runs[A].turn()
    drill.start_reconciler()
    drill.rounds(3)
    assert drill.runs[A].publisher.asks, "the other host is awaited"
    assert drill.guests(A) == {}


def test_a_host_without_memory_is_answered_while_its_pool_is_deleted(drill: Drill) -> None:
    """Or what is on the pool would never be removed."""
    drill.silent.add(B)
    own, rules = POOL.format(name=A, cordon="false"), "pools: declared\nlimits: {undo: 0s}\n"
    drill.fleet.commit({"gitvirt.yaml": SETTINGS + rules, "a.yaml": own}, MAIN)
    drill.rounds(6)
    assert list(drill.guests(A)) == ["old"]
    drill.fleet.commit({"a.yaml": None, "old.yaml": None}, MAIN)
    drill.silent.add(A)
    for _ in range(3):
        drill.round()
        drill.approve()
    drill.silent.discard(A)
    drill.start_poollet(A, Note())
    drill.rounds(8)
    assert drill.guests(A) == {}
    assert "old.yaml" not in repository.git(drill.fleet.repo, "ls-tree", "-r", "--name-only", LIVE).split()


def test_a_file_that_cannot_be_read_while_live_is_lost_gives_no_machine_away(drill: Drill) -> None:
    """Its name is known from the orphans of the host that runs it."""
    drill.fleet.commit({"web.yaml": machine("web")}, MAIN)
    drill.rounds(6)
    ran = drill.guests(A)
    assert sorted(ran) == ["old", "web"]
    drill.fleet.commit({"b.yaml": POOL.format(name=B, cordon="false"), "web.yaml": "spec: ["}, MAIN)
    drill.rounds(2)
    repository.git(drill.fleet.repo, "update-ref", "-d", LIVE)
    drill.recover()
    assert not drill.is_held()
    drill.fleet.commit({"web.yaml": machine("web")}, MAIN)
    drill.rounds(5)
    assert (drill.guests(A), drill.guests(B)) == (ran, {})
    shown = repository.git(drill.fleet.repo, "show", f"{LIVE}:web.yaml")
    assert "OnAnotherHost" in shown


@pytest.mark.parametrize("is_applied", [True, False], ids=["imitated, so that hosts apply it", "foreign"])
def test_live_that_was_put_back_by_hand_as_the_page_says_runs_on(drill: Drill, is_applied: bool) -> None:
    """docs/audit.md#put-live-back: no reconciler runs while `live` is forced back. Hosts that applied the bad commit await an approval."""
    drill.rounds(6)
    ran, good, source = drill.guests(A), drill.fleet.head(LIVE), drill.fleet.head(MAIN)
    assert list(ran) == ["old"]
    assert good is not None
    trailers = [(SOURCE_TRAILER, source)] if is_applied else []
    bad = drill.fleet.commit({"old.yaml": None}, LIVE, trailers=trailers)
    for _ in range(3):
        drill.time.ms += ROUND_MS
        for run in drill.runs.values():
            run.turn()
    for run in drill.runs.values():
        poollet = run.report().poollet
        assert poollet is not None
        assert (poollet.live_commit == bad) is is_applied
    repository.git(drill.fleet.repo, "push", "--quiet", "--force", ".", f"{good}:{LIVE}")
    drill.start_reconciler()
    drill.recover()
    assert drill.guests(A) == ran
    assert not drill.is_held()
    assert isinstance(drill.outcome, NoChange)
    assert bool(drill.approved) is is_applied
    assert "old" in repository.git(drill.fleet.repo, "show", f"{LIVE}:old.yaml")
