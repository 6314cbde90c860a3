"""Puts faults around the calls of a host, with or without a socket.

A server enters `wrap_calls` around each call; without a socket, a FaultInjectingRuntime wraps the runtime.
Both name a call as it is named on the wire, so one rule means the same in both. Calls of the control service are never
delayed and never fail: a test must be able to end a fault.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager

from iri.change import RuntimeChange
from iri.console_log import LogRequest
from iri.errors import Unimplemented
from iri.host import Offers, RuntimeClasses, RuntimeInfo
from iri.runtime import KIND_NAMES, AnyObject, Console, ConsoleLog, Runtime, RuntimeEvent, Subscription
from iri.server.call_handlers import CallWrapper
from iri.simulated.control import SERVICE
from iri.simulated.faults.fault_rules import FaultRules
from iri.simulated.host import SimulatedHost
from iri.usage import RuntimeUsage
from iri.wire.calls import CHANGE_CALLS, HOST

CONTROL_CALLS = frozenset(method.name for method in SERVICE.methods)


def wrap_calls(host: SimulatedHost, rules: FaultRules) -> CallWrapper:
    """What a server enters around each call. A provider without a host service is imitated here too.

    The missing host service is imitated inside of the rules, so that such calls are counted and can be delayed as well.
    """

    @contextmanager
    def wrap(call: str) -> Iterator[None]:
        if call in CONTROL_CALLS:
            yield
            return
        with rules.wrap(call):
            if call in HOST and host.model.quirks.has_no_host_service:
                raise Unimplemented("this runtime has no host service")
            yield

    return wrap


class FaultInjectingRuntime:
    """Implements iri.runtime.Runtime in front of another one.

    A change has the name of its own call, so a rule can make AttachVolume fail and leave other changes alone.
    """

    def __init__(self, runtime: Runtime, wrapper: CallWrapper) -> None:
        self._runtime = runtime
        self._wrap = wrapper

    def about(self) -> RuntimeInfo:
        with self._wrap("Version"):
            return self._runtime.about()

    def offers(self) -> Offers:
        with self._wrap("Status"):
            return self._runtime.offers()

    def set_classes(self, classes: RuntimeClasses) -> None:
        with self._wrap("SetClasses"):
            self._runtime.set_classes(classes)

    def objects(self, kind: type[AnyObject]) -> Mapping[str, AnyObject]:
        with self._wrap(f"List{KIND_NAMES[kind]}s"):
            return self._runtime.objects(kind)

    def create(self, desired: AnyObject) -> AnyObject:
        with self._wrap(f"Create{KIND_NAMES[type(desired)]}"):
            return self._runtime.create(desired)

    def change(self, id: str, change: RuntimeChange, *, assignment: str = "") -> None:
        with self._wrap(CHANGE_CALLS[type(change)].name):
            self._runtime.change(id, change, assignment=assignment)

    def remove(self, kind: type[AnyObject], id: str, *, assignment: str = "") -> None:
        with self._wrap(f"Delete{KIND_NAMES[kind]}"):
            self._runtime.remove(kind, id, assignment=assignment)

    def end_assignments(self, ids: Collection[str]) -> None:
        with self._wrap("EndAssignments"):
            self._runtime.end_assignments(ids)

    def hold_starts(self, *, release: bool) -> None:
        with self._wrap("HoldStarts"):
            self._runtime.hold_starts(release=release)

    def events(self, since: int = 0) -> Sequence[RuntimeEvent]:
        with self._wrap("ListEvents"):
            return self._runtime.events(since)

    def watch(self) -> Subscription:
        with self._wrap("WatchEvents"):
            return self._runtime.watch()

    def console(self, machine_id: str) -> Console:
        with self._wrap("Exec"):
            return self._runtime.console(machine_id)

    def console_log(self, machine_id: str, request: LogRequest) -> ConsoleLog:
        with self._wrap("ReadConsoleLog"):
            return self._runtime.console_log(machine_id, request)

    def usage(self) -> RuntimeUsage:
        with self._wrap("GetUsage"):
            return self._runtime.usage()
