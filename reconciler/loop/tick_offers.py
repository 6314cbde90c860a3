"""The offers of one tick: hosts are asked over the link for OFFER_SECONDS in all, however many plans and rounds the tick has.

A tick may plan twice (tick.py). The second plan is given the answers of the first again, so that no host is asked twice about one object.
`rounds` are those of the last plan: what the audit trail records.

Must never happen: a tick waits for hosts longer than OFFER_SECONDS in all.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

from reconciler.decide.placement.offers import Answers, OfferAnswer, OfferedObject, Question
from reconciler.loop.link_port import LinkPort

OFFER_SECONDS = 0.3


class TickOffers:
    """An OfferDesk. `clock` never jumps."""

    def __init__(
        self, link: LinkPort, seconds: float = OFFER_SECONDS, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.rounds: list[Answers] = []
        self._link, self._seconds, self._clock = link, seconds, clock
        self._known: dict[Question, OfferAnswer] = {}
        self._asked: set[Question] = set()
        self._ends: float | None = None  # of the time to ask, which begins with the first question

    def count(self) -> int:
        """How many objects were offered."""
        return len(self._asked)

    def begin_plan(self) -> None:
        self.rounds = []

    def may_ask(self, poollet: str, host: str) -> bool:
        return self._link.may_offer(poollet, host)

    def ask(self, offered: Sequence[OfferedObject]) -> Answers:
        """What is known of these, and what hosts that were not asked yet answer in the time that is left."""
        if self._ends is None:
            self._ends = self._clock() + self._seconds
        fresh = [each for each in offered if each.question not in self._asked]
        left = self._ends - self._clock()
        if fresh and left > 0:
            self._asked.update(each.question for each in fresh)
            self._known |= self._link.offer(fresh, left)
        questions = (each.question for each in offered)
        found = {each: self._known[each] for each in questions if each in self._known}
        self.rounds.append(found)
        return found
