"""Machines that are converged, with the report about them: reused until an input of that report changes.

On a host with a thousand machines of which one changes, this decides how long a decision takes. Without the cache every
decision has the same outcome. Cached is only a machine that needed no call; its inputs are its document, the runtime's object, the
host's facts, and each object that its references led to. Machines with volumes are not cached, because the access to a volume
follows from more than documents.

Must never happen: a report is reused although one of its inputs changed.
"""

from __future__ import annotations

from iri.machine import RuntimeMachine
from poollet.decide.assignments import HostOrder
from poollet.decide.decision_pass import DecisionPass
from poollet.decide.memory import CachedMachine
from poollet.sync.live_view import Lookup
from schemas import report
from schemas.kinds import Key, Kind
from schemas.model import Machine, Object


class TrackedLookup:
    """Remembers each lookup and its result."""

    def __init__(self, objects: Lookup) -> None:
        self._objects = objects
        self.reads: dict[Key, Object | None] = {}

    def get(self, key: Key, /) -> Object | None:
        found = self._objects.get(key)
        self.reads[key] = found
        return found


def collect_facts(order: HostOrder, current: DecisionPass) -> tuple[object, ...]:
    """What the host contributes to the report about a machine."""
    facts = current.inputs.facts
    classes = facts.pools[(Kind.MACHINE_POOL, order.pool)].classes
    provider = current.provider(order.runtime)
    explanation = current.inputs.explanations.get(order.ref)
    secrets = (facts.secrets, facts.plain_secrets)
    return facts.fleet, classes, secrets, provider, order.pool, order.assignment, explanation


def find_unchanged(order: HostOrder, there: RuntimeMachine, current: DecisionPass) -> CachedMachine | None:
    """What is cached of the machine, if no input changed: document, runtime object and lookups are compared by
    identity, because comparing contents would cost what the cache saves; the few facts of the host by value."""
    known = current.inputs.memory.unchanged.get(order.ref)
    if known is None or known.document is not order.object or known.there is not there:
        return None
    if known.facts != collect_facts(order, current):
        return None
    objects = current.view.objects
    return known if all(objects.get(key) is found for key, found in known.reads) else None


def remember_machine(
    order: HostOrder,
    machine: Machine,
    there: RuntimeMachine,
    entry: report.MachineReport,
    tracked: TrackedLookup,
    current: DecisionPass,
) -> None:
    """Call it for a converged machine only."""
    if any(machine.volume_key(entry) is not None for entry in machine.spec.volumes):
        return
    reads = tuple(tracked.reads.items())
    current.unchanged[order.ref] = CachedMachine(machine, there, collect_facts(order, current), reads, entry)
