"""Whole lives, through real ticks: what people commit, what the reconciler writes, what hosts do and report."""

from __future__ import annotations

from datetime import timedelta

import msgspec
import pytest

from reconciler.gitstore.approval import HoldKind, approval_digest
from reconciler.loop.outcome import Committed, NoChange, Outcome, TickBlocked
from reconciler.plan.types import Action
from schemas.kinds import Key, Kind
from tests.reconciler.lifecycle.hosts import Fleet, Host
from tests.reconciler.world.scene import (
    FAST,
    FLEET,
    LIVE,
    MAIN,
    REPORTS,
    SETTINGS,
    SMALL,
    machine,
    pool,
    using,
    volume,
)

WEB = Key(Kind.MACHINE, "default", "web")
DATA = Key(Kind.VOLUME, "default", "data")
OTHERS = {f"other{number}.yaml": machine(f"other{number}") for number in range(5)}
EPHEMERAL = """  volumes:
    - name: data
      ephemeral:
        volumeTemplate:
          spec:
            volumeClassRef: {name: fast}
            resources: {storage: 10Gi}
  networkInterfaces:
    - name: lan
      ephemeral:
        networkInterfaceTemplate:
          spec:
            networkRef: {name: office}
"""
OFFICE = "apiVersion: networking.ironcore.dev/v1alpha1\nkind: Network\nmetadata: {name: office}\n"
DRAIN = "spec:\n  unschedulable: true\n  taints:\n    - {key: gitvirt.dev/drain, effect: NoExecute}\n"
FORCE = DRAIN.replace("effect:", "value: force, effect:")


def fleet(*hosts: Host, **files: str) -> Fleet:
    named = {f"{name}.yaml": text for name, text in files.items()}
    found = Fleet({**OTHERS, **named}, *(hosts or (Host("a"), Host("b"))))
    found.settle()
    return found


def other_pool(world: Fleet, name: str) -> str:
    return "b" if world.pool_of(name) == "a" else "a"


def test_at_rest_a_tick_writes_nothing_even_for_one_who_remembers_nothing() -> None:
    world = fleet(web=machine("web", EPHEMERAL), data=volume("data"), office=OFFICE)
    head = world.heads[LIVE]
    for _ in range(3):
        world.hosts_report()
        assert isinstance(world.tick(), NoChange)
    world.reconciler = world.another()
    outcome = world.tick()
    assert isinstance(outcome, NoChange), outcome.plan.changes if isinstance(outcome, Committed) else outcome
    assert world.heads[LIVE] == head


def test_a_machine_from_its_declaration_to_its_end() -> None:
    world = fleet(web=machine("web"))
    assert world.machine("web").status.state == "Running"
    uid = world.machine("web").metadata.uid
    # Edited: the text is taken over, the placement stays.
    world.source({"web.yaml": machine("web", "  priority: 7\n")})
    assert world.settle() == 1
    assert world.machine("web").spec.priority == 7
    assert world.machine("web").status.state == "Running"
    # Evicted, and placed again elsewhere.
    first, other = world.pool_of("web"), other_pool(world, "web")
    world.source({"pools.yaml": pool(first, DRAIN)})
    world.settle()
    assert world.pool_of("web") == other
    assert world.machine("web").metadata.uid == uid
    assert WEB not in world.hosts[first].has
    assert WEB in world.hosts[other].has
    assert set(world.where().values()) == {other}
    # Deleted: first the order, then, when its pool has stated that it is gone, the document.
    world.source({"web.yaml": None, "pools.yaml": None})
    assert isinstance(world.tick(), Committed)
    assert world.machine("web").metadata.is_deleting
    assert WEB in world.hosts[other].has
    for _ in range(3):
        world.tick()
    assert WEB in world.objects()  # its pool has not said anything
    world.settle()
    assert WEB not in world.objects()
    assert WEB not in world.hosts[other].has
    assert "remove web" in " ".join(world.subjects())
    # Declared again it is another one.
    world.source({"web.yaml": machine("web")})
    world.settle()
    assert world.machine("web").metadata.uid not in ("", uid)
    assert world.machine("web").status.state == "Running"


