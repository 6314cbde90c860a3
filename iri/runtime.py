"""The runtime protocol: what a simulated host, libvirt, and the client at the other end of a socket all are.

Ten methods, all of them safe to call from several threads at once. They record a wish durably and return; making it
real happens in the runtime's own time and shows in `objects`. Repeating a call is harmless: an object with the same uid
label is created once, a removal under way may be ordered again, a change to what is already so changes nothing.

Generic methods take the kind as its type: `runtime.objects(RuntimeMachine)`, `runtime.remove(RuntimeVolume, id)`. A runtime that does
not have a kind offers no classes of it, lists none and refuses to create one with Unimplemented.

Every method may raise an IRIError. tests/iri/contract says in executable form what else a runtime promises.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Protocol, TypeVar

import msgspec

from iri.change import RuntimeChange
from iri.host import Offers, RuntimeClasses, RuntimeInfo
from iri.machine import RuntimeMachine
from iri.volume import RuntimeSnapshot, RuntimeVolume

RuntimeObject = RuntimeMachine | RuntimeVolume | RuntimeSnapshot
RuntimeKind = type[RuntimeMachine] | type[RuntimeVolume] | type[RuntimeSnapshot]
AnyObject = TypeVar("AnyObject", RuntimeMachine, RuntimeVolume, RuntimeSnapshot)

# The name of each kind in calls, events and messages.
KIND_NAMES: Mapping[RuntimeKind, str] = {
    RuntimeMachine: "Machine",
    RuntimeVolume: "Volume",
    RuntimeSnapshot: "VolumeSnapshot",
}


class EventType(StrEnum):
    NORMAL = "Normal"
    WARNING = "Warning"


class RuntimeEvent(msgspec.Struct, frozen=True, kw_only=True):
    """What happened to an object, for people. `labels` are the object's, and `time` is in Unix seconds."""

    kind: RuntimeKind
    id: str
    labels: Mapping[str, str] = {}
    type: EventType = EventType.NORMAL
    reason: str  # one CamelCase word
    action: str  # what the runtime was doing, never empty
    message: str
    time: int


class ChangeType(StrEnum):
    CREATED = "created"
    CHANGED = "changed"
    DELETED = "deleted"  # gone from the lists
    RESYNC = "resync"  # notices were lost, or the watch has just begun: look at everything


class Notice(msgspec.Struct, frozen=True):
    """Something about an object has changed, its status included. A RESYNC has no kind and no id."""

    kind: RuntimeKind | None
    id: str
    what: ChangeType


class Subscription(Protocol):
    def next(self, timeout_seconds: float) -> tuple[Notice, ...]:
        """Waits for notices, at most so long; empty when there were none. The first ever is a RESYNC."""
        ...

    def close(self) -> None: ...


class Console(Protocol):
    """A guest's serial console, one connection of it."""

    def read(self, size: int) -> bytes:
        """Waits for output. Empty: the console has ended."""
        ...

    def write(self, data: bytes) -> None: ...

    def resize(self, columns: int, rows: int) -> None: ...

    def close(self) -> None: ...

    def exit_status(self) -> int | None:
        """Of what ran behind the console, once it has ended and when it has one."""
        ...


class Runtime(Protocol):
    def about(self) -> RuntimeInfo:
        """Who answers, and the host below. Cheap."""
        ...

    def offers(self) -> Offers:
        """The classes that can be created and the totals of the empty host. Answers within five seconds."""
        ...

    def set_classes(self, classes: RuntimeClasses) -> None:
        """The classes to offer from now on, all of them. Objects keep the class they were created with."""
        ...

    def objects(self, kind: type[AnyObject]) -> Mapping[str, AnyObject]:
        """All of a kind by id, those under deletion included. A snapshot: others may write while it is read.

        An object that has not changed should be the identical one as last time; its encoding is reused then.
        """
        ...

    def create(self, wanted: AnyObject) -> AnyObject:
        """`wanted` carries labels, annotations and spec; the rest of it is ignored. Returns the object with its id.

        When an object of the same uid label exists, that one is returned, unchanged. See iri.identity.
        """
        ...

    def change(self, id: str, change: RuntimeChange) -> None:
        """Records what iri.change makes of the object. NotFound when it is gone, FailedPrecondition when it is going."""
        ...

    def remove(self, kind: type[AnyObject], id: str) -> None:
        """Marks it: `deleted_at` is set, the state says so, and one day it is gone. Repeating is cheap. NotFound when gone."""
        ...

    def events(self) -> Sequence[RuntimeEvent]:
        """Those kept, oldest first."""
        ...

    def watch(self) -> Subscription: ...

    def console(self, machine_id: str) -> Console:
        """NotFound without such a machine, FailedPrecondition when it has no console at present."""
        ...
