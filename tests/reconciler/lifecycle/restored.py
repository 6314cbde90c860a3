"""A fleet whose Git server has backups, and hosts that follow `live` as poollets do: they apply none that lacks what they applied last."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from dataclasses import replace as dataclass_replace

from msgspec.structs import replace

from reconciler.decide.compose import pending_approvals
from reconciler.decide.decide import review_all
from reconciler.gitstore.live_recovery import find_recovery, is_recovery_approved
from reconciler.gitstore.memory import MemoryObjects, MemoryTransport
from reconciler.gitstore.repo import Refs
from reconciler.gitstore.store import Store
from reconciler.loop.tick import Reconciler
from reconciler.world.pools.grants import NO_GRANT, Grant
from reconciler.write.tick_commit import CommitIdentity
from schemas.kinds import Key, Kind
from schemas.report import Report
from tests.reconciler.lifecycle.hosts import Assigned, Fleet, Host
from tests.reconciler.world.scene import FLEET, LIVE, MAIN, machine, pool

WEB = Key(Kind.MACHINE, "default", "web")
CORDON = "spec:\n  unschedulable: true\n"
DRAIN = CORDON + "  taints: [{key: gitvirt.dev/drain, effect: NoExecute}]\n"


@dataclass
class Careful(Host):
    """Applies no `live` that lacks the commit which it applied last, and reports that commit."""

    applied: str = ""
    is_held: bool = False

    def act(self, live: Mapping[Key, Assigned], grant: Grant = NO_GRANT) -> None:
        if not self.is_held:
            super().act(live, grant)

    def report(self, live: Mapping[Key, Assigned]) -> Report:
        found = super().report(live)
        assert found.poollet is not None
        return dataclass_replace(found, poollet=replace(found.poollet, live_commit=self.applied or None))


class Restored(Fleet):
    """Its hosts follow `live` as poollets do, and its Git server has backups."""

    def hosts_report(self) -> None:
        head = self.heads.get(LIVE)
        live = self.assignable()
        for name in sorted(self.hosts.keys() - self.silent):
            host = self.hosts[name]
            assert isinstance(host, Careful)
            descends = not host.applied or (head is not None and self.store.is_descendant(head, host.applied))
            host.is_held = not descends and not self.is_approved(host.applied)
            if head is not None and not host.is_held:
                host.applied = head
            host.act(live, self.grant(name))
            seen = self.orders_before(host) if host.is_held else live
            self.report(name, host.report(seen))

    def orders_before(self, host: Careful) -> Mapping[Key, Assigned]:
        """What a host that is held reports about: the `live` that it applied last."""
        head = self.heads.get(LIVE)
        self.heads[LIVE] = host.applied
        found = self.assignable()
        if head is None:
            del self.heads[LIVE]
        else:
            self.heads[LIVE] = head
        return found

    def is_approved(self, applied: str) -> bool:
        head = self.heads.get(LIVE)
        if head is None or not applied:
            return False
        recovery = find_recovery(self.store, head, applied)
        return recovery is not None and is_recovery_approved(self.store, head, recovery, FLEET)

    def restore(self, **refs: str) -> None:
        for ref, commit in {LIVE: refs.get("live"), MAIN: refs.get("main")}.items():
            if commit is not None:
                self.remote.refs[ref] = self.heads[ref] = commit

    def fresh(self) -> None:
        """A reconciler without memory and without a mirror."""
        objects = MemoryObjects(self.remote)
        self.reconciler = Reconciler(
            Store(objects, MemoryTransport(objects), Refs()), Refs(), CommitIdentity("two")
        )

    def list_trailers(self) -> list[str]:
        """The trailers that a plan asks for now."""
        world = self.reconciler.world
        found = pending_approvals(world, review_all(world, self.now))
        return [each.trailer for each in found if each.trailer]

    def approve(self, *trailers: str) -> None:
        for trailer in trailers:
            self.source({"note.txt": trailer}, Gitvirt_Approve=trailer.removeprefix("Gitvirt-Approve: "))

    def running(self, name: str) -> list[str]:
        """Hosts on which a machine of that name runs."""
        return [
            host.name
            for host in self.hosts.values()
            for key in host.has
            if key.name == name and key not in host.off
        ]

    def recover(self, *names: str) -> None:
        """As people do: they approve what is asked. No name ever runs on two hosts."""
        for _ in range(6):
            self.settle()
            for name in names:
                assert len(self.running(name)) <= 1, (name, self.running(name))
            if trailers := self.list_trailers():
                self.approve(*trailers)
        assert not any(host.is_held for host in self.hosts.values() if isinstance(host, Careful))


def start_fleet(**files: str) -> Restored:
    """Two hosts; b takes nothing. Other machines run on a."""
    named = {f"{name}.yaml": text for name, text in files.items()}
    others = {f"other{number}.yaml": machine(f"other{number}") for number in range(3)}
    world = Restored(
        {**others, "b.yaml": pool("b", CORDON), **named}, Careful("a"), Careful("b", machines=50)
    )
    world.settle()
    return world


def let_web_go(world: Restored, *, is_ordered: bool = False) -> None:
    """Web ran on a, and leaves the source; `is_ordered`: its deletion is on `live`, and a did not see that."""
    world.source({"web.yaml": None, "a.yaml": pool("a", CORDON)})
    if is_ordered:
        world.silent.add("a")
        world.tick()
        assert world.machine("web").metadata.is_deleting
        world.silent.clear()