def test_a_rejected_machine_goes_to_the_next_pool_and_not_to_the_first_again() -> None:
    world = Fleet({"web.yaml": machine("web")}, Host("a", machines=20, rejects={"web"}), Host("b"))
    world.settle()
    assert world.pool_of("web") == "b"
    assert world.machine("web").status.state == "Running"
    assert [(each.pool, each.count) for each in world.machine("web").status.rejections] == [("a", 1)]
    world.settle(seconds=700)
    assert world.pool_of("web") == "b"


def test_rejected_by_all_it_waits_and_asks_again_after_a_while() -> None:
    world = Fleet({"web.yaml": machine("web")}, Host("a", rejects={"web"}), Host("b", rejects={"web"}))
    world.settle()
    assert world.pool_of("web") == ""
    assert {each.pool for each in world.machine("web").status.rejections} == {"a", "b"}
    (shown,) = [each for each in world.machine("web").status.conditions if each.type == "Scheduled"]
    assert (shown.status, shown.reason) == ("False", "Unschedulable")
    world.hosts["b"].rejects.clear()
    world.settle(seconds=11)
    assert world.pool_of("web") == "b"


def test_a_drain_waits_for_consent_where_data_would_be_lost() -> None:
    disk = "  volumes:\n    - name: root\n      localDisk: {}\n"
    world = fleet(web=machine("web", disk))
    first, other = world.pool_of("web"), other_pool(world, "web")
    assert first, world.machine("web").status.conditions
    world.source({"pools.yaml": pool(first, DRAIN)})
    world.settle()
    assert world.pool_of("web") == first
    world.source({"pools.yaml": pool(first, FORCE)})
    world.settle()
    assert world.pool_of("web") == other


def test_a_lost_pool_keeps_what_it_has_and_gets_nothing_new() -> None:
    world = fleet(web=machine("web"))
    first = world.pool_of("web")
    before = world.where()
    world.silent.add(first)
    world.settle(seconds=40)
    world.settle(seconds=40)
    assert world.where() == before
    (ready,) = [each for each in world.machine("web").status.conditions if each.type == "Ready"]
    assert (ready.status, ready.reason) == ("Unknown", "PoolLost")
    world.source({"new.yaml": machine("new")})
    world.settle()
    assert world.pool_of("new") not in ("", first)
    # It comes back: nothing was touched, and nothing is unknown any more.
    world.silent.clear()
    world.settle()
    assert world.where().items() >= before.items()
    assert "Unknown" not in [each.status for each in world.machine("web").status.conditions]


def test_a_volume_is_held_by_one_machine_and_outlives_it() -> None:
    world = fleet(data=volume("data"), web=machine("web", using("data")))
    claim = world.volume("data").spec.claim_ref
    assert claim is not None
    assert (claim.name, claim.uid) == ("web", world.machine("web").metadata.uid)
    # A second one that wants it waits, whichever name it has.
    world.source({"also.yaml": machine("also", using("data"))})
    world.settle()
    assert world.pool_of("also") == ""
    assert world.pool_of("web") != ""
    # The first goes: the claim moves on.
    world.source({"web.yaml": None})
    world.settle()
    assert world.machine("also").status.state == "Running"
    claim = world.volume("data").spec.claim_ref
    assert claim is not None
    assert claim.name == "also"
    # Both leave: the volume has data, so it is kept.
    world.source({"more.yaml": volume("v1") + "---\n" + volume("v2")})
    world.settle()
    world.source({"also.yaml": None, "data.yaml": None})
    world.settle()
    assert DATA not in world.objects()
    assert ".gitvirt/retained/Volume/default/data.yaml" in world.texts()
    assert DATA in world.hosts["a"].has or DATA in world.hosts["b"].has


def test_what_a_machine_brings_along_comes_and_goes_with_it() -> None:
    world = fleet(web=machine("web", EPHEMERAL), office=OFFICE, gitvirt=f"{SETTINGS}limits: {{undo: 0s}}\n")
    brought = Key(Kind.VOLUME, "default", "web-data")
    assert world.machine("web").status.state == "Running"
    assert world.volume("web-data").status.state == "Available"
    assert world.volume("web-data").metadata.owner_references[0].uid == world.machine("web").metadata.uid
    assert ".gitvirt/generated/Volume/default/web-data.yaml" in world.texts()
    assert ".gitvirt/generated/NetworkInterface/default/web-lan.yaml" in world.texts()
    # Its template changes, and so does what was made of it.
    growing = f"{SMALL}---\n{FAST}resizePolicy: ExpandOnly\n"
    world.source({"classes.yaml": growing, "web.yaml": machine("web", EPHEMERAL.replace("10Gi", "20Gi"))})
    world.settle()
    assert world.volume("web-data").spec.storage_bytes == 20 * 2**30
    assert world.volume("web-data").status.assignment is not None
    world.source({"web.yaml": None})
    world.settle()
    assert not [path for path in world.texts() if path.startswith(".gitvirt/generated")]
    assert brought not in world.objects()
    assert not any(brought in host.has for host in world.hosts.values())


