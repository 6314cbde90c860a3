"""Reports on their way: claimed, written when they differ, kept alive by heartbeats, given up when another one lives."""

from __future__ import annotations

import random
from collections.abc import Iterable
from pathlib import Path
from typing import Literal

import pytest

from iri.machine import RuntimeMachine
from iri.simulated.faults.fault_rules import FaultRule
from poollet.decide.decide import decide
from poollet.sync.report_lease import ReportLease
from poollet.sync.report_publisher import HEARTBEAT_AT, ReportPublisher
from reconciler.gitstore.objects.commit import decode_commit
from reconciler.gitstore.objects.database import ObjectType, hash_object
from reconciler.gitstore.objects.tree_edit import EMPTY
from reconciler.gitstore.remote.transport import PushConflict, RemoteErrorKind, RemoteUnavailable
from reconciler.gitstore.repo import Refs, Snapshot
from reconciler.gitstore.report_author import CANDIDATE, own_commit
from tests.poollet.fleet import LIVE, REPORTS, SETTINGS, Fleet, grant_files, machine_class, uid
from tests.poollet.fleet import machine as declared
from tests.poollet.stage import Run, StagedHost, Time
from tests.reconciler.gitstore import hostile_reports
from tests.reconciler.gitstore.worlds import MirrorWorld

pytestmark = pytest.mark.clock

REF = REPORTS + "host-1"
HEARTBEAT_MS = 15_000
GONE = RemoteUnavailable(RemoteErrorKind.NETWORK, "no route", "wait")


@pytest.fixture
def fleet() -> Fleet:
    return Fleet({"classes/small.yaml": machine_class(memory="1Gi")})


@pytest.fixture
def time() -> Time:
    return Time()


@pytest.fixture
def machine(time: Time) -> StagedHost:
    return StagedHost(time)


def start_run(fleet: Fleet, time: Time, machine: StagedHost) -> Run:
    run = Run(fleet, time, machine)
    run.turn()
    run.turn()
    return run


def test_the_first_report_says_who_where_and_what_there_is(
    fleet: Fleet, time: Time, machine: StagedHost
) -> None:
    run = start_run(fleet, time, machine)
    report = run.report()
    assert not report.unreadable
    assert report.poollet is not None
    assert (report.poollet.name, report.poollet.host_id) == ("host-1", "host-1's own")
    assert report.poollet.live_commit == fleet.head()
    assert report.poollet.runtimes["r1"].state == "Ready"
    assert [one.name for one in report.pools["host-1"].status.available_machine_classes] == ["small"]
    assert report.volume_pools["host-1"].status.reachable_from == ("host-1",)
    assert run.publisher.has_landed


def test_at_rest_nothing_is_written_but_heartbeats(fleet: Fleet, time: Time, machine: StagedHost) -> None:
    run = start_run(fleet, time, machine)
    first, files = fleet.head(REF), run.files()
    for _ in range(5):
        time.ms += 1000
        run.turn()
    assert fleet.head(REF) == first
    time.ms += HEARTBEAT_MS
    run.turn()
    assert fleet.head(REF) != first
    assert run.files() == files


def test_that_live_moved_waits_for_the_next_push(fleet: Fleet, time: Time, machine: StagedHost) -> None:
    run = start_run(fleet, time, machine)
    first = fleet.head(REF)
    head = fleet.commit({"README.md": "more"})
    run.turn()
    assert fleet.head(REF) == first
    time.ms += HEARTBEAT_MS
    run.turn()
    found = run.report().poollet
    assert found is not None
    assert found.live_commit == head


def test_what_changes_is_written_at_once_and_no_more_than_that(
    fleet: Fleet, time: Time, machine: StagedHost
) -> None:
    run = start_run(fleet, time, machine)
    before = run.files()
    fleet.commit({"classes/small.yaml": machine_class(cpu="2", memory="1Gi")})
    run.turn()
    run.turn()
    changed = {path for path, data in run.files().items() if before.get(path) != data}
    assert changed == {"pools/host-1.json", "poollet.json"}


