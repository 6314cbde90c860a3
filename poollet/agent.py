"""One poollet's host side: look at `live` and the runtimes, decide, begin what is to be done, offer the report.

Owns what it knows of its own host. A turn reads, decides and hands on; it never waits for the network, and what must not be
forgotten is in the report that the last run left.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal

from poollet.clock import Clock
from poollet.decide import elsewhere
from poollet.decide.actions import NAMES, EventText, ObjectAction
from poollet.decide.decision import Decision, Situation
from poollet.decide.host_facts import HostFacts, HostSecrets, PoolFacts
from poollet.decide.memory import Memory, remembered
from poollet.decide.preconditions import still_holds
from poollet.report import pool_report
from poollet.report.assemble import Pools, assembled, stamp
from poollet.report.events import Events, Subject
from poollet.report.pool_report import Matter, Wanted
from poollet.runtimes.executor import Executor, OnEnd, StillValid
from poollet.runtimes.runtime_client import RuntimeClient
from poollet.runtimes.runtime_lists import ListFailed, Listing, ListKey, RuntimeLists
from poollet.sync.git_sync import Remote
from poollet.sync.live_policy import Followed, Hold
from poollet.sync.live_view import LiveView
from poollet.sync.report_publisher import Post
from reconciler.gitstore.objects.tree import ObjectId
from schemas import report
from schemas.kinds import Key, Kind
from schemas.live_layout import MAX_TEXT
from schemas.model import MachineClass, MachinePool, VolumeClass
from schemas.report import Report, render
from schemas.settings.fleet import FleetSettings
from schemas.settings.host import PoolSettings

log = logging.getLogger(__name__)

Leaving = Literal["stopping", "leaving"]


@dataclass(frozen=True)
class Setup:
    """What does not change while it runs. `reaches` names the machine pools that each volume pool can be reached from."""

    name: str
    host_id: str
    instance: str
    version: str
    pools: tuple[PoolSettings, ...]
    reaches: Mapping[str, tuple[str, ...] | None] = field(default_factory=dict)
    secrets: Callable[[], HostSecrets] = HostSecrets


@dataclass(frozen=True)
class Parts:
    """What a poollet is put together of. `decide` is pure; `execution` is told here how its steps ended, and asks
    here whether they still stand; `ask` is for a fresh list of a runtime."""

    remote: Remote
    post: Post
    connections: Mapping[str, RuntimeClient]
    decide: Callable[[Situation], Decision]
    execution: Callable[[OnEnd, StillValid], Executor]
    ask: Callable[[str], None]
    clock: Clock


class Poollet:
    def __init__(self, setup: Setup, parts: Parts) -> None:
        self.setup = setup
        self.remote, self.post, self.connections = parts.remote, parts.post, parts.connections
        self.execution = parts.execution(self._step_ended, self._still_stands)
        self.leaving: Leaving | None = None
        self._decide, self._ask, self._clock = parts.decide, parts.ask, parts.clock
        self._pools = {(Kind(pool.kind), pool.name): pool for pool in setup.pools}
        self._memory: Memory | None = None
        self._events = Events()
        self._last = Report()
        self._good: ObjectId | None = None
        self._fleet = ""  # whose the objects on this host are
        self._matter: Matter | None = None
        self._is_begun = False
        self._is_free = self._has_steps = False
        self._orders: LiveView | None = None  # the newest that may be applied: preconditions are asked of it

    def turn(self) -> int | None:
        """One look and what follows from it; by when to look at fresh lists again, as a moment."""
        if self.post.ended:
            self.execution.cancel_queued()
        if self.post.last is None or self.post.ended:
            return None
        if not self._is_begun:
            self._begin(self.post.last)
        with self.remote.reading:
            followed = self.remote.follow(self._good)
            if followed is None:
                return None
            view = self._view(followed)
            if view is not None:
                self._orders = view
            settings = self.remote.live.settings
            if settings is None:
                return None
            is_own = self._is_own(settings)
            self._note(_matter(followed, self._good) if is_own else self._other_fleet(settings))
            if settings.reports.ref + self.setup.name != self.post.ref:
                self.post.end(f"the fleet's reports moved to {settings.reports.ref}; a restart follows them")
                return None
            wanted = self._wanted()
            is_early = any(one.state.is_preliminary for one in self.connections.values())
            if is_early and self.leaving != "leaving":
                return None  # the next answer, which was asked for, comes at once: no pool is Ready before it
            pools, facts = self._announced(wanted)
            is_obeyed = followed.is_obeyed and view is not None and is_own
            self._is_free = self.post.has_landed
            decision = self._decided(view, facts, settings, is_obeyed and self._is_free)
        if is_obeyed:
            self._good = followed.use
        self._memory = decision.memory
        self.post.wait(decision.waits)
        if (
            not decision.memory.former
        ):  # Under this host's id unmarked words of another one would be its own after a restart.
            self._offer(pools, decision, settings)
        self._carry_out(decision, may_act=is_obeyed and self._is_free and self.leaving is None)
        return decision.again_ms

    def _carry_out(self, decision: Decision, *, may_act: bool) -> None:
        self._has_steps = bool(decision.steps)
        if may_act:
            self.execution.submit(decision.steps)
        else:
            self.execution.cancel_queued()

    @property
    def is_at_rest(self) -> bool:
        """Nothing is under way, and the last look, which was free to act, found nothing to do."""
        return self._is_free and not self._has_steps and self.execution.is_idle

    def close(self) -> None:
        self.execution.close()

    def _begin(self, last: Report) -> None:
        self._memory = remembered(last, self.setup.host_id)
        self._events = Events(last.events)
        if former := self._memory.former:
            told = f"the host {former} had this name before; what it may have is not made here"
            self._record(Subject("Poollet", self.setup.name), EventText("NameTakenOver", told, True))
        self._last = last
        self._good = last.poollet.live_commit if last.poollet else None
        self._fleet = last.poollet.fleet if last.poollet else ""
        self._is_begun = True

    def _is_own(self, settings: FleetSettings) -> bool:
        """Under another fleet's id all that is here would be foreign, thus missing, and made a second time."""
        by = self._last.poollet
        if by is not None and by.fleet != settings.fleet.id and by.host_id != self.setup.host_id:
            self._begin(Report())  # A fork brings along what hosts of the fleet that it came from have said.
        self._fleet = self._fleet or settings.fleet.id
        return settings.fleet.id == self._fleet

    def _view(self, followed: Followed) -> LiveView | None:
        """What may be read of `live`; of one that is not to be obeyed only what was read before."""
        if followed.use is None or not followed.is_obeyed or not self.remote.advance(followed.use):
            return None
        return self.remote.live.view(self._pools.keys() | elsewhere.pools(self._memory or Memory()))

    def _wanted(self) -> Wanted:
        """The classes that there are; a runtime that has not been asked about one of them is asked."""
        live = self.remote.live
        wanted = Wanted(tuple(live.all(MachineClass)), tuple(live.all(VolumeClass)))
        offered = pool_report.classes(wanted)
        for name, connection in self.connections.items():
            if connection.configure(offered):
                self._ask(name)
        return wanted

    def _announced(self, wanted: Wanted) -> tuple[Pools, Mapping[tuple[Kind, str], PoolFacts]]:
        machines: dict[str, report.PoolReport] = {}
        volumes: dict[str, report.VolumePoolReport] = {}
        facts: dict[tuple[Kind, str], PoolFacts] = {}
        for (kind, name), pool in self._pools.items():
            runtime_state = self.connections[pool.runtime or ""].state
            if kind is Kind.MACHINE_POOL:
                live = self.remote.live.get(Key(kind, "", name))
                declared = live if isinstance(live, MachinePool) else None
                found, facts[kind, name] = pool_report.machine_pool(
                    pool, runtime_state, wanted, declared, self._last.pools.get(name)
                )
                machines[name] = pool_report.of_host(found, self._matter, self.leaving)
            else:
                held, facts[kind, name] = pool_report.volume_pool(
                    pool,
                    runtime_state,
                    wanted,
                    self.setup.reaches.get(name),
                    self._last.volume_pools.get(name),
                )
                volumes[name] = pool_report.of_host_volumes(held, self._matter, self.leaving)
        return Pools(machines, volumes), facts

    def _decided(
        self,
        view: LiveView | None,
        facts: Mapping[tuple[Kind, str], PoolFacts],
        settings: FleetSettings,
        is_obeyed: bool,
    ) -> Decision:
        lists: dict[ListKey, Listing | ListFailed] = {}
        for connection in self.connections.values():
            lists |= connection.lists
        providers = {
            name: connection.state.about.name
            for name, connection in self.connections.items()
            if connection.state.about is not None
        }
        assert self._memory is not None
        return self._decide(
            Situation(
                view=view,
                observed=RuntimeLists(lists),
                executor=self.execution.state(),
                memory=self._memory,
                facts=HostFacts(
                    fleet=self._fleet,
                    pools=facts,
                    providers=providers,
                    secrets=self.setup.secrets(),
                    plain_secrets=settings.secrets.plain == "allow",
                ),
                now_ms=self._clock.moment_ms(),
                obeyed=is_obeyed,
            )
        )

    def _other_fleet(self, settings: FleetSettings) -> Matter:
        return Matter(
            "FleetChanged",
            f"gitvirt.yaml now has fleet.id {settings.fleet.id}, but the objects on this host belong to fleet {self._fleet}. Restore "
            f"fleet.id, or, if the change is intended, stop this poollet, delete {self.post.ref} and start it again.",
            True,
        )

    def _note(self, matter: Matter | None) -> None:
        """A change in what is followed is an event, and a condition of every pool."""
        if matter != self._matter:
            told = matter or Matter("Following", "the target branch is followed again", False)
            self._record(
                Subject("Poollet", self.setup.name), EventText(told.reason, told.message, matter is not None)
            )
        self._matter = matter

    def _offer(self, pools: Pools, decision: Decision, settings: FleetSettings) -> None:
        runtimes = {name: _runtime(connection) for name, connection in sorted(self.connections.items())}
        by = report.PoolletReport(
            fleet=self._fleet,
            name=self.setup.name,
            host_id=self.setup.host_id,
            instance=self.setup.instance,
            interval=settings.heartbeat.interval,
            live_commit=self._good,
            version=self.setup.version,
            runtimes=runtimes,
            leaving=self.leaving,
        )
        at = stamp(self._clock.now())
        self._last = assembled(by, pools, decision, self._events.all(), self._last, at)
        self.post.offer(render(self._last), settings.heartbeat.interval)

    def _still_stands(self, step: ObjectAction) -> bool:
        """By the newest target branch that was seen, in the thread that is about to make a call."""
        known, orders = self.remote.ruling(self._good), self._orders
        if known is not None and orders is not None and known.use == orders.commit:
            return self._is_justified(
                step, known, orders
            )  # without the lock, which a decision may hold for long
        with self.remote.reading:
            followed = self.remote.follow(self._good)
            if followed is None or followed.use is None:
                return False
            if self._orders is None or followed.use != self._orders.commit:
                self._orders = self._view(followed) or self._orders
            return self._is_justified(step, followed, self._orders)

    def _is_justified(self, step: ObjectAction, followed: Followed, orders: LiveView | None) -> bool:
        settings = self.remote.live.settings
        is_own = settings is not None and settings.fleet.id == self._fleet
        if not followed.is_obeyed or not is_own or self.post.ended:
            return False
        return orders is not None and orders.commit == followed.use and still_holds(step, orders)

    def _step_ended(self, step: ObjectAction, fault: str) -> None:
        subject = Subject(NAMES[step.ref.kind], step.name, step.namespace, step.ref.uid)
        if fault:
            self._record(subject, EventText("Failed", fault, True))
        for happening in step.events if not fault else ():
            self._record(subject, happening)
        self._ask(step.runtime)

    def _record(self, subject: Subject, happening: EventText) -> None:
        self._events.record(subject, happening, stamp(self._clock.now()))


def _matter(followed: Followed, good: ObjectId | None) -> Matter | None:
    if not followed.message:
        return None
    is_first = followed.hold is Hold.MISSING and good is None
    reason = followed.hold or Hold.UNTRUSTED
    return Matter(reason, followed.message, followed.hold is not None and not is_first)


def _runtime(connection: RuntimeClient) -> report.RuntimeReport:
    runtime_state = connection.state
    about = runtime_state.about
    return report.RuntimeReport(
        state="Unreachable" if runtime_state.error or about is None else "Ready",
        name=about.name if about else "",
        version=about.version if about else "",
        message=runtime_state.error[:MAX_TEXT],
    )