def test_volumes_of_a_host_keep_their_machine_with_them() -> None:
    hosts = Host("a", is_local=True), Host("b", machines=20, is_local=True)
    world = fleet(*hosts, data=volume("data"), web=machine("web", using("data")))
    assignment = world.volume("data").status.assignment
    assert assignment is not None
    assert world.pool_of("web") == assignment.pool


def test_declared_again_while_it_goes_it_is_another_one_and_comes_after_it() -> None:
    world = fleet(web=machine("web"))
    uid = world.machine("web").metadata.uid
    world.source({"web.yaml": None})
    world.tick()
    world.source({"web.yaml": machine("web", "  priority: 3\n")})
    world.tick()
    assert world.machine("web").metadata.uid == uid
    assert world.machine("web").metadata.is_deleting
    world.settle()
    assert world.machine("web").metadata.uid != uid
    assert world.machine("web").spec.priority == 3
    assert world.machine("web").status.state == "Running"


def test_another_object_takes_the_file_of_one_that_goes() -> None:
    world = fleet(web=machine("web"))
    world.source({"web.yaml": machine("db")})
    world.tick()
    assert world.machine("web").metadata.is_deleting
    assert ".gitvirt/deleting/Machine/default/web.yaml" in world.texts()
    world.settle()
    assert WEB not in world.objects()
    assert world.machine("db").status.state == "Running"
    assert not [path for path in world.texts() if path.startswith(".gitvirt/deleting/")]


def test_a_paused_machine_is_left_alone() -> None:
    paused = machine("web", meta='  annotations: {gitvirt.dev/paused: "true"}\n')
    world = fleet(web=paused)
    assert world.pool_of("web") == ""
    world.source({"web.yaml": machine("web")})
    world.settle()
    first = world.pool_of("web")
    assert first
    world.source({"web.yaml": paused, "pools.yaml": pool(first, DRAIN)})
    world.settle()
    assert world.pool_of("web") == first
    world.source({"web.yaml": None})
    world.settle()
    assert world.pool_of("web") == first
    assert not world.machine("web").metadata.is_deleting


def test_what_was_on_a_destroyed_pool_comes_back_on_another_with_its_volume() -> None:
    hosts = Host("a", is_local=True), Host("b", is_local=True)
    world = fleet(*hosts, data=volume("data"), web=machine("web", using("data")))
    first, other = world.pool_of("web"), other_pool(world, "web")
    world.silent.add(first)
    world.settle(seconds=60)
    world.source({"note.txt": "it burned"}, **{"Pool-Destroyed": f"{first}={first}"})
    world.settle()
    assert world.pool_of("web") == other
    assignment = world.volume("data").status.assignment
    assert assignment is not None
    assert assignment.pool == other
    assert world.machine("web").status.state == "Running"


def test_another_pool_moves_no_machine() -> None:
    world = fleet(web=machine("web", EPHEMERAL), data=volume("data"), office=OFFICE)
    before = {key: found.status.assignment for key, found in world.objects().items()}
    world.hosts["c"] = Host("c", machines=1000)
    world.settle()
    assert {key: found.status.assignment for key, found in world.objects().items()} == before


def test_a_snapshot_goes_though_its_volume_went_before_it() -> None:
    snapshot = (
        "apiVersion: storage.ironcore.dev/v1alpha1\nkind: VolumeSnapshot\nmetadata: {name: daily}\n"
        "spec:\n  volumeRef: {name: data}\n"
    )
    world = fleet(data=volume("data", "  deletionPolicy: Delete\n"), daily=snapshot, more=volume("v1"))
    world.source({"extra.yaml": volume("v2") + "---\n" + snapshot.replace("daily", "weekly")})
    world.settle()
    world.source({"data.yaml": None, "daily.yaml": None})
    world.settle()
    assert DATA not in world.objects()
    assert not any(key.name == "daily" for _, key, _ in world.documents())


