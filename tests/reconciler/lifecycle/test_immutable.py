"""What may not change once it was made, through real ticks: live keeps it, hosts see nothing of it, everything else goes on."""

from __future__ import annotations

from reconciler.loop.outcome import NoChange
from schemas.kinds import Key, Kind
from schemas.model import Condition
from tests.reconciler.lifecycle.hosts import Fleet
from tests.reconciler.lifecycle.test_lives import fleet
from tests.reconciler.world.scene import FAST, machine, pool, using, volume

DATA = Key(Kind.VOLUME, "default", "data")


def start_fleet() -> Fleet:
    return fleet(web=machine("web", using("data")), data=volume("data"), slow=FAST.replace("fast", "slow"))


def accepted_condition(world: Fleet) -> Condition | None:
    return next((each for each in world.volume("data").status.conditions if each.type == "Accepted"), None)


def test_a_volume_that_would_become_another_stays_what_it_is() -> None:
    world = start_fleet()
    before, hosts = world.volume("data"), {name: dict(host.has) for name, host in world.hosts.items()}
    world.source({"data.yaml": volume("data").replace("fast", "slow"), "new.yaml": machine("new")})
    world.settle()
    found = world.volume("data")
    assert (found.spec, found.metadata.uid) == (before.spec, before.metadata.uid)
    assert found.status.assignment == before.status.assignment
    shown = accepted_condition(world)
    assert shown is not None
    assert (shown.status, shown.reason) == ("False", "Frozen")
    assert shown.message.startswith("data.yaml:7: GV404 the class of a volume cannot change: fast -> slow")
    assert any(
        change.key == DATA and "data.yaml" in change.reason for plan in world.plans for change in plan.changes
    )
    assert {problem.code for problem in world.plans[-1].problems} == {"GV404"}
    assert world.machine("new").status.state == "Running"
    assert all(world.hosts[name].has.items() >= had.items() for name, had in hosts.items())
    # One who remembers nothing holds it as well, and writes nothing.
    world.reconciler = world.another()
    world.hosts_report()
    assert isinstance(world.tick(), NoChange)
    assert {problem.code for problem in world.plans[-1].problems} == {"GV404"}
    # Put back, it goes on as if nothing had been.
    world.source({"data.yaml": volume("data", "  deletionPolicy: Delete\n")})
    world.settle()
    assert accepted_condition(world) is None
    assert world.volume("data").spec.deletion_policy == "Delete"
    assert not world.plans[-1].problems


def test_a_machine_that_is_held_is_evicted_like_any_other() -> None:
    """What people decide about its pool is not in its file."""
    world = fleet(web=machine("web", "  guestConfig: {hostname: one}\n"))
    first = world.pool_of("web")
    world.source({"web.yaml": machine("web", "  guestConfig: {hostname: two}\n")})
    world.settle()
    taint = "spec:\n  taints:\n    - {key: gitvirt.dev/drain, effect: NoExecute}\n"
    world.source({"pools.yaml": pool(first, taint)})
    world.settle()
    assert world.pool_of("web") not in ("", first)
    assert world.machine("web").spec.guest_config.hostname == "one"
    assert world.machine("web").status.state == "Running"
