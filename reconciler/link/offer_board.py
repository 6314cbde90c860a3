"""Offers that wait for the answers of hosts: the thread that ticks asks, the event loop's thread takes what hosts answer.

Theory of operation
-------------------
    ask       one Offer for each host, at once; then the thread waits until all have answered, or its time is over
    take      an answer counts for the offer with its id, from the stream that got it, once, and for the uids that were offered
    forget    a stream ended: its host answers nothing any more
    quiet     a host that did not answer in time is not asked again for QUIET: it costs a tick 300 ms at most once in that time

What a host says is bounded here, as hostile input: its reasons reach conditions on `live`, and the audit trail.

Must never happen: an answer that comes late counts for a later tick; a host answers for the pool of another one.
"""

from __future__ import annotations

import re
import threading
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from uuid import uuid4

import msgspec
from google.protobuf.duration_pb2 import Duration

from iri.proto.gitvirt.link.v1alpha1 import agent_pb2 as pb
from reconciler.decide.placement.offers import Answers, OfferAnswer, OfferedObject, Question
from reconciler.link.linked_hosts import HostStream, LinkedHosts
from schemas.model.quantity import Quantity
from schemas.problem import printable
from schemas.report.objects import ReportedReason

RESERVE = timedelta(seconds=10)
QUIET = timedelta(seconds=10)
LARGEST_OFFER_BYTES = 900_000  # of the 1 MiB that a message may have
MOST_REASONS = 8
CODE = re.compile(r"[A-Z][A-Za-z]{0,39}")
MESSAGE_LENGTH, AMOUNT_LENGTH = 300, 40


@dataclass
class _Round:
    """What one call of `ask` waits for."""

    answers: dict[Question, OfferAnswer] = field(default_factory=dict)
    open: int = 0
    has_all: threading.Event = field(default_factory=threading.Event)


@dataclass(frozen=True)
class _OpenOffer:
    name: str
    stream: HostStream
    by_uid: dict[str, Question]
    round: _Round


class OfferBoard:
    """`ask` and `may_ask` are for the thread that ticks, `take` and `forget` for the event loop's."""

    def __init__(self, hosts: LinkedHosts, steady: Callable[[], datetime]) -> None:
        self._hosts, self._steady = hosts, steady
        self._lock = threading.Lock()
        self._open: dict[str, _OpenOffer] = {}
        self._quiet: dict[str, datetime] = {}  # until when, by name

    def may_ask(self, poollet: str, host: str) -> bool:
        """Whether that very host is connected, and answered when it was asked last."""
        stream = self._hosts.find_stream(poollet)
        if stream is None or not host or stream.host_id != host:
            return False
        until = self._quiet.get(poollet)
        return until is None or self._steady() >= until

    def ask(self, offered: Sequence[OfferedObject], seconds: float) -> Answers:
        """What was answered within that time. A host that there was no time left to ask has no answer either."""
        ends = self._steady() + timedelta(seconds=seconds)
        by_name: dict[str, list[OfferedObject]] = defaultdict(list)
        for each in offered:
            by_name[each.poollet].append(each)
        asked = _Round()
        ids = []
        for name, batch in by_name.items():
            stream = self._hosts.find_stream(name)
            if stream is None or self._steady() >= ends:
                continue
            offer = encode_offer(batch)
            by_uid = {each.uid: each.question for each in batch}
            with self._lock:
                self._open[offer.id] = _OpenOffer(name, stream, by_uid, asked)
                asked.open += 1
            ids.append(offer.id)
            stream.send(pb.ServerMessage(offer=offer))
        if ids:
            asked.has_all.wait(max(0.0, (ends - self._steady()).total_seconds()))
        return self._end(ids, asked)

    def _end(self, ids: Iterable[str], asked: _Round) -> Answers:
        """Whoever has not answered by now is left in peace for a while."""
        with self._lock:
            silent = [self._open.pop(id).name for id in ids if id in self._open]
            now = self._steady()
            self._quiet = {name: until for name, until in self._quiet.items() if until > now}
            self._quiet |= dict.fromkeys(silent, now + QUIET)
            return dict(asked.answers)

    def take(self, stream: HostStream, reply: pb.OfferReply) -> bool:
        """Whether it answers an offer that is open, and was made to that stream."""
        with self._lock:
            offer = self._open.get(reply.offer_id)
            if offer is None or offer.stream is not stream:
                return False
            del self._open[reply.offer_id]
        found = {
            offer.by_uid[answer.uid]: read_answer(answer)
            for answer in reply.answers
            if answer.uid in offer.by_uid
        }
        self._close(offer, found)
        return True

    def forget(self, stream: HostStream) -> None:
        with self._lock:
            ended = [id for id, offer in self._open.items() if offer.stream is stream]
            offers = [self._open.pop(id) for id in ended]
        for offer in offers:
            self._close(offer, {})

    def _close(self, offer: _OpenOffer, found: dict[Question, OfferAnswer]) -> None:
        with self._lock:
            offer.round.answers |= found
            offer.round.open -= 1
            if offer.round.open == 0:
                offer.round.has_all.set()


def encode_offer(batch: Iterable[OfferedObject]) -> pb.Offer:
    """As many as one message carries. The others are not asked, and placed as if there was no link."""
    reserve = Duration()
    reserve.FromTimedelta(RESERVE)
    objects, left = [], LARGEST_OFFER_BYTES
    for each in batch:
        key = each.question.key
        one = pb.OfferedObject(
            kind=key.kind.value,
            namespace=key.namespace,
            name=key.name,
            uid=each.uid,
            pool=each.question.pool,
            epoch=each.epoch,
            manifest=_encode_manifest(each),
        )
        left -= one.ByteSize() + 8
        if left < 0:
            break
        objects.append(one)
    return pb.Offer(id=str(uuid4()), objects=objects, reserve=reserve)


def _encode_manifest(offered: OfferedObject) -> bytes:
    object = offered.object
    return _ENCODER.encode(
        {
            "apiVersion": object.api_version,
            "metadata": {"name": offered.question.key.name},
            "spec": object.spec,
        }
    )


def _encode_value(value: object) -> str:
    if isinstance(value, Quantity):
        return str(value)
    raise TypeError(f"an offer cannot carry a {type(value).__name__}")


_ENCODER = msgspec.json.Encoder(enc_hook=_encode_value)


def read_answer(answer: pb.OfferAnswer) -> OfferAnswer:
    """Bounded, and in characters that a terminal may show."""
    if answer.is_accepted:
        return OfferAnswer(True)
    reasons = tuple(
        ReportedReason(
            each.reason if CODE.fullmatch(each.reason) else "Rejected",
            printable(each.message, MESSAGE_LENGTH),
            printable(each.resource, AMOUNT_LENGTH),
            printable(each.need, AMOUNT_LENGTH),
            printable(each.have, AMOUNT_LENGTH),
        )
        for each in answer.reasons[:MOST_REASONS]
    )
    return OfferAnswer(False, reasons)
