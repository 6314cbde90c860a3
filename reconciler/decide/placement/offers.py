"""Offers: the hosts of chosen pools are asked before an object is bound to them, and the next pool is tried where one refuses. Pure, but for
the desk that asks.

Theory of operation
-------------------
    schedule        every request of the tick is decided, as without offers
    offer           what was placed is offered to the hosts of its pools, in one question for all of them (`OfferDesk.ask`)
    refused         the request is decided once more without that pool, beside all that stays placed; then it is offered again
    accepted        it stays where it is; `status.assignment.accepted` says so
    no answer       it stays where it is: placed optimistically, as without offers

A request visits each pool once at most, so the rounds end. A refusal becomes a rejection of the pool on `live`, as one that a host reports for
an assignment, with its reasons and its backoff: only the commits in between are saved.

Equal needs and equal answers make equal decisions: so the answers, by round, are all that a replay has to be given (`RecordedOffers`).

Must never happen: an answer places an object on a pool that the scheduler did not choose; an answer about another object, pool or host counts;
a machine of lower priority that has accepted room is moved for one that was refused.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import cache
from typing import NamedTuple, Protocol

from reconciler.decide import placement as placing
from reconciler.decide.apply_report import describe_reasons, next_retry, record_rejection
from reconciler.decide.need import Need
from reconciler.decide.object_edit import ObjectEdit, new_object_state
from reconciler.schedule.cluster_state import ClusterState
from reconciler.schedule.decision import Decision, Placed
from reconciler.schedule.request import PastRejection, Request
from reconciler.schedule.scheduler import schedule
from reconciler.world.objects.relations import POOL_OF
from reconciler.world.pools.pool_state import PoolState
from reconciler.world.view import View
from schemas.kinds import Key, Kind
from schemas.model import Assignment, Machine, Volume
from schemas.report.objects import ReportedReason


class Question(NamedTuple):
    """Does this object fit on this pool?"""

    key: Key
    pool: str


@dataclass(frozen=True, slots=True)
class OfferAnswer:
    """Of a host; the reasons are why it refuses."""

    is_accepted: bool
    reasons: tuple[ReportedReason, ...] = ()


Answers = Mapping[Question, OfferAnswer]


@dataclass(frozen=True, slots=True)
class OfferedObject:
    """What a host is asked about: the object as `live` would have it, and the grant under which it would be bound."""

    question: Question
    uid: str
    poollet: str
    host: str
    epoch: int
    object: Machine | Volume


class OfferDesk(Protocol):
    """Asks hosts. What is not in its answer was not asked, or not answered in time."""

    def may_ask(self, poollet: str, host: str) -> bool:
        """Whether that host can be asked now."""

    def ask(self, offered: Sequence[OfferedObject]) -> Answers:
        """One round. Answers to nothing that was not offered in it."""


class NoOffers:
    """Asks no host: for verbs that plan, and for a process without a link."""

    def may_ask(self, poollet: str, host: str) -> bool:
        del poollet, host
        return False

    def ask(self, offered: Sequence[OfferedObject]) -> Answers:
        del offered
        return {}


NO_OFFERS = NoOffers()


@dataclass
class RecordedOffers:
    """The twin of a desk with the answers of a tick of the past, round by round."""

    rounds: Sequence[Answers]
    _at: int = 0

    def may_ask(self, poollet: str, host: str) -> bool:
        del poollet, host
        return self._at < len(self.rounds)

    def ask(self, offered: Sequence[OfferedObject]) -> Answers:
        found = self.rounds[self._at] if self._at < len(self.rounds) else {}
        self._at += 1
        questions = {each.question for each in offered}
        return {question: answer for question, answer in found.items() if question in questions}


class OfferRefusal(NamedTuple):
    """One pool whose host refused, and why."""

    pool: str
    reasons: tuple[ReportedReason, ...]


Refusals = Mapping[Key, Sequence[OfferRefusal]]


@dataclass(frozen=True, slots=True)
class Placements:
    """What became of all requests of a tick. `answers` are all that hosts gave, and `refusals` those of them that refuse, by object."""

    decisions: tuple[Decision, ...] = ()
    answers: Answers = field(default_factory=dict)
    refusals: Refusals = field(default_factory=dict)

    def is_accepted(self, key: Key, pool: str) -> bool:
        found = self.answers.get(Question(key, pool))
        return found is not None and found.is_accepted

    def describe_refusals(self, key: Key) -> str:
        """Empty where no host refused it in this tick."""
        found = self.refusals.get(key, ())
        return "; ".join(f"{each.pool} refused it: {describe_reasons(each.reasons)}" for each in found)


def decide_placements(view: View, needs: Sequence[Need], now: datetime, desk: OfferDesk) -> Placements:
    """A decision for each request, by the scheduler and the hosts that were asked."""
    requests = placing.requests(view, needs, now)
    if not requests:
        return Placements()
    cluster, policy = placing.build_cluster_state(view, requests, needs), placing.policy(view)
    by_need = {need.key: need for need in needs}
    decided = {each.key: each for each in schedule(requests, cluster, policy)}
    fresh: Collection[Decision] = decided.values()
    answers: dict[Question, OfferAnswer] = {}
    while offered := list_offered(view, by_need, fresh, desk, answers):
        answers |= desk.ask(offered)
        refusals = group_refusals(answers)
        again = [request for request in requests if is_refused(decided[request.key], answers)]
        if not again:
            break
        cluster = placing.build_cluster_state(view, requests, needs)
        place_again(cluster, requests, decided, {request.key for request in again})
        fresh = schedule([add_refusals(request, refusals) for request in again], cluster, policy)
        decided |= {each.key: each for each in fresh}
    return Placements(tuple(decided.values()), answers, group_refusals(answers))


def list_offered(
    view: View, needs: Mapping[Key, Need], decisions: Iterable[Decision], desk: OfferDesk, answers: Answers
) -> list[OfferedObject]:
    """What the decisions place where a host can be asked and has not answered. A grant that this tick makes is not known to its host yet."""
    found = []

    @cache
    def find_open(pool: Key) -> PoolState | None:
        """The pool, if its host can be asked."""
        state = view.find_pool(pool)
        if state is None or state.grant.is_new or not desk.may_ask(state.poollet, state.grant.host):
            return None
        return state

    for question in (each for decision in decisions for each in questions_of(decision)):
        state = find_open(Key(POOL_OF[question.key.kind], "", question.pool))
        if state is None or question in answers:
            continue
        need, grant = needs[question.key], state.grant
        object = (view.objects.get(question.key) or new_object_state(need)).object
        assert isinstance(object, Machine | Volume), "no other kind is placed"
        found.append(OfferedObject(question, need.record.uid, state.poollet, grant.host, grant.epoch, object))
    return found


def questions_of(decision: Decision) -> Iterator[Question]:
    """Of a machine that is placed and of each volume that is placed with it; none of what is not placed."""
    if not isinstance(decision, Placed):
        return
    if decision.key.kind is Kind.MACHINE:
        yield Question(decision.key, decision.pool)
    for key, pool in decision.volumes:
        yield Question(key, pool)


def is_refused(decision: Decision, answers: Answers) -> bool:
    """Whether a host refuses any part of it: they are placed together or not at all."""
    found = (answers.get(each) for each in questions_of(decision))
    return any(each is not None and not each.is_accepted for each in found)


def place_again(
    cluster: ClusterState, requests: Iterable[Request], decided: Mapping[Key, Decision], without: set[Key]
) -> None:
    """What stays placed is charged again, in a cluster state that knows nothing of what was refused."""
    for request in requests:
        decision = decided[request.key]
        if isinstance(decision, Placed) and request.key not in without:
            on = dict(decision.volumes)
            cluster.place(request, decision.pool, [(volume, on[volume.key]) for volume in request.volumes])


def add_refusals(request: Request, refusals: Refusals) -> Request:
    """With what hosts refused of it, as if that were on `live`."""
    volumes = tuple(
        replace(volume, rejections=(*volume.rejections, *_past(volume.key, refusals)))
        for volume in request.volumes
    )
    own = _past(request.key, refusals) if request.machine_class else ()
    return replace(request, rejections=(*request.rejections, *own), volumes=volumes)


def _past(key: Key, refusals: Refusals) -> tuple[PastRejection, ...]:
    return tuple(PastRejection(each.pool, describe_reasons(each.reasons)) for each in refusals.get(key, ()))


def group_refusals(answers: Answers) -> Refusals:
    """By object, each with its pools by name."""
    found: dict[Key, list[OfferRefusal]] = defaultdict(list)
    for question in sorted(each for each, answer in answers.items() if not answer.is_accepted):
        found[question.key].append(OfferRefusal(question.pool, answers[question].reasons))
    return found


def record_refusals(view: View, needs: Iterable[Need], refusals: Refusals, now: datetime) -> tuple[Need, ...]:
    """The needs with what hosts refused in this tick among their rejections, and when the first of them may be asked again."""
    return tuple(
        _record(view, need, refusals[need.key], now) if need.key in refusals else need for need in needs
    )


def _record(view: View, need: Need, refused: Iterable[OfferRefusal], now: datetime) -> Need:
    known = view.objects.get(need.key) or new_object_state(need)
    edit = ObjectEdit(known, need.record, now, need.change_reasons, need.due)
    for pool, reasons in refused:
        unbound = Assignment(pool=pool, id="")  # it was refused before it had one
        edit = edit.with_status(rejections=record_rejection(edit.rejections, unbound, reasons, now))
    edit = edit.recheck_by(next_retry(edit.rejections, now))
    return replace(need, record=edit.record, due=edit.due)
