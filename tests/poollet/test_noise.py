"""How many commits the reconciler makes in the life of a machine: with real ticks, real poollets and simulated hosts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import pytest
from msgspec.structs import replace

from iri.simulated.faults.fault_rules import FaultRule
from iri.simulated.profile import Times
from iri.simulated.seeded_random import DurationRange
from reconciler.gitstore.objects.commit import decode_commit
from schemas.kinds import Key, Kind
from schemas.model import Machine
from tests.iri.quick_host import PROFILE
from tests.poollet.fleet import LIVE, MAIN, SETTINGS, machine, machine_class
from tests.poollet.simulation import RECONCILER, Simulation
from tests.poollet.test_convergence import VOLUME_CLASS, volume

SLOWLY = DurationRange(0.3, 0.6, 1.2)  # so that each step of a host is seen by itself
SLOW_HOST = replace(PROFILE, times=Times(**dict.fromkeys(Times.__struct_fields__, SLOWLY)))
CLASSES: dict[str, str | None] = {
    "classes/small.yaml": machine_class(),
    "classes/large.yaml": machine_class("large", "4", "4Gi"),
    "classes/standard.yaml": VOLUME_CLASS,
}
LOCAL = "  volumes:\n  - {name: root, localDisk: {sizeLimit: 1Gi}}\n"
DISK = "  volumes:\n  - {name: data, volumeRef: {name: data}}\n"
SNAPSHOT = (
    "apiVersion: storage.ironcore.dev/v1alpha1\nkind: VolumeSnapshot\nmetadata: {name: before}\n"
    "spec: {volumeRef: {name: data}}\n"
)
POOL = "apiVersion: compute.ironcore.dev/v1alpha1\nkind: MachinePool\nmetadata: {{name: {name}}}\n"
DRAINED = (
    "spec:\n  unschedulable: true\n  taints:\n  - {key: gitvirt.dev/drain, effect: NoExecute, value: force}\n"
)
OWN_DISK = (
    "  volumes:\n  - name: data\n    ephemeral: {volumeTemplate: {spec: "
    "{volumeClassRef: {name: standard}, resources: {storage: 1Gi}}}}\n"
)
TENTH_MS = 100


@dataclass
class Watched(Simulation):
    """The reconciler ticks after each turn of a host, as it does when a push wakes it; hosts have a turn every tenth of a second."""

    subjects: list[str] = field(default_factory=list)

    def round(self) -> None:
        self._tick()
        for name in self.hosts:
            self._living(name, lambda name=name: self._host(name))  # type: ignore[misc]
            self._tick()
        self.rounds += 1
        self.time.ms += TENTH_MS

    def _tick(self) -> None:
        before = self.fleet.head(LIVE)
        self._living(RECONCILER, self._reconcile)
        if (head := self.fleet.head(LIVE)) is not None and head != before:
            self.fleet.writer.snapshot()
            commit = decode_commit(self.fleet.writer.read(head))
            self.subjects.append(commit.message.partition("\n")[0])

    def after(self, edits: Mapping[str, str | None], seconds: float = 8) -> list[str]:
        """The subjects of the reconciler's commits after one of a person."""
        self.subjects.clear()
        if edits:
            self.fleet.commit(edits, MAIN)
        self.rest(seconds)
        return list(self.subjects)

    def pending_class(self, name: str) -> str:
        """The class that `live` says a machine has instead of the ordered one."""
        (found,) = (each for each in self.live().objects() if each.key == Key(Kind.MACHINE, "default", name))
        assert isinstance(found, Machine)
        return found.status.machine_class_ref.name if found.status.machine_class_ref is not None else ""

    def assignment(self, name: str) -> str:
        """The id of the present one."""
        (found,) = (each for each in self.live().objects() if each.key == Key(Kind.MACHINE, "default", name))
        assert isinstance(found, Machine)
        assert found.status.assignment is not None
        return found.status.assignment.id

    def rest(self, seconds: float) -> None:
        for _ in range(int(seconds * 1000 / TENTH_MS)):
            self.round()


