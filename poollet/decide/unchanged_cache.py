"""What is as it is to be need not be worked out again until something that it follows from is another.

With a thousand machines on a host, of which one changes, this is what a decision costs. Leaving it out changes nothing else.
"""

from __future__ import annotations

from iri.machine import RuntimeMachine
from poollet.decide.assignments import Order
from poollet.decide.decision_pass import Round
from poollet.decide.dependencies import volume_key
from poollet.decide.memory import CachedMachine
from poollet.sync.live_view import Lookup
from schemas import report
from schemas.kinds import Key, Kind
from schemas.model import Machine, Object


class TrackedLookup:
    """Remembers what was looked up, and what was found."""

    def __init__(self, objects: Lookup) -> None:
        self._objects = objects
        self.reads: dict[Key, Object | None] = {}

    def get(self, key: Key, /) -> Object | None:
        found = self._objects.get(key)
        self.reads[key] = found
        return found


def collect_facts(order: Order, round: Round) -> tuple[object, ...]:
    """What the host contributes to what is said of a machine."""
    facts = round.situation.facts
    classes = facts.pools[(Kind.MACHINE_POOL, order.pool)].classes
    provider = round.provider(order.runtime)
    return facts.fleet, classes, facts.secrets, facts.plain_secrets, provider, order.pool, order.assignment


def find_unchanged(order: Order, there: RuntimeMachine, round: Round) -> CachedMachine | None:
    known = round.situation.memory.settled.get(order.ref)
    if known is None or known.document is not order.object or known.there is not there:
        return None
    if known.facts != collect_facts(order, round):
        return None
    objects = round.view.objects
    return known if all(objects.get(key) is found for key, found in known.reads) else None


def remember_machine(
    order: Order,
    machine: Machine,
    there: RuntimeMachine,
    entry: report.MachineReport,
    tracked: TrackedLookup,
    round: Round,
) -> None:
    """Machines with volumes are looked at each time: how a volume is reached follows from more than documents."""
    if any(volume_key(machine, entry) is not None for entry in machine.spec.volumes):
        return
    reads = tuple(tracked.reads.items())
    round.settled[order.ref] = CachedMachine(machine, there, collect_facts(order, round), reads, entry)
