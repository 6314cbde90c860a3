"""What is to go when a rewound `live` is recovered: it is not forgotten while a host has it, and goes from the host that has it."""

from __future__ import annotations

from dataclasses import replace as dataclass_replace

import pytest

from schemas.kinds import Key, Kind
from schemas.report import MachineReport
from tests.reconciler.lifecycle.hosts import Fleet
from tests.reconciler.lifecycle.restored import CORDON, DRAIN, WEB, Restored, let_web_go, start_fleet
from tests.reconciler.world.scene import SETTINGS, machine, pool, volume

DATA = Key(Kind.VOLUME, "default", "data")
ANYWHERE = "  volumePoolSelector: {}\n"


def hosts_with(world: Fleet, key: Key) -> list[str]:
    return [host.name for host in world.hosts.values() if key in host.has]


def read_accepted(world: Fleet, name: str) -> tuple[str, str]:
    shown = [each for each in world.machine(name).status.conditions if each.type == "Accepted"]
    return (shown[0].reason, shown[0].message) if shown else ("", "")


def remove_from(world: Restored, name: str, key: Key) -> None:
    """As people do it, with the file of an orphan or by hand."""
    host = world.hosts[name]
    del host.has[key]
    host.off.discard(key)


def on_two_hosts(*, is_assigned: bool) -> Restored:
    """Web left the source after the backup, and two hosts have it. `is_assigned`: the restored `live` has it on one of them."""
    world = start_fleet(a=pool("a", "" if is_assigned else CORDON), web=machine("web"))
    backup = {"live": world.heads["refs/heads/live"]}
    world.source({"a.yaml": pool("a")})
    world.settle()
    assert world.running("web") == ["a"]
    world.hosts["b"].has[WEB] = world.hosts["a"].has[WEB]
    world.hosts["b"].made.append(world.hosts["a"].has[WEB])
    let_web_go(world)
    world.restore(**backup)
    world.fresh()
    return world


def recover_all(world: Restored) -> None:
    """As people do: they approve what is asked."""
    for _ in range(6):
        world.settle()
        if trailers := world.list_trailers():
            world.approve(*trailers)


@pytest.mark.parametrize("stays", ["a", "b"])
def test_what_two_hosts_report_is_not_forgotten_and_goes_from_the_last_one(stays: str) -> None:
    world = on_two_hosts(is_assigned=False)
    recover_all(world)
    assert hosts_with(world, WEB) == ["a", "b"]
    reason, message = read_accepted(world, "web")
    assert reason == "ReportedByMultiplePools", "its document would be dropped, and two hosts would have it"
    assert "a and b report it" in message
    remove_from(world, "b" if stays == "a" else "a", WEB)
    recover_all(world)
    assert hosts_with(world, WEB) == []
    assert "web.yaml" not in world.texts()


def test_a_host_that_falls_silent_still_has_what_it_reported() -> None:
    """Two had it; one is emptied, and the other one is silent."""
    world = on_two_hosts(is_assigned=False)
    recover_all(world)
    world.silent.add("b")
    world.settle(seconds=60)
    remove_from(world, "a", WEB)
    world.settle(seconds=60)
    assert WEB in world.objects(), "its document would be dropped, and b would have it"
    world.silent.clear()
    recover_all(world)
    assert hosts_with(world, WEB) == []
    assert "web.yaml" not in world.texts()


def test_what_its_own_pool_and_another_host_report_waits_for_people() -> None:
    world = on_two_hosts(is_assigned=True)
    recover_all(world)
    assert hosts_with(world, WEB) == ["a", "b"]
    assert read_accepted(world, "web")[0] == "ReportedByMultiplePools"
    remove_from(world, "b", WEB)
    recover_all(world)
    assert hosts_with(world, WEB) == []
    assert "web.yaml" not in world.texts()


def test_a_plan_asks_no_approval_of_what_waits_until_one_host_has_it() -> None:
    """It would be used up, and asked for again and again."""
    world = on_two_hosts(is_assigned=True)
    recover_all(world)
    world.source(dict.fromkeys(("other0.yaml", "other1.yaml", "other2.yaml")))
    world.settle()
    (trailer,) = world.list_trailers()
    world.approve(trailer)
    world.settle()
    assert world.list_trailers() == []
    assert {key.name for key in world.objects() if key.kind is Kind.MACHINE} == {"web"}
    assert hosts_with(world, WEB) == ["a", "b"]


@pytest.mark.parametrize("spec", ["  machinePoolSelector: {zone: secure}\n", "  machinePoolRef: {name: b}\n"])
def test_what_fits_its_pool_no_longer_goes_from_there(spec: str) -> None:
    """Where it fits matters for a machine that stays."""
    world = start_fleet(a=pool("a", CORDON), web=machine("web", spec))
    backup = world.heads["refs/heads/live"]
    world.source({"web.yaml": machine("web"), "a.yaml": pool("a")})
    world.settle()
    assert world.running("web") == ["a"]
    world.source({"web.yaml": None})
    world.restore(live=backup)
    world.fresh()
    world.recover("web")
    assert hosts_with(world, WEB) == []
    assert "web.yaml" not in world.texts()