def start_fleet(*hosts: str, more_pools: tuple[str, ...] = ()) -> Watched:
    simulation = Watched(hosts or ("host-1",), {}, profile=SLOW_HOST, more_pools=more_pools)
    simulation.after({"gitvirt.yaml": SETTINGS, **CLASSES}, seconds=4)
    return simulation


def test_the_life_of_a_machine_takes_few_commits() -> None:
    site = start_fleet("host-1", "host-2")
    site.after({"m/other.yaml": machine("other")})
    assert len(site.after({"m/web.yaml": machine("web")})) == 2, "start"
    restart = machine("web", more="  annotations: {gitvirt.dev/restart: once}\n")
    assert len(site.after({"m/web.yaml": restart})) == 1, "restart"
    assert len(site.after({"m/web.yaml": restart.replace("small", "large")})) == 1, "resize"
    assert len(site.after({"m/web.yaml": machine("web", spec="  power: Off\n")})) == 2, "stop"
    assert len(site.after({"m/web.yaml": None})) == 2, "removal"
    assert site.after({}, seconds=60) == [], "at rest"


@pytest.mark.parametrize("size", ["64", "999"], ids=["beside the others", "at all"])
def test_a_resize_that_does_not_fit_is_on_live_and_holds_up_no_other_machine(size: str) -> None:
    site = start_fleet()
    site.after({"m/first.yaml": machine("first")})
    site.after({"classes/huge.yaml": machine_class("huge", size, "4Gi"), "m/web.yaml": machine("web")})
    huge = machine("web").replace("name: small", "name: huge")
    assert len(site.after({"m/web.yaml": huge})) == 2, "synced, and refused"
    assert site.pending_class("web") == "small"
    assert len(site.after({"m/other.yaml": machine("other")})) == 2
    assert site.outcome()["Machine/default/other"] == ("Running", "On", ())
    assert len(site.after({"m/web.yaml": machine("web")})) == 1, "taken back"
    site.after({"m/third.yaml": machine("third")})
    assert site.pending_class("web") == ""


def test_a_resize_that_fits_later_is_made_then() -> None:
    site = start_fleet()
    huge = machine("web").replace("name: small", "name: huge")
    site.after({"classes/huge.yaml": machine_class("huge", "64", "4Gi"), "m/web.yaml": machine("web")})
    site.after({"m/other.yaml": machine("other")})
    site.after({"m/web.yaml": huge})
    assert site.pending_class("web") == "small"
    site.after({"m/other.yaml": None})
    assert site.pending_class("web") == ""


def test_a_volume_adds_no_commit_to_the_start_of_its_machine() -> None:
    site = start_fleet()
    assert len(site.after({"m/db.yaml": machine("db", spec=DISK), "v/data.yaml": volume()})) == 2, "start"
    assert site.outcome()["Volume/default/data"] == ("Available", '{"storage": "1Gi"}')
    assert len(site.after({"v/data.yaml": volume("2Gi")})) == 1, "resize"
    assert len(site.after({"s/before.yaml": SNAPSHOT})) == 2, "snapshot"
    copy = volume("2Gi").replace("name: data", "name: copy")
    copy += "  dataSource: {volumeSnapshotRef: {name: before}}\n"
    assert len(site.after({"v/copy.yaml": copy})) == 2, "restore"


def test_a_rolling_restart_takes_one_commit_for_each_machine() -> None:
    site = start_fleet("host-1", "host-2")
    names = ("web-1", "web-2", "web-3")
    assert len(site.after({f"m/{name}.yaml": machine(name) for name in names})) <= 4
    for name in names:
        text = machine(name, more="  annotations: {gitvirt.dev/restart: next}\n")
        assert len(site.after({f"m/{name}.yaml": text})) == 1, name


