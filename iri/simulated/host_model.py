"""How things go on this host: how long they take, by what chance, and whom it resembles. Handed to the pure parts."""

from __future__ import annotations

from typing import NamedTuple

from iri.simulated.profile import Times
from iri.simulated.provider_quirks import Behaviour
from iri.simulated.seeded_random import Chance, Span

NEVER_NS = 1 << 62


class Nature(NamedTuple):
    times: Times
    chance: Chance
    behaviour: Behaviour

    def after(self, now_ns: int, span: Span, *what: str | int) -> int:
        """When something is done that begins now; the same for the same question."""
        return now_ns + self.chance.nanoseconds(span, *what)


class Happening(NamedTuple):
    """What people are told of a step: an event without its object and time."""

    reason: str
    action: str
    message: str
    is_warning: bool = False
