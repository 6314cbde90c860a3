"""All deviations of all scenarios, or what fits into a time: python -m tests.exhaustive [--seconds N] [--seed N] [--scenario NAME]."""

from __future__ import annotations

import argparse
import gc
import logging
import random
import sys
import time
from collections import Counter
from dataclasses import dataclass, field

from tests.exhaustive.explore import deviations, live_plainly, live_through
from tests.exhaustive.explored import Deviation, Scenario
from tests.exhaustive.scenarios import SCENARIOS
from tests.soak.walk import BrokenError

BURIED_AT_ONCE = 20


@dataclass
class Figures:
    runs: Counter[str] = field(default_factory=Counter)
    states: int = 0
    most_ticks: int = 0
    broken: int = 0

    def add(self, scenario: Scenario, deviation: Deviation) -> None:
        self.runs[deviation.fault] += 1
        try:
            life = live_through(scenario, deviation)
        except BrokenError as error:
            self.broken += 1
            print(error, flush=True)
            return
        self.most_ticks = max(self.most_ticks, life.ticks)
        self.states += life.explored.recorded.now

    def show(self, possible: int) -> None:
        for name, count in sorted(self.runs.items()):
            print(f"{count:8,}  {name}")
        print(
            f"{self.runs.total()} of {possible} runs, {self.states:,} states of the remote, "
            f"at rest at most {self.most_ticks} ticks after the fault, {self.broken} broken"
        )


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.exhaustive")
    parser.add_argument("--seconds", type=float, default=float("inf"))
    parser.add_argument("--seed", type=int, default=1, help="of the order")
    parser.add_argument("--scenario", default="", help="only this one")
    parser.add_argument("--faults", nargs="*", default=[], help="only these")
    parser.add_argument("--on", action="store_true", help="go on after a run that breaks a law")
    given = parser.parse_args()
    logging.disable(logging.CRITICAL)
    end, figures = time.monotonic() + given.seconds, Figures()
    found: list[tuple[Scenario, Deviation]] = []
    for scenario in SCENARIOS:
        if given.scenario in ("", scenario.name):
            own = [
                one
                for one in deviations(live_plainly(scenario))
                if one.fault in (given.faults or [one.fault])
            ]
            print(f"{len(own):8,}  {scenario.name}", flush=True)
            found += [(scenario, one) for one in own]
    random.Random(given.seed).shuffle(found)
    for number, (scenario, deviation) in enumerate(found):
        if time.monotonic() > end or (figures.broken and not given.on):
            break
        figures.add(scenario, deviation)
        if number % BURIED_AT_ONCE == 0:
            # A reconciler freezes what there is when it starts, and earlier runs with it.
            gc.unfreeze()
            gc.collect()
    figures.show(len(found))
    return 1 if figures.broken else 0


if __name__ == "__main__":
    sys.exit(main())