def test_volumes_from_a_snapshot_go_where_the_snapshot_is() -> None:
    daily = (
        "apiVersion: storage.ironcore.dev/v1alpha1\nkind: VolumeSnapshot\nmetadata: {name: daily}\n"
        "spec:\n  volumeRef: {name: data}\n"
    )
    source = "  dataSource:\n    volumeSnapshotRef: {name: daily}\n"
    names = [f"restored-{number}" for number in range(4)]
    world = fleet(**{name: volume(name, source) for name in names}, data=volume("data"), daily=daily)
    world.settle()
    found = world.assignable()

    def pool_of(key: Key) -> str:
        assignment = found[key].status.assignment
        return "" if assignment is None else assignment.pool

    here = pool_of(Key(Kind.VOLUME_SNAPSHOT, "default", "daily"))
    assert {pool_of(Key(Kind.VOLUME, "default", name)) for name in names} == {here}
    assert pool_of(DATA) == here


def test_mass_deletion_awaits_approval() -> None:
    world = fleet(web=machine("web"))
    before = set(world.objects())
    gone = {path: None for path in [*OTHERS, "web.yaml"]}
    world.source(gone)
    world.settle()
    assert set(world.objects()) == before
    assert not any(found.metadata.is_deleting for found in world.objects().values())
    (held,) = [each for each in world.plans[-1].pending_approvals if each.kind is Kind.MACHINE]
    assert set(held.keys) == before
    (shown,) = [each for each in world.machine("web").status.conditions if each.type == "DeletionHeld"]
    assert held.trailer in shown.message
    assert all(host.has for host in world.hosts.values())
    world.source({"note.txt": "all of it"}, Gitvirt_Approve=held.trailer.removeprefix("Gitvirt-Approve: "))
    world.settle()
    assert world.objects() == {}
    assert not any(host.has for host in world.hosts.values())


def test_what_is_held_and_comes_back_stands_as_if_nothing_had_been() -> None:
    world = fleet(web=machine("web"))
    before = {key: found.status.assignment for key, found in world.objects().items()}
    world.source({path: None for path in OTHERS})
    world.settle()
    world.source(dict(OTHERS))
    world.settle()
    assert {key: found.status.assignment for key, found in world.objects().items()} == before
    assert "DeletionHeld" not in "".join(world.texts().values())


def test_a_source_without_any_file_deletes_nothing() -> None:
    world = fleet(web=machine("web"))
    before = {key: found.status.assignment for key, found in world.objects().items()}
    files = {file.path: world.store.read(file.id).decode() for file in world.store.files(world.heads[MAIN])}
    world.source({path: None for path in files})
    world.settle()
    world.reconciler = world.another()
    world.settle()
    assert {key: found.status.assignment for key, found in world.objects().items()} == before
    assert not any(found.metadata.is_deleting for found in world.objects().values())
    world.source(dict(files))
    world.settle()
    assert {key: found.status.assignment for key, found in world.objects().items()} == before
    assert "DeletionHeld" not in "".join(world.texts().values())


@pytest.mark.parametrize("value", ["0" * 16, "zzz"])
def test_an_approval_that_matches_nothing_is_answered(value: str) -> None:
    world = fleet(web=machine("web"))
    world.source({"note.txt": "a slip"}, Gitvirt_Approve=value)
    world.hosts_report()
    world.tick()
    (held,) = world.plans[-1].pending_approvals
    assert held.reason.startswith(f"Gitvirt-Approve: {value} (commit ")
    assert "matches nothing that awaits approval here" in held.reason
    assert not held.trailer
    world.settle()
    assert not world.plans[-1].pending_approvals


def test_an_approval_with_a_slip_is_answered_with_the_one_that_was_meant() -> None:
    world = fleet(web=machine("web"))
    world.source({path: None for path in [*OTHERS, "web.yaml"]})
    world.settle()
    (held,) = world.plans[-1].pending_approvals
    trailer = held.trailer
    world.source({"note.txt": "a slip"}, Gitvirt_Approve=trailer.removeprefix("Gitvirt-Approve: ")[:8])
    world.tick()
    assert [each.trailer for each in world.plans[-1].pending_approvals] == [trailer, ""]
    assert world.plans[-1].pending_approvals[1].reason.endswith(f"did you mean {trailer}?")


