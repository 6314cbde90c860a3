"""What befalls hosts in a life: late effects of calls, old images of disks, and a restored `live`; and the laws notice what goes wrong."""

from __future__ import annotations

import uuid

import pytest
from msgspec.structs import replace

from iri.errors import InvalidArgument, TimedOut
from iri.identity import ASSIGNMENT_LABEL, UID_LABELS
from iri.machine import RuntimeMachine, RuntimeMachineSpec
from reconciler.gitstore.objects.commit import SOURCE_TRAILER
from schemas.kinds import Key, Kind
from schemas.live_layout import POOL
from tests.poollet.fleet import LIVE, MAIN, REPORTS
from tests.soak import backups, disk_images, hostile_reports, troubles, undecided
from tests.soak.people import COMPUTE, DISKS, STORAGE
from tests.soak.stage import HOSTS, RECONCILERS
from tests.soak.test_soak import quiet_life
from tests.soak.walk import Life

NAME = "machinepoollet.ironcore.dev/machine-name"


def choose_busy_host(life: Life) -> str:
    """A host that runs a machine."""
    return next(name for name in HOSTS if life.stage.running(name))


def new_machine() -> RuntimeMachine:
    labels = {UID_LABELS[RuntimeMachine]: "u1", ASSIGNMENT_LABEL: "a1"}
    return RuntimeMachine(labels=labels, spec=RuntimeMachineSpec(class_name="small"))


@pytest.mark.parametrize("is_ended", [False, True])
def test_a_creation_that_was_given_up_takes_effect_unless_its_assignment_ended(is_ended: bool) -> None:
    stage = Life(1).stage
    runtime = stage.slow[HOSTS[0]]
    runtime.slow = 1
    with pytest.raises(TimedOut):
        runtime.create(new_machine())
    assert not stage.uids(HOSTS[0])
    if is_ended:
        runtime.end_assignments(("a1",))
        with pytest.raises(InvalidArgument):
            runtime.create(new_machine())
    assert runtime.land(0) == ("create RuntimeMachine", not is_ended)
    assert list(stage.uids(HOSTS[0]).values()) == ([] if is_ended else ["u1"])


def test_a_host_with_an_older_image_has_what_left_it_and_runs_none_of_it() -> None:
    life = quiet_life()
    name = choose_busy_host(life)
    (*_, uid) = life.stage.running(name)
    old = disk_images.take(life, name)
    life.stage.burn(name)
    life.stage.restore_host(name, old)
    life.stage.time.ms += 60_000
    assert (name, uid) in life.stage.remains
    assert not life.stage.running(name)
    life.laws._once()


def test_a_clone_whose_machines_run_breaks_a_law() -> None:
    life = quiet_life()
    name = choose_busy_host(life)
    life.stage.add_clone(name, disk_images.take(life, name))
    life.stage.time.ms += 60_000
    life.laws._once()
    life.stage.machines[f"{name} clone"].runtime.hold_starts(release=True)
    with pytest.raises(AssertionError, match="machines run twice"):
        life.laws._once()


def test_a_clone_looks_at_the_report_and_ends() -> None:
    life = quiet_life()
    name = choose_busy_host(life)
    life.stage.add_clone(name, disk_images.take(life, name))
    clone = life.stage.clones[name]
    for _ in range(2):
        life.stage.turn_clone(name)
        life.stage.time.ms += 20_000
        life.turn(name)
    assert clone.run is None or not clone.run.publisher.has_landed
    assert not life.stage.running(clone.key)


@pytest.mark.parametrize("way", backups.WAYS)
def test_after_a_restore_the_fleet_converges(way: str, monkeypatch: pytest.MonkeyPatch) -> None:
    life = quiet_life()
    backups.back_up(life)
    life.people.declare()
    for _ in range(5):
        life.play_round()
    monkeypatch.setattr(backups, "WAYS", (way,))
    before = life.stage.fleet.head(LIVE)
    backups.restore(life)
    assert (life.stage.fleet.head(LIVE) == before) is (way == "reports")
    life.rest()
    assert life.reached[f"restored: {way}"] == 1


