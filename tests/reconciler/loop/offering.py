"""A link without a network whose hosts answer offers as a test says."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from reconciler.decide.placement.offers import Answers, OfferAnswer, OfferedObject, Question
from reconciler.loop.link_port import NoLink
from schemas.report.objects import ReportedReason

FULL = ReportedReason("Insufficient", "cpu: 2 needed, 1 left", "cpu", "2", "1")
YES, NO = OfferAnswer(True), OfferAnswer(False, (FULL,))


def say_nothing(_offered: OfferedObject) -> OfferAnswer | None:
    return None


@dataclass
class OfferingLink(NoLink):
    """`answer` is what the host of an object says to it; None: nothing. `offers` are the questions, by round."""

    answer: Callable[[OfferedObject], OfferAnswer | None] = say_nothing
    connected: frozenset[str] | None = None  # None: all
    offers: list[tuple[Question, ...]] = field(default_factory=list)

    def answer_by_pool(self, **answers: OfferAnswer) -> None:
        """Names of pools, with `_` for `-`."""
        by_pool = {name.replace("_", "-"): answer for name, answer in answers.items()}
        self.answer = lambda offered: by_pool.get(offered.question.pool)

    def may_offer(self, poollet: str, host: str) -> bool:
        return bool(host) and (self.connected is None or poollet in self.connected)

    def offer(self, offered: Sequence[OfferedObject], seconds: float) -> Answers:
        assert seconds > 0
        self.offers.append(tuple(each.question for each in offered))
        answers = {each.question: self.answer(each) for each in offered}
        return {question: answer for question, answer in answers.items() if answer is not None}
