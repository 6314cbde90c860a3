"""One run of a scenario with one deviation: what is checked at every turn, and that it comes to rest when the fault is over."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from reconciler.gitstore.remote.transport import RemoteUnavailable
from reconciler.gitstore.repo import Refs
from tests.exhaustive.recorded import Heads, Read, Reader, RecordedFleet
from tests.poollet.simulation import Kill, When
from tests.soak.laws import Laws
from tests.soak.people import People
from tests.soak.stage import HOST, Stage
from tests.soak.walk import BrokenError, Life
from tests.soak.weather import AWAY, LATE, LOST, Weather

RECONCILER, HOSTS = "left", ("host-1", "host-2")
PARTIES = (RECONCILER, *HOSTS)
ROUND_MS = 10_000
SPAN = 6  # looks in which a server that lags shows the same old state
NAP = 9  # turns without contact: longer than the timeout of a heartbeat
LATE_BY = 3  # rounds after which a late push lands; at the end is another case
MOST_TICKS = 60  # once faults end, all has converged

Fault: TypeAlias = Literal[
    "stale", "lagging", "mixed", "travel", "dropped", "unanswered", "late", "last", "kill", "skip", "nap"
]
READS = ("stale", "lagging", "mixed", "travel")


@dataclass(frozen=True)
class Deviation:
    """At look, push, call or turn `at` of party `who`. `state` is the one that is shown; `ref` alone is shown so where it is given."""

    fault: Fault
    who: str
    at: int
    state: int = 0
    ref: str = ""
    when: When = "before"


@dataclass(frozen=True)
class Scenario:
    """`acts` by rounds; what was before is prepared without faults. `check` fails unless what people asked for is so at rest."""

    name: str
    prepare: Callable[[Explored], None]
    acts: Mapping[int, Callable[[Explored], object]]
    rounds: int = 8
    check: Callable[[Explored], None] = lambda _life: None


@dataclass(frozen=True)
class Marks:
    """How far one party is: the state of the remote, and how many looks, pushes, calls and turns it had."""

    state: int
    looks: int
    pushes: int
    calls: int
    turns: int


FAILURES: Mapping[Fault, tuple[When, RemoteUnavailable]] = {
    "dropped": ("before", AWAY),
    "unanswered": ("after", LOST),
    "late": ("before", LATE),
    "last": ("before", LATE),
}


@dataclass
class Explorer(Weather):
    """Counts the pushes of one party, and has the one fail that the deviation names."""

    deviation: Deviation | None = None
    pushes: int = 0

    def transport(self, call: str, when: When) -> RemoteUnavailable | None:
        answer = super().transport(call, when)
        if call != "push":
            return answer
        self.pushes += when == "before"
        if self.deviation is None or self.deviation.at != self.pushes:
            return answer
        at, failure = FAILURES.get(self.deviation.fault, ("", None))
        return failure if at == when else answer

    def clear_up(self) -> None:
        super().clear_up()
        self.deviation = None


class ExploredStage(Stage):
    """One reconciler and two hosts, on a remote that remembers."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self.recorded = RecordedFleet()
        self.fleet = self.recorded
        self._reader = self.fleet.client(Refs())
        self.explorers = {who: Explorer() for who in PARTIES}
        self.weathers = dict(self.explorers)

    def is_at_ease(self) -> bool:
        self.outcomes["right"] = self.outcomes[RECONCILER]
        return super().is_at_ease()

    def calm(self) -> None:
        """A killed process is started again by its turn."""
        for each in self.explorers.values():
            each.clear_up()


@dataclass
class Looser(Laws):
    """While an administrator puts an old `live` back, that is not what hosts have; nothing is twice even then."""

    is_restored: bool = False

    def check(self) -> None:
        if self.is_restored:
            self._once()
        else:
            super().check()


