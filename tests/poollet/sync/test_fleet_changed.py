"""The id of the fleet is what tells own objects from foreign ones: when it changes, nothing may be taken for missing.

And from when the target branch is not to be obeyed, what it ordered and has not begun is not done.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from iri.machine import RuntimeMachine
from iri.simulated.faults.fault_injection import FaultInjectingRuntime
from poollet.decide.decide import decide
from tests.poollet.fleet import (
    FLEET,
    LIVE,
    SETTINGS,
    Fleet,
    grant_files,
    host_id,
    machine,
    machine_class,
    uid,
)
from tests.poollet.stage import Run, StagedHost, Time

OTHER = "11111111-7425-40de-944b-e07fc1f90ae7"


def fleet() -> Fleet:
    web = machine("web", "host-1", uid(1), uid(9))
    return Fleet({"classes/small.yaml": machine_class(), "machines/web.yaml": web})


def turn_often(run: Run, times: int = 12) -> None:
    for _ in range(times):
        run.turn()
        run.time.ms += 2_500


@pytest.mark.parametrize("is_restarted", [False, True])
def test_another_fleet_id_creates_nothing_again(is_restarted: bool) -> None:
    grounds, time = fleet(), Time()
    host = StagedHost(time)
    run = Run(grounds, time, host, decide=decide)
    turn_often(run)
    before = dict(host.host.state.objects(RuntimeMachine))
    assert len(before) == 1
    grounds.commit({"gitvirt.yaml": SETTINGS.replace(FLEET, OTHER)})
    run = Run(grounds, time, host, decide=decide, instance=2) if is_restarted else run
    turn_often(run)
    assert host.host.state.objects(RuntimeMachine).keys() == before.keys()
    report = run.report()
    assert report.poollet is not None
    assert report.poollet.fleet == FLEET
    pool = report.pools["host-1"].status
    assert (pool.state, pool.conditions[-1].reason) == ("Error", "FleetChanged")
    assert [one.phase for one in report.machines.values()] == ["present"]
    grounds.commit({"gitvirt.yaml": SETTINGS})
    turn_often(run)
    assert run.report().pools["host-1"].status.state == "Ready"
    assert host.host.state.objects(RuntimeMachine).keys() == before.keys()


def test_a_fork_with_its_own_id_starts_fresh_at_another_host() -> None:
    grounds, time = fleet(), Time()
    turn_often(Run(grounds, time, StagedHost(time), decide=decide))
    moved_files = {"pools/host-1.yaml": grant_files("host-1", "another one", 2)}
    web = machine("web", "host-1", uid(1), uid(9)).replace(host_id("host-1"), "another one")
    moved_files["machines/web.yaml"] = web.replace("epoch: 1", "epoch: 2")
    grounds.commit({"gitvirt.yaml": SETTINGS.replace(FLEET, OTHER), **moved_files})
    host = StagedHost(time, seed=8)
    run = Run(grounds, time, host, decide=decide, host_id="another one", instance=2)
    turn_often(run, 40)
    found = run.report()
    assert found.poollet is not None
    assert (found.poollet.fleet, found.pools["host-1"].status.state) == (OTHER, "Ready")
    assert len(host.host.state.objects(RuntimeMachine)) == 1


def test_orders_that_wait_for_a_slow_runtime_end_with_the_branch_that_gave_them() -> None:
    gate, time = threading.Event(), Time()
    host = StagedHost(time)

    @contextmanager
    def slow(call: str) -> Iterator[None]:
        assert call != "CreateMachine" or gate.wait(60)
        yield

    machines = {
        f"machines/m{number}.yaml": machine(f"m{number}", "host-1", uid(number), uid(90 + number))
        for number in range(1, 4)
    }
    grounds = Fleet({"classes/small.yaml": machine_class(cpu="1m", memory="1Mi"), **machines})
    runtime = FaultInjectingRuntime(host.runtime, slow)
    run = Run(grounds, time, host, decide=decide, runtime=runtime, workers=1)
    turn_often(run, 4)
    assert len(run.agent.executor.state().busy) == 3
    del grounds.remote.refs[LIVE]
    grounds.commit({"README.md": "started over"})
    turn_often(run, 2)
    assert len(run.agent.executor.state().busy) == 1
    gate.set()
    run.agent.close()
    assert len(host.host.state.objects(RuntimeMachine)) == 1
