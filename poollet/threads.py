"""The threads of a process: one for Git, one for each poollet, two for each runtime. Owns when they start, wait and end.

Theory of operation. Threads hand each other news, never work: each reads the newest state when it wakes,
so a wake that comes twice or for nothing does no harm.

    thread     waits for                                       then does
    ---------  ----------------------------------------------  ------------------------------------------------
    remote     a ref moved, a report is due, the poll is due   fetch where a look is due; push all due reports
    link       its servers, and time (link/link_thread.py)     wakes `remote` and the poollets
    poollet-N  a ref moved, lists differ, a recheck is due     one pass of its agent; wakes `remote` to push
    poll-R     a list is requested, the interval is over       probe and list its runtime (runtime_poller.py)
    watch-R    the runtime's events                            request a list

`stop` has an order that must be kept: first the passes end, then the actions under way, then one last pass
with `leaving` set makes the last report, and only then `remote` pushes it and ends. The link ends last: its servers are told of that
report.

A host that is steadily connected over the link is told when `live` moved, and polls seldom.

What a pass does is in git_sync.py and agent.py.
"""

from __future__ import annotations

import gc
import logging
import random
import threading
from collections.abc import Sequence
from dataclasses import dataclass

from poollet.agent import Agent, Leaving
from poollet.clock import Clock
from poollet.link.link_thread import LinkThread
from poollet.link.poollet_link import PoolletLink
from poollet.runtimes.runtime_poller import RuntimePoller
from poollet.runtimes.usage_reader import UsageReader
from poollet.sync.git_sync import GitSync
from reconciler.gitstore.waker import Waker, WakeReason
from schemas.backoff import Backoff, jitter

log = logging.getLogger(__name__)

LONGEST_REST_SECONDS = 60.0
# Of a remote that cannot be used. After an outage a report lands within the rest of its heartbeat timeout (reconciler/world/reports/heartbeat.py).
LONGEST_RETRY_SECONDS = 20.0
# A local repo announces every ref that moves; it is fetched at most this often.
LEAST_GAP_SECONDS = 0.02
STOP_SECONDS = 10.0
# Between two polls of a host that is steadily connected over the link.
LINKED_POLL_SECONDS = 60.0
# After a pass it rests so many times as long as the pass took, whatever wakes it.
BREATH, LONGEST_BREATH_SECONDS = 2, 1.0


@dataclass(frozen=True)
class AgentWorker:
    """One agent with the pollers of its runtimes, and what measures them."""

    agent: Agent
    observers: Sequence[RuntimePoller]
    waker: Waker
    usage: UsageReader