@pytest.mark.parametrize("kind", hostile_reports.KINDS)
@pytest.mark.parametrize("name", [hostile_reports.EVIL[0], HOSTS[-1]])
def test_a_hostile_report_changes_nothing_of_other_hosts(kind: str, name: str) -> None:
    life = quiet_life()
    before = {host: sorted(life.stage.running(host)) for host in HOSTS}
    hostile_reports.KINDS[kind](life.stage.fleet, name, life.chance)
    assert REPORTS + name in life.stage.fleet.remote.refs
    for who in (*RECONCILERS, *HOSTS[:-1], *RECONCILERS):
        life.turn(who)
    life.rest()
    assert {host: sorted(life.stage.running(host)) for host in HOSTS} == before


def test_people_remove_reports_of_no_host() -> None:
    life = quiet_life()
    hostile_reports.blob(life.stage.fleet, "evil", life.chance)
    assert troubles.banish(life) == "evil"
    assert REPORTS + "evil" not in life.stage.fleet.remote.refs


def test_a_volume_of_shared_storage_is_written_on_another_host_and_by_one_machine_only(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    life = Life(1)
    pinned = "  machinePoolRef: {name: host-2}\n" + DISKS["v0"]
    life.people.put(
        "Volume/v0",
        f"apiVersion: {STORAGE}\nkind: Volume\nmetadata: {{name: v0}}\nspec:\n  volumeClassRef: {{name: standard}}\n"
        "  volumePoolRef: {name: host-1}\n  resources: {storage: 1Gi}\n",
    )
    for name in ("m0", "m1"):
        life.people.put(
            f"Machine/{name}",
            f"apiVersion: {COMPUTE}\nkind: Machine\nmetadata:\n  name: {name}\n"
            f"spec:\n  machineClassRef: {{name: small}}\n{pinned}",
        )
    for _ in range(8):
        life.play_round()
    [(handle, _)] = life.stage.writers("host-2")
    life.laws._once()
    monkeypatch.setattr(life.stage, "writers", lambda _: [(handle, "m0"), (handle, "m1")])
    with pytest.raises(AssertionError, match="two machines write one volume"):
        life.laws._once()


def test_a_forged_report_hides_only_what_the_restored_live_does_not_assign_to_its_host() -> None:
    life = quiet_life()
    name = choose_busy_host(life)
    hidden = life.stage.hidden
    hidden.hide(life.stage, name)
    assert not hidden.things
    life.stage.fleet.commit(dict.fromkeys(life.stage.texts()))
    hidden.hide(life.stage, name)
    assert hidden.things >= {(name, uid) for uid in life.stage.running(name)}


def test_a_silent_host_hides_what_it_has_only_once_a_reconciler_lost_its_mirror() -> None:
    life = quiet_life()
    name = choose_busy_host(life)
    hidden = life.stage.hidden
    life.stage.fleet.commit(dict.fromkeys(life.stage.texts()))
    life.stage.time.ms += 60_000
    hidden.hide_silent(life.stage)
    assert not hidden.things, "a reconciler that has its mirror waits for it"
    hidden.begin(life.stage)
    life.stage.turn(name)
    life.stage.time.ms += 60_000
    hidden.hide_silent(life.stage)
    assert hidden.things
    assert name not in {host for host, _ in hidden.things}, "it has reported"


LEFT = f"""apiVersion: {COMPUTE}
kind: Machine
metadata: {{name: m8, uid: 7c4f0b4e-31ad-5a0a-9d4a-5d5f2c6a5f11}}
spec: {{machineClassRef: {{name: small}}}}
status:
  state: Pending
  conditions:
  - {{type: Accepted, status: "False", reason: {undecided.MULTIPLE}, message: "", lastTransitionTime: "2026-05-04T12:00:00Z"}}
"""


def test_people_decide_which_host_keeps_what_two_of_them_report_after_a_recovery() -> None:
    """As the recovery left it: two hosts have an m8 that no order names, and the document of m8, which left the source, waits."""
    life = Life(1)
    life.people.put("Machine/m0", machine_on("host-3", "m0", "none"))
    while not life.stage.running("host-3"):
        life.play_round()
    [model] = life.stage.machines["host-3"].runtime.objects(RuntimeMachine).values()
    for name in HOSTS[:2]:
        own = {UID_LABELS[RuntimeMachine]: str(uuid.uuid4()), ASSIGNMENT_LABEL: "", POOL: name, NAME: "m8"}
        life.stage.machines[name].runtime.create(replace(model, labels={**model.labels, **own}))
    for _ in range(4):
        life.play_round()
    waits = Key(Kind.MACHINE, "default", "m8")
    assert len(undecided.list_orphans(life.stage, waits)) == 2
    by_reconciler = [(SOURCE_TRAILER, life.stage.fleet.head(MAIN))]
    life.stage.fleet.commit({".gitvirt/deleting/Machine/default/m8.yaml": LEFT}, LIVE, trailers=by_reconciler)
    for _ in range(4):
        life.play_round()
    assert undecided.list_undecided(life) == [waits]
    life.rest()
    assert any(" decided " in line and ".gitvirt/orphans/" in line for line in life.trace)
    assert not undecided.list_orphans(life.stage, waits)
    assert not life.people.orders


def test_a_late_removal_does_nothing_to_the_machine_that_came_back_to_its_host() -> None:
    """The removal for a drain is not answered, and the next one is. Then the machine is placed on the same host again, under its old id."""
    life = Life(1)
    life.people.put("Machine/m0", machine_on("host-2", "m0", "local"))
    for _ in range(8):
        life.play_round()
    [uid] = life.stage.running("host-2")
    life.stage.slow["host-2"].slow = 2  # to power it off, and to remove it
    life.people.pool("host-2", "force")
    while life.stage.uids("host-2"):
        life.play_round()
    life.people.pool("host-2", "open")
    while uid not in life.stage.running("host-2"):
        life.play_round()
    assert [late.name for late in life.stage.slow["host-2"].late] == [
        f"SetPower {uid}",
        f"remove RuntimeMachine {uid}",
    ]
    while call := troubles.late_effect(life):
        assert call.endswith("refused"), call
    for _ in range(8):
        life.play_round()
    assert life.stage.running("host-2") == [uid]


def machine_on(pool: str, name: str, disk: str) -> str:
    return (
        f"apiVersion: {COMPUTE}\nkind: Machine\nmetadata:\n  name: {name}\n"
        f"spec:\n  machineClassRef: {{name: small}}\n  machinePoolRef: {{name: {pool}}}\n{DISKS[disk]}"
    )


@pytest.mark.parametrize("is_restarted", [False, True], ids=["running", "restarted"])
@pytest.mark.parametrize("behavior", ["gitvirt", "stock-libvirt"])
def test_a_late_attach_makes_no_second_writer_of_a_volume_that_was_handed_over(
    behavior: str, is_restarted: bool
) -> None:
    """The runtime of host-2 does not answer the attach of v0 to m0. Then people give v0 to m1, on another host."""
    life = Life(1, behavior=behavior)
    life.people.put(
        "Volume/v0",
        f"apiVersion: {STORAGE}\nkind: Volume\nmetadata: {{name: v0}}\nspec:\n  volumeClassRef: {{name: standard}}\n"
        "  volumePoolRef: {name: host-1}\n  resources: {storage: 1Gi}\n",
    )
    life.people.put("Machine/m0", machine_on("host-2", "m0", "none"))
    for _ in range(8):
        life.play_round()
    life.stage.slow["host-2"].slow = 1
    life.people.put("Machine/m0", machine_on("host-2", "m0", "v0"))
    while not life.stage.slow["host-2"].late:
        life.play_round()
    life.people.put("Machine/m0", machine_on("host-2", "m0", "none"))
    life.people.put("Machine/m1", machine_on("host-3", "m1", "v0"))
    if is_restarted:
        life.stage.forget("host-2")
    for _ in range(12):
        life.play_round()
    assert life.stage.running("host-2")
    (late,) = life.stage.slow["host-2"].late
    assert late.is_attach
    assert life.stage.slow["host-2"].land(0)[1], "it takes effect"
    life.stage.time.ms += 5_000
    for name in HOSTS:
        life.stage.machines[name].host.run_due()
    assert life.stage.writers("host-2")
    life.laws._once()
    for _ in range(60):
        life.play_round()
    assert life.stage.writers("host-3"), "m1 has got the volume"
    assert not life.stage.writers("host-2")
