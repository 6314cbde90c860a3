"""What is to be done to one object next, as data: the calls in their order, and what to tell people once they succeeded."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, NamedTuple

from iri.change import RuntimeChange
from iri.machine import RuntimeMachine
from iri.runtime import RuntimeKind, RuntimeObject
from iri.volume import RuntimeSnapshot, RuntimeVolume

NAMES: dict[RuntimeKind, Literal["Machine", "Volume", "VolumeSnapshot"]] = {
    RuntimeMachine: "Machine",
    RuntimeVolume: "Volume",
    RuntimeSnapshot: "VolumeSnapshot",
}


class Ref(NamedTuple):
    """One object of ours, wherever it is: by the uid in its labels."""

    kind: RuntimeKind
    uid: str

    def __str__(self) -> str:
        return f"{NAMES[self.kind]} {self.uid}"


@dataclass(frozen=True, slots=True)
class Create:
    """Only after a list by the uid label gave nothing: existing providers make a second object of the same uid.

    Where the list gives one, it is there and the call has succeeded.
    """

    wanted: RuntimeObject

    def __repr__(self) -> str:
        return f"Create({self.wanted.labels})"


@dataclass(frozen=True, slots=True)
class Update:
    """To detach what is not attached any more has succeeded."""

    id: str
    change: RuntimeChange

    def __repr__(self) -> str:
        return f"Alter({self.id}, {type(self.change).__name__})"


@dataclass(frozen=True, slots=True)
class Remove:
    """To remove what is not there any more has succeeded."""

    kind: RuntimeKind
    id: str


Call = Create | Update | Remove


class EventText(NamedTuple):
    """An event about the object, for people; whoever records it adds object, count and time."""

    reason: str
    message: str
    is_warning: bool = False


@dataclass(frozen=True, slots=True)
class ObjectAction:
    """The calls run in order, the first error ends it. There is one step at a time for an object.

    `precondition` is the digest of the order that it follows from (preconditions.py), asked for again right before each call.
    """

    ref: Ref
    runtime: str
    namespace: str
    name: str
    calls: tuple[Call, ...]
    events: tuple[EventText, ...] = ()
    precondition: str = ""
