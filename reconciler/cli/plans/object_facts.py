"""Sentences about one object of a plan: what it is, what keeps it from every pool, where it goes. Pure.

Everything is computed from fields. Numbers are those of the scheduler and of the manifests, as people write them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from msgspec.structs import replace

from reconciler.cli.plans import phrases
from reconciler.cli.plans.moves import MachineMove
from reconciler.cli.plans.name_ranges import join_names
from reconciler.plan.suggestion import suggest
from reconciler.plan.types import PoolUsage
from reconciler.schedule.decision import Refusal
from reconciler.world.objects.object_state import ObjectState
from reconciler.world.view import View
from schemas.effects.effect import Loss
from schemas.effects.removal import list_local_disks
from schemas.kinds import Key, Kind
from schemas.model import Machine, MachineClass, Object, Volume
from schemas.model.capacity import fits, format_amount


def owner_key(known: ObjectState) -> Key:
    """The machine of a generated object."""
    owner = known.record.owners[0].name if known.record.owners else ""
    return Key(Kind.MACHINE, known.key.namespace, owner)


def local_losses(found: Object) -> tuple[Loss, ...]:
    """What is destroyed when the object leaves its host."""
    return list_local_disks(found) if isinstance(found, Machine) else ()


def describe_object(view: View, known: ObjectState) -> Iterator[str]:
    """What is added, in one line: `small (cpu 2, memory 4Gi), local disk root 10Gi`."""
    match known.object:
        case Machine(spec=spec):
            name = spec.machine_class_ref.name
            size = view.objects.get(Key(Kind.MACHINE_CLASS, "", name))
            amounts = ""
            if size is not None and isinstance(size.object, MachineClass):
                listed = ", ".join(f"{key} {value}" for key, value in size.object.capabilities.items())
                amounts = f" ({listed})"
            disks = [f"local disk {loss.name} {loss.size}" for loss in list_local_disks(known.object)]
            yield ", ".join([f"class {name}{amounts}", *disks])
        case Volume(spec=spec) if spec.resources is not None:
            kind = f", class {spec.volume_class_ref.name}" if spec.volume_class_ref else ""
            yield f"{spec.resources.storage}{kind}"


def describe_shortage(
    view: View, known: ObjectState, old: Object | None, usage: Mapping[Key, PoolUsage]
) -> str:
    """Why the pool has no room for an object that is there and grows, which was `old`; empty where it has room, or where the object does not
    grow. What others charge after the plan counts."""
    classes = view.offers[Kind.MACHINE_POOL].classes
    charge = view.ledger.charge_of(known, classes)
    was = view.ledger.charge_of(replace(known, object=old), classes) if old is not None else None
    had = was.vector if was is not None else {}
    there = usage.get(charge.pool) if charge is not None else None
    if charge is None or there is None:
        return ""
    free = {
        name: there.allocatable.get(name, 0) - there.after.get(name, 0) + charge.vector.get(name, 0)
        for name in charge.vector
    }
    grown = {
        name: need
        for name, need in charge.vector.items()
        if there.after.get(name, 0) > there.before.get(name, 0) and need > had.get(name, 0)
    }
    short = [
        f"{each.resource} is short (need {format_amount(each.resource, each.need)}, have {format_amount(each.resource, max(0, each.have))})"
        for each in fits(grown, free)
    ]
    if not short:
        return ""
    return f"does NOT fit on {charge.pool.name}: {', '.join(short)}; it keeps its size until there is room"


def describe_refusals(refusals: Sequence[Refusal]) -> Iterator[str]:
    """Each reason once with the pools that give it, and the smallest change that would make the object fit."""
    for pools, reason in phrases.rows_of(refusals):
        yield f"{pools}: {reason}" if pools else reason
    if smallest := suggest(refusals):
        yield f"would fit: {smallest}"


def describe_move(move: MachineMove) -> Iterator[str]:
    """When a machine goes, or why it stays."""
    if move.needs_consent:
        yield f"stays on {move.source}: {move.reason}"
        if not move.target:
            yield "no other pool could take it:"
            yield from describe_refusals(move.refusals)
        return
    if move.is_held:
        yield f"stays on {move.source}: {move.reason}"
        return
    when = "later" if move.is_later else "now"
    there = f"starts on {move.target}" if move.target else "and can start NOWHERE"
    yield f"{when}: STOPS on {move.source}, {there}: {move.reason}"
    if not move.target:
        yield from describe_refusals(move.refusals)


def describe_leaving(moves: Iterable[MachineMove]) -> Iterator[str]:
    """What becomes of the machines of a pool that is drained."""
    moves = tuple(moves)
    go = [move.key.name for move in moves if not move.is_held and move.target]
    lost = [move.key.name for move in moves if not move.is_held and not move.target]
    stay = [move.key.name for move in moves if move.is_held]
    if go:
        yield f"{phrases.many(len(go), 'machine')} will move: {join_names(go)}"
    if lost:
        yield f"{phrases.many(len(lost), 'machine')} will stop and can start NOWHERE: {join_names(lost)}"
    if stay:
        yield f"{phrases.many(len(stay), 'machine')} will stay: {join_names(stay)}"