class AgentThreads:
    """`start`, then `wait` for `has_ended` or a signal, then `stop`, then `close`. A run without threads
    (run_once.py) uses its parts only."""

    def __init__(
        self,
        remote: GitSync,
        members: Sequence[AgentWorker],
        poll_seconds: float,
        clock: Clock,
        chance: random.Random,
    ) -> None:
        """`poll_seconds` is the time between two looks at the remote; jitter spreads the looks of a fleet."""
        self.remote, self.members = remote, members
        self.refs = Waker()  # woken when a ref moved
        self.links: list[PoolletLink] = []
        self.link_thread: LinkThread | None = None
        self._poll, self.clock, self.chance = poll_seconds, clock, chance
        self._is_stopping = threading.Event()
        self.has_ended = threading.Event()  # set when every poollet stepped down
        self._threads = [threading.Thread(target=self._serve_remote, name="remote", daemon=True)]
        self._threads += [
            threading.Thread(
                target=self._serve, args=(one,), name=f"poollet-{one.agent.setup.name}", daemon=True
            )
            for one in members
        ]

    def start(self) -> None:
        """The pollers first, so that lists are on their way when the first pass asks for them."""
        for member in self.members:
            for observer in member.observers:
                observer.start()
        if self.link_thread is not None:
            self.link_thread.start()
        for thread in self._threads:
            thread.start()

    def stop(self, leaving: Leaving) -> None:
        """Finish what is under way; the last report says that it is the last. Threads are waited for with a
        limit, actions under way until their calls end."""
        self._is_stopping.set()
        for member in self.members:
            for observer in member.observers:
                observer.stop()
            member.waker.stop()
        for thread in self._threads[1:]:
            thread.join(STOP_SECONDS)
        for member in self.members:
            member.agent.leaving = leaving
            member.agent.close()
            member.agent.run_pass()
        self.refs.stop()
        self._threads[0].join(STOP_SECONDS)
        for link in self.links:
            link.leave(leaving)
        if self.link_thread is not None:
            self.link_thread.stop()
        for member in self.members:
            for observer in member.observers:
                observer.join(1.0)

    def close(self) -> None:
        """Close the repo, once all threads have ended."""
        for member in self.members:
            member.agent.close()
        self.remote.repo.close()

    def _serve_remote(self) -> None:
        """Fetches when a look is due, and pushes each time it wakes. A remote that cannot be used is tried
        with growing pauses, and no report is pushed on what was not fetched: the publishers see to that
        themselves."""
        backoff = Backoff(1.0, LONGEST_RETRY_SECONDS, chance=self.chance)
        next_look, was_linked = self._seconds(), False
        reason = WakeReason.CALLED
        while True:
            is_linked = self._is_linked()
            if was_linked and not is_linked:
                next_look = min(next_look, self._seconds() + jitter(self._poll, self.chance))
            was_linked = is_linked
            if reason is WakeReason.REFS or self._seconds() >= next_look:
                is_there = self.remote.fetch()
                poll = max(self._poll, LINKED_POLL_SECONDS) if is_linked else self._poll
                rest = jitter(poll, self.chance) if is_there else backoff.next()
                next_look = self._seconds() + rest
                if is_there:
                    backoff.reset()
            self.remote.push(is_last=reason is WakeReason.STOPPED)
            if all(one.ended for one in self.remote.publishers):
                self.has_ended.set()
            if reason is WakeReason.STOPPED:
                return
            due = min(
                (post_ms / 1000 for one in self.remote.publishers if (post_ms := one.due_ms()) is not None),
                default=next_look,
            )
            reason = self.refs.wait(min(next_look, due) - self._seconds())
            if reason is WakeReason.REFS:
                # Own pushes move refs too: a fleet that shares a disk must not look all the time.
                self._is_stopping.wait(LEAST_GAP_SECONDS)

    def _is_linked(self) -> bool:
        """Whether each poollet of the process is told when `live` moved. They share one look at the remote, so one that is not told
        needs it as often as ever."""
        return len(self.links) == len(self.members) and all(one.is_steady() for one in self.links)

    def _serve(self, member: AgentWorker) -> None:
        """Passes of one agent until the process stops. With nothing to wait for it lists the runtimes once in
        LONGEST_REST_SECONDS: wakes are a hint, and a lost one must not leave drift in place."""
        agent = member.agent
        is_fresh = True
        while not self._is_stopping.is_set():
            started = self._seconds()
            recheck_at_ms = agent.run_pass()
            spent = self._seconds() - started
            if not agent.publisher.is_flushed:
                self.refs.wake(WakeReason.CALLED)
            if is_fresh and agent.remote.live.commit is not None:
                # The index stays for good: the garbage collector need not look through it again.
                gc.freeze()
                is_fresh = False
            rest = LONGEST_REST_SECONDS
            if recheck_at_ms is not None:
                rest = min(rest, max(0.05, (recheck_at_ms - self.clock.moment_ms()) / 1000))
            # Each action that ends wakes it: with a thousand under way it must not only decide.
            self._is_stopping.wait(min(LONGEST_BREATH_SECONDS, BREATH * spent))
            if member.waker.wait(rest) is WakeReason.TIMEOUT:
                for observer in member.observers:
                    observer.request_list()

    def _seconds(self) -> float:
        return self.clock.moment_ms() / 1000
