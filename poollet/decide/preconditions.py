"""The precondition of an action: `live` still says of the object exactly what the action was decided by.

Theory of operation. An action may wait for minutes behind a slow runtime, and people may take their order back meanwhile.
So the decision stores with each action a digest of all that `live` says of the object's uid, and right before each
call the digest is computed once more, from the newest `live` that was fetched:

    same digest                       the call is made
    another digest                    the rest of the action is cancelled, and the next decision starts from the new `live`
    `live` names the uid no more      as another digest; NOT_NAMED is the one of a fence that follows from just that
    the action carries no digest      as another digest: no call without an order

The digest covers, of each document of the uid, what it orders (ensure, retain, remove or skip), the whole assignment with host and
epoch, the spec and the annotations; of a machine also the claims of its volumes; the orphan files that name the uid; and the grants of this poollet's pools. It leaves out status
and report fields: they change all the time and order nothing. Orphan files count only while every file on `live` is readable, because
the unreadable one may be the orphan's order.

Must never happen: a call follows from an order that the newest fetched `live` does not contain.
"""

from __future__ import annotations

from hashlib import blake2b

import msgspec

from poollet.decide.actions import ObjectAction
from poollet.decide.assignments import intent
from poollet.sync.live_view import LiveDocument, LiveView
from schemas.model import ClaimRef, Machine, Volume, VolumeSnapshot

NOT_NAMED = "not named"


def digest_orders(uid: str, view: LiveView) -> str:
    """Of all that `live` says of this uid; empty where it says nothing."""
    documents = sorted(_encode_order(one, view) for one in view.by_uid.get(uid, ()))
    orphans = [] if view.unread else sorted(one.pool for one in view.orphan_orders if one.uid == uid)
    if not documents and not orphans:
        return ""
    grants = sorted((*pool, grant.host, grant.epoch) for pool, grant in view.grants.items())
    return blake2b(msgspec.msgpack.encode((documents, orphans, grants)), digest_size=16).hexdigest()


def still_holds(action: ObjectAction, view: LiveView) -> bool:
    """Whether the action's order is the same on this `live`. An action without a digest never holds."""
    return action.precondition != "" and action.precondition == digest_or_absence(action.ref.uid, view)


def digest_or_absence(uid: str, view: LiveView) -> str:
    """For what may be done although `live` names the uid nowhere, and only as long as it does not."""
    return digest_orders(uid, view) or NOT_NAMED


def _encode_order(document: LiveDocument, view: LiveView) -> bytes:
    """What one document orders, as bytes that are equal when the order is. Observed state and labels are not part of it."""
    object = document.object
    assert isinstance(object, Machine | Volume | VolumeSnapshot)
    order = type(intent(document, object)).__name__
    claims = _claims(object, view) if isinstance(object, Machine) else ()
    parts = (order, object.status.assignment, object.spec, object.metadata.annotations, claims)
    return msgspec.msgpack.encode(parts, enc_hook=str, order="deterministic")


def _claims(machine: Machine, view: LiveView) -> tuple[ClaimRef | None, ...]:
    """Who may attach each of its volumes: an attach that waited behind a slow runtime is cancelled when the claim has moved on."""
    keys = [key for entry in machine.spec.volumes if (key := machine.volume_key(entry)) is not None]
    found = [view.objects.get(key) for key in keys]
    return tuple(each.spec.claim_ref if isinstance(each, Volume) else None for each in found)