def test_a_restart_takes_its_own_ref_at_once(fleet: Fleet, time: Time, machine: StagedHost) -> None:
    first = start_run(fleet, time, machine)
    second = Run(fleet, time, machine, instance=2)
    second.turn()
    assert second.publisher.has_landed
    first.turn()
    assert "another poollet named host-1 runs on this host" in first.publisher.ended
    head = fleet.head(REF)
    time.ms += HEARTBEAT_MS
    first.turn()
    assert fleet.head(REF) == head


def rival(fleet: Fleet, time: Time, instance: int = 2) -> Run:
    return Run(fleet, time, StagedHost(time), host_id="another", instance=instance)


def test_a_second_host_of_the_name_writes_beside_the_report_that_it_is_there(
    fleet: Fleet, time: Time, machine: StagedHost
) -> None:
    first, second = start_run(fleet, time, machine), rival(fleet, time)
    before = first.files()
    second.turn()
    assert "Pool-Host: host-1=another" in second.publisher.waiting
    after = first.files()
    assert after.pop(CANDIDATE)
    assert after == before
    candidate = first.report().candidate
    assert candidate is not None
    assert (candidate.host_id, candidate.pools) == ("another", ("host-1",))
    head = fleet.head(REF)
    second.turn()
    assert fleet.head(REF) == head, "once is enough"
    assert not second.publisher.has_landed
    assert second.publisher.is_ready


def test_the_granted_host_reports_on_beside_a_candidate(
    fleet: Fleet, time: Time, machine: StagedHost
) -> None:
    first, second = start_run(fleet, time, machine), rival(fleet, time)
    second.turn()
    for _ in range(4):
        time.ms += HEARTBEAT_MS
        first.turn()
        second.turn()
    assert not first.publisher.ended
    assert CANDIDATE in first.files()
    assert first.report().poollet.host_id == "host-1's own"  # type: ignore[union-attr]
    # Its next run starts without, and the candidate that still waits says so again.
    Run(fleet, time, machine, instance=3).turn()
    assert CANDIDATE not in first.files()
    second.turn()
    assert CANDIDATE in first.files()


def test_a_running_host_drops_the_candidate_of_an_old_report_that_was_put_back(
    fleet: Fleet, time: Time, machine: StagedHost
) -> None:
    first, second = start_run(fleet, time, machine), rival(fleet, time)
    second.turn()
    old = fleet.head(REF)
    assert old is not None
    second.agent.leaving = "stopping"
    second.agent.run_pass()
    second.remote.push(is_last=True)
    fleet.commit({"classes/small.yaml": machine_class(cpu="2", memory="1Gi")})
    for _ in range(2):
        time.ms += HEARTBEAT_MS
        first.turn()
    assert CANDIDATE not in first.files()
    fleet.remote.refs[REF] = old  # from a backup
    for _ in range(2):
        time.ms += HEARTBEAT_MS
        first.turn()
    assert CANDIDATE not in first.files()


def test_a_candidate_that_ends_takes_its_file_with_it(fleet: Fleet, time: Time, machine: StagedHost) -> None:
    first, second = start_run(fleet, time, machine), rival(fleet, time)
    before = first.files()
    second.turn()
    second.agent.leaving = "stopping"
    second.agent.run_pass()
    second.remote.push(is_last=True)
    assert first.files() == before


def test_a_candidate_that_starts_again_and_again_writes_once(
    fleet: Fleet, time: Time, machine: StagedHost
) -> None:
    start_run(fleet, time, machine)
    report = fleet.head(REF)
    rival(fleet, time).turn()
    head = fleet.head(REF)
    repo = fleet.client(Refs())
    repo.snapshot()
    assert head is not None
    assert own_commit(repo, head) == report, "its commit is on top of the report"
    for instance in range(3, 6):
        rival(fleet, time, instance).turn()
    assert fleet.head(REF) == head
    # One that says something else takes its place: no chain grows.
    for instance in range(7, 10):
        Run(fleet, time, StagedHost(time), host_id=f"host-{instance}", instance=instance).turn()
        head = fleet.head(REF)
        assert head is not None
        repo.snapshot()
        assert decode_commit(repo.read(head)).parents == (report,)
    rival(fleet, time, 10).turn()
    last = rival(fleet, time, 6)
    last.turn()
    last.agent.leaving = "stopping"
    last.agent.run_pass()
    last.remote.push(is_last=True)
    assert CANDIDATE not in last.files(), "the last run takes away what the first one wrote"
    head = fleet.head(REF)
    assert head is not None
    repo.snapshot()
    assert own_commit(repo, head) == report


