"""A name that another host takes over: what the first one may have is not made a second time, nor said to be gone."""

from __future__ import annotations

import pytest

from iri.machine import RuntimeMachine
from iri.volume import RuntimeVolume
from poollet.decide.decide import decide
from schemas import report
from tests.poollet.fleet import LIVE, MAIN, REPORTS, SETTINGS, Fleet, machine, machine_class, uid
from tests.poollet.simulation import Simulation
from tests.poollet.stage import Run, StagedHost, Time

WEB = ("default", "web")
GOING = "  deletionTimestamp: '2026-05-04T12:00:00Z'\n"
GRACE_MS = 60_000


class Scene:
    """The first host runs `web`, and is heard of no more; then a second one bears its name."""

    def __init__(self, more: str = "", more_pools: tuple[str, ...] = ()) -> None:
        self.time, self.more_pools = Time(), more_pools
        self.fleet = Fleet({"classes/small.yaml": machine_class()})
        self.first = StagedHost(self.time, seed=1)
        self.second = StagedHost(self.time, seed=2)
        self.wish(more=more)
        self.run = self.begun("first", self.first, 1)
        self.turns(8)

    def begun(self, host: str, machine: StagedHost, instance: int) -> Run:
        return Run(
            self.fleet,
            self.time,
            machine,
            host_id=host,
            instance=instance,
            decide=decide,
            more_pools=self.more_pools,
        )

    def wish(self, *, assignment: int = 9, more: str = "") -> None:
        self.fleet.commit({"web.yaml": machine("web", "host-1", uid(1), uid(assignment), more=more)})

    def turns(self, count: int) -> None:
        for _ in range(count):
            self.run.turn()
            self.time.ms += 5_000

    def take_over(self, machine: StagedHost | None = None) -> None:
        self.run = self.begun("second", machine or self.second, 2)
        self.run.turn()
        assert self.run.post.waits
        self.time.ms += GRACE_MS
        self.turns(12)
        assert self.run.report().poollet.host_id == "second"  # type: ignore[union-attr]

    @property
    def said(self) -> report.MachineReport:
        return self.run.report().machines[WEB]

    def count(self, host: StagedHost) -> int:
        return len(host.runtime.objects(RuntimeMachine)) + len(host.runtime.objects(RuntimeVolume))


def reason(found: report.MachineReport | report.SnapshotReport) -> str:
    said = found.status.conditions if found.status is not None else ()
    return next((one.reason for one in said if one.type == "UpToDate"), "")


def test_what_the_first_host_has_is_unknown_and_not_made_again() -> None:
    scene = Scene()
    assert scene.said.phase == "present"
    scene.take_over()
    assert (scene.said.phase, reason(scene.said)) == ("unknown", "OtherHost")
    assert (scene.count(scene.first), scene.count(scene.second)) == (1, 0)
    status = scene.said.status
    assert status is not None
    assert status.machine_id, "what was known of it stays"
    (message,) = [one.message for one in status.conditions if one.type == "UpToDate"]
    assert "the host first" in message
    assert "Pool-Destroyed: host-1" in message
    assert any(one.reason == "NameTakenOver" for one in scene.run.report().events)


def test_what_was_taken_from_the_first_host_before_the_second_came_is_never_claimed_by_it() -> None:
    """As Pool-Destroyed does it: told by the first report even, it would be given back."""
    scene = Scene()
    scene.fleet.commit({"web.yaml": machine("web", "", uid(1))})
    scene.run = scene.begun("second", scene.second, 2)
    scene.run.turn()
    scene.time.ms += GRACE_MS
    by = set()
    for _ in range(12):
        scene.turns(1)
        found = scene.run.report()
        by.add(found.poollet.host_id if found.poollet is not None else "")
        assert "second" not in by or WEB not in found.machines
    assert "second" in by


def test_a_restart_of_the_second_host_does_not_forget_it() -> None:
    scene = Scene()
    scene.take_over()
    scene.run = scene.begun("second", scene.second, 3)
    scene.turns(12)
    assert (scene.said.phase, reason(scene.said)) == ("unknown", "OtherHost")
    assert scene.count(scene.second) == 0


