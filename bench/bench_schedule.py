"""Placements per second of the pure scheduler: machines onto pools, 8 classes, zones, selectors, taints, two resources."""

from __future__ import annotations

import gc
import random
import time
from dataclasses import replace

from bench.measure import figure
from reconciler.schedule.cluster_state import ClusterState, build_cluster_state
from reconciler.schedule.decision import Placed
from reconciler.schedule.request import AntiAffinityRule, PoolView, Request, SpreadRule
from reconciler.schedule.scheduler import schedule
from reconciler.schedule.scores import Policy
from schemas.kinds import Key, Kind
from schemas.model.part import Selector, Taint, Toleration

GIB = 1 << 30
CLASSES = [
    (f"c{i}", {"cpu": 500 << (i % 4), "memory": GIB << (i % 5), f"class/machine.c{i}": 1}) for i in range(8)
]
OFFERED = frozenset(name for name, _ in CLASSES)
ZONE = "topology.ironcore.dev/zone"


def pools(count: int, machines: int) -> ClusterState:
    room = max(1, machines * 3 // count)
    capacity = {
        "cpu": 4000 * room,
        "memory": 16 * GIB * room,
        **{f"class/machine.{name}": 2 * room for name, _ in CLASSES},
    }
    lab = (Taint(key="lab", effect="NoSchedule"),)
    return build_cluster_state(
        PoolView(
            name=f"pool-{i:05}",
            allocatable=capacity,
            labels={ZONE: f"z{i % 4}", "disk": "ssd" if i % 3 else "hdd"},
            taints=lab if i % 10 == 0 else (),
            classes=OFFERED,
        )
        for i in range(count)
    )


def requests(count: int, *, is_constrained: bool) -> list[Request]:
    draw = random.Random(7)
    made = []
    for i in range(count):
        name, charge = CLASSES[draw.randrange(8)]
        app = f"app-{i // 20}"
        labels = (("app", app),)
        same = Selector(labels)
        made.append(
            Request(
                key=Key(Kind.MACHINE, "default", f"m-{i:06}"),
                machine_class=name,
                charge=charge,
                labels=labels,
                selector=(
                    ((ZONE, f"z{draw.randrange(4)}"),) if draw.random() < 0.3 and not is_constrained else ()
                ),
                tolerations=(Toleration(key="lab", operator="Exists"),) if draw.random() < 0.2 else (),
                anti_affinity=AntiAffinityRule(same) if is_constrained else None,
                spread=SpreadRule(same, ZONE, 1) if is_constrained else None,
            )
        )
    draw.shuffle(made)
    return made


def pin(count: int, pool_count: int) -> list[Request]:
    """Where people want them, in pools that they tolerate and that match."""
    free = [number for number in range(pool_count) if number % 10]
    return [
        replace(request, selector=(), pinned=f"pool-{free[number % len(free)]:05}")
        for number, request in enumerate(requests(count, is_constrained=False))
    ]


def rate(
    machines: int, pool_count: int, *, is_constrained: bool = False, policy: Policy = Policy.MOST_FREE
) -> float:
    return measure_pass(pool_count, requests(machines, is_constrained=is_constrained), policy)


def measure_pass(pool_count: int, wanted: list[Request], policy: Policy = Policy.MOST_FREE) -> float:
    machines = len(wanted)
    on = pools(pool_count, machines)
    gc.freeze()
    start = time.perf_counter()
    decisions = schedule(wanted, on, policy)
    took = time.perf_counter() - start
    assert all(isinstance(decision, Placed) for decision in decisions)
    return machines / took


def main() -> None:
    results = []
    for machines in (10_000, 100_000):
        for pool_count in (100, 1_000, 5_000):
            results.append((f"{machines:,} machines on {pool_count:,} pools", rate(machines, pool_count)))
    results.append(("10,000 on 1,000, bin-packing", rate(10_000, 1_000, policy=Policy.BIN_PACK)))
    for pool_count in (1_000, 5_000):
        name = f"10,000 on {pool_count:,}, spread and anti-affinity, groups of 20"
        results.append((name, rate(10_000, pool_count, is_constrained=True)))
    results.append(("10,000 on 5,000, each pinned", measure_pass(5_000, pin(10_000, 5_000))))
    for name, found in results:
        figure(f"placements/s, {name}", f"{found:,.0f}")


if __name__ == "__main__":
    main()
