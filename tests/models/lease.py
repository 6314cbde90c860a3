"""Fail-over by self-fencing: one host's lease, the fence that reconcilers commit, and the votes of its peers while Git is away.

Theory of operation. A state is all that matters of everybody; a step is one thing that one of them does, or a tick of time. Whoever does not take
a step is slow, paused, cut off or dead, and Git is away while no step touches it: so every such fault is one of the orders that are explored.
Times are whole ticks and relative, so that the states are finite for all time.

    host        notes the time, pushes its heartbeat, waits for the answer, reads `live`; if that has no fence and it still has its machine, its
                lease ends `timeout` after the noted time. Without a lease no machine of it runs
    fence       after `dead_after` of silence a reconciler commits a fence with the report that it saw last, and reads the report's ref again: it
                moved, so the fence is withdrawn. Else, once a majority of the peers has acknowledged the fence, the machine is placed elsewhere.
                Each reconciler may do either, on the `live` that it has read
    votes       a host asks its peers. One that has acknowledged no fence votes, and acknowledges none for `hold`. With the votes of half of them
                the lease ends `vote` after the host asked
    settings    `live` has a list of peers, a timeout, and whether the host fences itself; all of that may change at any moment

What the model taught, beside the rules of the first design: a host that reads a shorter timeout or another list may still live on a lease from
before. So its report goes on to name the older settings, until a lease that lasts as long rests on the newer ones; and a question to the peers ends
when their list changes.

Bad is a state in which the machine runs on the host and elsewhere. Each rule of `Rules` is needed: without it a bad state is reached (test_lease.py).

Limits: one machine, one host that is fenced; messages are not forged. The host's clock may lose one tick in `drift_window` against all others, which
is the only drift that matters here: a fast clock only ends its lease early.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields
from functools import cached_property
from typing import NamedTuple

MARGIN = 1  # ticks that a reconciler waits longer than the lease lasts


@dataclass(frozen=True)
class Settings:
    """One version of what `live` says of the host: how many of the peers B, C and D are on the list, and the times."""

    peers: int = 2
    timeout: int = 2
    is_armed: bool = True  # whether the host fences itself


@dataclass(frozen=True)
class Rules:
    """Each True is a rule of the protocol. A test turns each off."""

    host_reads_live_after_its_push: bool = True
    lease_counts_from_the_noted_time: bool = True
    reconciler_reads_the_report_again: bool = True
    only_the_live_that_was_read_is_replaced: bool = True  # compare-and-swap
    dead_after_is_longer_than_the_lease: bool = True
    majority_acknowledges: bool = True
    votes_bind: bool = True
    votes_count_from_the_question: bool = True
    a_peer_that_starts_waits: bool = True
    hold_covers_drift: bool = True
    every_list_since_the_report: bool = True
    longest_timeout_since_the_report: bool = True
    disarmed_since_the_report_is_no_proof: bool = True
    a_question_ends_with_its_list: bool = True
    report_names_what_the_lease_rests_on: bool = True
    nothing_starts_without_a_lease: bool = True

    @classmethod
    def names(cls) -> list[str]:
        return [each.name for each in fields(cls)]


@dataclass(frozen=True)
class Bounds:
    """How large the world is. `settings` are the versions between which `live` may change at any moment."""

    reconcilers: int = 1
    settings: tuple[Settings, ...] = (Settings(),)
    vote: int = 2  # 0: hosts ask no peers
    has_drift: bool = False
    may_restart: bool = False  # peers and the host
    may_be_late: bool = False  # pushes

    @cached_property
    def peers(self) -> int:
        return max(each.peers for each in self.settings)

    @cached_property
    def alike(self) -> int:
        """Peers that are on every list."""
        return min(each.peers for each in self.settings)

    @cached_property
    def longest(self) -> int:
        return max(each.timeout for each in self.settings)

    @cached_property
    def drift_window(self) -> int:
        """One tick is lost in so many: a lease lasts at most one tick longer than the host counts."""
        return self.longest + 1

    @cached_property
    def hold(self) -> int:
        return self.vote + self.has_drift


class State(NamedTuple):
    # The host
    push: str = ""  # "", sent, landed, answered, read
    is_late: bool = False  # a push that it gave up may still land
    age: int = 0  # ticks of the host since it noted the time of that push
    lease: int = 0
    asked: int = -1  # ticks of the host since it asked its peers; -1: it does not ask
    votes: int = 0  # bits of peers
    known: int = 0  # the settings that it read last
    lost: int = 0  # ticks since its clock lost one
    # Git
    fence: bool = False
    has_moved: bool = False  # the report's ref, since the report that the fence names
    is_elsewhere: bool = False  # the machine
    version: int = 0  # of the settings
    since_report: int = 1  # bits of the versions that were valid since the one that the host's report names
    since_read: int = 1  # the same since the one that the host's next report will name
    # Peers
    acknowledged: int = 0  # bits
    holds: tuple[int, ...] = ()  # ticks for which each acknowledges nothing
    # Reconcilers
    silence: tuple[int, ...] = ()  # ticks since each saw the report move
    unseen: int = 0  # bits of those who have not seen that it moved
    sure: int = 0  # bits of those who have read the report again, and found the one of the fence


Step = tuple[str, State]


def bits(number: int) -> int:
    return number.bit_count()


def below(number: int) -> int:
    """The bits of so many peers."""
    return (1 << number) - 1


def swap_bits(number: int, one: int, other: int) -> int:
    differ = (number >> one ^ number >> other) & 1
    return number ^ (differ << one | differ << other)


def put(values: tuple[int, ...], at: int, value: int) -> tuple[int, ...]:
    return (*values[:at], value, *values[at + 1 :])


@dataclass(frozen=True)
class Lease:
    """The model: where it begins, and what may happen next."""

    rules: Rules = Rules()
    bounds: Bounds = Bounds()

    def start(self) -> State:
        """The machine runs, the host has just renewed its lease, and the reconcilers have seen that."""
        bounds = self.bounds
        return State(
            lease=bounds.settings[0].timeout,
            lost=bounds.drift_window,
            holds=(0,) * bounds.peers,
            silence=(0,) * bounds.reconcilers,
        )

    def runs_here(self, state: State) -> bool:
        """A host that does not fence itself keeps its machines whatever its lease."""
        return state.lease > 0 or not self.bounds.settings[state.known].is_armed

    def is_bad(self, state: State) -> bool:
        return state.is_elsewhere and self.runs_here(state)

    def fold(self, state: State) -> State:
        """One of the states that differ in nothing but the numbers of peers, or of reconcilers, that are alike."""
        for one in range(self.bounds.alike - 1):
            if self.peer(state, one) > self.peer(state, one + 1):
                state = self.with_peers_swapped(state, one, one + 1)
        if self.bounds.reconcilers == 2 and self.of_reconciler(state, 0) > self.of_reconciler(state, 1):
            state = self.with_reconcilers_swapped(state)
        return state

    def peer(self, state: State, one: int) -> tuple[int, int, int]:
        return state.holds[one], state.votes >> one & 1, state.acknowledged >> one & 1

    def of_reconciler(self, state: State, one: int) -> tuple[int, int, int]:
        return state.silence[one], state.unseen >> one & 1, state.sure >> one & 1

    def with_peers_swapped(self, state: State, one: int, other: int) -> State:
        holds = put(put(state.holds, one, state.holds[other]), other, state.holds[one])
        return state._replace(
            holds=holds,
            votes=swap_bits(state.votes, one, other),
            acknowledged=swap_bits(state.acknowledged, one, other),
        )

    def with_reconcilers_swapped(self, state: State) -> State:
        return state._replace(
            silence=state.silence[::-1],
            unseen=swap_bits(state.unseen, 0, 1),
            sure=swap_bits(state.sure, 0, 1),
        )

    def steps(self, state: State) -> Iterator[Step]:
        parts: tuple[Callable[[State], Iterator[Step]], ...]
        parts = (self.time, self.renewal, self.question, self.peers, self.reconcilers, self.people)
        for part in parts:
            yield from part(state)

    # Time

    def time(self, state: State) -> Iterator[Step]:
        longest = self.bounds.longest
        common = state._replace(
            lost=min(self.bounds.drift_window, state.lost + 1),
            holds=tuple(max(0, each - 1) for each in state.holds),
            silence=tuple(min(longest + MARGIN, each + 1) for each in state.silence),
        )
        if self.bounds.has_drift and state.lost >= self.bounds.drift_window:
            yield "a tick that the host's clock loses", common._replace(lost=0)
        yield (
            "a tick",
            common._replace(
                age=min(longest, state.age + 1) if state.push else 0,
                lease=max(0, state.lease - 1),
                asked=min(self.bounds.vote, state.asked + 1) if state.asked >= 0 else -1,
            ),
        )

    # The host

    def renewal(self, state: State) -> Iterator[Step]:
        done = state._replace(push="", age=0)
        if not state.push:
            yield "the host pushes", state._replace(push="sent", age=0)
        elif state.push == "sent":
            yield "the push lands", self.landed(state)
            yield "the host gives the push up", done._replace(is_late=self.bounds.may_be_late)
        elif state.push == "landed":
            yield "the host has the answer", state._replace(push="answered")
            yield "the answer is lost", done
        elif state.push == "answered":
            is_refused = state.fence or state.is_elsewhere
            if self.rules.host_reads_live_after_its_push and is_refused:
                yield "the host reads that it is fenced", self.refused(done)
            else:
                yield "the host reads live", self.read(state)
        else:
            yield "the host renews its lease", self.renewed(state, done)
        if state.is_late:
            refused = done if state.push == "sent" else state  # its push expected the report before
            yield "a push lands late", self.landed(refused)._replace(push=refused.push)
        if self.bounds.may_restart and not self.rules.nothing_starts_without_a_lease and not state.lease:
            yield "the host boots and starts its machine", done._replace(lease=1, asked=-1, votes=0)

    def read(self, state: State) -> State:
        """The settings count for its next question and its next lease. Its report names the ones that its present lease rests on: older ones,
        until a lease that lasts as long rests on these."""
        lasts = self.bounds.settings[state.version].timeout - state.age >= state.lease
        is_new = lasts or not self.rules.report_names_what_the_lease_rests_on
        rests = 1 << state.version if is_new else state.since_read
        if state.version != state.known and self.rules.a_question_ends_with_its_list:
            state = state._replace(asked=-1, votes=0)
        return state._replace(push="read", known=state.version, since_read=rests)

    def landed(self, state: State) -> State:
        """The report names what the host's lease rests on."""
        everyone = below(self.bounds.reconcilers)
        return state._replace(
            push="landed",
            is_late=False,
            unseen=everyone,
            has_moved=state.fence,
            since_report=state.since_read,
        )

    def refused(self, state: State) -> State:
        """What was given away is ended by a host that reads so, armed or not."""
        return state._replace(lease=0, asked=-1, votes=0) if state.is_elsewhere else state

    def renewed(self, state: State, done: State) -> State:
        spent = state.age if self.rules.lease_counts_from_the_noted_time else 0
        left = self.bounds.settings[state.known].timeout - spent
        return done._replace(lease=max(state.lease, left))

    def question(self, state: State) -> Iterator[Step]:
        if not state.lease or not self.bounds.vote:
            return
        quiet = state._replace(asked=-1, votes=0)
        if state.asked < 0:
            yield "the host asks its peers", state._replace(asked=0, votes=0)
            return
        number = self.bounds.settings[state.known].peers
        for peer in range(number):
            bit = 1 << peer
            if state.votes & bit or state.acknowledged & bit:
                continue
            holds = put(state.holds, peer, self.hold()) if self.rules.votes_bind else state.holds
            yield f"peer {peer} votes", state._replace(votes=state.votes | bit, holds=holds)
        if bits(state.votes) * 2 >= number:
            left = self.bounds.vote - (state.asked if self.rules.votes_count_from_the_question else 0)
            yield "the host lives on votes", quiet._replace(lease=max(state.lease, left))
        yield "the host asks no more", quiet

    # Its peers

    def hold(self) -> int:
        return self.bounds.hold if self.rules.hold_covers_drift else self.bounds.vote

    def peers(self, state: State) -> Iterator[Step]:
        for peer in range(self.bounds.peers):
            bit = 1 << peer
            if state.fence and not state.acknowledged & bit and not state.holds[peer]:
                yield f"peer {peer} acknowledges", state._replace(acknowledged=state.acknowledged | bit)
            if self.bounds.may_restart and state.holds[peer]:
                waits = self.hold() if self.rules.a_peer_that_starts_waits else 0
                yield f"peer {peer} restarts", state._replace(holds=put(state.holds, peer, waits))

    # Reconcilers

    def dead_after(self, state: State) -> int:
        """Of all versions that the host may still follow."""
        valid = self.valid(state) if self.rules.longest_timeout_since_the_report else [self.settings(state)]
        found = max(each.timeout + MARGIN for each in valid)
        return found if self.rules.dead_after_is_longer_than_the_lease else found - 2

    def settings(self, state: State) -> Settings:
        return self.bounds.settings[state.version]

    def valid(self, state: State) -> list[Settings]:
        """The versions since the one that the host's report names."""
        return [each for at, each in enumerate(self.bounds.settings) if state.since_report >> at & 1]

    def is_proof(self, state: State) -> bool:
        """Whether the acknowledgements show that the host has no lease."""
        valid = self.valid(state)
        known = valid if self.rules.disarmed_since_the_report_is_no_proof else [self.settings(state)]
        if not all(each.is_armed for each in known):
            return False
        lists = valid if self.rules.every_list_since_the_report else [self.settings(state)]
        return all(self.has_majority(state, each.peers) for each in lists)

    def has_majority(self, state: State, peers: int) -> bool:
        found = bits(state.acknowledged & below(peers))
        return found * 2 > peers if self.rules.majority_acknowledges else found > 0

    def reconcilers(self, state: State) -> Iterator[Step]:
        for one in range(self.bounds.reconcilers):
            yield from self.reconciler(state, one)

    def reconciler(self, state: State, one: int) -> Iterator[Step]:
        bit = 1 << one
        if state.unseen & bit:
            seen = state._replace(unseen=state.unseen & ~bit, silence=put(state.silence, one, 0))
            yield f"reconciler {one} sees the report", seen
        if not state.fence and not state.is_elsewhere and state.silence[one] >= self.dead_after(state):
            moved = bool(state.unseen & bit)
            fenced = state._replace(fence=True, has_moved=moved, acknowledged=0, sure=0)
            yield f"reconciler {one} fences the host", fenced
        if state.fence and not state.sure & bit:
            if state.has_moved and self.rules.reconciler_reads_the_report_again:
                yield f"reconciler {one} withdraws the fence", self.withdrawn(state, one)
            else:
                yield f"reconciler {one} reads the same report", state._replace(sure=state.sure | bit)
        if state.sure & bit and not state.is_elsewhere and self.is_proof(state):
            yield (
                f"reconciler {one} places the machine elsewhere",
                state._replace(is_elsewhere=True, fence=False),
            )

    def withdrawn(self, state: State, one: int) -> State:
        """Whoever was sure has read a `live` that is no more the newest."""
        is_swapped = self.rules.only_the_live_that_was_read_is_replaced
        return state._replace(
            fence=False,
            has_moved=False,
            acknowledged=0 if is_swapped else state.acknowledged,
            sure=0 if is_swapped else state.sure,
            unseen=state.unseen & ~(1 << one),
            silence=put(state.silence, one, 0),
        )

    # People

    def people(self, state: State) -> Iterator[Step]:
        for version in range(len(self.bounds.settings)):
            if version != state.version:
                bit = 1 << version
                yield (
                    f"people change the settings to {version}",
                    state._replace(
                        version=version,
                        since_report=state.since_report | bit,
                        since_read=state.since_read | bit,
                    ),
                )
