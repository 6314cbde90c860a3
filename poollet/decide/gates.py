"""May the agent act on this object now? All answers in one table, asked in its order by one function. Pure.

Theory of operation. An action on an object passes these gates, the first closed one wins and names the
reason. The first five hold for the whole host, the next ones for what `live` says of the object, the rest
for what the runtime lists:

    gate               closed when                                             blocks
    FleetChanged       gitvirt.yaml names another fleet                        create change remove discard fence
    LiveNotApplied     `live` is missing, unsigned, rewritten or unread        create change remove discard fence
    NoReportLease      another host's report is on the ref                     create change remove discard        report
    ReportNotLanded    no report of this run is on the ref yet                 create change remove discard
    NotConfirmed       the host lost its local state, and was not answered yet  create change remove discard
    Leaving            the process ends, or the host leaves                    create change remove discard fence
    UnreadableFiles    a file on `live` cannot be read                                              discard
    NotGranted         its assignment is not this host's, or of another epoch  create change remove                report
    Contradictory      several documents of its uid                            create change remove
    Retained           it left the source, and its data is kept                create change remove
    Paused             gitvirt.dev/paused                                      create change remove
    RuntimeUnknown     its runtime does not answer                             create change remove discard fence
    InFlight           the last action is not in the list yet                  create change remove discard fence
    UnconfirmedAbsent  one list lacks it, the next one tells                   create change remove
    DuplicateObjects   several objects of its uid                              create change remove discard
    Answered           this assignment was reported gone or rejected           create change
    Insufficient       the pool has no room for it                             create

Effects: *discard* removes an orphan by order of people, *fence* powers off a machine that must not run here
(fences.py says which), *report* writes an entry about it. An assignment is ended at the runtime (EndCall) under the gates of *remove*. A fence needs no lease and no landed report: it is the
one thing a host that was cut off still has to do.

Who asks, and when: assignments.py asks for *report* and *change* with what a document says; decide.py adds
the host, the presence and the capacity; decision_pass.plan_action asks for the effect of each call;
orphans.py asks for *fence* and *discard*; the agent asks for *change* on the whole host and cancels what
is queued when that is closed.

Why a report has to land first: two runs of one name would both act until one of them loses a push. After the first push
of this run the other one finds another run's report on the ref, and stops.

Why a host that lost its local state waits: its own report and `live` may both be out of a backup, and neither shows that. It asks in its report
(`asks`), and a reconciler to which the other hosts have reported answers on `live` (sync/orders_question.py).

A call that all gates let pass waits further for what it needs: dependencies and the volume's claim
(dependencies), for its next attempt (retry), and right before it is made `live` is asked once more
(preconditions).

Must never happen: a call is made that did not pass here; a removal without a document that orders it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

from poollet.decide.actions import Call, CreateCall, EndCall, RemoveCall
from poollet.decide.inventory import Duplicates, InFlight, Presence, UnconfirmedAbsent, Unknown
from schemas.live_layout import PAUSED


class CallEffect(StrEnum):
    """What an action does to its object."""

    CREATE = "create"
    CHANGE = "change"
    REMOVE = "remove"
    DISCARD = "discard"
    FENCE = "fence"
    REPORT = "report"


@dataclass(frozen=True, slots=True)
class HostPermissions:
    """What holds for everything on this host."""

    is_own_fleet: bool = True
    is_live_applied: bool = True
    has_lease: bool = True
    has_landed: bool = True
    is_confirmed: bool = True
    is_leaving: bool = False

    @property
    def knows_orders(self) -> bool:
        """Without them nothing but the last report is known of the objects on this host."""
        return self.is_own_fleet and self.is_live_applied


OPEN = HostPermissions()


class GateInput(NamedTuple):
    """What the gates ask about one object. No `presence`: it was not looked for yet."""

    host: HostPermissions = OPEN
    has_unreadable_files: bool = False
    is_granted: bool = True
    is_retained: bool = False
    is_paused: bool = False
    documents: int = 1
    presence: Presence | None = None
    is_answered: bool = False
    has_room: bool = True


class Gate(NamedTuple):
    """`message` is for people, where the reason alone does not say it."""

    reason: str
    blocks: frozenset[CallEffect]
    is_closed: Callable[[GateInput], bool]
    message: str = ""


ORDERED = frozenset((CallEffect.CREATE, CallEffect.CHANGE, CallEffect.REMOVE))
EVERY_CALL = ORDERED | {CallEffect.DISCARD, CallEffect.FENCE}

GATES: tuple[Gate, ...] = (
    Gate("FleetChanged", EVERY_CALL, lambda at: not at.host.is_own_fleet),
    Gate("LiveNotApplied", EVERY_CALL, lambda at: not at.host.is_live_applied),
    Gate(
        "NoReportLease", ORDERED | {CallEffect.DISCARD, CallEffect.REPORT}, lambda at: not at.host.has_lease
    ),
    Gate("ReportNotLanded", ORDERED | {CallEffect.DISCARD}, lambda at: not at.host.has_landed),
    Gate("NotConfirmed", ORDERED | {CallEffect.DISCARD}, lambda at: not at.host.is_confirmed),
    Gate("Leaving", EVERY_CALL, lambda at: at.host.is_leaving),
    Gate("UnreadableFiles", frozenset((CallEffect.DISCARD,)), lambda at: at.has_unreadable_files),
    Gate("NotGranted", ORDERED | {CallEffect.REPORT}, lambda at: not at.is_granted),
    Gate("Contradictory", ORDERED, lambda at: at.documents > 1, "several documents on `live` have its uid"),
    Gate("Retained", ORDERED, lambda at: at.is_retained),
    Gate(
        "Paused",
        ORDERED,
        lambda at: at.is_paused,
        f"paused by the annotation {PAUSED}; changes wait for `gitvirt resume`",
    ),
    Gate("RuntimeUnknown", EVERY_CALL, lambda at: isinstance(at.presence, Unknown)),
    Gate("InFlight", EVERY_CALL, lambda at: isinstance(at.presence, InFlight)),
    Gate("UnconfirmedAbsent", ORDERED, lambda at: isinstance(at.presence, UnconfirmedAbsent)),
    Gate("DuplicateObjects", ORDERED | {CallEffect.DISCARD}, lambda at: isinstance(at.presence, Duplicates)),
    Gate("Answered", frozenset((CallEffect.CREATE, CallEffect.CHANGE)), lambda at: at.is_answered),
    Gate("Insufficient", frozenset((CallEffect.CREATE,)), lambda at: not at.has_room),
)


_BY_EFFECT = {effect: tuple(gate for gate in GATES if effect in gate.blocks) for effect in CallEffect}


def closed_gate(at: GateInput, effect: CallEffect) -> Gate | None:
    """The first gate in the way of that effect, or None."""
    return next((gate for gate in _BY_EFFECT[effect] if gate.is_closed(at)), None)


def effect_of(call: Call) -> CallEffect:
    """A change of any kind is one effect: the gates do not tell an attach from a power-off."""
    match call:
        case CreateCall():
            return CallEffect.CREATE
        case RemoveCall() | EndCall():
            return CallEffect.REMOVE
        case _:
            return CallEffect.CHANGE
