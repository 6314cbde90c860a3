"""gitvirt.host.v1alpha1.Host over any runtime: one method per call.

It carries what IronCore's services have no call for: the host, classes to offer, resize, details, and watches. A watch is
a stream that lasts until its caller disconnects or the server stops, and each takes a thread of the server; so both ends
close its subscription, and PATIENCE_SECONDS bounds how late the thread notices.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from google.protobuf.message import Message

from iri.change import Resize
from iri.console_log import PART_BYTES, LogRequest
from iri.errors import ResourceExhausted
from iri.host import RuntimeClasses, RuntimeMachineClass, RuntimeVolumeClass
from iri.proto.gitvirt.host.v1alpha1 import api_pb2 as pb
from iri.runtime import ConsoleLog, Runtime, Subscription
from iri.server import request_checks
from iri.server.object_services import build_change_call
from iri.wire.calls import HOST, MACHINE_CALLS, VOLUME_CALLS, ObjectCalls, build_response
from iri.wire.events import encode_notice
from iri.wire.message_codec import encode, fill, freeze

# Bounds how long a watch lives after its caller vanished without closing the connection.
PATIENCE_SECONDS = 30.0
MOST_LOGS = 8  # readings at a time; other calls need threads too


class HostService:
    """One per server, as it knows the server's watches."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime
        self._watches: set[ActiveWatch] = set()
        self._logs: set[ConsoleLog] = set()
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

    def end_assignments(self, request: pb.EndAssignmentsRequest) -> pb.EndAssignmentsResponse:
        """Checks all ids before it ends any."""
        request_checks.check_assignments(request)
        self._runtime.end_assignments(tuple(request.assignment_ids))
        return pb.EndAssignmentsResponse()

    def hold_starts(self, request: pb.HoldStartsRequest) -> pb.HoldStartsResponse:
        self._runtime.hold_starts(release=request.release)
        return pb.HoldStartsResponse()

    def describe_machines(self, request: pb.DescribeMachinesRequest) -> Message:
        return self._describe(MACHINE_CALLS, request.machine_ids)

    def describe_volumes(self, request: pb.DescribeVolumesRequest) -> Message:
        return self._describe(VOLUME_CALLS, request.volume_ids)

    def _describe(self, calls: ObjectCalls[Any], ids: Iterable[str]) -> Message:
        """The named objects that exist, each once; all objects when no id is given."""
        objects = self._runtime.objects(calls.kind)
        response = build_response(calls.describe)
        for id in dict.fromkeys(ids) or objects:
            if id in objects:
                description = getattr(response, f"{calls.field}s").add(**{f"{calls.field}_id": id})
                fill(description, objects[id].detail)
        return response

    def get_usage(self, _: pb.GetUsageRequest) -> pb.GetUsageResponse:
        return pb.GetUsageResponse(usage=encode(pb.Usage, self._runtime.usage()))

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

    def read_console_log(
        self, request: pb.ReadConsoleLogRequest, on_disconnect: Callable[[Callable[[], None]], object]
    ) -> Iterator[pb.ReadConsoleLogResponse]:
        """Yields parts as fast as the caller takes them. Each reading has a thread of the server, so there are few at a time."""
        request_checks.require_id(request.machine_id, "machine_id")
        if len(self._logs) >= MOST_LOGS:
            raise ResourceExhausted(f"{MOST_LOGS} console logs are read at the moment; try again later")
        reading = LogRequest(tail_lines=request.tail_lines, follow=request.follow, previous=request.previous)
        log = self._runtime.console_log(request.machine_id, reading)
        self._logs.add(log)
        if self._is_stopping or on_disconnect(log.close) is False:
            log.close()
        try:
            while data := log.read():
                for begin in range(0, len(data), PART_BYTES):
                    yield pb.ReadConsoleLogResponse(data=data[begin : begin + PART_BYTES])
        finally:
            self._logs.discard(log)
            log.close()

    def stop(self) -> None:
        """Ends watches and readings, which would outlast any time that the server gives to calls."""
        self._is_stopping = True
        for watch in tuple(self._watches):
            watch.close()
        for log in tuple(self._logs):
            log.close()


class ActiveWatch:
    """One stream's subscription, until its caller disconnects or the server stops."""

    def __init__(self, subscription: Subscription) -> None:
        self.subscription = subscription
        self.is_closed = False

    def close(self) -> None:
        """Called by the thread that serves the stream, by gRPC when the caller disconnects, and by `stop`. May be called again."""
        self.is_closed = True
        self.subscription.close()
