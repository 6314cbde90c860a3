"""How a host behaves: how long each step takes, with what randomness, and which provider it imitates.

Every pure module of the simulation gets a HostModel as an argument, and takes nothing else from the host.
"""

from __future__ import annotations

from typing import NamedTuple

from iri.simulated.profile import Times
from iri.simulated.provider_quirks import ProviderQuirks
from iri.simulated.seeded_random import DurationRange, SeededRandom

# Later than any time of a clock: nothing but a call changes this record.
NEVER_NS = 1 << 62


class HostModel(NamedTuple):
    """Immutable: another profile is another HostModel."""

    times: Times
    random: SeededRandom
    quirks: ProviderQuirks

    def after(self, now_ns: int, duration: DurationRange, *what: str | int) -> int:
        """When something ends that begins now. Depends on the seed and on `what` alone, so a run can be repeated."""
        return now_ns + duration.sample_ns(self.random.share(*what))


class ObjectEvent(NamedTuple):
    """An event without its object and its time, which the host adds."""

    reason: str
    action: str
    message: str
    is_warning: bool = False
