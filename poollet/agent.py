"""One poollet's agent: read `live` and the runtimes' lists, decide, start the actions, offer the report.

Theory of operation. A pass takes these steps in their order. A step that lacks something ends the pass
without an action or a report; what was missing wakes the agent when it arrives.

    step                           ends the pass while
    -----------------------------  ----------------------------------------------------------------------
    is the run over?               it ended: another run writes the report, or the fleet's reports moved
    remember the last report       the report ref was not fetched yet
    read `live`                    its head was not judged yet, or no fleet settings are known
    judge the report lease         the ref moved and was not read again, or the run ends
    is each answer current?        a runtime answered before it knew the classes, and its next answer is due
    describe pools, decide         -
    offer the report               - (without the lease: candidate.json alone)
    hand actions to the executor   - (with a closed gate for changes: queued ones are cancelled)

A pass without a `live` that may be applied is a pass all the same: it reports what the runtimes list and
orders nothing. What the host may do then is decided by the gates (decide/gates.py), not here.

Owns what is known of its own host. What must not be forgotten is in the report that the last run left.

Limits: a pass never waits for the network. It fetches and pushes nothing, and it calls no runtime:
git_sync.py, the pollers and the executor do that in threads of their own.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal

from msgspec.structs import replace

from iri.identity import UID_LABELS
from poollet.clock import Clock
from poollet.decide.actions import EventText, ObjectAction
from poollet.decide.decide import decide
from poollet.decide.decision import Decision, DecisionInput, HostSecrets, PoolFacts, PoolletFacts
from poollet.decide.decision_pass import has_id
from poollet.decide.gates import CallEffect, GateInput, HostPermissions, closed_gate
from poollet.decide.host_room import HostRoom
from poollet.decide.memory import Memory, from_report
from poollet.decide.preconditions import still_holds
from poollet.report import pool_report
from poollet.report.assemble import Pools, assemble_report, select_error_entries, stamp
from poollet.report.candidate import HeldObjects
from poollet.report.events import Events
from poollet.report.pool_report import AnyPool, DeclaredClasses
from poollet.report.provider_events import ProviderEvents
from poollet.runtimes.executor import Executor, OnEnd, StillValid
from poollet.runtimes.runtime_client import RuntimeClient
from poollet.runtimes.runtime_lists import Listing, RuntimeLists
from poollet.sync.git_sync import GitSync
from poollet.sync.live_sync import LiveProblem, LiveState, LiveSync
from poollet.sync.live_view import PoolId
from poollet.sync.orders_question import OrdersQuestion, QuestionOf
from poollet.sync.report_lease import Acquire, Candidate, LeaseVerdict, Wait
from poollet.sync.report_publisher import ReportPublisher
from reconciler.gitstore.report_author import CANDIDATE
from schemas import report
from schemas.kinds import Key, Kind
from schemas.model import MachineClass, MachinePool, VolumeClass
from schemas.report import Report, render
from schemas.settings.fleet import FleetSettings
from schemas.settings.host import PoolSettings

log = logging.getLogger(__name__)

Leaving = Literal["stopping", "leaving"]


@dataclass(frozen=True)
class AgentIdentity:
    """What does not change while it runs. `instance` is a random id of this run. `secrets` is called in each pass,
    because the operator may edit the file meanwhile."""

    name: str
    host_id: str
    instance: str
    version: str
    pools: tuple[PoolSettings, ...]
    secrets: Callable[[], HostSecrets] = HostSecrets
    hardware_id: str = ""
    boot_id: str = ""


@dataclass(frozen=True)
class AgentParts:
    """What an agent is put together of. `decide` is pure; `executor` is told here how its actions ended, and asks
    here whether their preconditions still hold; `ask` is for a fresh list of a runtime."""

    remote: GitSync
    publisher: ReportPublisher
    connections: Mapping[str, RuntimeClient]
    executor: Callable[[OnEnd, StillValid], Executor]
    ask: Callable[[str], None]
    clock: Clock
    decide: Callable[[DecisionInput], Decision] = decide
    question_of: QuestionOf = lambda _: ""


class Agent:
    """What one poollet remembers between passes, and the pass itself.

    One thread calls `run_pass`. Two methods are called from the executor's threads and touch nothing that a pass writes without a lock:
    `_still_holds` right before a call, and `_on_action_ended` after an action.
    """

    def __init__(self, setup: AgentIdentity, parts: AgentParts) -> None:
        self.setup = setup
        self.remote, self.publisher, self.connections = parts.remote, parts.publisher, parts.connections
        self.executor = parts.executor(self._on_action_ended, self._still_holds)
        self.leaving: Leaving | None = None
        self.on_applied: Callable[[], None] = lambda: None  # called in each pass that applied `live`
        # How often Git gets a heartbeat, as the report names it: by the settings, and by the link where there is one.
        self.name_interval: Callable[[FleetSettings], str] = lambda settings: settings.heartbeat.interval
        self._decide, self._ask, self._clock = parts.decide, parts.ask, parts.clock
        self._pools = {(Kind(pool.kind), pool.name): pool for pool in setup.pools}
        self._live = LiveSync(parts.remote, self._pools, parts.publisher.ref, parts.clock)
        self._events, self._held = Events(setup.name, parts.clock), HeldObjects()
        self._provider_events = ProviderEvents(self._events)
        self._memory = Memory()
        self.last_report = Report()
        self.problem: LiveProblem | None = None  # why the head of `live` is not applied
        self.confirmation = OrdersQuestion(setup.name, setup.host_id, setup.instance, parts.question_of)
        self._has_begun = self._is_quiet = False
        self.room: HostRoom | None = None  # by which offers are answered, from any thread

    def run_pass(self) -> int | None:
        """One decision and what follows from it; by when to look at fresh lists again, as a moment. None: nothing is due by itself.

        `live_lock` is held until the decision is made, because the views of `live` are good only until its
        index advances. A pass may be repeated at any time: with the same inputs it reports the same, and
        an object with an action under way gets no second one.
        """
        if self.publisher.ended:
            self.executor.cancel_queued()
            return None
        if not self.publisher.has_fetched:
            return None
        self._begin()
        with self.remote.live_lock:
            live = self._live.read(self._uids_here())
            if live is None:
                return None
            self._note(live.problem)
            lease = self._judge_lease(live)
            if isinstance(lease, Acquire | Wait):  # a candidate must not displace the host with the grant
                self.name_interval(live.settings)
            declared_classes = self._declared_classes()
            is_early = any(one.state.is_preliminary for one in self.connections.values())
            if lease is None or (is_early and self.leaving != "leaving"):
                return None  # the next answer, which was asked for, comes at once: no pool is Ready before it
            pools, facts = self._report_pools(declared_classes, live)
            host = HostPermissions(
                is_own_fleet=live.is_own_fleet,
                is_live_applied=live.view is not None,
                has_lease=isinstance(lease, Acquire),
                has_landed=self.publisher.has_landed,
                is_confirmed=self.confirmation.update(live.grants),
                is_leaving=self.leaving is not None,
            )
            decision = self._run_decide(live, facts, host)
        if host.is_confirmed and live.is_applied:
            self._live.mark_applied(live)
            self.on_applied()
        self._memory = decision.memory
        self._provider_events.record(decision.memory.entries)
        self._offer(lease, pools, decision, live.settings)
        self._carry_out(decision, host)
        until = lease.until_ms if isinstance(lease, Wait | Candidate) else None
        moments = (decision.recheck_at_ms, live.recheck_at_ms, until)
        return min((one for one in moments if one is not None), default=None)

    @property
    def is_at_rest(self) -> bool:
        """Nothing is under way, and the last pass, with all gates of the host open or without the lease, found nothing to do."""
        return self._is_quiet and self.executor.is_idle

    def close(self) -> None:
        """Wait for actions under way; queued ones are not begun. It comes before the last pass, so that the
        last report knows what became of them."""
        self.executor.close()

    def _begin(self) -> None:
        """Only the last report of this very host is remembered: another host's says nothing about what is here."""
        if self._has_begun:
            return
        self.last_report = self.publisher.own_report()
        self._memory = from_report(self.last_report)
        self._events.start(self.last_report.events)
        self._provider_events.start(self.last_report)
        self._live.start(self.last_report)
        self.confirmation.begin(self.publisher.own_commit)
        self._has_begun = True

    def _judge_lease(self, live: LiveState) -> LeaseVerdict | None:
        """Whether this run may write the report; None when this run is over, or has to read the ref first.

        A fleet may move its reports to another prefix. A poollet cannot follow while it runs, because its
        refs are fixed when the process is built: it ends, and the service manager starts it with the new
        prefix.
        """
        if live.settings.reports.ref + self.setup.name != self.publisher.ref:
            self.publisher.end(
                f"the fleet's reports moved to {live.settings.reports.ref}; a restart follows them"
            )
            return None
        if self._is_other_hardware():
            self.publisher.end(
                "this host's hardware is not that of its hostID; a restart finds out which host it is"
            )
            return None
        lacks = not self.publisher.has_landed and self._lacks_machines()
        lease = self.publisher.judge(
            live.grants, lambda commit: self._live.contains(live, commit), lacks=lacks
        )
        return None if self.publisher.ended else lease

    def _is_other_hardware(self) -> bool:
        """Whether a runtime that did not answer at the start reports another hardware than the remembered one."""
        found = {one.state.about.host.hardware_id for one in self.connections.values() if one.state.about}
        return self.setup.hardware_id != "" and not found <= {"", self.setup.hardware_id}

    def _lacks_machines(self) -> bool:
        """Whether the last report has machines that no runtime lists: then that report may be of a clone of this host. A runtime that does
        not answer may lack them too."""
        entries = self.last_report.machines.values()
        reported = {one.uid for one in entries if one.phase == "present" and has_id(one.status)}
        return not reported <= self._uids_here()

    def _carry_out(self, decision: Decision, host: HostPermissions) -> None:
        """Hand the actions to the executor. While no change is permitted, actions that still wait in its
        queue are cancelled too: an earlier pass decided them when it was permitted."""
        closed = closed_gate(GateInput(host), CallEffect.CHANGE)
        if closed is not None:
            self.executor.cancel_queued()
        self.room = decision.room if closed is None else None
        self.executor.submit(decision.actions)
        is_waiting = host.has_lease and (not host.has_landed or self.confirmation.is_due)
        self._is_quiet = not decision.actions and not is_waiting

    def _uids_here(self) -> frozenset[str]:
        """Of the objects of this or another fleet that runtimes list: `live` may assign them anywhere."""
        listings = [
            (place.kind, answer)
            for connection in self.connections.values()
            for place, answer in connection.lists.items()
            if isinstance(answer, Listing)
        ]
        return frozenset(
            uid
            for kind, listing in listings
            for one in listing.objects.values()
            if (uid := one.labels.get(UID_LABELS[kind]))
        )

    def _declared_classes(self) -> DeclaredClasses:
        """The classes that there are; a runtime that has not been asked about one of them is asked."""
        live = self.remote.live
        declared_classes = DeclaredClasses(tuple(live.all(MachineClass)), tuple(live.all(VolumeClass)))
        offered = pool_report.classes(declared_classes)
        for name, connection in self.connections.items():
            if connection.configure(offered):
                self._ask(name)
        return declared_classes

    def _report_pools(
        self, declared_classes: DeclaredClasses, live: LiveState
    ) -> tuple[Pools, Mapping[PoolId, PoolFacts]]:
        """The entry of each of this host's pools, and the facts about it that admission uses. Both come from
        one reading of the runtime's state, so that the host admits exactly what it reports."""
        pools, facts = Pools({}, {}), {}
        for place, pool in self._pools.items():
            runtime_state = self.connections[pool.runtime or ""].state
            if place[0] is Kind.MACHINE_POOL:
                found, last = (
                    self.remote.live.get(Key(place[0], "", pool.name)),
                    self.last_report.pools.get(pool.name),
                )
                declared = found if isinstance(found, MachinePool) else None
                one, facts[place] = pool_report.machine_pool(
                    pool, runtime_state, declared_classes, declared, last
                )
                pools.machines[pool.name] = self._finish_pool(one, place, live, last)
            else:
                before = self.last_report.volume_pools.get(pool.name)
                stored, facts[place] = pool_report.volume_pool(pool, runtime_state, declared_classes, before)
                pools.volumes[pool.name] = self._finish_pool(stored, place, live, before)
        return pools, facts

    def _finish_pool(self, one: AnyPool, pool: PoolId, live: LiveState, last: AnyPool | None) -> AnyPool:
        """Adds what the runtime cannot tell: whether the host applies `live` or leaves, and the epoch that it acts under."""
        of_host = pool_report.of_host(one, self.problem, self.leaving)
        return replace(of_host, epoch=self._epoch(pool, live, last))

    def _epoch(
        self, pool: PoolId, live: LiveState, last: report.PoolReport | report.VolumePoolReport | None
    ) -> int:
        """The epoch that it acts under; without a grant the last one that it acted under.

        So a pool that left `live` and is there again is never granted to this host under an epoch that it knows
        already, and a lost `live`, which is rebuilt from reports, continues above every epoch of them.
        """
        before = last.epoch if last is not None else 0
        grant = live.view.grants.get(pool) if live.view is not None and live.is_own_fleet else None
        return max(before, grant.epoch) if grant is not None and grant.host == self.setup.host_id else before

    def _run_decide(
        self, live: LiveState, facts: Mapping[PoolId, PoolFacts], host: HostPermissions
    ) -> Decision:
        """Collects all inputs at one moment and decides. What is reported from here on is for the next pass."""
        lists: RuntimeLists = {
            key: answer
            for connection in self.connections.values()
            for key, answer in connection.lists.items()
        }
        events = {name: connection.events for name, connection in self.connections.items()}
        providers = {
            name: connection.state.about.name
            for name, connection in self.connections.items()
            if connection.state.about is not None
        }
        return self._decide(
            DecisionInput(
                view=live.view,
                observed=lists,
                executor=self.executor.state(),
                memory=self._memory,
                facts=PoolletFacts(
                    fleet=self._live.fleet,
                    host_id=self.setup.host_id,
                    pools=facts,
                    providers=providers,
                    secrets=self.setup.secrets(),
                    plain_secrets=live.settings.secrets.plain == "allow",
                ),
                now_ms=self._clock.moment_ms(),
                host=host,
                explanations=self._provider_events.read(events, lists),
            )
        )

    def _note(self, problem: LiveProblem | None) -> None:
        """That `live` is not applied, or is again, is an event, and a condition of every pool."""
        if problem != self.problem:
            found = problem or LiveProblem("Following", "the target branch is followed again", False)
            self._events.record_own(EventText(found.reason, found.message, problem is not None))
        self.problem = problem

    def _offer(self, lease: LeaseVerdict, pools: Pools, decision: Decision, settings: FleetSettings) -> None:
        """Say what the report ref shall hold: with the lease the whole report, else candidate.json alone. The publisher decides when."""
        if not isinstance(lease, Acquire):
            self.publisher.stand_by(render(Report(candidate=self._candidate()))[CANDIDATE])
            return
        by = report.PoolletReport(
            fleet=self._live.fleet,
            name=self.setup.name,
            host_id=self.setup.host_id,
            instance=self.setup.instance,
            interval=(interval := self.name_interval(settings)),
            live_commit=self._live.last_applied,
            version=self.setup.version,
            hardware_id=self.setup.hardware_id,
            boot_id=self.setup.boot_id,
            runtimes={
                name: pool_report.of_runtime(connection.state)
                for name, connection in sorted(self.connections.items())
            },
            leaving=self.leaving,
            asks=self.confirmation.asks,
        )
        at = stamp(self._clock.now())
        self.last_report = assemble_report(by, pools, decision, self._events.all(), self.last_report, at)
        files = render(self.last_report)
        news = {**files, **render(select_error_entries(self.last_report, self._provider_events.reasons))}
        self.publisher.asks = self.confirmation.asks
        self.publisher.offer(files, interval, news)

    def _candidate(self) -> report.CandidateReport:
        """All that a host without the lease may write: that it is here, which pools it would serve, and what it has."""
        before = self.publisher.own_candidate()
        return report.CandidateReport(
            name=self.setup.name,
            host_id=self.setup.host_id,
            instance=self.setup.instance,
            pools=tuple(sorted({name for _, name in self._pools})),
            version=self.setup.version,
            objects=self._held.list(self._live.fleet, self.connections.values(), before),
        )

    def _still_holds(self, action: ObjectAction) -> bool:
        """By the newest `live` that was fetched, in the thread that is about to make a call."""
        return not self.publisher.ended and self._live.holds(lambda view: still_holds(action, view))

    def _on_action_ended(self, action: ObjectAction, error: str) -> None:
        """Called in the thread that ran the action. The lists so far do not show it, so a new one is requested."""
        self._events.record_result(action, error)
        self._ask(action.runtime)