def test_a_force_push_changes_nothing() -> None:
    world = fleet(web=machine("web"))
    before = {key: found.status.assignment for key, found in world.objects().items()}
    old = world.heads[MAIN]
    world.force({"gitvirt.yaml": world.texts()["gitvirt.yaml"], "other.yaml": machine("surprise")})
    world.settle()
    assert {key: found.status.assignment for key, found in world.objects().items()} == before
    digest = approval_digest(FLEET, HoldKind.SOURCE, [old, world.heads[MAIN]])
    assert world.plans[-1].pending_approvals[0].trailer == f"Gitvirt-Approve: {digest}"


def test_one_malformed_file_stops_nothing_and_deletes_nothing() -> None:
    world = fleet(web=machine("web"), two=machine("left") + "---\n" + machine("right"))
    before = {key: found.status.assignment for key, found in world.objects().items()}
    world.source({"two.yaml": "kind: [\n", "new.yaml": machine("new")})
    world.settle()
    assert {key: found.status.assignment for key, found in world.objects().items()}.items() >= before.items()
    assert world.pool_of("new") != ""
    (shown,) = [each for each in world.machine("left").status.conditions if each.type == "Accepted"]
    assert shown.reason == "Frozen"
    # Fixed without one of them: that one goes, and only that.
    world.source({"two.yaml": machine("right")})
    world.settle()
    assert Key(Kind.MACHINE, "default", "left") not in world.objects()
    assert world.machine("right").status.assignment == before[Key(Kind.MACHINE, "default", "right")]
    assert "Accepted" not in [each.type for each in world.machine("right").status.conditions]


def test_a_lost_live_is_rebuilt_from_what_hosts_have() -> None:
    world = fleet(web=machine("web", EPHEMERAL), data=volume("data"), office=OFFICE)
    before = {key: (found.metadata.uid, found.status.assignment) for key, found in world.objects().items()}
    reports = {name: world.heads[REPORTS + name] for name in world.hosts}
    del world.remote.refs[LIVE], world.heads[LIVE]
    world.reconciler = world.another()
    assert isinstance(world.tick(), TickBlocked)
    assert LIVE not in world.remote.refs
    # Heartbeats of the same state: every host has reported, so its objects can be taken back.
    world.heads |= {REPORTS + name: commit for name, commit in reports.items()}
    for name in world.hosts:
        world.now += timedelta(seconds=1)
        world.edit_report(name)
    assert isinstance(world.tick(), Committed)
    for key, found in world.objects().items():
        uid, assignment = before[key]
        assert assignment is not None
        assert found.metadata.uid == uid
        assert found.status.assignment == msgspec.structs.replace(assignment, epoch=assignment.epoch + 1)
    assert {change.action for change in world.plans[-1].changes} >= {Action.ADOPT}
    world.settle()
    assert all(host.has for host in world.hosts.values())


def test_a_lost_live_waits_for_a_host_that_fell_silent() -> None:
    """What it was given after its last report is unknown; its report is removed by hand when it never returns."""
    world = fleet(Host("a"), Host("b"), web=machine("web"))
    del world.remote.refs[LIVE], world.heads[LIVE]
    world.reconciler = world.another()

    def heartbeat() -> Outcome:
        world.edit_report("a")
        return world.tick(seconds=30)

    assert all(isinstance(heartbeat(), TickBlocked) for _ in range(6))
    assert LIVE not in world.remote.refs
    world.heads.pop(REPORTS + "b")
    world.remote.refs.pop(REPORTS + "b")
    assert any(isinstance(heartbeat(), Committed) for _ in range(6))


@pytest.mark.parametrize("hosts", ["ab", "a"])
def test_a_lost_live_waits_for_a_host_whose_report_was_lost_with_it(hosts: str) -> None:
    """It is the running reconciler's: it has seen that host report, and knows that it may run everything still."""
    world = fleet(*(Host(name) for name in hosts), web=machine("web"))
    first = world.pool_of("web")
    others = [name for name in hosts if name != first]

    def heartbeat(*names: str) -> Outcome:
        for name in names:
            world.edit_report(name)
        return world.tick(seconds=10)

    for _ in range(4):
        heartbeat(*hosts)
    for ref in (LIVE, REPORTS + first):
        del world.remote.refs[ref], world.heads[ref]
    before = world.now
    outcomes = [heartbeat(*others)]
    while isinstance(outcomes[-1], TickBlocked):
        assert LIVE not in world.remote.refs
        outcomes.append(heartbeat(*others))
        assert len(outcomes) < 60
    # Placed again once its heartbeat timeout is over, and no sooner.
    assert isinstance(outcomes[-1], Committed)
    assert world.now - before >= timedelta(seconds=50)
    assert world.pool_of("web") in ("", *others)


