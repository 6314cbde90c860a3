"""A host with a stolen key claims what waits: it gets nothing, and what has an assignment goes on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import msgspec
import pytest

from schemas.kinds import Key
from schemas.model import Condition
from schemas.report import Report, objects
from tests.reconciler.lifecycle.hosts import Assigned, Fleet, Host
from tests.reconciler.lifecycle.test_lives import fleet
from tests.reconciler.world import scene
from tests.reconciler.world.scene import FLEET, LIVE, REPORTS, machine, using, volume

PINNED = machine("p", "  machinePoolRef: {name: vault}\n")
SELECTING = machine("s", "  machinePoolSelector: {zone: secure}\n")
OTHER_FLEET = "5a1e9a5e-0d5c-4f0b-9a54-6d1b6f6f7f10"


def claim(
    world: Fleet, *names: str, by: str = "evil", fleet_id: str = FLEET, pools: tuple[str, ...] = ()
) -> None:
    """Its report says that these machines run there, under ids that it made up."""
    entries: dict[tuple[str, str], object] = {}
    for number, name in enumerate(names):
        status = objects.ReportedMachineStatus(machine_id="x://y", state="Running")
        uid = world.machine(name).metadata.uid
        made_up = f"00000000-0000-4000-8000-00000000000{number}"
        pool = pools[0] if pools else by
        entries["default", name] = objects.MachineReport(uid, made_up, "present", pool, status=status)
    world.report(by, scene.report(by, 1, classes=(), fleet=fleet_id, entries=entries))


def find_condition(world: Fleet, name: str) -> Condition:
    return next(each for each in world.machine(name).status.conditions if each.type == "Accepted")


def go_on(world: Fleet, *names: str) -> None:
    for _ in range(4):
        claim(world, *names)
        world.hosts_report()
        world.tick()


def test_it_captures_no_machine_that_waits() -> None:
    world = fleet(web=machine("web", "  machinePoolRef: {name: a}\n"), p=PINNED, s=SELECTING)
    assert world.pool_of("p") == world.pool_of("s") == ""
    go_on(world, "web", "p", "s")
    assert (world.pool_of("web"), world.pool_of("p"), world.pool_of("s")) == ("a", "", "")
    found = find_condition(world, "p")
    assert (found.status, found.reason) == ("False", "ReportedWithoutAssignment")
    assert "poollet evil reports it on pool evil, and live never assigned it there" in found.message
    assert found.message.endswith("git push origin --delete refs/poollets/evil")
    # The machine moves when people say so, past the claim: once the report is removed, if it is seen in between.
    world.source({"web.yaml": machine("web", "  machinePoolRef: {name: b}\n")})
    go_on(world, "web", "p", "s")
    assert world.pool_of("web") in ("", "b")
    del world.remote.refs[REPORTS + "evil"], world.heads[REPORTS + "evil"]
    world.settle()
    assert (world.pool_of("web"), world.pool_of("p")) == ("b", "")


def test_it_stops_no_machine_that_it_does_not_name() -> None:
    world = fleet(p=PINNED)
    go_on(world, "p")
    world.source({"new.yaml": machine("new")})
    go_on(world, "p")
    assert world.pool_of("new") in ("a", "b")


@pytest.mark.parametrize(
    ("spec", "reason"),
    [
        ("  machinePoolRef: {name: vault}\n", "PoolDoesNotFit"),
        ("  machinePoolSelector: {zone: secure}\n", "PoolDoesNotFit"),
    ],
)
def test_it_captures_nothing_against_its_declaration_while_live_is_lost(spec: str, reason: str) -> None:
    world = fleet(p=machine("p", spec), web=machine("web"))
    before, uid = world.where(), world.machine("p").metadata.uid
    claim(world, "p")
    del world.remote.refs[LIVE], world.heads[LIVE]
    world.reconciler = world.another()
    for _ in range(4):
        entry = objects.MachineReport(uid, "00000000-0000-4000-8000-000000000001", "present", "evil")
        world.report("evil", scene.report("evil", entries={("default", "p"): entry}))
        for name in world.hosts:
            world.edit_report(name)
        world.tick()
    assert world.where() == before
    assert find_condition(world, "p").reason in (reason, "ReportedWithoutAssignment")


class Storing(Host):
    """Reports access data of its volumes."""

    def report(self, live: Mapping[Key, Assigned]) -> Report:
        found = super().report(live)
        made = {
            key: msgspec.structs.replace(
                each,
                status=msgspec.structs.replace(
                    each.status, access=objects.ReportedVolumeAccess("file", handle_of(key[1]))
                ),
            )
            for key, each in found.volumes.items()
            if each.status is not None
        }
        return replace(found, volumes={**found.volumes, **made})


def handle_of(name: str) -> str:
    return f"/vol/{name}"


def list_attached(world: Fleet, *handles: str) -> None:
    """Its report has an orphan with these volumes attached, whose handles it read in the repo."""
    uid = "00000000-0000-4000-8000-0000000000ff"
    orphan = objects.Orphan("Machine", "evil", "x://y", uid, "default", "old", handles=handles)
    world.report("evil", replace(scene.report("evil", 1, classes=()), orphans=(orphan,)))


def test_it_delays_free_volumes_that_it_names_until_its_report_is_removed() -> None:
    """Those that machines have stay theirs; and so does all that it does not name."""
    names = ("one", "two", "three")
    volumes = {name: volume(name, "  volumePoolRef: {name: a}\n") for name in names}
    world = fleet(Storing("a"), Storing("b"), **volumes, web=machine("web", using("one")))

    def claims() -> list[str]:
        found = [world.volume(name).spec.claim_ref for name in names]
        return ["" if each is None else each.name for each in found]

    def tick(times: int) -> None:
        for _ in range(times):
            list_attached(world, handle_of("one"), handle_of("two"))
            world.hosts_report()
            world.tick()

    tick(3)
    world.source({"db.yaml": machine("db", using("two")), "app.yaml": machine("app", using("three"))})
    tick(4)
    assert claims() == ["web", "", "app"]
    found = find_condition(world, "db")
    assert found.reason == "VolumeInUse"
    assert found.message.endswith("git push origin --delete refs/poollets/evil")
    del world.remote.refs[REPORTS + "evil"], world.heads[REPORTS + "evil"]
    world.settle()
    assert claims() == ["web", "db", "app"]


@pytest.mark.parametrize("how", ["unowned pool", "unreadable"])
def test_a_name_in_a_refused_report_is_not_placed_before_that_is_corrected(how: str) -> None:
    world = fleet(p=PINNED)
    if how == "unowned pool":
        claim(world, "p", pools=("a",))
    else:
        claim(world, "p")
        world.edit_report("evil", {"poollet.json": b"{"})
    world.source({"p.yaml": machine("p")})
    world.settle()
    assert world.pool_of("p") == ""
    found = find_condition(world, "p")
    assert found.reason == "ReportedByRefusedPoollet"
    assert found.message.startswith("the report of poollet evil says that it is there, and is refused: ")
    assert "git push origin --delete refs/poollets/evil" in found.message
    del world.remote.refs[REPORTS + "evil"], world.heads[REPORTS + "evil"]
    world.settle()
    assert world.pool_of("p") in ("a", "b")


def test_the_report_of_another_fleet_blocks_nothing() -> None:
    world = fleet(p=PINNED)
    claim(world, "p", fleet_id=OTHER_FLEET)
    world.source({"p.yaml": machine("p")})
    world.settle()
    assert world.pool_of("p") in ("a", "b")
