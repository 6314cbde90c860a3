"""What the benchmarks share: medians of repeated runs, resident memory of a process tree, one way to print figures."""

from __future__ import annotations

import resource
import statistics
import time
from collections.abc import Callable


def seconds(work: Callable[[], object], repeat: int = 3) -> float:
    """The median wall time of `repeat` runs."""
    times = []
    for _ in range(repeat):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return statistics.median(times)


def percentile(values: list[float], percent: float) -> float:
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, round(percent / 100 * (len(ordered) - 1)))]


def peak_mebibytes(of_children: bool = False) -> float:
    who = resource.RUSAGE_CHILDREN if of_children else resource.RUSAGE_SELF
    return resource.getrusage(who).ru_maxrss / 1024


def figure(name: str, value: str) -> None:
    """One line a figure; a benchmark prints them last."""
    print(f"FIGURE {name}: {value}")