def test_a_host_that_reports_again_after_live_and_its_report_were_lost_keeps_what_it_has() -> None:
    world = fleet(web=machine("web"))
    first, before = world.pool_of("web"), world.where()
    shown = {name: host.report(world.objects()) for name, host in world.hosts.items()}
    for ref in (LIVE, REPORTS + first):
        del world.remote.refs[ref], world.heads[ref]
    assert isinstance(world.tick(), TickBlocked)
    for name in world.hosts:
        world.report(name, shown[name])
    assert isinstance(world.tick(), Committed)
    assert world.where() == before


@pytest.mark.parametrize("hosts", [1, 3])
def test_a_report_that_lists_nothing_takes_nothing_away(hosts: int) -> None:
    world = fleet(*(Host(name) for name in "abc"[:hosts]), web=machine("web"))
    before = {key: found.status.assignment for key, found in world.objects().items()}
    for name in world.hosts:
        world._commit(REPORTS + name, {}, {}, has_parents=False)
    for _ in range(5):
        world.tick(seconds=30)
    assert {key: found.status.assignment for key, found in world.objects().items()} == before


def held_fleet() -> tuple[Fleet, str]:
    """A fleet of which all is to be deleted, and the digest that approves it."""
    world = fleet(web=machine("web"))
    world.source({path: None for path in [*OTHERS, "web.yaml"]})
    world.settle()
    (held,) = [each for each in world.plans[-1].pending_approvals if each.kind is Kind.MACHINE]
    return world, held.trailer.removeprefix("Gitvirt-Approve: ")


def test_a_file_approves_and_is_used_up_on_live() -> None:
    world, digest = held_fleet()
    path = f".gitvirt/approvals/{digest}.yaml"
    world.source({path: "approve: it\n"})
    world.settle()
    assert world.objects() == {}
    world.source({path: None})
    world.settle()
    live = {file.path: file for file in world.store.files(world.heads[LIVE])}
    assert path in live, "so that neither a revert nor a restored branch uses it again"


def test_an_approval_that_live_has_does_not_count_again() -> None:
    """It was used for nothing, since the files came back with it; then its removal is reverted."""
    world, digest = held_fleet()
    path = f".gitvirt/approvals/{digest}.yaml"
    world.source({**OTHERS, "web.yaml": machine("web"), path: "approve: it\n"})
    world.settle()
    world.source({path: None})
    world.settle()
    before = set(world.objects())
    world.source({**dict.fromkeys([*OTHERS, "web.yaml"]), path: "approve: it\n"})
    world.settle()
    assert set(world.objects()) == before
    assert not any(found.metadata.is_deleting for found in world.objects().values())
    world.source({path: "approve: it\ntime: later\n"})
    world.settle()
    assert world.objects() == {}


def test_a_squashed_approval_counts() -> None:
    world, digest = held_fleet()
    message = f"clean up (#12)\n\n* approve\n\nGitvirt-Approve: {digest}\n\n* more"
    world._commit(MAIN, {"note.txt": b"x"}, {}, message=message)
    world.settle()
    assert world.objects() == {}


def test_what_machines_used_goes_with_the_last_of_them() -> None:
    """A class whose removal was ordered while a machine of it was still there; another process would find it at its start."""
    tiny = SMALL.replace("small", "tiny")
    world = fleet(keep=machine("keep"), web=machine("web", size="tiny"), tiny=tiny)
    world.source({"web.yaml": None, "tiny.yaml": None})
    world.silent.update(world.hosts)
    for _ in range(3):
        world.tick()
    world.silent.clear()
    for _ in range(2):
        world.settle()
    assert "tiny" not in {key.name for _, key, _ in world.documents()}
    assert isinstance(world.tick(), NoChange)
    world.reconciler = world.another()
    assert isinstance(world.tick(), NoChange)