def test_a_declared_machine_that_two_hosts_had_is_adopted_from_the_one_that_is_left() -> None:
    """Both list it as an orphan once they apply the new `live`, which assigns it to neither."""
    world = start_fleet(a=pool("a", CORDON), web=machine("web"))
    backup = world.heads["refs/heads/live"]
    world.source({"a.yaml": pool("a")})
    world.settle()
    uid = world.machine("web").metadata.uid
    world.hosts["b"].has[WEB] = world.hosts["a"].has[WEB]
    world.source({"b.yaml": pool("b")})
    world.restore(live=backup)
    world.fresh()
    recover_all(world)
    assert read_accepted(world, "web")[0] == "ReportedByMultiplePools"
    assert world.pool_of("web") == ""
    remove_from(world, "b", WEB)
    recover_all(world)
    assert (world.pool_of("web"), world.machine("web").metadata.uid) == ("a", uid)
    assert hosts_with(world, WEB) == world.running("web") == ["a"]


def test_a_volume_that_two_hosts_report_is_not_forgotten() -> None:
    world = start_fleet(data=volume("data", ANYWHERE))
    backup = world.heads["refs/heads/live"]
    place = world.volume("data").status.assignment
    assert place is not None
    other = "b" if place.pool == "a" else "a"
    world.source({"note.txt": "1"})
    world.settle()
    world.hosts[other].has[DATA] = world.hosts[place.pool].has[DATA]
    world.source({"data.yaml": None})
    world.restore(live=backup)
    world.fresh()
    recover_all(world)
    assert hosts_with(world, DATA) == ["a", "b"]
    assert DATA in world.objects(), (
        "it would be retained on one host, and the other one would have its data too"
    )
    remove_from(world, other, DATA)
    recover_all(world)
    assert hosts_with(world, DATA) == [place.pool]
    assert [path for path in world.texts() if path.startswith(".gitvirt/retained/")]


NOT_OF_A = SETTINGS + "poollets: {a: {pools: [shelf]}}\n"


@pytest.mark.parametrize("is_assigned", [False, True], ids=["on no pool", "on another pool"])
def test_what_a_refused_report_names_is_not_forgotten(is_assigned: bool) -> None:
    """Web ran on a, and left the source; pool a belongs to poollet a no longer. Whether web runs there is unknown until that is corrected."""
    cordon = {"a": pool("a", CORDON), "b": pool("b")} if is_assigned else {"a": pool("a", CORDON)}
    world = start_fleet(**cordon, web=machine("web"))
    backup = world.heads["refs/heads/live"]
    assert world.pool_of("web") == ("b" if is_assigned else "")
    world.source({"a.yaml": pool("a"), "b.yaml": pool("b", DRAIN)})
    world.settle()
    assert world.running("web") == ["a"]
    world.source({"web.yaml": None, "gitvirt.yaml": NOT_OF_A})
    world.restore(live=backup)
    world.fresh()
    recover_all(world)
    reason, message = read_accepted(world, "web")
    assert reason == "ReportedByRefusedPoollet", "its document would be dropped, and a would run it"
    assert "pool a does not belong to that poollet" in message
    assert hosts_with(world, WEB) == ["a"]
    world.source({"gitvirt.yaml": SETTINGS})
    recover_all(world)
    assert hosts_with(world, WEB) == []
    assert "web.yaml" not in world.texts()


def test_what_a_refused_report_names_is_not_created_again_by_the_pool_that_a_rewound_live_names() -> None:
    world = start_fleet(a=pool("a", CORDON), b=pool("b"), web=machine("web"))
    backup = world.heads["refs/heads/live"]
    world.source({"a.yaml": pool("a"), "b.yaml": pool("b", DRAIN)})
    world.settle()
    assert hosts_with(world, WEB) == ["a"]
    world.source({"gitvirt.yaml": NOT_OF_A, "b.yaml": pool("b")})
    world.restore(live=backup)
    world.fresh()
    recover_all(world)
    assert read_accepted(world, "web")[0] == "ReportedByRefusedPoollet"
    assert hosts_with(world, WEB) == ["a"]


def test_a_refused_report_holds_no_deletion_of_what_another_pool_had() -> None:
    """A stolen key names what it likes: an object that its own pool reports as gone goes."""
    world = start_fleet(a=pool("a"), web=machine("web"))
    assert world.pool_of("web") == "a"
    claim = world.hosts["b"].report(world.assignable())
    uid, id = world.hosts["a"].has[WEB]
    entry = MachineReport(uid, id, "present", "a")
    world.silent.add("b")
    world.report("b", dataclass_replace(claim, machines={("default", "web"): entry}))
    world.source({"web.yaml": None})
    world.settle()
    assert hosts_with(world, WEB) == []
    assert "web.yaml" not in world.texts()
