"""A host that cannot reach the remote keeps its machines as `live` last ordered."""

from __future__ import annotations

import random

import pytest

from iri.simulated import machine_calls
from iri.simulated.machine_calls import GuestAction
from iri.simulated.machine_lifecycle import IS_ON, SimulatedMachine
from poollet import run_once
from poollet.clock import Clock
from poollet.decide.decide import decide
from poollet.runtimes.usage_reader import UsageReader
from poollet.threads import LONGEST_RETRY_SECONDS, AgentThreads, AgentWorker
from reconciler.gitstore.remote.transport import RemoteErrorKind, RemoteUnavailable
from reconciler.gitstore.waker import Waker
from schemas.settings.fleet import MIN_HEARTBEAT_TIMEOUT_MILLISECONDS
from tests.poollet.fleet import Fleet, machine, machine_class, uid
from tests.poollet.stage import Run, StagedHost, Time

REPLACE = "  onPoolLost: Replace\n"
AWAY = RemoteUnavailable(RemoteErrorKind.NETWORK, "no route", "wait")
WEB = ("default", "web")


class UnreachableHost:
    def __init__(self, spec: str) -> None:
        self.time, self.is_away, self.instance = Time(), False, 0
        self.host = StagedHost(self.time)
        self.fleet = Fleet({"classes/small.yaml": machine_class()})
        self.order(spec)
        self.run = self.start()
        self.turns(20)

    def start(self) -> Run:
        self.instance += 1
        return Run(
            self.fleet,
            self.time,
            self.host,
            decide=decide,
            instance=self.instance,
            fault=lambda _call, _when: AWAY if self.is_away else None,
        )

    def order(self, spec: str) -> None:
        self.fleet.commit({"web.yaml": machine("web", "host-1", uid(1), uid(9), spec=spec)})

    def turns(self, count: int) -> None:
        for _ in range(count):
            self.run.turn()
            self.time.ms += 5_000

    def upset(self, action: GuestAction) -> None:
        with self.host.host.lock(even_when_down=True) as now_ns:
            (guest,) = self.host.host.state.list_records(SimulatedMachine).values()
            machine_calls.act(self.host.host, guest, action, now_ns)

    @property
    def is_on(self) -> bool:
        return any(one.phase in IS_ON for one in self.host.host.state.list_records(SimulatedMachine).values())

    @property
    def state(self) -> str | None:
        status = self.run.report().machines[WEB].status
        return status.state if status is not None else None


@pytest.mark.parametrize("spec", ["", REPLACE])
def test_a_machine_that_is_switched_on_again_runs_again(spec: str) -> None:
    host = UnreachableHost(f"  power: Off\n{spec}")
    assert (host.is_on, host.state) == (False, "Shutdown")
    host.order(f"  power: On\n{spec}")
    host.turns(12)
    assert (host.is_on, host.state) == (True, "Running")


@pytest.mark.parametrize("spec", ["", REPLACE])
def test_a_host_without_the_remote_starts_what_it_last_read(spec: str) -> None:
    host = UnreachableHost(f"  power: Off\n{spec}")
    host.order(f"  power: On\n{spec}")
    host.run.remote.fetch()
    host.is_away = True
    host.turns(40)
    assert host.is_on
    host.is_away = False
    host.turns(40)
    assert (host.is_on, host.state) == (True, "Running")


def test_a_guest_that_fails_while_the_remote_is_away_is_started_again() -> None:
    host = UnreachableHost(f"  power: On\n{REPLACE}")
    host.is_away = True
    host.turns(2)
    host.upset(GuestAction.POWEROFF)
    host.turns(2)
    assert host.is_on


def run_to_end(host: UnreachableHost) -> str:
    """A run of its own that ends by itself; time passes with each look at the clock."""

    def moment_ms() -> int:
        host.time.ms += 5_000
        return host.time.ms

    run = host.start()
    run.remote.fetch()
    member = AgentWorker(run.agent, (), Waker(), UsageReader({}, moment_ms))
    return run_once.run(
        AgentThreads(run.remote, [member], 60.0, Clock(moment_ms=moment_ms), random.Random(1))
    )


def test_once_ends_when_the_machine_is_started() -> None:
    host = UnreachableHost("  power: Off\n")
    assert run_to_end(host) == ""
    assert not host.is_on
    host.order("  power: On\n")
    assert run_to_end(host) == ""
    assert host.is_on


def test_once_reports_what_it_could_not_finish() -> None:
    host = UnreachableHost("  power: Off\n")
    host.order("  power: On\n")
    host.fleet.remote.hook = lambda _updates: "not now"
    assert "not everything was done" in run_to_end(host)
    assert not host.is_on


def test_after_an_outage_a_report_lands_within_the_rest_of_its_heartbeat_timeout() -> None:
    """A fifth of it, one interval, may have been over when the outage began."""
    assert 1000 * LONGEST_RETRY_SECONDS < MIN_HEARTBEAT_TIMEOUT_MILLISECONDS * 4 / 5
