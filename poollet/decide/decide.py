"""The decision: what this host does next and what it says, from one look at everything. Pure, and the same for the same look.

Looked at again after nothing has changed it comes to the same report and, once all is as ordered, to no steps. It removes
nothing but what the target branch orders away, and takes nothing for missing that one list alone does not name.
"""

from __future__ import annotations

from collections.abc import Iterable

from msgspec.structs import replace

from iri.machine import RuntimeMachine
from iri.runtime import RuntimeObject
from iri.volume import RuntimeSnapshot, RuntimeVolume
from poollet.decide import memory
from poollet.decide import orphans as unordered
from poollet.decide.actions import CreateCall, ObjectAction, Ref
from poollet.decide.assignments import Go, Have, Order, orders, other_host
from poollet.decide.capacity_ledger import find_pool, take_larger
from poollet.decide.decision import Decision, Situation, by_name
from poollet.decide.decision_pass import FINAL, Round, Standing, next_memory
from poollet.decide.inventory import Absent, Inventory, Presence, Present, Several, Unknown, Unsettled
from poollet.decide.machines import machine_entry
from poollet.decide.memory import Entry
from poollet.decide.snapshots import snapshot_entry
from poollet.decide.volumes import Holders, volume_entry
from poollet.report import iri_to_report
from poollet.sync.live_view import LiveView
from schemas import live_layout, report
from schemas.kinds import Key, Kind
from schemas.model import Machine, Volume, VolumeSnapshot
from schemas.model.capacity import Vector

KINDS = (RuntimeVolume, RuntimeSnapshot, RuntimeMachine)
Refusals = dict[Ref, tuple[report.ReportedReason, ...]]


def decide(situation: Situation) -> Decision:
    facts = situation.facts
    inventory = Inventory(situation.observed, situation.executor, situation.memory, facts.fleet)
    round = Round(situation, situation.view or LiveView(commit=""), inventory)
    knows_orders = situation.host.knows_orders
    standings = standings_of(round) if knows_orders else []
    ordered = {one.order.ref for one in standings if not is_refused_and_there(one, round)}
    priorities = {one.order.ref: priority(one.order) for one in standings}
    refusals = admitted(standings, ordered, round)
    look(standings, refusals, round)
    if knows_orders:
        round.entries |= unreadable(round)
    else:
        round.entries |= observe_only(round)
        ordered |= {ref_of(key, entry) for key, entry in round.entries.items() if entry.phase not in FINAL}
    found = unordered.orphans(round, ordered)
    return Decision(
        steps=tuple(sorted(round.steps, key=lambda step: rank(step, priorities))),
        machines=by_name(round.entries, report.MachineReport),
        volumes=by_name(round.entries, report.VolumeReport),
        snapshots=by_name(round.entries, report.SnapshotReport),
        orphans=found,
        memory=next_memory(round, found, is_observing=not knows_orders),
        again_ms=round.again_ms,
    )


def standings_of(round: Round) -> list[Standing]:
    """What is ordered of this host, and whether it is there."""
    situation = round.situation
    assert situation.view is not None, "LiveNotApplied closes the gates for all orders"
    standings = []
    for order in orders(situation.view, situation.facts, situation.memory):
        standing = Standing(order, presence_of(order, round))
        standings.append(standing)
        round.gates[order.ref] = order.at._replace(
            host=situation.host, presence=standing.presence, is_answered=is_answered(standing, round)
        )
    return standings


def presence_of(order: Order, round: Round) -> Presence:
    """What is ordered away, and what the target branch has an id of, perhaps of another pool, is looked for twice."""
    return round.inventory.presence(
        order.ref,
        order.runtime,
        was_there=round.was_reported(order),
        is_doubted=isinstance(order.intent, Go) or has_status_id(order),
    )


def has_status_id(order: Order) -> bool:
    match order.object:
        case Machine() as machine:
            return machine.status.machine_id != ""
        case Volume() as volume:
            return volume.status.volume_id != ""
        case VolumeSnapshot() as snapshot:
            return snapshot.status.snapshot_id != ""