def test_until_it_can_see_what_was_ordered_it_says_nothing_and_a_restart_forgets_nothing() -> None:
    """`live` was rewritten, so nobody obeys it, and it is put back later."""
    scene = Scene()
    good, words = scene.fleet.head(), scene.fleet.head(REPORTS + "host-1")
    assert good is not None
    scene.fleet.remote.refs[LIVE] = scene.fleet.commit({"README": "another"}, "refs/heads/another")
    scene.run = scene.begun("second", scene.second, 2)
    scene.run.turn()
    scene.time.ms += GRACE_MS
    scene.turns(12)
    assert scene.fleet.head(REPORTS + "host-1") == words
    scene.run = scene.begun("second", scene.second, 3)
    scene.turns(3)
    scene.fleet.remote.refs[LIVE] = good
    scene.time.ms += GRACE_MS
    scene.turns(40)
    by = scene.run.report().poollet
    assert by is not None
    assert (by.host_id, scene.said.phase, reason(scene.said)) == ("second", "unknown", "OtherHost")
    assert (scene.count(scene.first), scene.count(scene.second)) == (1, 0)


@pytest.mark.parametrize(("is_same", "known"), [(False, ("unknown", "OtherHost")), (True, ("present", ""))])
def test_words_of_nobody_knows_whom_may_be_those_of_another_host(
    is_same: bool, known: tuple[str, str]
) -> None:
    scene = Scene()
    scene.fleet.commit({"poollet.json": None}, REPORTS + "host-1")
    scene.run = scene.begun("second", scene.first if is_same else scene.second, 2)
    scene.run.turn()
    scene.time.ms += GRACE_MS
    scene.turns(12)
    assert (scene.said.phase, reason(scene.said)) == known
    assert (scene.count(scene.first), scene.count(scene.second)) == (1, 0)


BROKEN = {"web.yaml": "kind: [unclosed\n"}


def test_a_file_that_cannot_be_read_may_order_what_the_first_host_has() -> None:
    """Until it can be, nothing is said under this host's id, which would be its own words after a restart."""
    scene = Scene()
    scene.fleet.commit(BROKEN)
    words = scene.fleet.head(REPORTS + "host-1")
    scene.run = scene.begun("second", scene.second, 2)
    scene.run.turn()
    scene.time.ms += GRACE_MS
    scene.turns(12)
    assert scene.fleet.head(REPORTS + "host-1") == words
    assert "the host first" in scene.run.post.waits
    assert "web.yaml" in scene.run.post.waits
    scene.wish()
    scene.turns(12)
    assert scene.run.post.waits == ""
    assert (scene.said.phase, reason(scene.said)) == ("unknown", "OtherHost")
    assert (scene.count(scene.first), scene.count(scene.second)) == (1, 0)


def test_a_restart_forgets_nothing_that_a_file_which_cannot_be_read_may_order() -> None:
    scene = Scene()
    scene.take_over()
    scene.fleet.commit(BROKEN)
    scene.run = scene.begun("second", scene.second, 3)
    scene.turns(8)
    assert (scene.said.phase, reason(scene.said)) == ("unknown", "OtherHost")
    scene.wish()
    scene.turns(12)
    assert (scene.said.phase, reason(scene.said)) == ("unknown", "OtherHost")
    assert (scene.count(scene.first), scene.count(scene.second)) == (1, 0)


def test_at_rest_nothing_is_written_of_it() -> None:
    scene = Scene()
    scene.take_over()
    before = scene.run.files()
    scene.turns(12)
    assert scene.run.files() == before


def test_what_it_could_see_ordered_counts_though_it_never_said_so() -> None:
    scene = Scene()
    scene.fleet.commit({"db.yaml": machine("db", "host-1", uid(2), uid(8))})
    scene.take_over()
    assert reason(scene.run.report().machines["default", "db"]) == "OtherHost"
    assert scene.count(scene.second) == 0


def test_what_is_ordered_later_is_made() -> None:
    scene = Scene()
    scene.take_over()
    scene.fleet.commit({"db.yaml": machine("db", "host-1", uid(2), uid(8))})
    scene.turns(8)
    found = scene.run.report().machines["default", "db"]
    assert found.phase == "present"
    assert reason(found) == ""
    assert scene.count(scene.second) == 1


