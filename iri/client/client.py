"""A runtime at the other end of one or two sockets. It is a `Runtime` itself and passes the same contract suite.

Machines and volumes may be served by different processes. The host service is optional, as providers other than
gitvirt's have none: details and host information are empty then, and a call that needs the service raises Unimplemented.

List consistency: `objects` is one list call, and a second call for details. The two are not one snapshot: an object may
change in between, so a detail can be newer than its object, and an object that is missing from either has an empty
detail. Callers treat details as information, and decide on spec and status alone.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from google.protobuf.descriptor import MethodDescriptor
from google.protobuf.message import Message
from msgspec import to_builtins

from iri.address import Address
from iri.change import RuntimeChange
from iri.client.details import DetailMerger
from iri.client.list_decoder import ListDecoder
from iri.client.remote_log import RemoteLog
from iri.client.remote_watch import RemoteSubscription
from iri.client.websocket_console import WebSocketConsole
from iri.console_log import LogRequest
from iri.errors import Unimplemented
from iri.exec.console_protocol import ESCAPE
from iri.host import HostInfo, MachineOffer, Offers, RuntimeClasses, RuntimeInfo, VolumeOffer
from iri.machine import RuntimeMachine
from iri.proto.gitvirt.host.v1alpha1 import api_pb2 as host_pb
from iri.proto.machine.v1alpha1 import api_pb2 as machine_pb
from iri.proto.volume.v1alpha1 import api_pb2 as volume_pb
from iri.runtime import AnyObject, RuntimeEvent, RuntimeObject
from iri.usage import RuntimeUsage
from iri.volume import RuntimeVolume
from iri.wire.calls import (
    HOST,
    MACHINES,
    OBJECT_CALLS,
    VOLUMES,
    ObjectCalls,
    assignment_metadata,
    build_change_call,
    build_request,
)
from iri.wire.connection import ServerConnection
from iri.wire.events import decode_event
from iri.wire.message_codec import encode, freeze

AnyOffer = TypeVar("AnyOffer", MachineOffer, VolumeOffer)
# With the kind of the objects that their events are about.
EVENT_SERVICES = ((MACHINES["ListEvents"], RuntimeMachine), (VOLUMES["ListEvents"], RuntimeVolume))
# By the name of the runtime. libvirt-provider keeps a console, also of a client that has disconnected, until it gets Ctrl-].
CONSOLE_FAREWELLS = {"libvirt-provider": ESCAPE}
FAR_FUTURE = (
    1 << 40
)  # the end of a window that has none, in Unix seconds: a provider applies its beginning only if both are set


@dataclass(frozen=True, slots=True)
class Deadlines:
    """In seconds. `status` has its own because it is also the health probe."""

    status: float = 5.0
    list: float = 30.0
    other: float = 15.0


class Client:
    """Takes the address of a machine runtime, of a volume runtime, or of both; they may be the same."""

    def __init__(
        self,
        machines: Address | None = None,
        volumes: Address | None = None,
        deadlines: Deadlines | None = None,
    ) -> None:
        self._deadlines = deadlines or Deadlines()
        self._connections = {
            address: ServerConnection(address) for address in (machines, volumes) if address is not None
        }
        self._machines = self._connections[machines] if machines else None
        self._volumes = self._connections[volumes] if volumes else None
        self._known = {kind: ListDecoder(calls.decode) for kind, calls in OBJECT_CALLS.items()}
        self._details = {kind: DetailMerger(calls) for kind, calls in OBJECT_CALLS.items() if calls.detail}

    def close(self) -> None:
        """Ends the connections. Who holds a watch or a console closes that first."""
        for connection in self._connections.values():
            connection.close()

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def about(self) -> RuntimeInfo:
        """Name and version from a service that exists; the host from the host service, if there is one."""
        service = MACHINES if self._machines else VOLUMES
        version: Any = self._read(service["Version"])
        try:
            host, has_host_service = freeze(HostInfo, self._read(HOST["GetHost"]).host), True
        except Unimplemented:
            host, has_host_service = HostInfo(), False
        return RuntimeInfo(
            name=version.runtime_name,
            version=version.runtime_version,
            host=host,
            has_host_service=has_host_service,
        )

    def offers(self) -> Offers:
        """Empty for a kind without a runtime."""
        return Offers(
            machines=self._list_offers(MACHINES["Status"], "machine_class_status", MachineOffer),
            volumes=self._list_offers(VOLUMES["Status"], "volume_class_status", VolumeOffer),
        )

    def set_classes(self, classes: RuntimeClasses) -> None:
        """Unimplemented for a runtime without a host service: its classes are its operator's alone."""
        machines = [encode(machine_pb.MachineClass, offered) for offered in classes.machines]
        volumes = [encode(volume_pb.VolumeClass, offered) for offered in classes.volumes]
        request = host_pb.SetClassesRequest(machine_classes=machines, volume_classes=volumes)
        self._call(HOST["SetClasses"], request)

    def objects(self, kind: type[AnyObject]) -> Mapping[str, AnyObject]:
        """One complete list, with details. Empty for a kind without a runtime."""
        try:
            return self.add_details(kind, self.select(kind), is_complete=True)
        except Unimplemented:
            return {}

    def select(
        self, kind: type[AnyObject], id: str = "", labels: Mapping[str, str] | None = None
    ) -> Mapping[str, AnyObject]:
        """The objects with that id, else with all of these labels, else all. Without details."""
        calls = OBJECT_CALLS[kind]
        request = calls.list_request(id, labels or {})
        data = self._connection(calls.list).read_bytes(calls.list, request, self._deadlines.list)
        items = self._known[kind].decode(data, is_complete=not id and not labels)
        return {item.id: item for item in items}

    def add_details(
        self, kind: type[AnyObject], items: Mapping[str, AnyObject], *, is_complete: bool
    ) -> Mapping[str, AnyObject]:
        """The objects of one `select`, with details; without any where the runtime has no host service."""
        calls = OBJECT_CALLS[kind]
        ids = [id for id, item in items.items() if may_have_detail(item)]
        if not calls.detail or not ids:
            return items
        named = () if is_complete and len(ids) == len(items) else ids  # without ids, all are described
        request = build_request(calls.describe, **{f"{calls.field}_ids": named})
        connection = self._connection(calls.list)  # the details are those of the runtime that has the objects
        try:
            response = connection.read_bytes(calls.describe, request, self._deadlines.list)
        except Unimplemented:
            return items
        return self._details[kind].merge(items, response)

    def create(self, desired: AnyObject) -> AnyObject:
        """The object as the runtime has recorded it. Idempotent by its uid label."""
        calls: ObjectCalls[AnyObject] = OBJECT_CALLS[type(desired)]
        return calls.decode_created(self._call(calls.create, calls.create_request(desired)))

    def change(self, id: str, change: RuntimeChange, *, assignment: str = "") -> None:
        """A runtime that is not ours ignores the assignment."""
        self._call(*build_change_call(id, change), assignment=assignment)

    def remove(self, kind: type[AnyObject], id: str, *, assignment: str = "") -> None:
        """Orders the removal. NotFound once the object is gone. A runtime that is not ours ignores the assignment."""
        calls = OBJECT_CALLS[kind]
        self._call(calls.remove, calls.remove_request(id), assignment=assignment)

    def end_assignments(self, ids: Collection[str]) -> None:
        """Of machines and of volumes, where two runtimes serve them. Unimplemented for a runtime without a host service."""
        request = build_request(HOST["EndAssignments"], assignment_ids=list(ids))
        for connection in self._connections.values():
            connection.call(HOST["EndAssignments"], request, self._deadlines.other)

    def hold_starts(self, *, release: bool) -> None:
        """Unimplemented for a runtime without a host service."""
        self._call(HOST["HoldStarts"], build_request(HOST["HoldStarts"], release=release))

    def events(self, since: int = 0) -> Sequence[RuntimeEvent]:
        """Unimplemented where no service of the runtime has events."""
        return self._list_events(since, FAR_FUTURE if since else 0, {})

    def events_between(
        self, first: int, last: int, labels: Mapping[str, str] | None = None
    ) -> Sequence[RuntimeEvent]:
        """Events from one second to another, both included; 0 and 0 for all. Oldest first; none where the runtime has no events."""
        try:
            return self._list_events(first, last, labels or {})
        except Unimplemented:
            return ()

    def _list_events(self, first: int, last: int, labels: Mapping[str, str]) -> Sequence[RuntimeEvent]:
        events: list[RuntimeEvent] = []
        refusals: list[Unimplemented] = []
        for method, kind in EVENT_SERVICES:
            request: Any = build_request(method)
            request.filter.events_from_time = first
            request.filter.events_to_time = last
            request.filter.label_selector.update(labels)
            try:
                response: Any = self._connection(method).read(method, request, self._deadlines.list)
            except Unimplemented as error:
                refusals.append(error)
                continue
            events += [decode_event(message, kind) for message in response.events]
        if len(refusals) == len(EVENT_SERVICES):
            raise refusals[0]
        return sorted(events, key=lambda event: event.time)

    def watch(self) -> RemoteSubscription:
        """Unimplemented without a host service: then list periodically."""
        method = HOST["WatchEvents"]
        connection = self._connection(method)
        return RemoteSubscription(
            lambda: connection.stream(method, build_request(method)), self._deadlines.other
        )

    def console_url(self, machine_id: str) -> str:
        """A URL for one connection within a minute. It is a key: never log it, and give it to no other user."""
        request = build_request(MACHINES["Exec"], machine_id=machine_id)
        response: Any = self._call(MACHINES["Exec"], request)
        url: str = response.url
        return url

    def console_farewell(self) -> bytes:
        """What a client sends last when it leaves a console. Empty for runtimes that notice by themselves: a guest would get it."""
        version: Any = self._read(MACHINES["Version"])
        return CONSOLE_FAREWELLS.get(version.runtime_name, b"")

    def console(self, machine_id: str) -> WebSocketConsole:
        farewell = self.console_farewell()
        return WebSocketConsole(self.console_url(machine_id), farewell)

    def console_log(self, machine_id: str, request: LogRequest) -> RemoteLog:
        """Unimplemented without a host service. That, and what else the runtime refuses, is raised by the first `read`."""
        method = HOST["ReadConsoleLog"]
        message = build_request(method, machine_id=machine_id, **to_builtins(request))
        return RemoteLog(self._connection(method).stream(method, message))

    def usage(self) -> RuntimeUsage:
        """Unimplemented without a host service, or without one that measures."""
        return freeze(RuntimeUsage, self._read(HOST["GetUsage"]).usage)

    def _connection(self, method: MethodDescriptor) -> ServerConnection:
        """Unimplemented without an address for the service. The host service is asked at the machine runtime first."""
        service = method.containing_service.name
        connections = {"MachineRuntime": self._machines, "VolumeRuntime": self._volumes}
        connection = connections.get(service, self._machines or self._volumes)
        if connection is None:
            raise Unimplemented(f"{method.name}: there is no runtime for {service}")
        return connection

    def _call(self, method: MethodDescriptor, request: Message, *, assignment: str = "") -> Message:
        metadata = assignment_metadata(assignment)
        return self._connection(method).call(method, request, self._deadlines.other, metadata)

    def _read(self, method: MethodDescriptor) -> Any:
        return self._connection(method).read(method, build_request(method), self._deadlines.other)

    def _list_offers(
        self, method: MethodDescriptor, field: str, offer: type[AnyOffer]
    ) -> tuple[AnyOffer, ...]:
        """Empty where the runtime does not have the service."""
        try:
            response = self._connection(method).read(method, build_request(method), self._deadlines.status)
        except Unimplemented:
            return ()
        return tuple(freeze(offer, item) for item in getattr(response, field))


def may_have_detail(item: RuntimeObject) -> bool:
    """Not a volume that is as desired: nothing is left to say about it."""
    return not (isinstance(item, RuntimeVolume) and item.is_as_desired)
