"""Whether a run may act by the `live` that it reads: one whose host lost its local state asks, and the reconciler answers.

Theory of operation. Each commit of `live` that a host applies contains the one before (live_policy.py). What it applied last is in its
own report. A host that comes back, and a Git server that was restored, may both show an older report beside an older `live`, which
orders what runs on other hosts by now. Neither shows that it is old. But a host notes beside its mirror which of its reports landed last
(boot.py), and compares:

    the report on the ref      the host                                     this run
    is the one in its note     went on with its disk, and so did the ref    acts; or goes on with the question of that report
    is any other, or absent    has another disk or an older one, is new,    asks: its report has `asks`, and it changes nothing before
                               or the Git server was restored               `status.host.answered` of one of its pools says the same

A reconciler answers by the commit that grants the host its first pool. Else it answers once each host that it knows has reported, or was
silent for its heartbeat timeout (start_wait.py), and it has run for one timeout of the fleet itself: a host that reports would show that
`live` is older than what it applied. While `live` is lost, that is part of the commit that takes over what runs (decide/pool.py). What the last report asked
is in the note, so that the next run goes on with that question: with `--once` the answer comes between two runs.

Guests go on as they are meanwhile, and what another host has on `live` is powered off, as ever. An order for an object that is not here
is not accepted, because it may be on another host.

Limits: a disk and a Git server that are both restored to the very same moment look as if nothing had happened. A host that
reports nothing for a whole timeout after the start of the reconciler, because it is cut off, cannot show that `live` is old.

Must never happen: a host that lost its local state creates, starts, changes or removes something by an older `live`.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import TypeAlias

from poollet.sync.report_lease import Grants
from reconciler.gitstore.objects.tree import ObjectId

# What that report asks, often nothing, if it is the last one of this host that landed; else None.
QuestionOf: TypeAlias = Callable[[ObjectId | None], str | None]

log = logging.getLogger(__name__)


class OrdersQuestion:
    """One run's. `asks` is what it asks for, empty once it was answered or where the report is this host's last; `is_due`: `live` has a grant for this
    host, so that something waits for the answer."""

    def __init__(self, name: str, host_id: str, instance: str, question_of: QuestionOf) -> None:
        self.asks, self.is_due = "", False
        self._name, self._host_id, self._instance, self._question_of = name, host_id, instance, question_of

    def begin(self, reported: ObjectId | None) -> None:
        """`reported` is the report that is on the ref at the start."""
        before = self._question_of(reported)
        self.asks = self._instance if before is None else before
        if before is None:
            log.info(
                "the report on the ref is not the last one of this host, so it asks before it acts name=%s",
                self._name,
            )

    def update(self, grants: Grants) -> bool:
        """Whether this run may act, by the grants of its pools on `live`. Once answered it always may."""
        own = {each.answered for each in (grants or {}).values() if each.host == self._host_id}
        if self.asks in own - {""}:
            log.info("the reconciler answered, and this host acts name=%s", self._name)
            self.asks = ""
        self.is_due = self.asks != "" and bool(own)
        return not self.asks
