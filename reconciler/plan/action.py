"""What can happen to one object in a tick. A closed set: commit subjects, plans and metrics know each of them by name."""

from __future__ import annotations

from enum import StrEnum


class Action(StrEnum):
    """In order of weight: of several things that happen to an object at once, the first one names the change."""

    SCHEDULE = "schedule"  # onto a pool
    ADOPT = "adopt"  # taken back from what a poollet reports, after `live` was lost
    EVICT = "evict"  # its pool is ordered to give it up
    WITHDRAW = "withdraw"  # an assignment ends: the pool rejected it, or gave it up
    ORDER = "order"  # its deletion: it left the source
    RETAIN = "retain"  # a volume that is declared no more and whose data stays
    REMOVE = "remove"  # its document goes: its pool states that it is gone
    GENERATE = "generate"  # an object that a machine brings along
    ANNOUNCE = "announce"  # a pool that a poollet reports and nobody declares
    CLAIM = "claim"  # a volume is given to its holder, or given free
    HOLD = "hold"  # something waits for a person's consent
    BLOCK = "block"  # it cannot go on, and its condition says why
    WAIT = "wait"  # for a pool that takes it
    STATUS = "status"  # what its pool reports
    TAKE = "take"  # only what people wrote

    @property
    def done(self) -> str:
        """As in `12 scheduled, 1 waiting`."""
        return _DONE[self]


_DONE = {
    Action.SCHEDULE: "scheduled",
    Action.ADOPT: "adopted",
    Action.EVICT: "evicted",
    Action.WITHDRAW: "withdrawn",
    Action.ORDER: "to be deleted",
    Action.RETAIN: "retained",
    Action.REMOVE: "removed",
    Action.GENERATE: "generated",
    Action.ANNOUNCE: "announced",
    Action.CLAIM: "claimed",
    Action.HOLD: "held",
    Action.BLOCK: "blocked",
    Action.WAIT: "waiting",
    Action.STATUS: "updated",
    Action.TAKE: "taken over",
}
