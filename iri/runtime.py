"""The runtime protocol, which the simulated host, libvirt, and the client at the other end of a socket implement.

Theory of operation. A runtime has desired and observed state in one object: spec is what was ordered, status is what
exists. A call only records an order durably and returns; the runtime makes it real later, and `objects` shows how far
it has come. So a caller sends orders, lists, and compares; it never waits inside of a call.

    step of a change     what a caller sees
    change() returns     spec and `generation` are new, and survive a crash of the runtime
    work goes on         status has the old state; events say what happens
    work is finished     `observed_generation` reaches `generation`, status shows it
    work fails           status stays, a condition or detail has the reason; the runtime tries again by itself

Every call may be repeated: an object with the same uid label is created once, a removal that is under way may be ordered
again, a change that spec has already changes nothing. So a caller that got no answer simply calls again.

A call that got no answer may still be carried out, at any later time. By then the object may have been removed and created again under
its old id, for another assignment (iri.identity.ASSIGNMENT_LABEL). So `change` and `remove` name the assignment of the object that their
caller has seen, and concern no other one. Must never happen: they are carried out on an object with another label than the one named.

A watch carries no state, only the advice to list: the first notice is a RESYNC, and another one follows whenever notices
were lost (too many, or a new connection). Must never happen: an object differs from the last list, and neither a notice
nor a RESYNC was sent.

List consistency. `objects` shows one kind at one moment, all of it or an error: a runtime that cannot list everything
raises, because a caller takes an object that is missing from a list for gone. Two calls are two moments: a machine may
have a volume attached that an earlier list of volumes does not show. What a caller has ordered itself is in every list
that it begins after the order was answered.

The methods are safe to call from several threads at once.

Generic methods take the kind as its type: `runtime.objects(RuntimeMachine)`, `runtime.remove(RuntimeVolume, id)`. A runtime that does
not have a kind offers no classes of it, lists none, and refuses to create one with Unimplemented.

Every method may raise an IRIError. tests/iri/contract says in executable form what else a runtime promises.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from enum import StrEnum
from typing import Protocol, TypeVar

import msgspec

from iri.change import RuntimeChange
from iri.console_log import LogRequest
from iri.host import Offers, RuntimeClasses, RuntimeInfo
from iri.machine import RuntimeMachine
from iri.usage import RuntimeUsage
from iri.volume import RuntimeSnapshot, RuntimeVolume

RuntimeObject = RuntimeMachine | RuntimeVolume | RuntimeSnapshot
RuntimeKind = type[RuntimeObject]
AnyObject = TypeVar("AnyObject", RuntimeMachine, RuntimeVolume, RuntimeSnapshot, RuntimeObject)

# The name of each kind in calls, events and messages.
KIND_NAMES: Mapping[RuntimeKind, str] = {
    RuntimeMachine: "Machine",
    RuntimeVolume: "Volume",
    RuntimeSnapshot: "VolumeSnapshot",
}


class EventType(StrEnum):
    """As in Kubernetes."""

    NORMAL = "Normal"
    WARNING = "Warning"


class RuntimeEvent(msgspec.Struct, frozen=True, kw_only=True):
    """Something that happened to an object, for people. `labels` are the object's; `time` is in Unix seconds."""

    kind: RuntimeKind
    id: str
    labels: Mapping[str, str] = {}
    type: EventType = EventType.NORMAL
    reason: str  # one CamelCase word
    action: str  # what the runtime was doing, never empty
    message: str
    time: int


class ChangeType(StrEnum):
    """What a notice reports about an object."""

    CREATED = "created"
    CHANGED = "changed"
    DELETED = "deleted"  # not in the lists any more
    RESYNC = "resync"  # notices were lost, or the watch has just begun: list everything


class ChangeNotice(msgspec.Struct, frozen=True):
    """Something about an object has changed, its status included. A RESYNC has no kind and no id."""

    kind: RuntimeKind | None
    id: str
    what: ChangeType


