"""Objects with our labels and no order: reported, charged, and left alone until people say that they may go.

Theory of operation. An object of this fleet is an orphan when no assignment of this host names it. What is
done depends on `live`:

    `live` says of its uid                              the host
    that the machine must not run here (fences.py)      powers the machine off (fence), keeps disks and definition
    a file in .gitvirt/orphans/ that names its pool     removes it; a volume only when no machine may have it attached
    nothing                                             reports it

The fence comes first: a machine that runs on two hosts may destroy its disks. What is fenced and off is removed by its file too. An orphan that is not listed
once stays reported until two lists lack it, so that the reconciler does not give its room away.

Must never happen: an object is removed because `live` does not mention it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable

from iri.machine import RuntimeMachine
from iri.volume import RuntimeVolume
from poollet.decide import model_to_iri
from poollet.decide.actions import NAMES, RUNTIME_KINDS, Call, EventText, ObjectAction, Ref
from poollet.decide.assignments import UID
from poollet.decide.capacity_ledger import find_pool
from poollet.decide.decision_pass import DecisionPass
from poollet.decide.fences import fence, must_be_stopped, why_fenced
from poollet.decide.gates import CallEffect, GateInput, closed_gate
from poollet.decide.inventory import Absent, ListedObject, UnconfirmedAbsent, handles
from poollet.decide.plan import removal_calls
from poollet.decide.preconditions import digest_orders
from poollet.sync.live_view import assigned_pool
from schemas import report
from schemas.kinds import Kind
from schemas.model.charge import format_vector

UNORDERED = "not assigned to this host on live"


def list_unordered(current: DecisionPass, ordered: Collection[Ref]) -> list[tuple[Ref, ListedObject]]:
    """Every listed object of this fleet that no order here is about, in a stable order. Duplicates of one uid
    come one by one."""
    return [
        (ref, found)
        for ref in sorted(current.inventory.ours, key=lambda ref: (NAMES[ref.kind], ref.uid))
        if ref not in ordered
        for found in current.inventory.ours[ref]
    ]


def report_orphans(current: DecisionPass, ordered: Collection[Ref]) -> tuple[report.Orphan, ...]:
    """In a stable order, with the known orphans of runtimes that do not answer at present."""
    found = list_unordered(current, ordered)
    seen = {(NAMES[ref.kind], one.object.id) for ref, one in found}
    result = [
        orphan
        for ref, one in found
        if not is_retained(ref, current) and (orphan := report_orphan(ref, one, current)) is not None
    ]
    if current.inputs.view is None:  # its class is not known then, and its charge neither
        known = {(one.kind, one.id): one for one in current.inputs.memory.orphans}
        result = [known.get((one.kind, one.id), one) for one in result]
    fenced: dict[Ref, tuple[list[ListedObject], str]] = {}
    for ref, one in found:
        is_done = not must_be_stopped(one) and is_removal_ordered(ref, one, current)
        if not is_done and isinstance(one.object, RuntimeMachine) and (why := why_fenced(ref, one, current)):
            fenced.setdefault(ref, ([], why))[0].append(one)
        else:
            remove_if_ordered(ref, one, current)
    for ref, (machines, why) in fenced.items():
        fence(ref, machines, why, current)
    result += [one for one in keep_unconfirmed(current, ordered) if (one.kind, one.id) not in seen]
    return tuple(sorted(result, key=lambda one: (one.kind, one.pool, one.id)))


def is_retained(ref: Ref, current: DecisionPass) -> bool:
    """Whether `live` retains it on this host. It has no order of its own while another volume has its name; it is charged by `live`, and no
    person may take it for a volume that nothing needs."""
    pools = current.inputs.facts.pools
    return any(
        each.is_retained and assigned_pool(each.object) in pools
        for each in current.view.by_uid.get(ref.uid, ())
    )


def report_orphan(ref: Ref, found: ListedObject, current: DecisionPass) -> report.Orphan | None:
    """Its entry. None for an object on a runtime without a pool of its kind: no pool can be charged for it."""
    pool = find_pool(found, current.inputs.facts.pools)
    if pool is None:
        return None
    namespace, name = model_to_iri.read_name(ref, found.object.labels)
    return report.Orphan(
        kind=NAMES[ref.kind],
        pool=pool[1],
        id=found.object.id,
        uid=ref.uid if UID.fullmatch(ref.uid) else None,
        namespace=namespace[:63],
        name=name[:253],
        charge=dict(format_vector(current.ledger.object_charge(pool, found))),
        reason=why_fenced(ref, found, current) or UNORDERED,
        handles=tuple(sorted(each[:512] for each in handles(found.object)))[:1024]
        if isinstance(found.object, RuntimeMachine)
        else (),
    )


def keep_unconfirmed(current: DecisionPass, ordered: Collection[Ref]) -> Iterable[report.Orphan]:
    """Orphans that were reported and are not listed now stay until two lists lack them."""
    for orphan in current.inputs.memory.orphans:
        kind = RUNTIME_KINDS[Kind(orphan.kind)]
        pool_kind = Kind.MACHINE_POOL if kind is RuntimeMachine else Kind.VOLUME_POOL
        pool = current.inputs.facts.pools.get((pool_kind, orphan.pool))
        ref = Ref(kind, orphan.uid or "")
        if pool is None or ref in ordered:
            continue
        listing = current.inventory.listing(pool.runtime, kind)
        if listing is None:
            yield orphan
        elif orphan.id not in listing.objects and orphan.uid is not None:
            missing = current.inventory.missing(ref, listing, was_there=True)
            if isinstance(missing, UnconfirmedAbsent):
                current.remember_missing(ref, missing)
                yield orphan
            else:
                assert isinstance(missing, Absent)


def gate_input(ref: Ref, found: ListedObject, current: DecisionPass) -> GateInput:
    """An orphan has no order, so its gates are asked for the object as it is listed."""
    presence = current.inventory.presence(ref, found.runtime, was_there=True, must_be_confirmed=True)
    return GateInput(
        host=current.inputs.host,
        has_unreadable_files=bool(current.view.unread),
        presence=presence,
    )


def is_removal_ordered(ref: Ref, found: ListedObject, current: DecisionPass) -> bool:
    """By a file on `live` that names the uid and the pool."""
    pool = find_pool(found, current.inputs.facts.pools)
    named = {order.pool for order in current.view.orphan_orders if order.uid == ref.uid}
    return pool is not None and pool[1] in named


def remove_if_ordered(ref: Ref, found: ListedObject, current: DecisionPass) -> None:
    """Never while a file on `live` is unreadable."""
    if not is_removal_ordered(ref, found, current):
        return
    if closed_gate(gate_input(ref, found, current), CallEffect.DISCARD):
        return
    is_kept = isinstance(found.object, RuntimeVolume) and may_be_attached(found.object, current)
    calls = () if is_kept else removal_calls(ref, found.object, current)
    add_calls(
        ref, found, calls, EventText("RemovingOrphan", "ordered by a file in .gitvirt/orphans"), current
    )


def add_calls(
    ref: Ref, found: ListedObject, calls: tuple[Call, ...], event: EventText, current: DecisionPass
) -> None:
    """The gates were asked by the caller for its own effect. The precondition is a digest as for orders: the
    file, or the assignment to another host, must still be there right before the call."""
    namespace, name = model_to_iri.read_name(ref, found.object.labels)
    precondition = digest_orders(ref.uid, current.view)
    action = ObjectAction(ref, found.runtime, namespace, name, calls, (event,), precondition, event.message)
    current.add_due_calls(action)


def may_be_attached(volume: RuntimeVolume, current: DecisionPass) -> bool:
    """The handle of a volume that is not available is unknown, and so is who has it attached."""
    if current.inventory.find_silent(current.inputs.facts.machine_runtimes):
        return True
    access = volume.status.access
    return access is None or bool(current.inventory.holders.get(access.handle))