def test_a_new_assignment_frees_it() -> None:
    scene = Scene()
    scene.take_over()
    scene.wish(assignment=10)
    scene.turns(12)
    assert (scene.said.phase, reason(scene.said), scene.said.assignment) == ("present", "", uid(10))
    assert scene.count(scene.second) == 1


def test_an_order_to_remove_it_is_not_answered_with_gone() -> None:
    scene = Scene()
    scene.take_over()
    scene.wish(more=GOING)
    scene.turns(12)
    assert (scene.said.phase, reason(scene.said)) == ("unknown", "OtherHost")


STORED = "apiVersion: storage.ironcore.dev/v1alpha1\nkind: "
FAST = STORED + "VolumeClass\nmetadata: {name: fast}\ncapabilities: {tps: 1Mi, iops: 100}\n"


def disk(pool: str = "host-1", assignment: int = 8) -> str:
    return (
        f"{STORED}Volume\nmetadata: {{name: data, uid: {uid(3)}}}\n"
        f"spec: {{volumeClassRef: {{name: fast}}, volumePoolRef: {{name: {pool}}}, resources: {{storage: 1Gi}}}}\n"
        + (f"status: {{assignment: {{pool: {pool}, id: {uid(assignment)}}}}}\n" if assignment else "")
    )


def shot(more: str = "") -> str:
    return f"{STORED}VolumeSnapshot\nmetadata:\n  name: shot\n  uid: {uid(4)}\n{more}spec: {{volumeRef: {{name: data}}}}\n"


SHOTS = {
    "its volume is as it was": ({"README.md": "more"}, ("unknown", uid(8), "OtherHost")),
    "ordered away, its volume is as it was": ({"s.yaml": shot(GOING)}, ("unknown", uid(8), "OtherHost")),
    "its volume has left": ({"v.yaml": None}, ("unknown", uid(8), "OtherHost")),
    "its volume cannot be read": ({"v.yaml": "kind: [unclosed\n"}, ("unknown", uid(8), "OtherHost")),
    "its volume is assigned anew": ({"v.yaml": disk(assignment=11)}, ("present", uid(11), "")),
    "ordered away, its volume is assigned anew": (
        {"v.yaml": disk(assignment=11), "s.yaml": shot(GOING)},
        ("gone", uid(11), ""),
    ),
    "its volume is on another host": ({"v.yaml": disk("host-2", 11)}, None),
    "its volume is on no host": ({"v.yaml": disk(assignment=0)}, None),
}


@pytest.mark.parametrize(("files", "want"), SHOTS.values(), ids=SHOTS.keys())
@pytest.mark.parametrize("is_restarted", [True, False])
def test_a_snapshot_is_at_the_first_host_as_long_as_its_volume_is(
    files: dict[str, str | None], want: tuple[str, str, str] | None, is_restarted: bool
) -> None:
    scene = Scene()
    scene.fleet.commit({"fast.yaml": FAST, "v.yaml": disk(), "s.yaml": shot()})
    scene.turns(12)
    assert scene.run.report().snapshots["default", "shot"].phase == "present"
    scene.take_over()
    scene.fleet.commit(files)
    if is_restarted:
        scene.run = scene.begun("second", scene.second, 3)
    scene.turns(20)
    found = scene.run.report().snapshots.get(("default", "shot"))
    assert (found and (found.phase, found.assignment, reason(found))) == want


GPU = "host-1-gpu"
DB = ("default", "db")


def of_gpu(is_said: bool = True) -> Scene:
    """The first host has a pool that the second one is not given before it has taken the name over."""
    scene = Scene(more_pools=(GPU,))
    scene.fleet.commit({"db.yaml": machine("db", GPU, uid(2), uid(8))})
    if is_said:
        scene.turns(8)
    scene.more_pools = ()
    scene.take_over()
    return scene


