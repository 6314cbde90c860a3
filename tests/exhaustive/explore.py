"""Every deviation of a scenario, from one run without any: all stale looks, and each single fault."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from tests.exhaustive.explored import (
    FAILURES,
    PARTIES,
    RECONCILER,
    Deviation,
    Explored,
    Marks,
    Scenario,
)
from tests.exhaustive.recorded import Heads, Read
from tests.poollet.fleet import LIVE, REPORTS


@dataclass(frozen=True)
class Plain:
    """A scenario without faults: what it began with, and what it came to before faults would have ended."""

    scenario: Scenario
    began: Mapping[str, Marks]
    ended: Mapping[str, Marks]
    reads: Mapping[str, list[Read]]
    states: list[Heads]
    ticks: int


def live_plainly(scenario: Scenario) -> Plain:
    life = Explored(1, scenario=scenario)
    life.live()
    reads = {who: reader.reads for who, reader in life.readers.items()}
    return Plain(scenario, life.began, life.ended, reads, life.explored.recorded.states, life.ticks)


def deviations(plain: Plain) -> Iterator[Deviation]:
    for who in PARTIES:
        yield from _stale(plain, who)
        yield from _travel(plain, who)
        began, ended = plain.began[who], plain.ended[who]
        for at in range(began.pushes + 1, ended.pushes + 1):
            yield from (Deviation(fault, who, at) for fault in FAILURES)
        for at in range(began.turns + 1, ended.turns + 1):
            yield Deviation("skip", who, at)
            yield Deviation("nap", who, at)
        for at in range(began.calls + 1, ended.calls + 1):
            yield Deviation("kill", who, at)
            yield Deviation("kill", who, at, when="after")


def _stale(plain: Plain, who: str) -> Iterator[Deviation]:
    """All that the party could have been shown instead, each only once."""
    for read in plain.reads[who][plain.began[who].looks : plain.ended[who].looks]:
        present = _seen_by(who, plain.states[read.now])
        views = [present]
        for number in range(read.since, read.now):
            if (view := _seen_by(who, plain.states[number])) not in views:
                views.append(view)
                yield Deviation("stale", who, read.number, number)
                yield Deviation("lagging", who, read.number, number)
        for ref in sorted(present):
            older = _seen_by(who, plain.states[read.since]).get(ref)
            if older is not None and (mixed := {**present, ref: older}) not in views:
                views.append(mixed)
                yield Deviation("mixed", who, read.number, read.since, ref)


def _travel(plain: Plain, who: str) -> Iterator[Deviation]:
    """A process that restarts, and reads an older snapshot than before."""
    began, ended = plain.began[who], plain.ended[who]
    for turn, read in zip(
        range(began.turns + 1, ended.turns + 1), plain.reads[who][began.looks : ended.looks], strict=False
    ):
        views: list[dict[str, str]] = []
        for number in range(began.state, read.since):
            if (view := _seen_by(who, plain.states[number])) not in views:
                views.append(view)
                yield Deviation("travel", who, turn, number)


def _seen_by(who: str, state: Heads) -> dict[str, str]:
    return {ref: id for ref, id in state.items() if who == RECONCILER or ref in (LIVE, REPORTS + who)}


def live_through(scenario: Scenario, deviation: Deviation) -> Explored:
    life = Explored(1, scenario=scenario, deviation=deviation)
    life.live()
    return life
