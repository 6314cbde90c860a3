"""Puts faults around the calls of a host: for a server as what it enters around each call, and for use without a socket
as a runtime in front of the runtime. Calls have the names that they have on the wire.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager

from iri.change import (
    AttachInterface,
    AttachVolume,
    DetachInterface,
    DetachVolume,
    ExpandVolume,
    Resize,
    RuntimeChange,
    SetAnnotations,
    SetPower,
    UpdateVolume,
)
from iri.errors import Unimplemented
from iri.host import Offers, RuntimeClasses, RuntimeInfo
from iri.proto.gitvirt.host.v1alpha1 import api_pb2 as host_pb
from iri.runtime import KIND_NAMES, AnyObject, Console, Runtime, RuntimeEvent, Subscription
from iri.simulated.control import SERVICE
from iri.simulated.faults.fault_rules import FaultRules
from iri.simulated.host import SimulatedHost

CallWrapper = Callable[[str], AbstractContextManager[None]]

CHANGES: Mapping[type[RuntimeChange], str] = {
    SetAnnotations: "UpdateMachineAnnotations",
    SetPower: "UpdateMachinePower",
    Resize: "ResizeMachine",
    AttachVolume: "AttachVolume",
    DetachVolume: "DetachVolume",
    UpdateVolume: "UpdateVolume",
    AttachInterface: "AttachNetworkInterface",
    DetachInterface: "DetachNetworkInterface",
    ExpandVolume: "ExpandVolume",
}
CONTROL_CALLS = frozenset(method.name for method in SERVICE.methods)
HOST_CALLS = frozenset(method.name for method in host_pb.DESCRIPTOR.services_by_name["Host"].methods)


def wrap_calls(host: SimulatedHost, faults: FaultRules) -> CallWrapper:
    @contextmanager
    def hindered(call: str) -> Iterator[None]:
        if call in CONTROL_CALLS:
            yield
            return
        with faults.around(call):
            if call in HOST_CALLS and host.nature.behaviour.has_no_host_service:
                raise Unimplemented("this runtime has no host service")
            yield

    return hindered


class FaultInjectingRuntime:
    """Implements iri.runtime.Runtime in front of another one."""

    def __init__(self, runtime: Runtime, around: CallWrapper) -> None:
        self._runtime = runtime
        self._around = around

    def about(self) -> RuntimeInfo:
        with self._around("Version"):
            return self._runtime.about()

    def offers(self) -> Offers:
        with self._around("Status"):
            return self._runtime.offers()

    def set_classes(self, classes: RuntimeClasses) -> None:
        with self._around("SetClasses"):
            self._runtime.set_classes(classes)

    def objects(self, kind: type[AnyObject]) -> Mapping[str, AnyObject]:
        with self._around(f"List{KIND_NAMES[kind]}s"):
            return self._runtime.objects(kind)

    def create(self, wanted: AnyObject) -> AnyObject:
        with self._around(f"Create{KIND_NAMES[type(wanted)]}"):
            return self._runtime.create(wanted)

    def change(self, id: str, change: RuntimeChange) -> None:
        with self._around(CHANGES[type(change)]):
            self._runtime.change(id, change)

    def remove(self, kind: type[AnyObject], id: str) -> None:
        with self._around(f"Delete{KIND_NAMES[kind]}"):
            self._runtime.remove(kind, id)

    def events(self) -> Sequence[RuntimeEvent]:
        with self._around("ListEvents"):
            return self._runtime.events()

    def watch(self) -> Subscription:
        with self._around("WatchEvents"):
            return self._runtime.watch()

    def console(self, machine_id: str) -> Console:
        with self._around("Exec"):
            return self._runtime.console(machine_id)
