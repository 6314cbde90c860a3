"""An approval of a recovered `live` releases the state that its person saw, once: no later restore uses it again."""

from __future__ import annotations

import pytest

from reconciler.gitstore.live_recovery import list_recoveries
from reconciler.loop.outcome import TickBlocked
from tests.reconciler.lifecycle.restored import CORDON, Careful, Restored
from tests.reconciler.world.scene import LIVE, machine, pool


def is_held(world: Restored, name: str) -> bool:
    host = world.hosts[name]
    assert isinstance(host, Careful)
    return host.is_held


def approve_squashed(world: Restored, trailer: str) -> None:
    """As a forge does it: the line is one of several in the message of another change."""
    digest = trailer.removeprefix("Gitvirt-Approve: ")
    world.source({"other.txt": "1"}, Co_Authored_By="x", Gitvirt_Approve=digest)


def restore_once(*, is_early: bool) -> tuple[Restored, str, str]:
    """Hosts a and b went on after the recovery, c did not: it fell silent before it could apply it. `is_early`: people approved before
    the recovery commit was written. Returns the backup too, and the line that approved."""
    files = {"web.yaml": machine("web"), "b.yaml": pool("b", CORDON), "c.yaml": pool("c", CORDON)}
    world = Restored(files, Careful("a"), Careful("b"), Careful("c"))
    world.settle()
    backup = world.heads[LIVE]
    world.source({"one.yaml": machine("one")})
    world.settle()
    world.restore(live=backup)
    world.fresh()
    if is_early:
        world.silent.add("c")
        world.hosts_report()
        assert isinstance(world.tick(), TickBlocked)
        (trailer,) = world.list_trailers()
        world.approve(trailer)
        world.silent.clear()
        world.hosts_report()
        world.tick()
    else:
        world.settle()
        (trailer,) = world.list_trailers()
        approve_squashed(world, trailer)
    world.silent.add("c")
    world.settle()
    assert (is_held(world, "a"), is_held(world, "b"), is_held(world, "c")) == (False, False, True)
    world.source({"two.yaml": machine("two")})
    world.settle()
    return world, backup, trailer


@pytest.mark.parametrize("is_early", [False, True], ids=["recovery commit", "before there was one"])
@pytest.mark.parametrize("is_fresh", [False, True], ids=["running", "fresh"])
def test_a_second_restore_of_the_same_backup_needs_its_own_approval(is_early: bool, is_fresh: bool) -> None:
    """The source has the first approval, and the restored `live` takes that over as something new."""
    world, backup, _ = restore_once(is_early=is_early)
    uids = {name: world.machine(name).metadata.uid for name in ("one", "two")}
    first = next(iter(list_recoveries(world.store, world.heads[LIVE]))).commit
    world.restore(live=backup)
    if is_fresh:
        world.fresh()
    world.silent.clear()
    world.settle()
    (second, *_) = list_recoveries(world.store, world.heads[LIVE])
    assert second.commit != first
    assert [is_held(world, name) for name in "abc"] == [True, True, True]
    assert len(world.list_trailers()) == 1
    world.recover("web", "one", "two")
    assert {name: world.machine(name).metadata.uid for name in uids} == uids


def test_an_approval_of_one_recovery_releases_nothing_after_the_next() -> None:
    """Also where people push it once more."""
    world, backup, first = restore_once(is_early=False)
    world.restore(live=backup)
    world.silent.clear()
    world.settle()
    (pending,) = world.list_trailers()
    assert pending != first
    world.approve(first)
    world.settle()
    assert world.list_trailers() == [pending]
    assert is_held(world, "a")