def is_refused_and_there(standing: Standing, round: Round) -> bool:
    """Answered with a no and there all the same: it counts as without an order, for it is not on the target branch's account."""
    return (
        is_answered(standing, round)
        and not isinstance(standing.order.intent, Go)
        and isinstance(standing.presence, Present | Several)
    )


def is_answered(standing: Standing, round: Round) -> bool:
    """Reported as gone or rejected, which is final for this assignment."""
    entry = round.situation.memory.entries.get(standing.order.key)
    return (
        entry is not None
        and (entry.uid, entry.assignment) == (standing.order.ref.uid, standing.order.assignment)
        and entry.phase in FINAL
    )


def admitted(standings: list[Standing], ordered: set[Ref], round: Round) -> Refusals:
    """Charges everything, then asks for what is new, the most important first. Returns why something does not fit."""
    candidates = []
    for one in standings:
        if is_new(one, round):
            candidates.append(one)
        elif one.order.ref in ordered and not is_over(one, round):
            round.ledger.charge(pool_id(one.order), charge_of(one, round))
    charge_rest(ordered, round)
    for one in standings:
        grow(one, round)
    refusals: Refusals = {}
    for one in sorted(candidates, key=lambda one: (-priority(one.order), one.order.key)):
        pool, need = pool_id(one.order), round.ledger.order_charge(one.order)
        if round.ledger.is_known(pool) and (reasons := round.ledger.find_shortfalls(pool, need)):
            refusals[one.order.ref] = reasons
            round.gates[one.order.ref] = round.gates[one.order.ref]._replace(has_room=False)
        else:
            round.ledger.charge(pool, need)
    return refusals


def is_new(standing: Standing, round: Round) -> bool:
    return (
        isinstance(standing.order.intent, Have)
        and isinstance(standing.presence, Absent)
        and not round.was_reported(standing.order)
        and not is_over(standing, round)
    )


def is_over(standing: Standing, round: Round) -> bool:
    """Nothing of it is there, nor will be."""
    if isinstance(standing.order.intent, Go):
        return isinstance(standing.presence, Absent)
    return is_answered(standing, round)


def charge_of(standing: Standing, round: Round) -> Vector:
    order = standing.order
    there = [
        round.ledger.object_charge(pool_id(order), found) for found in round.inventory.ours.get(order.ref, [])
    ]
    return take_larger([round.ledger.order_charge(order), *there])


def charge_rest(ordered: set[Ref], round: Round) -> None:
    """What is there without an order, and other people's."""
    facts = round.situation.facts.pools
    rest = [(ref.kind, found) for ref, found in unordered.unordered(round, ordered)]
    rest += [(type(found.object), found) for found in round.inventory.foreign]
    for kind, found in rest:
        label = found.object.labels.get(live_layout.POOL, "")
        pool = find_pool(found, unordered.pool_kind(kind), facts, label)
        if pool is not None:
            round.ledger.charge(pool, round.ledger.object_charge(pool, found))


def grow(standing: Standing, round: Round) -> None:
    """What is there and is to be larger has been charged so already: when that is more than there is, it does not grow."""
    order = standing.order
    if not isinstance(order.intent, Have) or not isinstance(standing.presence, Present):
        return
    if not is_to_grow(order, standing.presence.object):
        return
    pool = pool_id(order)
    found = round.inventory.ours[order.ref][0]
    has, wants = round.ledger.object_charge(pool, found), charge_of(standing, round)
    if all(count <= has.get(resource, 0) for resource, count in wants.items()):
        return
    reasons = round.ledger.find_growth_shortfalls(pool, wants, has)
    if reasons:
        round.resize_refusals[order.ref] = reasons


