"""gitvirt.host.v1alpha1.Host over any runtime: one method per call.

It carries what IronCore's services have no call for: the host, classes to offer, resize, details, and watches. A watch is
a stream that lasts until its caller disconnects or the server stops, and each takes a thread of the server; so both ends
close its subscription, and PATIENCE_SECONDS bounds how late the thread notices.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TypeVar

from iri.change import Resize
from iri.host import RuntimeClasses, RuntimeMachineClass, RuntimeVolumeClass
from iri.machine import RuntimeMachine
from iri.proto.gitvirt.host.v1alpha1 import api_pb2 as pb
from iri.runtime import ChangeNotice, ChangeType, Runtime, RuntimeKind, Subscription
from iri.server import request_checks
from iri.server.object_services import build_change_call
from iri.volume import RuntimeSnapshot, RuntimeVolume
from iri.wire.calls import HOST
from iri.wire.message_codec import encode, fill, freeze

T = TypeVar("T")
KINDS: dict[RuntimeKind | None, pb.ObjectKind.ValueType] = {
    None: pb.OBJECT_KIND_ALL,
    RuntimeMachine: pb.OBJECT_KIND_MACHINE,
    RuntimeVolume: pb.OBJECT_KIND_VOLUME,
    RuntimeSnapshot: pb.OBJECT_KIND_VOLUME_SNAPSHOT,
}
CHANGES: dict[ChangeType, pb.Change.ValueType] = {
    ChangeType.RESYNC: pb.CHANGE_RESYNC,
    ChangeType.CREATED: pb.CHANGE_CREATED,
    ChangeType.CHANGED: pb.CHANGE_CHANGED,
    ChangeType.DELETED: pb.CHANGE_DELETED,
}
# Bounds how long a watch lives after its caller vanished without closing the connection.
PATIENCE_SECONDS = 30.0


class HostService:
    """One per server, as it knows the server's watches."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime
        self._watches: set[ActiveWatch] = set()
        self._is_stopping = False
        self.resize_machine = build_change_call(runtime, Resize, HOST["ResizeMachine"])

    def get_host(self, _: pb.GetHostRequest) -> pb.GetHostResponse:
        return pb.GetHostResponse(host=encode(pb.HostInfo, self._runtime.about().host))

    def set_classes(self, request: pb.SetClassesRequest) -> pb.SetClassesResponse:
        """Checks all classes before it replaces any."""
        request_checks.check_classes(request)
        classes = RuntimeClasses(
            machines=tuple(freeze(RuntimeMachineClass, item) for item in request.machine_classes),
            volumes=tuple(freeze(RuntimeVolumeClass, item) for item in request.volume_classes),
        )
        self._runtime.set_classes(classes)
        return pb.SetClassesResponse()

    def describe_machines(self, request: pb.DescribeMachinesRequest) -> pb.DescribeMachinesResponse:
        response = pb.DescribeMachinesResponse()
        for machine in select_named(self._runtime.objects(RuntimeMachine), request.machine_ids):
            fill(response.machines.add(machine_id=machine.id), machine.detail)
        return response

    def describe_volumes(self, request: pb.DescribeVolumesRequest) -> pb.DescribeVolumesResponse:
        response = pb.DescribeVolumesResponse()
        for volume in select_named(self._runtime.objects(RuntimeVolume), request.volume_ids):
            fill(response.volumes.add(volume_id=volume.id), volume.detail)
        return response

    def watch_events(
        self, _: pb.WatchEventsRequest, on_disconnect: Callable[[Callable[[], None]], object]
    ) -> Iterator[pb.WatchEventsResponse]:
        """Yields notices until the caller or the server closes the watch."""
        watch = ActiveWatch(self._runtime.watch())
        self._watches.add(watch)
        if self._is_stopping or on_disconnect(watch.close) is False:
            watch.close()
        try:
            while not watch.is_closed:
                for notice in watch.subscription.next(PATIENCE_SECONDS):
                    yield encode_notice(notice)
        finally:
            self._watches.discard(watch)
            watch.close()

    def stop(self) -> None:
        """Ends the watches, which would outlast any time that the server gives to calls."""
        self._is_stopping = True
        for watch in tuple(self._watches):
            watch.close()


class ActiveWatch:
    """One stream's subscription, until its caller disconnects or the server stops."""

    def __init__(self, subscription: Subscription) -> None:
        self.subscription = subscription
        self.is_closed = False

    def close(self) -> None:
        self.is_closed = True
        self.subscription.close()


def select_named(objects: Mapping[str, T], ids: Iterable[str]) -> Iterator[T]:
    """The named objects that exist, each once; all objects when no id is given."""
    return (objects[id] for id in dict.fromkeys(ids) or objects if id in objects)


def encode_notice(notice: ChangeNotice) -> pb.WatchEventsResponse:
    return pb.WatchEventsResponse(kind=KINDS[notice.kind], id=notice.id, change=CHANGES[notice.what])
