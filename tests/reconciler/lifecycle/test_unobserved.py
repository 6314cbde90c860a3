"""A host reports that its runtime does not answer: `live` says that the state of its machines is unknown, in the commit that says it of the pool."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from dataclasses import replace as dataclass_replace

import pytest
from msgspec.structs import replace

from schemas.kinds import Key, Kind
from schemas.model import Condition
from schemas.report import Report, objects
from tests.reconciler.lifecycle.hosts import Assigned, Fleet, Host
from tests.reconciler.world.scene import SMALL, machine

READY = objects.ReportedCondition(type="Ready", status="True", reason="Ready")
UNREACHABLE = objects.ReportedCondition(
    type="Ready", status="False", reason="RuntimeUnreachable", message="no answer (attempt 7)"
)


@dataclass
class HostOfRuntime(Host):
    """As a poollet whose runtime may be stopped: it reports what it observed last, and that it is no longer known to be so."""

    is_stopped: bool = False
    is_listed: bool = False  # the list was read just before, and is in the report

    def report(self, live: Mapping[Key, Assigned]) -> Report:
        found = super().report(live)
        phase: objects.Phase = "unknown" if self.is_stopped and not self.is_listed else "present"
        machines = {
            name: replace(each, phase=phase, status=replace(each.status, conditions=(READY,)))
            if each.status is not None
            else each  # it is gone
            for name, each in found.machines.items()
        }
        if not self.is_stopped:
            return dataclass_replace(found, machines=machines)
        pool = found.pools[self.name]
        broken = replace(pool.status, state="Error", conditions=(UNREACHABLE,))
        return dataclass_replace(found, machines=machines, pools={self.name: replace(pool, status=broken)})


def ready(world: Fleet) -> Condition:
    return next(each for each in world.machine("web").status.conditions if each.type == "Ready")


def states(world: Fleet) -> dict[str, int]:
    """Of machines and their pools, as the metrics count them."""
    counts = world.reconciler.world.relations.state_counts
    kinds = (Kind.MACHINE, Kind.MACHINE_POOL)
    return {state: count for (kind, state), count in counts.items() if kind in kinds and count}


@pytest.mark.parametrize("is_listed", [False, True])
def test_machines_of_a_runtime_that_does_not_answer_are_unknown_until_it_does(is_listed: bool) -> None:
    host = HostOfRuntime("a", is_listed=is_listed)
    world = Fleet({"small.yaml": SMALL, "web.yaml": machine("web")}, host)
    world.settle()
    assert (world.machine("web").status.state, ready(world).status) == ("Running", "True")
    host.is_stopped = True
    assert world.settle() == 1
    assert (world.machine("web").status.state, ready(world).status) == ("Running", "Unknown")
    assert ready(world).reason == "RuntimeUnreachable"
    assert states(world) == {"Unknown": 1, "Error": 1}
    assert ready(world).message == "poollet a cannot observe it: pool a reports RuntimeUnreachable"
    assert world.pool_of("web") == "a"
    since = ready(world).last_transition_time
    assert world.settle(20) == 0
    assert ready(world).last_transition_time == since
    host.is_stopped = False
    assert world.settle() == 1
    assert ready(world).status == "True"
    assert states(world) == {"Running": 1, "Ready": 1}
