"""What is done to one object next, as data: the calls in their order, and what became of them. Values only.

The decision makes ObjectActions, the executor carries them out and returns CallResults, and the next
decision reads these. Calls are compared by value: a call that is decided again is the same call, which is
how retry.py knows it.

Texts of these types name labels, ids and classes of changes only, because a call may carry a secret.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from iri.change import RuntimeChange
from iri.identity import ASSIGNMENT_LABEL
from iri.machine import RuntimeMachine
from iri.runtime import RuntimeKind, RuntimeObject
from iri.volume import RuntimeSnapshot, RuntimeVolume
from schemas.kinds import Kind

NAMES: dict[RuntimeKind, Literal["Machine", "Volume", "VolumeSnapshot"]] = {
    RuntimeMachine: "Machine",
    RuntimeVolume: "Volume",
    RuntimeSnapshot: "VolumeSnapshot",
}
RUNTIME_KINDS: Mapping[Kind, RuntimeKind] = {Kind(name): kind for kind, name in NAMES.items()}


class Ref(NamedTuple):
    """One object of the fleet on this host, by the uid in its labels."""

    kind: RuntimeKind
    uid: str

    def __str__(self) -> str:
        return f"{NAMES[self.kind]} {self.uid}"


@dataclass(frozen=True, slots=True)
class CreateCall:
    """Made only if a list by the uid label is empty, because some providers create a second object of one uid.

    If the list has the object, the call has succeeded.
    """

    desired: RuntimeObject

    def __repr__(self) -> str:
        return f"CreateCall({self.desired.labels})"


@dataclass(frozen=True, slots=True)
class UpdateCall:
    """Detaching a device that is not attached any more succeeds. Of an object of that assignment alone, as it was listed."""

    id: str
    change: RuntimeChange
    assignment: str = ""

    def __repr__(self) -> str:
        return f"UpdateCall({self.id}, {type(self.change).__name__})"


@dataclass(frozen=True, slots=True)
class RemoveCall:
    """Removing an object that does not exist any more succeeds. Of an object of that assignment alone, as it was listed."""

    kind: RuntimeKind
    id: str
    assignment: str = ""


@dataclass(frozen=True, slots=True)
class EndCall:
    """From then on the runtime creates nothing for the assignment, also by a creation that was called before."""

    assignment: str


Call = CreateCall | UpdateCall | RemoveCall | EndCall


def update_call(there: RuntimeObject, change: RuntimeChange) -> UpdateCall:
    """Of the object that was listed. By the time it is carried out, another one may have its id."""
    return UpdateCall(there.id, change, there.labels.get(ASSIGNMENT_LABEL, ""))


def remove_call(kind: RuntimeKind, there: RuntimeObject) -> RemoveCall:
    """As `update_call`."""
    return RemoveCall(kind, there.id, there.labels.get(ASSIGNMENT_LABEL, ""))


class CallError(NamedTuple):
    """Why a call did not succeed: `code` is the name of the error's class."""

    code: str
    message: str


class CallResult(NamedTuple):
    """What became of one call of an action. Without an error the runtime accepted it. `spread` is drawn for the wait after an error."""

    call: Call
    at_ms: int
    error: CallError | None = None
    is_skipped: bool = False  # an earlier call of the action failed
    spread: float = 1.0


class EventText(NamedTuple):
    """An event about the object, for people. Object, count and time are added when it is recorded."""

    reason: str
    message: str
    is_warning: bool = False


@dataclass(frozen=True, slots=True)
class ObjectAction:
    """The calls run in order, and the first error ends the action. An object has one action at a time.

    `precondition` is the digest of the order that it follows from (preconditions.py), asked for again right before each call.
    """

    ref: Ref
    runtime: str
    namespace: str
    name: str
    calls: tuple[Call, ...]
    events: tuple[EventText, ...] = ()
    precondition: str = ""
    why: str = ""  # of an action that no order names, for the log; unlike the events it stays when the calls are repeated


@dataclass(frozen=True)
class ExecutorState:
    """`busy` are objects with an action under way, `ended_ms` says when an object's last action ended, and `results` what its calls
    came to. A list that was asked for before an action ended does not show its effect."""

    busy: frozenset[Ref] = frozenset()
    ended_ms: Mapping[Ref, int] = field(default_factory=dict)
    results: Mapping[Ref, tuple[CallResult, ...]] = field(default_factory=dict)
