"""Whether the fleet survives the loss of any one host: its machines fit on the others, by the scheduler itself. Pure.

For each pool with machines, the cluster after the plan is taken without that pool, and its machines are scheduled onto the rest: the
same filters, the same charges, with anti-affinity, spread and the reach of volumes. Who does not fit is named.

    a machine                                          counts on
    that stays, or is placed by this plan              its pool
    that moves                                         its target
    that waits for others to be gone, as after a       the pool where the scheduler puts it once they are: the plan places it nowhere, and
    rename that keeps volume or address                the fleet runs it a moment later
    that fits nowhere, or whose file is wrong          none: the plan says so in its own lines

Limits: this is about room and rules, not about data. A machine that fits elsewhere gets a new local disk there; `disks` counts those.
Whether machines of a lost host are placed again at all is decided by `onPoolLost` and by people. Beyond MOST pools it is not
tried, since the cost grows with the square of their number.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from datetime import datetime

from reconciler.cli.plans.moves import planned_records
from reconciler.cli.plans.name_ranges import join_names
from reconciler.cli.plans.outline import Survival
from reconciler.cli.plans.phrases import many
from reconciler.decide import placement as placing
from reconciler.decide.need import Keep, Place
from reconciler.decide.successors import place_successors, without_assignment
from reconciler.plan.types import Plan
from reconciler.schedule.decision import Unschedulable
from reconciler.schedule.scheduler import schedule
from reconciler.world.record import Record
from reconciler.world.view import View
from schemas.effects.removal import list_local_disks
from schemas.kinds import Key, Kind
from schemas.model import Machine

MOST = 400  # pools
MOST_NAMED = 3  # hosts


def try_each_loss(view: View, plan: Plan, targets: Mapping[Key, str], now: datetime) -> Survival | None:
    """None for a fleet of one host, or without machines on any. `targets` are those of machines that move."""
    if len(view.pools) < 2:
        return None
    if len(view.pools) > MOST:
        return Survival(is_computed=False)
    needs = list(planned_records(plan, targets))
    needs = join_needs(needs, place_successors(view, plan, needs, now))
    records = {need.key: need.record for need in needs}
    residents = list_residents(view, records)
    if not residents:
        return None
    machines = [key for keys in residents.values() for key in keys]
    places = [
        Place(key=key, before=None, record=without_assignment(view.objects[key].record)) for key in machines
    ]
    volumes = [
        Place(key=key, before=None, record=record)
        for key, record in records.items()
        if key.kind is Kind.VOLUME and record.pool
    ]
    requests = {
        each.key: replace(each, quota={}) for each in placing.requests(view, [*places, *volumes], now)
    }
    cluster = placing.build_cluster_state(view, requests.values(), needs)
    policy = placing.policy(view)
    stranded, disks = [], 0
    for pool, keys in sorted(residents.items()):
        requested = [requests[key] for key in keys if key in requests]
        decisions = schedule(requested, cluster.without_pool(pool), policy, is_explained=False)
        if lost := tuple(sorted(each.key for each in decisions if isinstance(each, Unschedulable))):
            stranded.append((pool, lost))
        disks = max(disks, sum(count_disks(view, key) for key in keys))
    return Survival(tuple(stranded), disks)


def join_needs(needs: Iterable[Keep], newer: Iterable[Keep]) -> list[Keep]:
    """One for each key; the newer one counts."""
    return list({need.key: need for need in (*needs, *newer)}.values())


def list_residents(view: View, records: Mapping[Key, Record]) -> dict[str, list[Key]]:
    """The machines of each pool after the plan."""
    found: dict[str, list[Key]] = {}
    for pool in view.pools:
        for key in view.relations.on_pool.get(Key(Kind.MACHINE_POOL, "", pool)):
            if key not in records and key.kind is Kind.MACHINE and not view.objects[key].record.is_deleting:
                found.setdefault(pool, []).append(key)
    for key, record in records.items():
        if key.kind is Kind.MACHINE and record.pool and not record.is_deleting and key in view.objects:
            found.setdefault(record.pool, []).append(key)
    return found


def count_disks(view: View, key: Key) -> int:
    machine = view.objects[key].object
    return len(list_local_disks(machine)) if isinstance(machine, Machine) else 0


def describe_survival(survival: Survival) -> str:
    """`survives the loss of any one host: no (web-1 .. web-4 of rack-a1 would fit nowhere)`."""
    question = "survives the loss of any one host"
    if not survival.is_computed:
        return f"{question}: not computed for more than {MOST} pools"
    if survival.is_survived:
        disks = f" (but its local disks would be lost, {survival.disks:,} at most)" if survival.disks else ""
        return f"{question}: yes{disks}"
    named = [
        f"{join_names(key.name for key in keys)} of {pool} would fit nowhere"
        for pool, keys in survival.stranded[:MOST_NAMED]
    ]
    rest = len(survival.stranded) - MOST_NAMED
    more = f"; and {many(rest, 'more host')}" if rest > 0 else ""
    return f"{question}: no ({'; '.join(named)}{more})"
