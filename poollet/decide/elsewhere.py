"""What another host was ordered to have under this poollet's name, before this one took the name over.

That host may run on without being able to say so: nothing is made here of what it may have, and nothing said to be gone,
until the target branch assigns it anew. The mark stands in the report, so that it outlives this run. Pure.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace as replaced

from msgspec.structs import replace

from poollet.decide.assignments import Order, orders
from poollet.decide.decision_pass import FINAL, Round, Standing
from poollet.decide.host_facts import PoolFacts
from poollet.decide.inventory import Present, Several
from poollet.decide.memory import Entry, Memory, Pool, is_of_other_host, pool_of
from poollet.report.conditions import OTHER_HOST, READY, UP_TO_DATE, condition
from poollet.sync.live_view import LiveView
from schemas import report
from schemas.kinds import Key, Kind

MOST_NAMED = 5  # files in a message


def taken_over(view: LiveView, former: str, round: Round) -> dict[Key, Entry]:
    """Everything that the host `former` was seen to have or could see ordered, but for what is here as well, and for what is
    ordered no more: told once more, it would be given back to this pool."""
    here = {ref.uid for ref in round.inventory.ours}

    def known(entry: Entry) -> Entry:
        return entry if entry.phase in FINAL or entry.uid in here else marked(entry, former)

    found = {key: known(entry) for key, entry in round.entries.items()}
    there = ordered(view, round, found)
    for order in there:
        before = found.get(order.key)
        if before is None or (before.uid, before.assignment) != (order.ref.uid, order.assignment):
            found[order.key] = known(unheard(order))
    standing = {(one.ref.uid, one.assignment) for one in there}
    return {
        key: entry
        for key, entry in found.items()
        if not is_of_other_host(entry) or (entry.uid, entry.assignment) in standing
    }


def pools(memory: Memory) -> frozenset[Pool]:
    """Those in which another host may have something, whether this one has them or not: it may be given them later."""
    return memory.former_pools | {
        pool_of(entry) for entry in memory.entries.values() if memory.former or is_of_other_host(entry)
    }


def ordered(view: LiveView, round: Round, entries: Mapping[Key, Entry]) -> tuple[Order, ...]:
    """All that the other host may have got to see."""
    facts, memory = round.situation.facts, round.situation.memory
    others = {pool: PoolFacts(runtime="") for pool in pools(memory)}
    return orders(view, replaced(facts, pools={**others, **facts.pools}), replaced(memory, entries=entries))


def waits(view: LiveView | None, former: str) -> str:
    """Why it cannot be said yet what the host `former` may have: an order that cannot be read is one all the same."""
    if not former or view is None or not view.unread:
        return ""
    more = len(view.unread) - MOST_NAMED
    files = ", ".join(sorted(view.unread)[:MOST_NAMED]) + (f" and {more} more" if more > 0 else "")
    return (
        f"the host {former} had this name before, and what it was ordered is not known as long as the target branch has files "
        f"that cannot be read: {files}; nothing is reported or done until they are mended"
    )


def let_go(view: LiveView, round: Round) -> frozenset[Key]:
    """What was marked and is ordered no more as it was: told once more, it would be taken for something that is here. It may
    be ordered still in a file that cannot be read."""
    entries = round.situation.memory.entries
    known = {key: entry for key, entry in entries.items() if is_of_other_host(entry)}
    if not known or view.unread:
        return frozenset()
    standing = {(one.ref.uid, one.assignment) for one in ordered(view, round, entries)}
    return frozenset(key for key, entry in known.items() if (entry.uid, entry.assignment) not in standing)


def without_pool(round: Round) -> dict[Key, Entry]:
    """What is marked on pools that this host has not got, as long as it is ordered as it was."""
    entries = round.situation.memory.entries
    known = {
        key: replace(entry, phase="unknown")
        for key, entry in entries.items()
        if key not in round.entries
        and is_of_other_host(entry)
        and pool_of(entry) not in round.situation.facts.pools
    }
    if not known:
        return {}
    standing = {(one.ref.uid, one.assignment) for one in ordered(round.view, round, entries)}
    return {key: entry for key, entry in known.items() if (entry.uid, entry.assignment) in standing}


def unheard(order: Order) -> Entry:
    """Ordered of the other host, which has not answered to it."""
    ref, assignment, pool = order.ref.uid, order.assignment, order.pool
    match order.key.kind:
        case Kind.MACHINE:
            return report.MachineReport(
                ref, assignment, "unknown", pool, status=report.ReportedMachineStatus()
            )
        case Kind.VOLUME:
            return report.VolumeReport(ref, assignment, "unknown", pool, status=report.ReportedVolumeStatus())
        case _:
            status = report.ReportedSnapshotStatus()
            return report.SnapshotReport(ref, assignment, "unknown", pool, status=status)


def marked(entry: Entry, former: str) -> Entry:
    message = (
        f"the host {former} had this pool before and may still have it, so it is not made here. Is that host off for good: "
        f"stop this poollet, commit with the trailer Pool-Destroyed: {entry.pool}, and start it once the pool's condition Destroyed is "
        "True. Is it not: give one of the two poollets another name"
    )
    said = (condition(READY, "Unknown", OTHER_HOST), condition(UP_TO_DATE, False, OTHER_HOST, message))
    match entry:
        case report.MachineReport():
            machine = entry.status or report.ReportedMachineStatus()
            status = replace(machine, conditions=with_those(machine.conditions, said))
            return replace(entry, phase="unknown", status=status)
        case report.VolumeReport():
            volume = entry.status or report.ReportedVolumeStatus()
            held = replace(volume, conditions=with_those(volume.conditions, said))
            return replace(entry, phase="unknown", status=held)
        case report.SnapshotReport():
            shot = entry.status or report.ReportedSnapshotStatus()
            taken = replace(shot, conditions=with_those(shot.conditions, said))
            return replace(entry, phase="unknown", status=taken)


def with_those(
    before: Iterable[report.ReportedCondition], said: tuple[report.ReportedCondition, ...]
) -> tuple[report.ReportedCondition, ...]:
    types = {one.type for one in said}
    return tuple(sorted((*(one for one in before if one.type not in types), *said), key=lambda one: one.type))


def held(standing: Standing, round: Round) -> Entry | None:
    """What is said of one that may be at the other host; None for all others, and once it turns out to be here."""
    order = standing.order
    entry = round.situation.memory.entries.get(order.key)
    if entry is None or entry.uid != order.ref.uid or not is_of_other_host(entry):
        return None
    if entry.assignment != order.assignment or isinstance(standing.presence, Present | Several):
        return None
    return replace(entry, phase="unknown")
