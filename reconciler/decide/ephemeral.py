"""Objects that a machine's ephemeral entries generate: created when the machine is accepted, rewritten when the entry changes. Pure.

They exist on `live` alone, and the machine owns them. Their end is not decided here: an object whose entry or owner is gone is
absent, and `deletion` has the rules for that. Called by `decide` after the machines, because a machine that is blocked before it was
placed generates nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime

import msgspec

from reconciler.decide import interface
from reconciler.decide.apply_report import PoolFact
from reconciler.decide.expansion import Expansion, expansions
from reconciler.decide.need import Blocked, ChangeReason, Need
from reconciler.decide.object_edit import ObjectEdit, identify
from reconciler.decide.volume import decide_volume
from reconciler.plan.types import Action
from reconciler.world.objects.object_state import ObjectState, Origin
from reconciler.world.record import Record, empty_status
from reconciler.world.view import View
from schemas.kinds import Kind
from schemas.model import Machine, NetworkInterface, Object, Volume, decode


def owned_objects(
    view: View, owner: Need, owner_known: ObjectState, now: datetime
) -> Iterator[tuple[ObjectState, Expansion]]:
    """Each generated object of the machine, as known already or as it will be, with the document that its entry gives.

    No object for a machine that is blocked and on no pool. One that is placed and blocked since keeps those that it has.
    """
    machine = owner_known.object
    if not isinstance(machine, Machine) or (isinstance(owner, Blocked) and owner.record.assignment is None):
        return
    for each in expansions(machine, owner.record.uid):
        known = view.objects.get(each.key)
        yield known or new_object(view, each, now), each


def new_object(view: View, expansion: Expansion, now: datetime) -> ObjectState:
    """As it will be known once it is on live; no document yet."""
    key = expansion.key
    object = decode(key.kind, expansion.body)
    uid, created = identify(view, key, now)
    record = Record(
        uid=uid,
        creation_timestamp=created,
        owners=object.metadata.owner_references,
        status=empty_status(key.kind),
    )
    return ObjectState(key=key, object=object, origin=Origin.GENERATED, record=record)


def differs(known: ObjectState, expansion: Expansion) -> bool:
    """Whether its document on `live` has to be written: it is not there yet, or the entry of the machine has changed."""
    if known.live is None:
        return True
    desired = decode(expansion.key.kind, expansion.body)
    return normalize(known.object, desired) != normalize(desired, desired)


def normalize(found: Object, desired: Object) -> Object:
    """`found` with everything from `desired` that the reconciler itself writes, so that two of them differ only by the entry.

    Pool reference and claim of a volume are the reconciler's; labels and annotations are compared as they are.
    """
    metadata = msgspec.structs.replace(
        desired.metadata, labels=found.metadata.labels, annotations=found.metadata.annotations
    )
    if isinstance(found, Volume) and isinstance(desired, Volume):
        spec = msgspec.structs.replace(
            found.spec, volume_pool_ref=desired.spec.volume_pool_ref, claim_ref=desired.spec.claim_ref
        )
        return msgspec.structs.replace(desired, metadata=metadata, spec=spec)
    if isinstance(found, NetworkInterface) and isinstance(desired, NetworkInterface):
        return msgspec.structs.replace(desired, metadata=metadata, spec=found.spec)
    return found


def decide_generated(view: View, edit: ObjectEdit, expansion: Expansion, owner: Need, fact: PoolFact) -> Need:
    """The need of one generated object, with its document where that has to be written.

    A volume is placed with its owner, or near it when that is placed already; an interface shows what `owner` becomes in this tick.
    """
    found: Need
    if expansion.key.kind is Kind.VOLUME:
        found = decide_volume(view, edit, fact)
    else:
        found = interface.decide_interface(view, edit, {owner.key: owner})
    if not differs(edit.known, expansion):
        return found
    why = ChangeReason(Action.GENERATE, f"for machine {owner.key.name}")
    return replace(found, body=expansion.body, change_reasons=(*found.change_reasons, why))
