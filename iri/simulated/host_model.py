"""How things go on this host: how long they take, by what chance, and whom it resembles. Handed to the pure parts."""

from __future__ import annotations

from typing import NamedTuple

from iri.simulated.profile import Times
from iri.simulated.provider_quirks import ProviderQuirks
from iri.simulated.seeded_random import DurationRange, SeededRandom

NEVER_NS = 1 << 62


class HostModel(NamedTuple):
    times: Times
    chance: SeededRandom
    behaviour: ProviderQuirks

    def after(self, now_ns: int, span: DurationRange, *what: str | int) -> int:
        """When something is done that begins now; the same for the same question."""
        return now_ns + self.chance.nanoseconds(span, *what)


class LifecycleEvent(NamedTuple):
    """What people are told of a step: an event without its object and time."""

    reason: str
    action: str
    message: str
    is_warning: bool = False