def is_to_grow(order: Order, there: RuntimeObject) -> bool:
    match order.object, there:
        case Machine() as machine, RuntimeMachine():
            return machine.spec.machine_class_ref.name != there.spec.class_name
        case Volume() as volume, RuntimeVolume():
            has = there.spec.resources.storage_bytes if there.spec.resources is not None else 0
            return volume.spec.storage_bytes > has
        case _:
            return False


def pool_id(order: Order) -> tuple[Kind, str]:
    kind = Kind.MACHINE_POOL if order.key.kind is Kind.MACHINE else Kind.VOLUME_POOL
    return kind, order.pool


def priority(order: Order) -> int:
    return order.object.spec.priority if isinstance(order.object, Machine) else 0


def look(standings: list[Standing], refusals: Refusals, round: Round) -> None:
    """Machines first, for a volume can go as soon as the machine that held it has."""
    gone = set()
    for one in standings:
        if isinstance(one.order.object, Machine):
            entry = machine_entry(one, one.order.object, refusals.get(one.order.ref, ()), round)
            round.entries[one.order.key] = entry
            if entry.phase == "gone":
                gone.add(entry.uid)
    holders = Holders(frozenset(gone), being_attached(standings))
    for one in standings:
        order = one.order
        if order.key in round.entries:
            continue
        match order.object:
            case Volume() as volume:
                refused = refusals.get(order.ref, ())
                round.entries[order.key] = volume_entry(one, volume, refused, holders, round)
            case VolumeSnapshot() as snapshot:
                round.entries[order.key] = snapshot_entry(one, snapshot, round)
            case Machine():
                continue


def being_attached(standings: Iterable[Standing]) -> set[Key]:
    """Volumes of machines at which something is being done whose outcome no list shows yet."""
    return {
        key
        for one in standings
        if isinstance(one.order.object, Machine) and isinstance(one.presence, Unsettled)
        for entry in one.order.object.spec.volumes
        if (key := one.order.object.volume_key(entry)) is not None
    }


def observe_only(round: Round) -> dict[Key, Entry]:
    """While no orders are known: what was reported last, with the states that runtimes list now."""
    return {key: observed_entry(key, entry, round) for key, entry in round.situation.memory.entries.items()}


def observed_entry(key: Key, entry: Entry, round: Round) -> Entry:
    pool, ref = round.situation.facts.pools.get(memory.pool_of(entry)), ref_of(key, entry)
    if entry.phase in FINAL or pool is None:
        return entry
    match round.inventory.presence(ref, pool.runtime, was_there=True, is_doubted=True):
        case Unknown():
            return replace(entry, phase="unknown")
        case Present(RuntimeMachine() as there) if isinstance(entry, report.MachineReport):
            status = entry.status or report.ReportedMachineStatus()
            status = replace(status, state=iri_to_report.machine_state(there))
            return replace(entry, phase="present", status=status)
        case Present():
            return replace(entry, phase="present")
        case _:
            return entry


def ref_of(key: Key, entry: Entry) -> Ref:
    return Ref(memory.RUNTIME_KINDS[key.kind], entry.uid)


def unreadable(round: Round) -> dict[Key, Entry]:
    """Entries whose orders may be in a file that cannot be read: it is unknown whether they still hold, so they are kept.

    A final answer stays one: it is asked for again once the file can be read.
    """
    if not round.view.unread:
        return {}
    uids = {entry.uid for entry in round.entries.values()}
    return {
        key: entry if entry.phase in FINAL else replace(entry, phase="unknown")
        for key, entry in round.situation.memory.entries.items()
        if key not in round.entries
        and entry.uid not in uids
        and not other_host(entry.uid, round.situation.facts, round.view)
    }


def rank(step: ObjectAction, priorities: dict[Ref, int]) -> tuple[bool, int, int, str, str]:
    """What lets go comes first, then what others wait for, then the more important."""
    is_new = any(isinstance(call, CreateCall) for call in step.calls)
    kind = KINDS.index(step.ref.kind)
    return is_new, kind, -priorities.get(step.ref, 0), step.namespace, step.name
