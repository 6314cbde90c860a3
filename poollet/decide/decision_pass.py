"""The accumulator of one decision: its inputs, and the entries, actions and memory that it has come to so far.

Theory of operation. The modules that plan machines, volumes and snapshots read it and put their actions
here; none of them reads another one's state. Every call on an ordered object passes `plan_action`:

    a gate is closed for any of its calls   the action is withheld whole; its retries stay as they are
    all are open                            the calls that are due by retry.py become one action
    none is due                             no action; the decision rechecks when the first one is

A call that is withheld counts no try, and the errors that were reported stay reported: a gate that closes
for a moment must not change the report.

What is remembered is rebuilt in each pass: an object that is not mentioned again is forgotten, and
`carry_over` keeps what belongs to objects that no plan has touched this time.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from dataclasses import replace as changed
from typing import TypeVar

from msgspec.structs import replace

from iri.identity import ASSIGNMENT_LABEL
from poollet.decide.actions import Call, CreateCall, EventText, ObjectAction, Ref
from poollet.decide.assignments import HostOrder
from poollet.decide.capacity_ledger import FreeCapacity
from poollet.decide.decision import DecisionInput
from poollet.decide.gates import GateInput, closed_gate, effect_of
from poollet.decide.inventory import Inventory, Presence, UnconfirmedAbsent
from poollet.decide.memory import FINAL, CachedMachine, Entry, Memory, Missing, add_ended
from poollet.decide.preconditions import digest_orders
from poollet.decide.retry import NO_RETRIES, Retries, RetryDecision, choose_calls, record_results
from poollet.decide.secrets import Lookups
from poollet.report.entries import Status
from poollet.sync.live_view import LiveView
from schemas import report
from schemas.kinds import Key
from schemas.model.compute import Machine, MachineStatus
from schemas.model.storage import VolumeSnapshotStatus, VolumeStatus

AnyStatus = TypeVar("AnyStatus", bound=Status)


@dataclass(frozen=True, slots=True)
class OrderedObject:
    """An order and the presence of its object."""

    order: HostOrder
    presence: Presence


class DecisionPass:
    """One decision under way. Never kept: the next pass begins with a new one and the Memory of this one."""

    def __init__(self, inputs: DecisionInput, view: LiveView, inventory: Inventory) -> None:
        self.inputs = inputs
        self.view = view
        self.inventory = inventory
        self.lookups = Lookups(view.objects, inventory, inputs.facts)
        self.ledger = FreeCapacity(inputs.facts, view.objects)
        self.gates: dict[Ref, GateInput] = {}
        self.actions: list[ObjectAction] = []
        self.entries: dict[Key, Entry] = {}
        self.missing: dict[Ref, Missing] = {}
        self.removing_since_ms: dict[Ref, int] = {}
        self.retries: dict[Ref, Retries] = {}
        self.refusals: dict[Ref, tuple[report.ReportedReason, ...]] = {}  # of new objects that do not fit
        self.resize_refusals: dict[Ref, tuple[report.ReportedReason, ...]] = {}
        self.unchanged: dict[Ref, CachedMachine] = {}
        self.gone: set[str] = set()  # uids of machines that certainly do not exist any more
        self.ended = frozenset(inputs.memory.ended)
        self.being_attached: set[Key] = set()  # volumes that an action under way may attach
        self._again_ms: list[int] = []
        self._planned: set[Ref] = set()

    @property
    def now_ms(self) -> int:
        return self.inputs.now_ms

    def provider(self, runtime: str) -> str:
        """The name that the runtime gives itself, which is the scheme of the ids in the report."""
        return self.inputs.facts.providers.get(runtime, runtime)

    def plan_action(
        self, order: HostOrder, needed: tuple[Call, ...], events: tuple[EventText, ...] = ()
    ) -> RetryDecision:
        """Calls that pass the gates and are due become the action on the object. Returns what the report says
        of the needed calls, due or not. The precondition is taken from the `live` that the calls follow
        from."""
        key, at = order.key, self.gates.get(order.ref, GateInput(self.inputs.host))
        precondition = digest_orders(order.ref.uid, self.view) if needed else ""
        action = ObjectAction(order.ref, order.runtime, key.namespace, key.name, needed, events, precondition)
        if any(closed_gate(at, effect_of(call)) for call in needed):
            return self.withhold(action)
        return self.add_due_calls(action)

    def withhold(self, action: ObjectAction) -> RetryDecision:
        """A gate is closed: no call is made, no try is counted, and what is reported of the calls stays the same."""
        known = self.retries_of(action.ref)
        self._planned.add(action.ref)
        if known != NO_RETRIES:
            self.retries[action.ref] = known
        return choose_calls(action.calls, known, self.now_ms)

    def add_due_calls(self, whole: ObjectAction) -> RetryDecision:
        """Past the gates: for plan_action, and for orphans, whose gates were asked by their own input. A
        repetition without effect records no event again."""
        ref, needed = whole.ref, whole.calls
        self._planned.add(ref)
        found = choose_calls(needed, self.retries_of(ref), self.now_ms)
        if found.retries != NO_RETRIES:
            self.retries[ref] = found.retries
        if found.calls:
            events = () if found.is_repetition else whole.events
            self.actions.append(changed(whole, calls=found.calls, events=events))
        if found.recheck_at_ms is not None:
            self.recheck_at(found.recheck_at_ms)
        return found

    def drop_actions(self, order: HostOrder) -> None:
        """What was planned for the object in this pass is not done."""
        self.actions = [step for step in self.actions if step.ref != order.ref]

    def retries_of(self, ref: Ref) -> Retries:
        """With the results of the object's last action."""
        known = self.inputs.memory.retries.get(ref, NO_RETRIES)
        return record_results(known, self.inputs.executor.results.get(ref, ()))

    def forget_reported_error(self, ref: Ref) -> None:
        """The error that the last report carried was of an object that is gone. It must not count for one that is created under the
        next assignment: what the runtime could not change would pass for a refusal to create."""
        known = self.retries_of(ref)
        if known.from_last_report is not None:
            self.retries[ref] = known._replace(from_last_report=None)

    def carry_over(self, refs: Iterable[Ref]) -> None:
        """Of objects about which nothing was decided this time, all that was remembered still holds."""
        before = self.inputs.memory
        for ref in refs:
            if ref in self._planned:
                continue
            if ref in before.removing_since_ms:
                self.removing_since_ms.setdefault(ref, before.removing_since_ms[ref])
            if ref in before.retries:
                self.retries.setdefault(ref, self.retries_of(ref))

    def recheck_at(self, at_ms: int) -> None:
        """Another decision is needed by then even if nothing happens."""
        self._again_ms.append(at_ms)

    @property
    def recheck_at_ms(self) -> int | None:
        return min(self._again_ms, default=None)

    def remember_missing(self, ref: Ref, unconfirmed: UnconfirmedAbsent) -> None:
        """One list lacks the object: the first such list counts, and another one is needed."""
        self.missing[ref] = unconfirmed.missing
        self.recheck_at(unconfirmed.recheck_at_ms)

    def keep_missing(self, ref: Ref) -> None:
        """An object that is confirmed to be missing stays so until it is listed."""
        if (known := self.inputs.memory.missing.get(ref)) is not None:
            self.missing[ref] = known

    def before(self, order: HostOrder) -> Entry | None:
        """The last entry of this very object; an answer to another assignment does not count."""
        entry = self.inputs.memory.entries.get(order.key)
        if entry is None or entry.uid != order.ref.uid:
            return None
        if entry.assignment == order.assignment:
            return entry
        if entry.phase in FINAL:
            return None
        return replace(entry, assignment=order.assignment, pool=order.pool)

    def status_before(self, order: HostOrder, kind: type[AnyStatus]) -> AnyStatus | None:
        before = self.before(order)
        return before.status if before is not None and isinstance(before.status, kind) else None

    def was_reported(self, order: HostOrder) -> bool:
        """Whether the last report of this host names its id."""
        entry = self.inputs.memory.entries.get(order.key)
        return entry is not None and entry.uid == order.ref.uid and has_id(entry.status)

    def was_made(self, order: HostOrder) -> bool:
        """Whether it existed here before. Of an object with data `live` is asked too: the report may be lost, or another host had the
        pool. What `live` has there is of this assignment, since its status ends with it."""
        has_data = not isinstance(order.object, Machine)
        return self.was_reported(order) or (has_data and has_id(order.object.status))