class Subscription(Protocol):
    """Notices for one watcher. `next` is for one thread; `close` may come from another and ends a waiting `next`."""

    def next(self, timeout_seconds: float) -> tuple[ChangeNotice, ...]:
        """Waits for notices, at most so long; empty when there were none. The first one is a RESYNC."""

    def close(self) -> None:
        """Ends the watch, and a `next` that waits in another thread. May be called again."""


class Console(Protocol):
    """One connection to a guest's serial console."""

    def read(self, size: int) -> bytes:
        """Waits for output. Empty: the console has ended."""

    def write(self, data: bytes) -> None:
        """Waits until the guest's side takes the data; drops the rest when the console has ended."""

    def resize(self, columns: int, rows: int) -> None:
        """The client's window; without effect where the console has no window."""

    def close(self) -> None:
        """Ends a `read` that waits in another thread. May be called again."""

    def exit_status(self) -> int | None:
        """The exit status of the program behind the console; None while it runs, and when it has none."""


class ConsoleLog(Protocol):
    """One reading of a serial console's log."""

    def read(self) -> bytes:
        """Waits for the next part. Empty: the log has ended, or `close` was called. May raise what the call would have raised."""

    def close(self) -> None:
        """Ends a `read` that waits in another thread. May be called again."""


class Runtime(Protocol):
    """What every runtime does, in fourteen methods. A caller cannot tell a client of a socket from the runtime behind it."""

    def about(self) -> RuntimeInfo:
        """The runtime's name and version, and the host below. Cheap."""

    def offers(self) -> Offers:
        """The classes that can be used, and the totals of the empty host. Answers within five seconds."""

    def set_classes(self, classes: RuntimeClasses) -> None:
        """Replaces the classes on offer. Objects keep the class with which they were created."""

    def objects(self, kind: type[AnyObject]) -> Mapping[str, AnyObject]:
        """All of a kind by id, those under deletion included. A snapshot: others may write while it is read.

        An object that has not changed should be the identical one as last time; its encoding is reused then.
        """

    def create(self, desired: AnyObject) -> AnyObject:
        """`desired` carries labels, annotations and spec; the rest of it is ignored. Returns the object with its id.

        When an object of the same uid label exists, that one is returned, unchanged. See iri.identity.
        """

    def change(self, id: str, change: RuntimeChange, *, assignment: str = "") -> None:
        """Records the change by the rules of iri.change. NotFound for an unknown id, and for an object of another assignment."""

    def remove(self, kind: type[AnyObject], id: str, *, assignment: str = "") -> None:
        """Orders the removal: sets `deleted_at` and returns. NotFound once the object is gone, or one of another assignment has its id."""

    def end_assignments(self, ids: Collection[str]) -> None:
        """From when it returns on, nothing is created or attached under these assignments (iri.identity.ASSIGNMENT_LABEL), by no call that was made before.

        Survives a restart; the newest `iri.ended_assignments.KEPT` are kept.
        """

    def hold_starts(self, *, release: bool) -> None:
        """From the next boot of the host on, machines stay off until their power is ordered On; `release` starts those of the last boot."""

    def events(self, since: int = 0) -> Sequence[RuntimeEvent]:
        """The recent events from a second on, oldest first. Bounded in number and age; none survives a restart."""

    def watch(self) -> Subscription:
        """Notices from now on. ResourceExhausted when too many watch already."""

    def console(self, machine_id: str) -> Console:
        """NotFound without such a machine, FailedPrecondition when it has no console at present."""

    def console_log(self, machine_id: str, request: LogRequest) -> ConsoleLog:
        """NotFound without such a machine, FailedPrecondition when it has no such log. It is read also while the machine is off."""

    def usage(self) -> RuntimeUsage:
        """What machines that run, and the host, have used until now. Unimplemented for a runtime that does not measure."""