@dataclass
class Explored(Life):
    scenario: Scenario = field(kw_only=True)
    deviation: Deviation | None = field(default=None, kw_only=True)
    turns: Counter[str] = field(default_factory=Counter)
    began: Mapping[str, Marks] = field(default_factory=dict)  # where the faults may begin
    ended: Mapping[str, Marks] = field(default_factory=dict)  # and where they end
    ticks: int = 0  # from the end of the fault to rest
    waited: int = 0  # rounds since a push is late
    shown_once: int | None = None  # the state that the next look gets
    backup: str = ""

    def __post_init__(self) -> None:
        self.chance = random.Random(self.seed)
        self.stage = self.explored = ExploredStage(HOSTS, {}, profile=HOST)
        self.people = People(self.stage.fleet, self.chance, self.stage.time.clock.now)
        self.laws = self.looser = Looser(self.stage, self.people)
        self.readers = {who: Reader(who, self.show) for who in PARTIES}
        self.people.commit()

    def live(self) -> None:
        try:
            self.scenario.prepare(self)
            self.rounds(2)
            self.begin()
            for number in range(self.scenario.rounds):
                if (act := self.scenario.acts.get(number)) is not None:
                    self.note("people", str(act(self)))
                self.rounds(1)
            self.ended = self.marks()
            self.rest()
        except Exception as error:
            raise BrokenError(self.describe(error)) from error

    def describe(self, error: Exception) -> str:
        return "\n".join((*self.trace, f"{self.scenario.name}, {self.deviation}: {error}"))

    def begin(self) -> None:
        self.began = self.marks()
        deviation = self.deviation
        if deviation is None:
            return
        weather = self.explored.explorers[deviation.who]
        weather.deviation = deviation
        if deviation.fault == "kill":
            weather.kills = frozenset((Kill(deviation.who, deviation.at, deviation.when),))

    def marks(self) -> Mapping[str, Marks]:
        return {
            who: Marks(
                self.explored.recorded.now,
                len(self.readers[who].reads),
                each.pushes,
                each.calls,
                self.turns[who],
            )
            for who, each in self.explored.explorers.items()
        }

    def rounds(self, count: int) -> None:
        for _ in range(count):
            self.play_round()

    def play_round(self) -> None:
        super().play_round()
        self.ticks += bool(self.ended)
        assert self.ticks <= MOST_TICKS, (
            f"it is not at rest {MOST_TICKS} ticks after the fault: {self.restless()}"
        )
        late, deviation = self.stage.fleet.remote.late, self.deviation
        self.waited = self.waited + 1 if late else 0
        if deviation is not None and deviation.fault == "late" and self.waited == LATE_BY:
            self.note("land", self.land())

    def turn(self, who: str) -> None:
        if who not in PARTIES:
            return
        self.turns[who] += 1
        deviation = self.deviation
        if deviation is not None and deviation.who == who and self.began:
            past = self.turns[who] - deviation.at
            if (deviation.fault == "skip" and past == 0) or (deviation.fault == "nap" and 0 <= past < NAP):
                return
            if deviation.fault == "travel" and past == 0:
                self.stage.forget(who)
                self.shown_once = deviation.state
        self.explored.recorded.reader = self.readers[who]
        super().turn(who)

    def show(self, read: Read) -> Heads:
        states, deviation = self.explored.recorded.states, self.deviation
        if self.shown_once is not None:
            number, self.shown_once = self.shown_once, None
            return states[number]
        if deviation is None or deviation.who != read.who or not self.began:
            return states[read.now]
        past = read.number - deviation.at
        if deviation.fault == "mixed" and past == 0:
            mixed = {**states[read.now], deviation.ref: states[deviation.state].get(deviation.ref, "")}
            return {ref: id for ref, id in mixed.items() if id}
        if 0 <= past < {"stale": 1, "lagging": SPAN}.get(deviation.fault, 0):
            return states[max(read.since, deviation.state)]
        return states[read.now]

    def rest(self) -> None:
        """Once the party that naps, or whose server lags, looks again: until then the others are at rest, and it has not been heard. A
        reconciler that was away while `live` was put back still waits for reports then."""
        self.explored.calm()
        while self.is_cut_off() or (self.looser.is_restored and self._is_blocked()):
            self.play_round()
        self.looser.is_restored = False
        super().rest()
        self.scenario.check(self)

    def is_cut_off(self) -> bool:
        deviation = self.deviation
        if deviation is None or deviation.fault not in ("nap", "lagging"):
            return False
        if deviation.fault == "nap":
            return self.turns[deviation.who] < deviation.at + NAP
        return len(self.readers[deviation.who].reads) < deviation.at + SPAN
