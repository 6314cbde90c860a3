"""Offers over real TLS, to hosts that answer, hang or lie: what counts, how long a tick waits, and whom it does not ask again."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec
import pytest

from iri.proto.gitvirt.link.v1alpha1 import agent_pb2 as pb
from reconciler.decide.placement.offers import Answers, OfferAnswer, OfferedObject, Question
from reconciler.link.offer_board import LARGEST_OFFER_BYTES, MOST_REASONS, QUIET, encode_offer
from schemas.kinds import Key, Kind
from schemas.model import Machine, decode
from tests.reconciler.link.serving import RawHost, Served, serving, wait_for, welcomed

PATIENT, BRIEF = 30.0, 0.3
YES = OfferAnswer(True)


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Served]:
    with serving(tmp_path, "rack-a1", "rack-a2") as found:
        yield found


def make_offered(name: str, poollet: str = "rack-a1", note: str = "x") -> OfferedObject:
    body = {
        "apiVersion": "compute.ironcore.dev/v1alpha1",
        "metadata": {"name": name},
        "spec": {"machineClassRef": {"name": "small"}, "machinePoolSelector": {"note": note}},
    }
    object = decode(Kind.MACHINE, body)
    assert isinstance(object, Machine)
    return OfferedObject(question(name, poollet), f"uid-{name}", poollet, "host", 7, object)


def question(name: str, pool: str = "rack-a1") -> Question:
    return Question(Key(Kind.MACHINE, "default", name), pool)


class Asking:
    """One call of `offer` in a thread, as the tick makes it."""

    def __init__(self, served: Served, objects: list[OfferedObject], seconds: float = PATIENT) -> None:
        self.answers: Answers = {}
        self.took = 0.0

        def ask() -> None:
            started = time.monotonic()
            self.answers = served.server.offer(objects, seconds)
            self.took = time.monotonic() - started

        self.thread = threading.Thread(target=ask)
        self.thread.start()

    def end(self) -> Answers:
        self.thread.join(PATIENT)
        assert not self.thread.is_alive(), "it waits for ever"
        return self.answers


def read_offer(host: RawHost) -> pb.Offer:
    """Heartbeats in between are passed over."""
    while not (message := host.next()).HasField("offer"):
        pass
    return message.offer


def reply(host: RawHost, id: str, **accepted: bool) -> None:
    """Names with `_` for `-`."""
    answers = [
        pb.OfferAnswer(uid=f"uid-{name.replace('_', '-')}", is_accepted=one) for name, one in accepted.items()
    ]
    host.send(offer_reply=pb.OfferReply(offer_id=id, answers=answers))


def test_one_message_to_each_host_and_an_answer_for_each_object(served: Served) -> None:
    with welcomed(served, "rack-a1") as one, welcomed(served, "rack-a2") as two:
        asking = Asking(served, [make_offered("a"), make_offered("b"), make_offered("c", "rack-a2")])
        first, second = read_offer(one), read_offer(two)
        assert [each.uid for each in first.objects] == ["uid-a", "uid-b"]
        sent = first.objects[0]
        assert (sent.kind, sent.namespace, sent.name) == ("Machine", "default", "a")
        assert (sent.pool, sent.epoch) == ("rack-a1", 7)
        assert msgspec.json.decode(sent.manifest)["spec"]["machineClassRef"] == {"name": "small"}
        assert first.reserve.seconds == 10
        reply(two, second.id, c=True)
        reply(one, first.id, a=True, b=False)
        assert asking.end() == {
            question("a"): YES,
            question("b"): OfferAnswer(False),
            question("c", "rack-a2"): YES,
        }
        answers = {"accepted": 2.0, "refused": 1.0, "none": 0.0}
        assert {each: served.count("gitvirt_link_offered_total", answer=each) for each in answers} == answers


@pytest.mark.parametrize(
    "lie",
    [
        {"offer_id": "another"},
        {"offer_id": "", "answers": [pb.OfferAnswer(uid="uid-a", is_accepted=True)]},
        {"answers": [pb.OfferAnswer(uid="uid-of-another", is_accepted=True)]},
        {"answers": []},
    ],
    ids=["another offer", "no offer", "another object", "no object"],
)
def test_what_answers_something_else_counts_for_nothing(served: Served, lie: dict[str, Any]) -> None:
    with welcomed(served, "rack-a1") as host:
        asking = Asking(served, [make_offered("a")], BRIEF)
        offer = read_offer(host)
        host.send(offer_reply=pb.OfferReply(**{"offer_id": offer.id, **lie}))
        assert asking.end() == {}


def test_a_host_cannot_answer_for_another_one(served: Served) -> None:
    with welcomed(served, "rack-a1") as asked, welcomed(served, "rack-a2") as other:
        asking = Asking(served, [make_offered("a")])
        offer = read_offer(asked)
        reply(other, offer.id, a=True)
        other.beat(2)
        other.next()  # what it said before was read
        reply(asked, offer.id, a=False)
        assert asking.end() == {question("a"): OfferAnswer(False)}


def test_a_host_that_hangs_costs_a_tick_its_time_once_and_no_other_host_its_answer(served: Served) -> None:
    with welcomed(served, "rack-a1"), welcomed(served, "rack-a2") as other:
        asking = Asking(served, [make_offered("a"), make_offered("c", "rack-a2")], 1.0)
        reply(other, read_offer(other).id, c=True)
        assert asking.end() == {question("c", "rack-a2"): YES}
        assert 1.0 <= asking.took < 5.0
        assert not served.server.may_offer("rack-a1", "host"), f"it is left in peace for {QUIET}"
        assert served.server.may_offer("rack-a2", "host")


def test_an_answer_that_comes_too_late_counts_for_nothing(served: Served) -> None:
    with welcomed(served, "rack-a1") as host:
        late = Asking(served, [make_offered("a")], 0.05)
        offer = read_offer(host)
        assert late.end() == {}
        asking = Asking(served, [make_offered("b")])
        second = read_offer(host)
        reply(host, offer.id, a=True, b=True)
        reply(host, second.id, b=False)
        assert asking.end() == {question("b"): OfferAnswer(False)}


def test_a_host_whose_stream_ends_is_not_waited_for(served: Served) -> None:
    with welcomed(served, "rack-a1") as host:
        asking = Asking(served, [make_offered("a")])
        read_offer(host)
        host.close()
        assert asking.end() == {}
        assert asking.took < PATIENT


@pytest.mark.parametrize(("poollet", "host"), [("rack-a2", "host"), ("rack-a1", "another"), ("rack-a1", "")])
def test_only_the_host_with_the_grant_is_asked(served: Served, poollet: str, host: str) -> None:
    with welcomed(served, "rack-a1"):
        assert served.server.may_offer("rack-a1", "host")
        assert not served.server.may_offer(poollet, host)


def test_reasons_are_bounded_and_have_no_control_characters(served: Served) -> None:
    reason = pb.Reason(
        reason="not\na word", message="full\x1b[31m\n" + "x" * 10_000, resource="cpu" * 99, need="2", have="1"
    )
    with welcomed(served, "rack-a1") as host:
        asking = Asking(served, [make_offered("a")])
        answer = pb.OfferAnswer(uid="uid-a", reasons=[reason] * 50)
        host.send(offer_reply=pb.OfferReply(offer_id=read_offer(host).id, answers=[answer]))
        (found,) = asking.end().values()
    assert len(found.reasons) == MOST_REASONS
    assert found.reasons[0].code == "Rejected"
    assert found.reasons[0].message.isprintable()
    assert len(found.reasons[0].message) <= 300
    assert len(found.reasons[0].resource) <= 40


def test_answers_do_not_count_as_messages_and_unasked_ones_do(served: Served) -> None:
    """A tick asks as often as it likes; a host that answers what was not asked floods."""
    with welcomed(served, "rack-a1") as host:
        for number in range(300):
            asking = Asking(served, [make_offered(f"m{number}")])
            reply(host, read_offer(host).id, **{f"m{number}": True})
            assert asking.end()
        for _ in range(300):
            reply(host, "unasked", a=True)
        assert "more messages than the link allows" in host.end()[1]


def test_more_than_one_message_carries_is_not_asked() -> None:
    objects = [make_offered(f"m{number}", note="x" * 10_000) for number in range(200)]
    offer = encode_offer(objects)
    assert LARGEST_OFFER_BYTES * 0.9 < offer.ByteSize() <= LARGEST_OFFER_BYTES
    assert [each.uid for each in offer.objects] == [each.uid for each in objects[: len(offer.objects)]]


@contextmanager
def flooding(host: RawHost) -> Iterator[None]:
    """Answers to nothing, as fast as one thread makes them."""
    over = threading.Event()

    def flood() -> None:
        while not over.is_set():
            reply(host, "unasked", a=True)
            time.sleep(0.0001)

    thread = threading.Thread(target=flood)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def test_a_host_that_floods_is_closed_and_another_one_is_answered(served: Served) -> None:
    with welcomed(served, "rack-a1") as hostile, welcomed(served, "rack-a2") as honest, flooding(hostile):
        asking = Asking(served, [make_offered("a"), make_offered("c", "rack-a2")])
        reply(honest, read_offer(honest).id, c=True)
        assert asking.end() == {question("c", "rack-a2"): YES}
        wait_for(lambda: not served.server.may_offer("rack-a1", "host"))
