"""What a host answers to offers: as admission would, with reservations that count against other offers and never against `live`."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from poollet.decide.decision import PoolFacts
from poollet.decide.host_room import HostRoom, OfferedOrder, OfferVerdict, Reservations, judge_offer
from poollet.sync.live_view import LiveDocument
from schemas.kinds import Kind
from schemas.model import Machine, Volume
from tests.poollet.documents import EPOCH, GIB, machine, volume
from tests.poollet.site import DISKS, POOLS, A, site

TIGHT = {A: PoolFacts("sim", POOLS[A].classes, {"cpu": 4_000, "memory": 64 * GIB, "storage": 10 * GIB})}
NOW, TEN_SECONDS = 1000, 10_000


def room(*documents: LiveDocument, **pools: PoolFacts) -> HostRoom:
    """Of a host that these are assigned to; pool `a` has room for four small machines."""
    here = site(*documents)
    named = {(Kind.MACHINE_POOL, name): each for name, each in pools.items()}
    here.facts = replace(here.facts, pools={**POOLS, **TIGHT, **named})
    found = here.decide().room
    assert found is not None
    return found


def make_offered(document: LiveDocument, epoch: int = EPOCH) -> OfferedOrder:
    object = document.object
    assert isinstance(object, Machine | Volume)
    assert object.status.assignment is not None
    return OfferedOrder(object.key, object.metadata.uid, object.status.assignment.pool, epoch, object)


def judge(
    here: HostRoom, *documents: LiveDocument, reserved: Reservations | None = None, now: int = NOW
) -> OfferVerdict:
    return judge_offer([make_offered(each) for each in documents], here, reserved or {}, now, TEN_SECONDS)


def answers(found: OfferVerdict, *documents: LiveDocument) -> list[bool | None]:
    """True: accepted. None: no answer."""
    reasons = [found.reasons.get(each.object.metadata.uid) for each in documents]
    return [None if each is None else not each for each in reasons]


MEDIUM, WEB, DB = machine("big", class_name="medium"), machine("web"), machine("db")


def test_what_fits_is_accepted_and_the_rest_refused_with_each_shortfall() -> None:
    big = [machine(name, class_name="medium") for name in ("a1", "a2", "a3")]
    found = judge(room(), *big)
    assert answers(found, *big) == [True, True, False]
    (reason,) = found.reasons[big[2].object.metadata.uid]
    assert (reason.code, reason.resource, reason.need, reason.have) == ("Insufficient", "cpu", "2", "0")
    assert {key.name for key in found.reserved} == {"a1", "a2"}


def test_the_highest_priority_is_judged_first() -> None:
    large = {"a": PoolFacts("sim", POOLS[A].classes, {"cpu": 1_000, "memory": GIB, "storage": 0})}
    low, high = machine("a"), machine("z", spec={"priority": 5})
    assert answers(judge(room(**large), low, high), low, high) == [False, True]


def test_reserved_room_is_not_promised_to_another_until_its_time_ends() -> None:
    here, big = room(), machine("huge", spec={"machineClassRef": {"name": "medium"}})
    first = judge(here, machine("a1", class_name="medium"), machine("a2", class_name="medium"))
    assert answers(judge(here, big, reserved=first.reserved), big) == [False]
    late = judge(here, big, reserved=first.reserved, now=NOW + TEN_SECONDS)
    assert answers(late, big) == [True]
    assert {key.name for key in late.reserved} == {"huge"}


@pytest.mark.parametrize("turn", [0, 1], ids=["the same uid", "another uid, of another source commit"])
def test_a_repeated_offer_is_not_refused_by_its_own_reservation(turn: int) -> None:
    full = {"a": PoolFacts("sim", POOLS[A].classes, {"cpu": 1_000, "memory": GIB, "storage": 0})}
    here = room(**full)
    first = judge(here, WEB)
    again = machine("web", turn=turn)
    second = judge(here, again, reserved=first.reserved, now=NOW + 5)
    assert answers(second, again) == [True]
    assert len(second.reserved) == 1


def test_a_reservation_counts_no_more_once_the_object_is_ordered() -> None:
    """Its order is charged, and it must not be charged twice."""
    reserved = judge(room(), MEDIUM).reserved
    here, other = room(MEDIUM), machine("other", class_name="medium")
    assert answers(judge(here, other, reserved=reserved), other) == [True]


@pytest.mark.parametrize(
    ("offered_", "pools"),
    [
        (make_offered(WEB, EPOCH + 1), {}),
        (make_offered(machine("web", pool="elsewhere")), {}),
        (make_offered(WEB), {"a": PoolFacts("sim", POOLS[A].classes, None)}),
    ],
    ids=["another epoch", "another host's pool", "unknown capacity"],
)
def test_what_the_host_cannot_judge_has_no_answer(
    offered_: OfferedOrder, pools: dict[str, PoolFacts]
) -> None:
    found = judge_offer([offered_], room(**pools), {}, NOW, TEN_SECONDS)
    assert (found.reasons, found.reserved) == ({}, {})


def test_what_is_ordered_here_already_has_no_answer() -> None:
    assert answers(judge(room(WEB), WEB), WEB) == [None]


def test_a_volume_is_judged_by_its_own_pool() -> None:
    here = room()
    small, large = volume("s", size="1Gi"), volume("l", size="5000Gi")
    assert answers(judge(here, small, large), small, large) == [True, False]
    assert here.left[DISKS] == {"storage": 4096 * GIB}, "offers charge copies"


def test_no_reservation_is_longer_than_ten_seconds() -> None:
    found = judge_offer([make_offered(WEB)], room(), {}, NOW, 10**9)
    assert {each.until_ms for each in found.reserved.values()} == {NOW + TEN_SECONDS}


NAMES = ("a1", "a2", "a3", "a4", "a5")


@given(
    st.lists(
        st.tuples(st.sampled_from(NAMES), st.sampled_from(("small", "medium")), st.integers(0, 2)),
        unique_by=lambda each: each[0],
    )
)
@settings(max_examples=60, deadline=None)
def test_an_offer_is_answered_as_the_same_orders_would_be(wanted: list[tuple[str, str, int]]) -> None:
    """One admission: what is refused as an offer is rejected as an assignment, with the same reasons, and nothing else is."""
    documents = [
        machine(name, class_name=size, spec={"priority": priority}) for name, size, priority in wanted
    ]
    found = judge(room(), *documents)
    here = site(*documents)
    here.facts = replace(here.facts, pools={**POOLS, **TIGHT})
    machines = here.decide().machines
    rejected = {each.uid: each.reasons for each in machines.values() if each.phase == "rejected"}
    assert {uid: reasons for uid, reasons in found.reasons.items() if reasons} == rejected