@pytest.mark.parametrize(
    ("hosts", "spec"),
    [
        (("host-1",), LOCAL),
        (("host-1", "host-2"), LOCAL),
        (("host-1",), f"{LOCAL}  - {{name: data, volumeRef: {{name: data}}}}\n"),
    ],
    ids=["one host", "two hosts", "with a volume"],
)
def test_a_replacement_takes_the_order_the_place_and_the_outcome(hosts: tuple[str, ...], spec: str) -> None:
    """Fewer cannot keep the laws of handover: what takes the place away and what gives the next one are two commits."""
    site = start_fleet(*hosts)
    site.after({"m/web.yaml": machine("web", spec=spec), "v/data.yaml": volume()})
    before = site.assignment("web")
    order = f"  annotations: {{gitvirt.dev/recreate: {before}}}\n"
    subjects = site.after({"m/web.yaml": machine("web", more=order, spec=spec)}, seconds=14)
    assert [each.partition(" ")[0] for each in subjects] == ["EVICT", "schedule", "web"], subjects
    assert site.assignment("web") != before
    assert str(site.outcome()["Machine/default/web"]).startswith("('Running', 'On',")


DISKS = pytest.mark.parametrize(
    ("spec", "volumes"),
    [
        pytest.param("", {}, id="no disk"),
        pytest.param(LOCAL, {}, id="a local disk"),
        pytest.param(DISK, {"v/data.yaml": volume()}, id="a volume"),
        pytest.param(OWN_DISK, {}, id="an ephemeral volume"),
    ],
)


@DISKS
def test_a_drain_takes_the_order_the_place_and_the_outcome(spec: str, volumes: dict[str, str]) -> None:
    """As a replacement, whatever the machine has attached: the claim of a volume goes with the place."""
    site = start_fleet(more_pools=("host-1-b",))
    site.after({f"p/{name}.yaml": POOL.format(name=name) for name in ("host-1", "host-1-b")})
    site.after({"m/web.yaml": machine("web", spec=spec), **volumes})
    subjects = site.after({"p/host-1.yaml": POOL.format(name="host-1") + DRAINED}, seconds=14)
    assert [each.partition(" ")[0] for each in subjects] == ["EVICT", "schedule", "web"], subjects
    assert str(site.outcome()["Machine/default/web"]).startswith("('Running', 'On',")
    assert site.after({}, seconds=20) == [], "at rest"


@DISKS
def test_a_drain_without_another_pool_takes_two_commits_and_the_way_back_two(
    spec: str, volumes: dict[str, str]
) -> None:
    site = start_fleet()
    site.after(
        {"m/web.yaml": machine("web", spec=spec), **volumes, "p/host-1.yaml": POOL.format(name="host-1")}
    )
    subjects = site.after({"p/host-1.yaml": POOL.format(name="host-1") + DRAINED}, seconds=14)
    assert [each.partition(" ")[0] for each in subjects] == ["EVICT", "withdraw"], subjects
    assert str(site.outcome()["Machine/default/web"]).startswith("('Pending', 'On',")
    assert len(site.after({"p/host-1.yaml": POOL.format(name="host-1")})) == 2
    assert str(site.outcome()["Machine/default/web"]).startswith("('Running', 'On',")


def test_a_deletion_that_is_undone_and_one_that_is_not_take_few_commits() -> None:
    site = start_fleet()
    site.after({"gitvirt.yaml": f"{SETTINGS}limits: {{undo: 9s}}\n"})
    names = ("web", "other", "third", "fourth")
    site.after({f"m/{name}.yaml": machine(name, spec=LOCAL) for name in names})
    assert len(site.after({"m/web.yaml": None}, seconds=6)) == 1, "stop"
    assert len(site.after({"m/web.yaml": machine("web", spec=LOCAL)})) == 2, "bring back, running"
    assert len(site.after({"m/web.yaml": None}, seconds=20)) == 3, "stop, order, remove"
    assert site.after({}, seconds=20) == [], "at rest"


def test_an_error_with_a_number_makes_one_commit_and_not_one_for_each_try() -> None:
    site = start_fleet()
    for number in range(50):
        rule = FaultRule(call="CreateMachine", code="INTERNAL", times=1, message=f"try {number} failed")
        site.machines["host-1"].faults.add(rule)
    subjects = site.after({"m/web.yaml": machine("web")}, seconds=60)
    tries = 50 - sum(rule.times > 0 for rule in site.machines["host-1"].faults.list_rules())
    assert tries >= 3
    assert len(subjects) == 2


