"""Offers of the link answered by one poollet: messages to values, by admission (decide/host_room.py), and back. Owns the reservations.

Called in the event loop's thread alone, so it needs no lock. What a pass left is read as one value; a pass may replace it meanwhile.
An object that cannot be read has no answer: the reconciler takes it for one that it did not ask about.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import msgspec

from iri.proto.gitvirt.link.v1alpha1 import agent_pb2 as pb
from poollet.clock import Clock
from poollet.decide.host_room import HostRoom, OfferedOrder, Reservations, judge_offer
from schemas import report
from schemas.kinds import Key, Kind
from schemas.model import Machine, Volume, decode

log = logging.getLogger(__name__)

KINDS = {kind.value: kind for kind in (Kind.MACHINE, Kind.VOLUME)}
_DECODER = msgspec.json.Decoder(dict[str, object])


@dataclass
class OfferReplies:
    """`room` is of the last pass; None while the host knows no orders, and answers nothing."""

    room: Callable[[], HostRoom | None]
    clock: Clock
    _reserved: Reservations = field(default_factory=dict)

    def answer(self, offer: pb.Offer) -> pb.OfferReply:
        room = self.room()
        if room is None:
            return pb.OfferReply(offer_id=offer.id)
        reserve_ms = max(0, offer.reserve.ToMilliseconds())
        found = judge_offer(
            tuple(read_offered(offer)), room, self._reserved, self.clock.moment_ms(), reserve_ms
        )
        self._reserved = found.reserved
        answers = [
            pb.OfferAnswer(uid=uid, is_accepted=not reasons, reasons=map(to_message, reasons))
            for uid, reasons in found.reasons.items()
        ]
        return pb.OfferReply(offer_id=offer.id, answers=answers)


def read_offered(offer: pb.Offer) -> Iterator[OfferedOrder]:
    """Those that can be read."""
    for each in offer.objects:
        if (kind := KINDS.get(each.kind)) is None:
            continue
        try:
            found = decode(kind, _DECODER.decode(each.manifest))
        except (msgspec.MsgspecError, ValueError, RecursionError) as error:
            log.warning("offer cannot be read object=%s/%s cause=%s", each.namespace, each.name, error)
            continue
        assert isinstance(found, Machine | Volume), "by its kind"
        key = Key(kind, each.namespace, each.name)
        yield OfferedOrder(key, each.uid, each.pool, each.epoch, found)


def to_message(reason: report.ReportedReason) -> pb.Reason:
    return pb.Reason(
        reason=reason.code,
        message=reason.message,
        resource=reason.resource,
        need=reason.need,
        have=reason.have,
    )
