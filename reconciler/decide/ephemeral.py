"""Objects that a machine's entries stand for: created when it is accepted, rewritten when the entry changes. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import msgspec

from reconciler.decide import interface
from reconciler.decide.apply_report import PoolFact
from reconciler.decide.expansion import Expansion, expansions
from reconciler.decide.need import Blocked, ChangeReason, Need
from reconciler.decide.object_edit import ObjectEdit, make_uid
from reconciler.decide.volume import decide_volume
from reconciler.plan.types import Action
from reconciler.world.objects.object_state import ObjectState, Origin
from reconciler.world.record import Record, empty_status
from reconciler.world.view import View
from schemas.kinds import Kind
from schemas.model import Machine, NetworkInterface, Object, Volume, decode


def owned_objects(
    view: View, owner: Need, owner_known: ObjectState
) -> Iterator[tuple[ObjectState, Expansion]]:
    """What the machine's entries become, as known already or as it will be. Nothing for one that cannot go on."""
    machine = owner_known.object
    if not isinstance(machine, Machine) or (isinstance(owner, Blocked) and owner.record.assignment is None):
        return
    for each in expansions(machine, owner.record.uid):
        known = view.objects.get(each.key)
        yield known or new_object(view, each), each


def new_object(view: View, expansion: Expansion) -> ObjectState:
    """As it will be known once it is on live; no document yet."""
    key = expansion.key
    object = decode(key.kind, expansion.body)
    record = Record(
        uid=make_uid(view.rules.settings.fleet.id, key, view.source_commit or ""),
        owners=object.metadata.owner_references,
        status=empty_status(key.kind),
    )
    return ObjectState(key=key, object=object, origin=Origin.GENERATED, record=record)


def differs(known: ObjectState, expansion: Expansion) -> bool:
    """Whether live has it otherwise than the machine's entry says now."""
    if known.live is None:
        return True
    wanted = decode(expansion.key.kind, expansion.body)
    return normalize(known.object, wanted) != normalize(wanted, wanted)


def normalize(found: Object, wanted: Object) -> Object:
    """Without what the reconciler writes into it."""
    metadata = msgspec.structs.replace(
        wanted.metadata, labels=found.metadata.labels, annotations=found.metadata.annotations
    )
    if isinstance(found, Volume) and isinstance(wanted, Volume):
        spec = msgspec.structs.replace(
            found.spec, volume_pool_ref=wanted.spec.volume_pool_ref, claim_ref=wanted.spec.claim_ref
        )
        return msgspec.structs.replace(wanted, metadata=metadata, spec=spec)
    if isinstance(found, NetworkInterface) and isinstance(wanted, NetworkInterface):
        return msgspec.structs.replace(wanted, metadata=metadata, spec=found.spec)
    return found


def decide_generated(view: View, edit: ObjectEdit, expansion: Expansion, owner: Need, fact: PoolFact) -> Need:
    """Of one generated object. A volume is placed with its owner, or near it when that is placed already."""
    found: Need
    if expansion.key.kind is Kind.VOLUME:
        found = decide_volume(view, edit, fact)
    else:
        found = interface.decide_interface(view, edit, {owner.key: owner})
    if not differs(edit.known, expansion):
        return found
    why = ChangeReason(Action.GENERATE, f"for machine {owner.key.name}")
    return replace(found, body=expansion.body, change_reasons=(*found.change_reasons, why))