@pytest.mark.parametrize("is_said", [True, False])
def test_what_is_on_a_pool_that_the_second_host_is_given_later_is_not_made_again(is_said: bool) -> None:
    scene = of_gpu(is_said)
    found = scene.run.report().machines[DB]
    assert (found.phase, found.pool, reason(found)) == ("unknown", GPU, "OtherHost")
    scene.run = scene.begun("second", scene.second, 3)
    scene.turns(8)
    assert scene.run.report().machines[DB] == found
    scene.more_pools = (GPU,)
    scene.run = scene.begun("second", scene.second, 4)
    scene.turns(8)
    assert scene.run.report().machines[DB] == found
    assert scene.count(scene.second) == 0


ENDS = {
    "assigned anew": (machine("db", GPU, uid(2), uid(10)), False),
    "on another host": (machine("db", "host-2", uid(2), uid(10)), False),
    "on no pool": (machine("db", "", uid(2)), False),
    "another one": (machine("db", GPU, uid(3), uid(10)), False),
    "left": (None, False),
    "ordered away": (machine("db", GPU, uid(2), uid(8), more=GOING), True),
    "not readable": (BROKEN["web.yaml"], True),
}


@pytest.mark.parametrize(("text", "is_kept"), ENDS.values(), ids=ENDS.keys())
@pytest.mark.parametrize("is_restarted", [True, False])
def test_what_is_on_a_pool_that_the_second_host_has_not_got_is_told_while_it_is_ordered(
    text: str | None, is_kept: bool, is_restarted: bool
) -> None:
    scene = of_gpu()
    scene.fleet.commit({"db.yaml": text})
    if is_restarted:
        scene.run = scene.begun("second", scene.second, 3)
    scene.turns(8)
    found = scene.run.report().machines
    assert (DB in found) is is_kept
    assert not is_kept or found[DB].phase == "unknown"


def test_a_host_that_has_only_got_a_new_id_goes_on_with_what_it_has() -> None:
    scene = Scene()
    before = dict(scene.first.runtime.objects(RuntimeMachine))
    scene.take_over(scene.first)
    assert (scene.said.phase, reason(scene.said)) == ("present", "")
    assert dict(scene.first.runtime.objects(RuntimeMachine)) == before


@pytest.mark.parametrize("leaving", ["stopping", "leaving"])
def test_farewells_of_the_first_host_change_nothing(leaving: str) -> None:
    scene = Scene()
    scene.run.poollet.leaving = leaving  # type: ignore[assignment]
    scene.turns(2)
    scene.run = scene.begun("second", scene.second, 2)
    for _ in range(20):
        scene.turns(1)
    scene.time.ms += GRACE_MS
    scene.turns(12)
    assert (scene.said.phase, reason(scene.said)) == ("unknown", "OtherHost")
    assert scene.count(scene.second) == 0


def test_an_answer_that_was_final_stays_one() -> None:
    scene = Scene(more=GOING)
    assert scene.said.phase == "gone"
    scene.take_over()
    assert scene.said.phase == "gone"


def test_once_people_say_that_the_first_host_is_gone_the_second_one_makes_it_all() -> None:
    script = {0: {"gitvirt.yaml": SETTINGS, "small.yaml": machine_class(), "web.yaml": machine("web")}}
    world = Simulation(("host-1",), script)
    rounds(world, 12)
    first = world.machines["host-1"]
    assert len(first.runtime.objects(RuntimeMachine)) == 1
    world.machines["host-1"] = StagedHost(world.time, seed=9)
    world.host_ids["host-1"] = "second"
    del world.runs["host-1"]
    rounds(world, 60)
    assert reason(world.runs["host-1"].report().machines[WEB]) == "OtherHost"
    assert not world.machines["host-1"].runtime.objects(RuntimeMachine)
    del world.runs["host-1"]
    world.hosts = ()
    rounds(world, 1)
    words = "it burned\n\nPool-Destroyed: host-1\n"
    world.fleet.commit({"README.md": "gone"}, MAIN, message=words, time=world.time.clock.now())
    rounds(world, 60)
    live = world.fleet.head()
    rounds(world, 10)
    assert world.fleet.head() == live, "what the last report says brings nothing back, to be taken away again"
    world.hosts = ("host-1",)
    rounds(world, 30)
    assert len(world.machines["host-1"].runtime.objects(RuntimeMachine)) == 1
    assert world.outcome()["Machine/default/web"] == ("Running", "On", ())


def rounds(world: Simulation, count: int) -> None:
    for _ in range(count):
        world.round()
