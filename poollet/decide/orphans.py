"""Objects with our labels and no order: reported, charged, and left alone until people say that they may go."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Literal

from iri.machine import RuntimeMachine
from iri.runtime import RuntimeKind
from iri.volume import RuntimeSnapshot, RuntimeVolume
from poollet.decide import model_to_iri
from poollet.decide.actions import NAMES, Call, EventText, ObjectAction, Ref, Remove
from poollet.decide.assignments import UID
from poollet.decide.capacity_ledger import find_pool
from poollet.decide.decision_pass import Round
from poollet.decide.inventory import Absent, Doubtful, Found
from poollet.decide.preconditions import digest_orders
from poollet.decide.removal import removal_calls
from poollet.runtimes.runtime_lists import ListKey
from schemas import live_layout, report
from schemas.kinds import Kind
from schemas.model.charge import format_vector

KINDS: Mapping[RuntimeKind, Kind] = {
    RuntimeMachine: Kind.MACHINE,
    RuntimeVolume: Kind.VOLUME,
    RuntimeSnapshot: Kind.VOLUME_SNAPSHOT,
}
IRI_KINDS: Mapping[str, RuntimeKind] = {name: kind for kind, name in NAMES.items()}
UNORDERED = "not assigned to this host on live"


def pool_kind(kind: RuntimeKind) -> Literal[Kind.MACHINE_POOL, Kind.VOLUME_POOL]:
    return Kind.MACHINE_POOL if kind is RuntimeMachine else Kind.VOLUME_POOL


def unordered(round: Round, ordered: Collection[Ref]) -> list[tuple[Ref, Found]]:
    return [
        (ref, found)
        for ref in sorted(round.inventory.ours, key=lambda ref: (NAMES[ref.kind], ref.uid))
        if ref not in ordered
        for found in round.inventory.ours[ref]
    ]


def orphans(round: Round, ordered: Collection[Ref]) -> tuple[report.Orphan, ...]:
    """In a stable order, those included of which a runtime says nothing at present."""
    found = unordered(round, ordered)
    seen = {(NAMES[ref.kind], one.object.id) for ref, one in found}
    result = [orphan for ref, one in found if (orphan := orphan_of(ref, one, round)) is not None]
    for ref, one in found:
        remove_if_told(ref, one, round)
    result += [one for one in held_over(round, ordered) if (one.kind, one.id) not in seen]
    return tuple(sorted(result, key=lambda one: (one.kind, one.pool, one.id)))


def orphan_of(ref: Ref, found: Found, round: Round) -> report.Orphan | None:
    facts = round.situation.facts.pools
    pool = find_pool(found, pool_kind(ref.kind), facts, found.object.labels.get(live_layout.POOL, ""))
    if pool is None:
        return None
    namespace, name = model_to_iri.read_name(ref, KINDS[ref.kind], found.object.labels)
    return report.Orphan(
        kind=NAMES[ref.kind],
        pool=pool[1],
        id=found.object.id,
        uid=ref.uid if UID.fullmatch(ref.uid) else None,
        namespace=namespace[:63],
        name=name[:253],
        charge=dict(format_vector(round.ledger.object_charge(pool, found))),
        reason=UNORDERED,
    )


def held_over(round: Round, ordered: Collection[Ref]) -> Iterable[report.Orphan]:
    """Reported before and not seen now: it stays until its runtime says twice that it is gone."""
    for orphan in round.situation.memory.orphans:
        kind = IRI_KINDS[orphan.kind]
        pool = round.situation.facts.pools.get((pool_kind(kind), orphan.pool))
        ref = Ref(kind, orphan.uid or "")
        if pool is None or ref in ordered:
            continue
        listing = round.inventory.observed.listing(ListKey(pool.runtime, kind))
        if listing is None:
            yield orphan
        elif orphan.id not in listing.objects and orphan.uid is not None:
            missing = round.inventory.missing(ref, listing, was_there=True)
            if isinstance(missing, Doubtful):
                round.doubt(ref, missing)
                yield orphan
            else:
                assert isinstance(missing, Absent)


def remove_if_told(ref: Ref, found: Found, round: Round) -> None:
    """By a file on the target branch, which names the pool that reported it. Never while a part of the branch is unread."""
    facts = round.situation.facts.pools
    pool = find_pool(found, pool_kind(ref.kind), facts, found.object.labels.get(live_layout.POOL, ""))
    told = [order for order in round.view.orphan_orders if order.uid == ref.uid]
    if pool is None or round.view.unread or not any(order.pool == pool[1] for order in told):
        return
    if len(round.inventory.ours[ref]) > 1 or not is_settled(ref, found, round):
        return
    calls: tuple[Call, ...]
    match found.object:
        case RuntimeMachine() as machine:
            calls = removal_calls(ref, machine, round)
        case RuntimeVolume() as volume:
            calls = () if is_held(volume, round) else removed(ref, found)
        case RuntimeSnapshot():
            calls = removed(ref, found)
    namespace, name = model_to_iri.read_name(ref, KINDS[ref.kind], found.object.labels)
    events = (EventText("RemovingOrphan", "ordered by a file in .gitvirt/orphans"),)
    precondition = digest_orders(ref.uid, round.view)
    round.due_of(ObjectAction(ref, found.runtime, namespace, name, calls, events, precondition))


def is_settled(ref: Ref, found: Found, round: Round) -> bool:
    listing = round.inventory.observed.listing(ListKey(found.runtime, ref.kind))
    return listing is not None and round.inventory.is_settled(ref, listing)


def is_held(volume: RuntimeVolume, round: Round) -> bool:
    """Of a volume that is not available the handle is not known, and neither is who has it."""
    if round.inventory.find_silent(round.situation.facts.machine_runtimes):
        return True
    access = volume.status.access
    return access is None or bool(round.inventory.holders.get(access.handle))


def removed(ref: Ref, found: Found) -> tuple[Call, ...]:
    return () if found.object.deleted_at else (Remove(ref.kind, found.object.id),)
