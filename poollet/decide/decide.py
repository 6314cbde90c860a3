"""The decision: the next actions on this host and the contents of its report, from one set of inputs. Pure: equal inputs, equal decision.

Theory of operation. Data passes in this order:

    list_orders          documents on `live` that are assigned to this host under its grant (assignments.py)
    find_presence        is the object listed, missing, in flight, unconfirmed or doubled? (inventory.py)
    GateInput            what may be done to it now, all gates in one table (gates.py)
    admit                charge the pools, and refuse new objects that do not fit (capacity_ledger.py)
    plan_object          the calls that each object needs, and its entry in the report (plan.py)
    plan_action          calls pass the gates and the retry table, and become actions (decision_pass.py, retry.py)
    report_orphans       objects of this fleet without an order here: reported, and fenced where another host has them (orphans.py)

While `live` is not applied there are no orders: every entry of the last report is carried over with the states that runtimes list now.
Decided again with nothing changed, the report is the same, and once all is as ordered there are no actions.

Must never happen: an object is removed without an order on `live`; an object counts as missing because one list lacks it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace as replaced
from typing import NamedTuple

from msgspec.structs import replace

from iri.machine import Power, RuntimeMachine
from iri.runtime import RuntimeObject
from iri.volume import RuntimeSnapshot, RuntimeVolume
from poollet.decide import memory, orphans
from poollet.decide.actions import RUNTIME_KINDS, CreateCall, ObjectAction, Ref
from poollet.decide.assignments import Ensure, HostOrder, Stop, Withdraw, list_orders, other_host
from poollet.decide.capacity_ledger import find_pool, requested_bytes
from poollet.decide.decision import Decision, DecisionInput, by_name
from poollet.decide.decision_pass import DecisionPass, OrderedObject, has_id, next_memory
from poollet.decide.dependencies import check_class
from poollet.decide.host_room import find_room
from poollet.decide.inventory import (
    Absent,
    Duplicates,
    InFlight,
    Inventory,
    Presence,
    Present,
    Unknown,
)
from poollet.decide.machine.plan import OFF
from poollet.decide.memory import FINAL, Entry
from poollet.decide.plan import plan_object
from poollet.decide.unanswered import is_absent, keep_absent
from poollet.report import iri_to_report
from poollet.sync.live_view import LiveView
from schemas import report
from schemas.kinds import Key, Kind
from schemas.model import Machine, NameRef, Volume
from schemas.model.capacity import Vector
from schemas.model.charge import is_resize_refused, local_disk_charge, take_larger

KINDS = (RuntimeVolume, RuntimeSnapshot, RuntimeMachine)


def decide(inputs: DecisionInput) -> Decision:
    """The next decision. Called by the agent in each pass, and once more with the same inputs it has the same result.

    Machines are planned before volumes, and orphans after all, because only then is it known which objects
    have an order.
    """
    facts = inputs.facts
    inventory = Inventory(inputs.observed, inputs.executor, inputs.memory, facts.fleet)
    current = DecisionPass(inputs, inputs.view or LiveView(commit=""), inventory)
    knows_orders = inputs.host.knows_orders
    ordered_objects = order_objects(current) if knows_orders else []
    ordered = {one.order.ref for one in ordered_objects if not is_answered_and_present(one, current)}
    priorities = {one.order.ref: priority(one.order) for one in ordered_objects}
    admit(ordered_objects, ordered, current)
    plan_objects(ordered_objects, current)
    if knows_orders:
        current.entries |= keep_unreadable(current)
    else:
        current.entries |= observe_only(current)
        ordered |= {ref_of(key, entry) for key, entry in current.entries.items() if entry.phase not in FINAL}
    found = orphans.report_orphans(current, ordered)
    return Decision(
        actions=tuple(sorted(current.actions, key=lambda step: rank(step, priorities))),
        machines=by_name(current.entries, report.MachineReport),
        volumes=by_name(current.entries, report.VolumeReport),
        snapshots=by_name(current.entries, report.SnapshotReport),
        orphans=found,
        memory=next_memory(current, found, is_observing=not knows_orders),
        recheck_at_ms=current.recheck_at_ms,
        room=find_room(current, frozenset(one.order.ref.uid for one in ordered_objects))
        if knows_orders
        else None,
    )


def order_objects(current: DecisionPass) -> list[OrderedObject]:
    """The objects that are ordered of this host, each with its presence and its gates."""
    inputs = current.inputs
    assert inputs.view is not None, "LiveNotApplied closes the gates for all orders"
    ordered_objects = []
    for order in list_orders(inputs.view, inputs.facts):
        ordered_object = OrderedObject(order, find_presence(order, current))
        if not inputs.host.is_confirmed and is_absent(ordered_object):
            keep_absent(ordered_object, current)
            continue  # not accepted: it may be on another host by now
        ordered_objects.append(ordered_object)
        current.gates[order.ref] = order.at._replace(
            host=inputs.host,
            presence=ordered_object.presence,
            is_answered=is_answered(ordered_object, current),
        )
    return ordered_objects


def find_presence(order: HostOrder, current: DecisionPass) -> Presence:
    """An object that is to be removed, or that has an id on `live`, has to be missing from two lists."""
    return current.inventory.presence(
        order.ref,
        order.runtime,
        was_there=current.was_made(order),
        must_be_confirmed=isinstance(order.intent, Withdraw) or has_id(order.object.status),
    )


def is_answered_and_present(ordered_object: OrderedObject, current: DecisionPass) -> bool:
    """Reported as rejected or gone, and listed all the same: an orphan, because `live` does not charge for it."""
    return (
        is_answered(ordered_object, current)
        and not isinstance(ordered_object.order.intent, Withdraw)
        and isinstance(ordered_object.presence, Present | Duplicates)
    )


def is_answered(ordered_object: OrderedObject, current: DecisionPass) -> bool:
    """Reported as gone or rejected, which is final for this assignment."""
    entry = current.inputs.memory.entries.get(ordered_object.order.key)
    return (
        entry is not None
        and (entry.uid, entry.assignment) == (ordered_object.order.ref.uid, ordered_object.order.assignment)
        and entry.phase in FINAL
    )


def admit(ordered_objects: list[OrderedObject], ordered: set[Ref], current: DecisionPass) -> None:
    """Charge everything, then admit new objects, the highest priority first."""
    candidates = []
    for one in ordered_objects:
        if is_new(one, current):
            candidates.append(one)
        elif one.order.ref in ordered and not is_over(one, current):
            current.ledger.charge(pool_id(one.order), charge_existing(one, current))
    charge_unordered(ordered, current)
    for one in sorted(ordered_objects, key=lambda one: (-priority(one.order), one.order.key)):
        admit_growth(one, current)
    for one in sorted(candidates, key=lambda one: (-priority(one.order), one.order.key)):
        pool, need = pool_id(one.order), current.ledger.order_charge(one.order)
        if current.ledger.is_known(pool) and (reasons := current.ledger.find_shortfalls(pool, need)):
            current.refusals[one.order.ref] = reasons
            current.gates[one.order.ref] = current.gates[one.order.ref]._replace(has_room=False)
        else:
            current.ledger.charge(pool, need)


def is_new(ordered_object: OrderedObject, current: DecisionPass) -> bool:
    """Ordered, not there, and never reported as created: only such an object has to fit. One that existed
    before is charged and created again even where the pool is overdrawn, because `live` counts it there."""
    return (
        isinstance(ordered_object.order.intent, Ensure)
        and isinstance(ordered_object.presence, Absent)
        and not current.was_made(ordered_object.order)
        and not is_over(ordered_object, current)
    )


def is_over(ordered_object: OrderedObject, current: DecisionPass) -> bool:
    """It is absent and stays so."""
    if isinstance(ordered_object.order.intent, Withdraw):
        return isinstance(ordered_object.presence, Absent)
    return is_answered(ordered_object, current)


def charge_with_observed(ordered_object: OrderedObject, current: DecisionPass) -> Vector:
    """The larger of what its order and its listed objects take: a resize needs room for both. A machine that is kept for an undo takes its
    local disks alone once it is off; it asks for room before it starts again."""
    order = ordered_object.order
    if isinstance(order.intent, Stop) and is_off(ordered_object):
        return local_disk_charge(order.object.spec) if isinstance(order.object, Machine) else {}
    there = [
        current.ledger.object_charge(pool_id(order), found)
        for found in current.inventory.ours.get(order.ref, [])
    ]
    return take_larger([current.ledger.order_charge(order), *there])


def charge_existing(ordered_object: OrderedObject, current: DecisionPass) -> Vector:
    """As `charge_with_observed`, but a machine whose new class did not fit in the last pass takes what it has."""
    order = ordered_object.order
    waiting = find_waiting(ordered_object, current)
    if waiting is None:
        return charge_with_observed(ordered_object, current)
    pool, machine = pool_id(order), waiting.machine
    spec = replace(machine.spec, machine_class_ref=NameRef(name=waiting.class_name))
    listed = current.ledger.object_charge(pool, current.inventory.ours[order.ref][0])
    return take_larger(
        [current.ledger.order_charge(replaced(order, object=replace(machine, spec=spec))), listed]
    )


class WaitingResize(NamedTuple):
    """A machine, and the class that it has until the ordered one fits."""

    machine: Machine
    class_name: str


def find_waiting(ordered_object: OrderedObject, current: DecisionPass) -> WaitingResize | None:
    """The class that a machine has, if the last report says that the ordered one did not fit: then no call for it is under way."""
    order, presence = ordered_object.order, ordered_object.presence
    if not isinstance(order.intent, Ensure) or not isinstance(presence, Present):
        return None
    if not isinstance(order.object, Machine) or not isinstance(presence.object, RuntimeMachine):
        return None
    before = current.status_before(order, report.ReportedMachineStatus)
    has = presence.object.spec.class_name
    is_same = has == order.object.spec.machine_class_ref.name
    if (
        is_same
        or before is None
        or not is_resize_refused(before.conditions)
        or len(current.inventory.ours[order.ref]) != 1
    ):
        return None
    return WaitingResize(order.object, has)


def is_off(ordered_object: OrderedObject) -> bool:
    """Whether no guest of it runs, and none starts by itself."""
    match ordered_object.presence:
        case Absent():
            return True
        case Present(RuntimeMachine() as there):
            return there.status.state in OFF and there.spec.power is Power.OFF
        case _:
            return False


def charge_unordered(ordered: set[Ref], current: DecisionPass) -> None:
    """Charge objects without an order, and foreign ones."""
    unordered = [found for _, found in orphans.list_unordered(current, ordered)]
    for found in (*unordered, *current.inventory.foreign):
        pool = find_pool(found, current.inputs.facts.pools)
        if pool is not None:
            current.ledger.charge(pool, current.ledger.object_charge(pool, found))


def admit_growth(ordered_object: OrderedObject, current: DecisionPass) -> None:
    """An object that shall grow was charged with its new size already: where that overdraws the pool, it does not grow."""
    order = ordered_object.order
    if not isinstance(order.intent, Ensure) or not isinstance(ordered_object.presence, Present):
        return
    if not needs_growth(order, ordered_object.presence.object):
        return
    pool = pool_id(order)
    wants = charge_with_observed(ordered_object, current)
    if find_waiting(ordered_object, current) is not None:
        has = charge_existing(ordered_object, current)
        more = {name: count - has.get(name, 0) for name, count in wants.items() if count > has.get(name, 0)}
        if reasons := current.ledger.find_shortfalls(pool, more):
            current.resize_refusals[order.ref] = reasons
        elif not is_class_missing(order, current):
            current.ledger.charge(pool, more)
        return
    has = current.ledger.object_charge(pool, current.inventory.ours[order.ref][0])
    if all(count <= has.get(resource, 0) for resource, count in wants.items()):
        return
    reasons = current.ledger.find_growth_shortfalls(pool, wants, has)
    if reasons:
        current.resize_refusals[order.ref] = reasons


def is_class_missing(order: HostOrder, current: DecisionPass) -> bool:
    """Whether the ordered class cannot be given, so that no call will ask for it."""
    name = order.object.spec.machine_class_ref.name if isinstance(order.object, Machine) else ""
    return check_class(Kind.MACHINE_CLASS, Kind.MACHINE_POOL, name, order, current.lookups) is not None


def needs_growth(order: HostOrder, there: RuntimeObject) -> bool:
    """Whether the order changes the size of the listed object. A class by another name may also be smaller:
    admit_growth compares."""
    match order.object, there:
        case Machine() as machine, RuntimeMachine():
            return machine.spec.machine_class_ref.name != there.spec.class_name
        case Volume() as volume, RuntimeVolume():
            return volume.spec.storage_bytes > requested_bytes(there)
        case _:
            return False


def pool_id(order: HostOrder) -> tuple[Kind, str]:
    kind = Kind.MACHINE_POOL if order.key.kind is Kind.MACHINE else Kind.VOLUME_POOL
    return kind, order.pool


def priority(order: HostOrder) -> int:
    return order.object.spec.priority if isinstance(order.object, Machine) else 0


def plan_objects(ordered_objects: list[OrderedObject], current: DecisionPass) -> None:
    """Machines first, because a volume can be removed as soon as the machine that held it is gone."""
    current.being_attached = being_attached(ordered_objects)
    for one in sorted(ordered_objects, key=lambda one: not isinstance(one.order.object, Machine)):
        entry = plan_object(one, current)
        current.entries[one.order.key] = entry
        if isinstance(entry, report.MachineReport) and entry.phase == "gone":
            current.gone.add(entry.uid)


def being_attached(ordered_objects: Iterable[OrderedObject]) -> set[Key]:
    """Volumes of machines with an action in flight."""
    return {
        key
        for one in ordered_objects
        if isinstance(one.order.object, Machine) and isinstance(one.presence, InFlight)
        for entry in one.order.object.spec.volumes
        if (key := one.order.object.volume_key(entry)) is not None
    }


def observe_only(current: DecisionPass) -> dict[Key, Entry]:
    """While no orders are known: what was reported last, with the states that runtimes list now."""
    return {key: observe_entry(key, entry, current) for key, entry in current.inputs.memory.entries.items()}


def observe_entry(key: Key, entry: Entry, current: DecisionPass) -> Entry:
    """The entry with what is listed now, while no orders are known. An object that is missing keeps its
    entry: without orders nothing confirms that it should be gone."""
    pool, ref = current.inputs.facts.pools.get(memory.pool_of(entry)), ref_of(key, entry)
    if entry.phase in FINAL or pool is None:
        return entry
    match current.inventory.presence(ref, pool.runtime, was_there=True, must_be_confirmed=True):
        case Unknown():
            return replace(entry, phase="unknown")
        case Present(RuntimeMachine() as there) if isinstance(entry, report.MachineReport):
            provider = current.provider(pool.runtime)
            return replace(entry, phase="present", status=observe_machine(entry.status, there, provider))
        case Present():
            return replace(entry, phase="present")
        case _:
            return entry


def observe_machine(
    before: report.ReportedMachineStatus | None, there: RuntimeMachine, provider: str
) -> report.ReportedMachineStatus:
    """What it is and what it has attached: as reported last, and what its runtime lists beside that. A creation or an attach that was not
    answered may have taken effect, or may take effect yet."""
    status = before or report.ReportedMachineStatus()
    known = {(disk.name, disk.handle) for disk in status.volumes}
    late = [each for each in iri_to_report.listed_volumes(there) if (each.name, each.handle) not in known]
    return replace(
        status,
        machine_id=iri_to_report.full_id(provider, there.id),
        state=iri_to_report.machine_state(there),
        volumes=(*status.volumes, *late),
    )


def ref_of(key: Key, entry: Entry) -> Ref:
    return Ref(RUNTIME_KINDS[key.kind], entry.uid)


def keep_unreadable(current: DecisionPass) -> dict[Key, Entry]:
    """Entries whose orders may be in a file that cannot be read: it is unknown whether they still hold, so they are kept.

    A final answer stays one: it is asked for again once the file can be read.
    """
    if not current.view.unread:
        return {}
    uids = {entry.uid for entry in current.entries.values()}
    return {
        key: entry if entry.phase in FINAL else replace(entry, phase="unknown")
        for key, entry in current.inputs.memory.entries.items()
        if key not in current.entries
        and entry.uid not in uids
        and not other_host(entry.uid, current.inputs.facts, current.view)
    }


def rank(step: ObjectAction, priorities: dict[Ref, int]) -> tuple[bool, int, int, str, str]:
    """Actions that release come first, then those that others wait for, then by priority."""
    is_new = any(isinstance(call, CreateCall) for call in step.calls)
    kind = KINDS.index(step.ref.kind)
    return is_new, kind, -priorities.get(step.ref, 0), step.namespace, step.name