def created_event(order: HostOrder) -> EventText:
    """Of an object of any kind that is created for the first time."""
    return EventText("Created", f"created on pool {order.pool}")


def has_id(status: Status | MachineStatus | VolumeStatus | VolumeSnapshotStatus | None) -> bool:
    """Whether a status, in a report or on `live`, names the runtime's id of the object: it existed once."""
    match status:
        case report.ReportedMachineStatus(machine_id=id) | MachineStatus(machine_id=id):
            return id != ""
        case report.ReportedVolumeStatus(volume_id=id) | VolumeStatus(volume_id=id):
            return id != ""
        case report.ReportedSnapshotStatus(snapshot_id=id) | VolumeSnapshotStatus(snapshot_id=id):
            return id != ""
        case None:
            return False


def list_unanswered(current: DecisionPass) -> Iterator[str]:
    """Assignments of which a creation without an answer may still be carried out, and whose try is remembered no more: the order is gone
    and may come back, as after a restore of `live`; or it is for another spec by now."""
    for ref in current.inputs.memory.retries:
        kept = current.retries[ref].attempts if ref in current.retries else ()
        for one in current.retries_of(ref).attempts:
            is_kept = any(each.call == one.call and each.unanswered_ms is not None for each in kept)
            if isinstance(one.call, CreateCall) and one.unanswered_ms is not None and not is_kept:
                yield one.call.desired.labels.get(ASSIGNMENT_LABEL, "")


def next_memory(current: DecisionPass, orphans: tuple[report.Orphan, ...], *, is_observing: bool) -> Memory:
    """While it only observes, nothing was decided about any object, and all that was remembered still holds."""
    before = current.inputs.memory
    current.carry_over([*before.removing_since_ms, *before.retries] if is_observing else current.gates)
    return Memory(
        entries=current.entries,
        orphans=orphans,
        missing={**before.missing, **current.missing} if is_observing else current.missing,
        removing_since_ms=current.removing_since_ms,
        retries=current.retries,
        unchanged=before.unchanged if is_observing else current.unchanged,
        ended=add_ended(before.ended, current.entries),
        inherited=before.inherited.union(list_unanswered(current)),
        since_ms=current.now_ms if before.since_ms is None else before.since_ms,
    )