def test_a_candidate_that_writes_what_the_report_below_has_is_no_sign_of_life(
    fleet: Fleet, time: Time, machine: StagedHost
) -> None:
    """The host's own report has kept its candidate.json; another candidate came in between, and went away in good order."""
    first, second = start_run(fleet, time, machine), rival(fleet, time)
    second.turn()
    time.ms += HEARTBEAT_MS
    first.turn()
    report = fleet.head(REF)
    third = Run(fleet, time, StagedHost(time), host_id="third", instance=4)
    third.turn()
    third.agent.leaving = "stopping"
    third.agent.run_pass()
    third.remote.push(is_last=True)
    second.turn()
    repo = fleet.client(Refs())
    repo.snapshot()
    head = fleet.head(REF)
    assert head is not None
    assert CANDIDATE in second.files()
    assert head != report
    assert own_commit(repo, head) == report


def test_a_candidate_logs_once_what_it_waits_for_and_again_when_that_changes(
    fleet: Fleet, time: Time, machine: StagedHost, caplog: pytest.LogCaptureFixture
) -> None:
    first, second = start_run(fleet, time, machine), rival(fleet, time)
    for _ in range(3):
        second.turn()
        time.ms += HEARTBEAT_MS
        first.turn()
    fleet.commit({"pools/host-1.yaml": grant_files("host-1", "third", 2)})
    second.turn()
    logged = [each.getMessage() for each in caplog.records if "as a candidate" in each.getMessage()]
    assert len(logged) == 2
    assert "acting on no pool, as a candidate ref=refs/poollets/host-1" in logged[0]
    assert "grants pool host-1 to host host-1's own" in logged[0]
    assert "grants pool host-1 to host third" in logged[1]


def test_a_candidate_that_moves_the_ref_before_each_push_delays_no_heartbeat_for_long(
    fleet: Fleet, time: Time, machine: StagedHost
) -> None:
    publisher = start_run(fleet, time, machine).publisher
    for number in range(12):
        time.ms += HEARTBEAT_MS
        drafted = publisher.draft()
        assert drafted is not None, f"attempt {number}"
        publisher.on_push_result(*drafted, PushConflict({REF: "c" * 40}))
        due_ms = publisher.due_ms()
        assert due_ms is not None
        assert due_ms - time.ms <= 2_000


def test_two_candidates_do_not_write_in_turns(fleet: Fleet, time: Time, machine: StagedHost) -> None:
    start_run(fleet, time, machine)
    second, third = rival(fleet, time), Run(fleet, time, StagedHost(time), host_id="third", instance=4)
    for _ in range(3):
        second.turn()
        third.turn()
    head = fleet.head(REF)
    for _ in range(3):
        time.ms += 5_000
        second.turn()
        third.turn()
    assert fleet.head(REF) == head


def test_a_grant_that_moves_moves_the_report(fleet: Fleet, time: Time, machine: StagedHost) -> None:
    first, second = start_run(fleet, time, machine), rival(fleet, time)
    second.turn()
    fleet.commit({"pools/host-1.yaml": grant_files("host-1", "another", 2)})
    second.turn()
    assert second.publisher.has_landed
    report = second.report()
    assert report.candidate is None
    assert (report.pools["host-1"].epoch, report.volume_pools["host-1"].epoch) == (2, 2)
    first.turn()
    assert not first.publisher.ended
    assert "`live` grants pool host-1 to host another" in first.publisher.waiting
    assert second.report().candidate is not None


@pytest.mark.parametrize("is_granted", [False, True])
def test_a_host_that_is_gone_is_followed_after_its_timeout_where_nothing_is_granted(
    fleet: Fleet, time: Time, machine: StagedHost, is_granted: bool
) -> None:
    start_run(fleet, time, machine)
    if not is_granted:
        fleet.commit({"pools/host-1.yaml": grant_files("host-1", "", 2)})
    second = rival(fleet, time)
    second.turn()
    assert not second.publisher.has_landed
    time.ms += 5 * HEARTBEAT_MS
    second.turn()
    assert second.publisher.has_landed is not is_granted


