"""What on the target branch a call follows from, so that it can be asked again right before the call is made.

A step may wait for long behind others. What was withdrawn meanwhile must not be carried out, and what was changed is decided
anew. Reads documents; knows no runtime.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from poollet.decide.assignments import Intent, Order, Ordered, intent
from poollet.decide.step import Step, Warrant
from poollet.sync.view import Document, LiveView, OrphanOrder
from schemas.model import Machine, Volume, VolumeSnapshot


def of_order(order: Order) -> Warrant:
    return (_said(order.object, order.intent),)


def of_orphan(uid: str, pool: str, view: LiveView) -> Warrant:
    """People's word, and what there is of it all the same: an answer of no leaves one without an order beside its document."""
    return (OrphanOrder(uid, pool), *(_stated(one) for one in view.mine if one.object.metadata.uid == uid))


def _stated(document: Document) -> object:
    object = document.object
    if isinstance(object, Machine | Volume | VolumeSnapshot):
        return _said(object, intent(document, object))
    return object


def _said(object: Ordered, intent: Intent) -> tuple[object, ...]:
    """All that people and the scheduler say of it; what the report says of it comes and goes."""
    assignment = None if isinstance(object, VolumeSnapshot) else object.status.assignment
    return type(intent), assignment, object.spec, object.metadata.annotations


@dataclass(frozen=True)
class Warrants:
    """Those of one commit of the target branch."""

    commit: str = ""
    is_unread: bool = False
    orphans: frozenset[OrphanOrder] = frozenset()
    documents: Mapping[str, tuple[Document, ...]] = field(default_factory=dict)  # by uid

    def cover(self, step: Step) -> bool:
        stated = tuple(_stated(one) for one in self.documents.get(step.ref.uid, ()))
        match step.warrant:
            case (OrphanOrder() as told, *rest):
                return not self.is_unread and told in self.orphans and tuple(rest) == stated
            case (said,):
                return (said,) == stated
            case _:
                return False


def warrants(view: LiveView) -> Warrants:
    documents: dict[str, tuple[Document, ...]] = {}
    for document in view.mine:
        uid = document.object.metadata.uid
        documents[uid] = (*documents.get(uid, ()), document)
    return Warrants(view.commit, bool(view.unread), frozenset(view.orphan_orders), documents)
