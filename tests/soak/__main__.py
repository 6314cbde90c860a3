"""Lives one after the other until the time is over: python -m tests.soak [--seconds N] [--seed N] [--steps N] [--rests N] [--lives N]."""

from __future__ import annotations

import argparse
import gc
import logging
import random
import sys
import time
from collections import Counter
from collections.abc import Mapping

from tests.poollet.stage import START_MS
from tests.soak import disk_images
from tests.soak.walk import ACTS, OUTCOMES, BrokenError, Life

BURIED_AT_ONCE = 20
LONG_STEPS = 50_000  # even the rarest kind is then expected several times
MS_IN_YEAR = 365 * 86_400_000


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.soak")
    parser.add_argument("--seconds", type=float, default=float("inf"))
    parser.add_argument("--seed", default="", help="of the first life; the next ones count on")
    parser.add_argument(
        "--steps", type=int, default=0, help="of each life up to a rest; by chance where not given"
    )
    parser.add_argument("--rests", type=int, default=0, help="of each life; by chance where not given")
    parser.add_argument("--lives", type=int, default=sys.maxsize)
    parser.add_argument("--behavior", default="gitvirt", help="of the runtimes: gitvirt, stock-libvirt, ...")
    parser.add_argument("--audit", action="store_true", help="compute each commit of a reconciler again")
    parser.add_argument("--on", action="store_true", help="go on after a life that breaks a law")
    given = parser.parse_args()
    logging.disable(logging.CRITICAL)
    first = int(given.seed) if given.seed else random.SystemRandom().randrange(1_000_000)
    end, broken, steps, lives, lived_ms = time.monotonic() + given.seconds, 0, 0, 0, 0
    commits = 0
    left_out = () if given.behavior == disk_images.OURS else disk_images.ONLY_OURS
    reached = Counter({name: 0 for name in (*ACTS, *OUTCOMES) if name not in left_out})
    while lives < given.lives and time.monotonic() < end:
        life = choose_life(first + lives, given)
        try:
            life.live()
        except BrokenError as error:
            broken += 1
            print(f"seed {life.seed}: {error}", flush=True)
            if not given.on:
                return 1
        lives, steps, lived_ms = lives + 1, steps + life.number, lived_ms + life.stage.time.ms - START_MS
        reached.update(life.reached)
        commits += life.stage.audit.count if life.stage.audit is not None else 0
        if lives % BURIED_AT_ONCE == 0:
            # A reconciler freezes what there is when it starts, and earlier lives with it.
            gc.unfreeze()
            gc.collect()
    for name, number in sorted(reached.items()):
        print(f"{number:8,}  {name}")
    if given.audit:
        print(f"{commits:,} commits of reconcilers were computed again")
    print(f"{lives} lives from seed {first}, {steps} steps, {broken} broken")
    print(f"{show_speed(lived_ms, time.process_time())} simulated years per CPU-hour")
    missing = never_reached(reached, steps)
    if missing:
        print(f"never reached in {steps} steps: {', '.join(missing)}")
    return 1 if broken or missing else 0


def choose_life(seed: int, given: argparse.Namespace) -> Life:
    """By its seed, but for what is given. Most lives end at their first rest."""
    chance = random.Random(seed)
    steps, rests = chance.randint(20, 150), chance.choice((1, 1, 1, 1, 2, 4))
    return Life(seed, given.steps or steps, given.behavior, given.rests or rests, given.audit)


def show_speed(lived_ms: int, cpu_seconds: float) -> str:
    return f"{lived_ms / MS_IN_YEAR / (cpu_seconds / 3600):.2f}"


def never_reached(reached: Mapping[str, int], steps: int) -> list[str]:
    """Kinds of events that a run as long as this should have had: then the soak does not test what it says."""
    return sorted(name for name, number in reached.items() if not number) if steps >= LONG_STEPS else []


if __name__ == "__main__":
    sys.exit(main())