def test_the_report_names_the_epoch_that_it_acts_under(fleet: Fleet, time: Time, machine: StagedHost) -> None:
    run = start_run(fleet, time, machine)
    assert run.report().pools["host-1"].epoch == 1
    fleet.commit({"pools/host-1.yaml": grant_files("host-1", epoch=4)})
    run.turn()
    assert (run.report().pools["host-1"].epoch, run.report().volume_pools["host-1"].epoch) == (4, 4)
    # A `live` that is not applied takes no grant away.
    good = fleet.remote.refs[LIVE]
    fleet.remote.refs[LIVE] = fleet.commit({"README": "another"}, "refs/heads/another")
    run.turn()
    assert run.report().pools["host-1"].epoch == 4
    fleet.remote.refs[LIVE] = good
    fleet.commit({"pools/host-1.yaml": grant_files("host-1", "", 5)})
    run.turn()
    assert run.report().pools["host-1"].epoch == 4, "it knows that epoch, so it is never granted again"
    fleet.commit({"pools/host-1.yaml": None})
    run.turn()
    again = Run(fleet, time, machine, instance=2)
    again.turn()
    again.turn()
    assert (again.report().pools["host-1"].epoch, again.report().volume_pools["host-1"].epoch) == (4, 4)


def test_no_action_starts_before_the_first_report_of_this_run(
    fleet: Fleet, time: Time, machine: StagedHost
) -> None:
    fleet.remote.hook = lambda updates: "not you" if any(one.ref == REF for one in updates) else ""
    run = start_run(fleet, time, machine)
    assert not run.publisher.has_landed
    fleet.remote.hook = lambda updates: ""
    time.ms += 60_000
    run.turn()
    assert run.publisher.has_landed


class FailingPush:
    """Makes the next push fail, before or after its effect."""

    def __init__(self) -> None:
        self.when: Literal["before", "after"] | None = None

    def __call__(self, call: str, when: Literal["before", "after"]) -> RemoteUnavailable | None:
        if call != "push" or when != self.when:
            return None
        self.when = None
        return RemoteUnavailable(RemoteErrorKind.NETWORK, "lost", "wait", is_unknown=True)


@pytest.mark.parametrize("when", ["before", "after"])
def test_a_push_without_an_answer_is_found_out(
    fleet: Fleet, time: Time, machine: StagedHost, when: Literal["before", "after"]
) -> None:
    failing = FailingPush()
    run = Run(fleet, time, machine, fault=failing)
    failing.when = when
    run.turn()
    for _ in range(3):
        time.ms += 5_000
        run.turn()
    assert run.publisher.has_landed
    assert not run.publisher.ended


def test_an_unreachable_remote_is_reported_and_survived(
    fleet: Fleet, time: Time, machine: StagedHost
) -> None:
    is_gone = False
    run = Run(fleet, time, machine, fault=lambda _call, _when: GONE if is_gone else None)
    run.turn()
    is_gone = True
    time.ms += HEARTBEAT_MS
    run.turn()
    assert run.remote.last_error == "no route"
    assert run.remote.live.commit == fleet.head()
    for _ in range(8):
        time.ms += 60_000
        run.turn()
    is_gone = False
    time.ms += 1
    head = fleet.head(REF)
    run.turn()
    assert not run.remote.last_error
    assert fleet.head(REF) != head  # At once, whatever pause the failures had come to.


@pytest.mark.parametrize(("leaving", "state"), [("stopping", "Ready"), ("leaving", "Offline")])
def test_who_goes_says_how(
    fleet: Fleet, time: Time, machine: StagedHost, leaving: Literal["stopping", "leaving"], state: str
) -> None:
    run = start_run(fleet, time, machine)
    run.agent.leaving = leaving
    run.turn()
    report = run.report()
    assert report.poollet is not None
    assert (report.poollet.leaving, report.pools["host-1"].status.state) == (leaving, state)


def test_a_live_branch_that_was_started_over_is_reported_and_not_applied(
    fleet: Fleet, time: Time, machine: StagedHost
) -> None:
    run = start_run(fleet, time, machine)
    old = fleet.head()
    del fleet.remote.refs[LIVE]
    fleet.commit({"classes/small.yaml": machine_class()})
    for _ in range(3):
        run.turn()
    report = run.report()
    assert report.poollet is not None
    assert report.poollet.live_commit == old
    pool = report.pools["host-1"].status
    assert (pool.state, pool.conditions[-1].reason) == ("Error", "LiveRewritten")
    assert [one.reason for one in report.events] == ["LiveRewritten"]
    again = Run(fleet, time, machine, instance=2)
    for _ in range(3):
        again.turn()
    assert again.report().pools["host-1"].status.state == "Error"