def test_a_lost_host_is_written_at_once_and_so_is_its_return() -> None:
    site = start_fleet("host-1", "host-2")
    site.after({"m/web.yaml": machine("web")})
    site.hosts = ("host-1",)
    assert len(site.after({}, seconds=80)) == 1
    site.hosts = ("host-1", "host-2")
    assert len(site.after({}, seconds=10)) == 1


def write_foreign(site: Watched) -> None:
    """A person writes to `live`, and hosts see that before the reconciler does."""
    site.fleet.commit({"classes/small.yaml": machine_class("small", "8", "8Gi")}, LIVE, trailers=())
    for name in site.hosts:
        site._living(name, lambda name=name: site._host(name))  # type: ignore[misc]


def list_reasons(site: Watched) -> set[str]:
    """Why pools are not ready, as `live` says."""
    found = [getattr(one, "status", None) for one in site.live().objects()]
    conditions = [each for status in found for each in getattr(status, "conditions", ())]
    return {each.reason for each in conditions if each.type == "FollowsLive" and each.status != "True"}


def test_what_another_wrote_to_live_is_put_back_by_one_commit_and_no_pool_is_in_trouble() -> None:
    site = start_fleet("host-1", "host-2")
    site.after({"m/web.yaml": machine("web")})
    write_foreign(site)
    (subject,) = site.after({})
    assert subject.startswith("put back classes/small.yaml"), subject
    assert list_reasons(site) == set()


def test_pools_say_that_live_is_foreign_where_no_reconciler_puts_it_back() -> None:
    site = start_fleet("host-1", "host-2")
    site.after({"m/web.yaml": machine("web")})
    write_foreign(site)
    for _ in range(31):
        site.time.ms += 1000
        for name in site.hosts:
            site._living(name, lambda name=name: site._host(name))  # type: ignore[misc]
    for name in site.hosts:
        assert "LiveForeign" in str(site.runs[name].report().pools), name
    site.after({})
    assert list_reasons(site) == set()


@pytest.mark.parametrize("is_declared", [False, True], ids=["announced", "declared"])
def test_hosts_that_start_with_the_fleet_are_granted_in_one_commit(is_declared: bool) -> None:
    """The first has what people committed, the second what all hosts reported meanwhile. A declared pool was on `live` as not announced: a
    third says that all are ready."""
    hosts = tuple(f"host-{number}" for number in range(4))
    site = Watched(hosts, {}, profile=SLOW_HOST)
    site.hosts = ()
    pools = {f"pools/{name}.yaml": POOL.format(name=name) for name in hosts} if is_declared else {}
    subjects = site.after({"gitvirt.yaml": SETTINGS, **CLASSES, **pools}, seconds=0.3)
    for number in range(len(hosts)):
        site.hosts = hosts[: number + 1]
        subjects += site.after({}, seconds=0.3)
    subjects += site.after({}, seconds=10)
    assert len(subjects) == (3 if is_declared else 2), subjects
    assert site.after({}, seconds=10) == [], "at rest"
    assert len(site.after({"m/web.yaml": machine("web")})) == 2, "start"


def test_a_machine_that_waits_for_the_first_host_does_not_wait_for_others() -> None:
    site = Watched(("host-1", "host-2"), {}, profile=SLOW_HOST)
    site.hosts = ("host-1",)
    subjects = site.after({"gitvirt.yaml": SETTINGS, **CLASSES, "m/web.yaml": machine("web")}, seconds=2)
    assert any(each.startswith("schedule web") for each in subjects), subjects


def test_a_host_that_comes_later_is_granted_at_once() -> None:
    site = Watched(("host-1", "host-2"), {}, profile=SLOW_HOST)
    site.hosts = ("host-1",)
    site.after({"gitvirt.yaml": SETTINGS, **CLASSES})
    site.hosts = ("host-1", "host-2")
    assert len(site.after({}, seconds=0.3)) == 1