def test_several_poollets_push_at_once_and_a_conflict_of_one_delays_no_other(
    fleet: Fleet, time: Time, machine: StagedHost
) -> None:
    one = start_run(fleet, time, machine)
    two = Run(fleet, time, StagedHost(time), name="host-2", instance=2)
    rival = Run(fleet, time, StagedHost(time), name="host-2", instance=3)
    two.turn()
    one.remote.publishers.append(two.publisher)
    time.ms += HEARTBEAT_MS
    one.agent.run_pass()
    two.agent.run_pass()
    rival.turn()
    head = fleet.head(REF)
    one.remote.push()
    assert fleet.head(REF) != head
    two.turn()
    assert two.publisher.ended


def test_the_last_words_wait_for_no_interval(fleet: Fleet, time: Time, machine: StagedHost) -> None:
    run = Run(fleet, time, machine, least_ms=60_000)
    run.turn()
    assert run.publisher.has_landed
    run.agent.leaving = "stopping"
    run.agent.run_pass()
    head = fleet.head(REF)
    run.remote.push()
    assert fleet.head(REF) == head
    run.remote.push(is_last=True)
    found = run.report().poollet
    assert found is not None
    assert found.leaving == "stopping"


def test_a_clock_on_the_wall_that_is_put_back_holds_up_nothing(time: Time, machine: StagedHost) -> None:
    web = declared("web", "host-1", uid(1), uid(9))
    fleet = Fleet({"classes/small.yaml": machine_class(), "machines/web.yaml": web})
    run = Run(fleet, time, machine, decide=decide)
    while not machine.host.state.objects(RuntimeMachine):
        run.turn()
        time.ms += 1000
    time.wall_ms = -3_600_000
    for _ in range(6):
        run.turn()
        time.ms += 1000
    (entry,) = run.report().machines.values()
    assert entry.status is not None
    assert entry.status.state == "Running"


def test_a_new_place_for_reports_ends_this_run(fleet: Fleet, time: Time, machine: StagedHost) -> None:
    run = start_run(fleet, time, machine)
    fleet.commit({"gitvirt.yaml": SETTINGS + "reports: {ref: refs/heads/gitvirt/poollets/}\n"})
    run.turn()
    assert "moved to refs/heads/gitvirt/poollets/" in run.publisher.ended
    head = fleet.head(REF)
    time.ms += HEARTBEAT_MS
    run.turn()
    assert fleet.head(REF) == head


def test_what_fails_again_and_again_is_counted_and_costs_no_push_of_its_own(
    fleet: Fleet, time: Time, machine: StagedHost
) -> None:
    machine.faults.add(FaultRule(call="CreateMachine", code="INTERNAL", message="no luck"))
    run = Run(fleet, time, machine, decide=decide)
    fleet.commit({"web.yaml": declared("web", "host-1", uid(1), uid(9))})
    for _ in range(4):
        run.turn()
        time.ms += 20
    (first,) = [one for one in run.report().events if one.reason == "Failed"]
    assert first.count == 1, "that it fails is told at once"
    for _ in range(5):  # the machine's own state follows
        run.turn()
        time.ms += 1000
    heads, tries = {fleet.head(REF)}, machine.faults.calls()["CreateMachine"]
    for _ in range(200):
        run.turn()
        time.ms += 1000
        heads.add(fleet.head(REF))
    more = machine.faults.calls()["CreateMachine"] - tries
    assert more >= 4
    heartbeats = 200_000 / (HEARTBEAT_MS * HEARTBEAT_AT)
    assert len(heads) - 1 <= heartbeats, (
        f"{len(heads) - 1} pushes for {more} tries and {heartbeats} heartbeats"
    )
    (last,) = [one for one in run.report().events if one.reason == "Failed"]
    assert last.count > first.count, "and how often comes with the heartbeats"
    machine.faults.clear()
    before = fleet.head(REF)
    for _ in range(100):
        run.turn()
        time.ms += 5000
    assert fleet.head(REF) != before
    assert "Created" in {one.reason for one in run.report().events}


def run_failing(texts: Iterable[str]) -> tuple[int, str, str]:
    """One second for each text that a creation fails with: the pushes, the text reported last, the text of the last try."""
    fleet, time = Fleet({"classes/small.yaml": machine_class(memory="1Gi")}), Time()
    machine = StagedHost(time)
    run = Run(fleet, time, machine, decide=decide)
    fleet.commit({"web.yaml": declared("web", "host-1", uid(1), uid(9))})
    heads, tries, last = set(), 0, ""
    for text in texts:
        machine.faults.clear()
        machine.faults.add(FaultRule(call="CreateMachine", code="INTERNAL", message=text))
        run.turn()
        if machine.faults.calls().get("CreateMachine", 0) > tries:
            tries, last = tries + 1, text
        time.ms += 1000
        heads.add(fleet.head(REF))
    (entry,) = run.report().machines.values()
    assert entry.status is not None
    (reported,) = {one.message for one in entry.status.conditions if one.message}
    return len(heads), reported, last


def test_another_text_of_an_error_comes_with_the_next_heartbeat() -> None:
    pushes, reported, last = run_failing(f"needs 8Gi, has {free}Mi" for free in range(600))
    assert reported == last
    assert reported != "needs 8Gi, has 0Mi"
    assert pushes == run_failing(["needs 8Gi"] * 600)[0], "a try costs no push of its own"


def put(fleet: Fleet, type: ObjectType, data: bytes) -> str:
    made = hash_object(type, data)
    fleet.remote.objects[made.id] = (type, data)
    return made.id


BLOB = hash_object(ObjectType.BLOB, b"hello")
UNREADABLE = {
    "a blob": (ObjectType.BLOB, b"hello"),
    "an empty commit": (ObjectType.COMMIT, b"tree " + EMPTY.id.encode() + b"\n\nx\n"),
    "a tag": (ObjectType.TAG, b"object " + BLOB.id.encode() + b"\ntype blob\ntag t\n\nx\n"),
    "a large commit": (ObjectType.COMMIT, b"tree " + EMPTY.id.encode() + b"\n\n" + b"x" * (1 << 20)),
}


@pytest.mark.parametrize("case", UNREADABLE)
def test_a_running_poollet_replaces_what_is_no_report(
    fleet: Fleet, time: Time, machine: StagedHost, case: str
) -> None:
    """With the host's key, or by hand, anything can be pushed on its ref."""
    run = start_run(fleet, time, machine)
    before = run.files()
    fleet.remote.refs[REF] = put(fleet, *UNREADABLE[case])
    for _ in range(3):
        time.ms += HEARTBEAT_MS
        run.turn()
    assert not run.publisher.ended
    assert run.files() == before


def test_a_poollet_replaces_a_report_with_files_that_no_report_has(
    fleet: Fleet, time: Time, machine: StagedHost
) -> None:
    run = start_run(fleet, time, machine)
    before, head = run.files(), fleet.head(REF)
    fleet.commit({"junk/a.txt": "x"}, REF, expected=head, base=head, has_parents=False)
    for _ in range(3):
        time.ms += HEARTBEAT_MS
        run.turn()
    assert run.files() == before


def test_a_poollet_acts_on_live_while_its_own_ref_cannot_be_fetched(tmp_path: Path) -> None:
    """The server lost an object of it."""
    world = MirrorWorld(tmp_path)
    tree = hostile_reports.put_tree(world.repo)
    live = hostile_reports.put_commit(world.repo, tree)
    lost = hostile_reports.missing_blob(world.repo)
    hostile_reports.point(world.repo, LIVE, live)
    hostile_reports.point(world.repo, REF, lost)
    repo = world.client(Refs(None, LIVE, (REF,)))
    found = repo.snapshot()
    assert isinstance(found, Snapshot)
    assert (found.target, found.reports) == (live, {})
    assert found.unfetched["host-1"].id == lost
    publisher = ReportPublisher(ReportLease("host-1", "h", "i", REF), Time().clock, random.Random(1))
    publisher.on_fetch(repo, None, found.unfetched["host-1"])
    assert publisher.position == (True, lost)
    world.close()
