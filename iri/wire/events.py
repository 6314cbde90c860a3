"""Events and notices to messages and back, and which events a ListEvents request selects.

The published message has no field for the kind of object that an event is about, so an annotation carries it; an event
without the annotation, from another runtime, is about the main kind of its service.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from iri.machine import RuntimeMachine
from iri.proto.event.v1alpha1 import api_pb2 as pb
from iri.proto.gitvirt.host.v1alpha1 import api_pb2 as host_pb
from iri.proto.machine.v1alpha1 import api_pb2 as machine_pb
from iri.proto.volume.v1alpha1 import api_pb2 as volume_pb
from iri.runtime import KIND_NAMES, ChangeNotice, ChangeType, RuntimeEvent, RuntimeKind
from iri.volume import RuntimeSnapshot, RuntimeVolume
from iri.wire.message_codec import encode, freeze

EventQuery = machine_pb.EventFilter | volume_pb.EventFilter

KIND_ANNOTATION = "gitvirt.dev/kind"
OBJECT_KINDS: Mapping[RuntimeKind | None, host_pb.ObjectKind.ValueType] = {
    None: host_pb.OBJECT_KIND_ALL,
    RuntimeMachine: host_pb.OBJECT_KIND_MACHINE,
    RuntimeVolume: host_pb.OBJECT_KIND_VOLUME,
    RuntimeSnapshot: host_pb.OBJECT_KIND_VOLUME_SNAPSHOT,
}
CHANGES = {what: host_pb.Change.Value(f"CHANGE_{what.name}") for what in ChangeType}
KINDS = {name: kind for kind, name in KIND_NAMES.items()}


def encode_event(event: RuntimeEvent) -> pb.Event:
    """With the annotation that names the object's kind."""
    message = encode(pb.Event, event)
    message.spec.involved_object_meta.annotations[KIND_ANNOTATION] = KIND_NAMES[event.kind]
    return message


def decode_event(message: pb.Event, default: RuntimeKind) -> RuntimeEvent:
    """`default` is the kind for events of a runtime that does not name it."""
    named = message.spec.involved_object_meta.annotations.get(KIND_ANNOTATION, "")
    return freeze(RuntimeEvent, message, kind=KINDS.get(named, default))


def encode_notice(notice: ChangeNotice) -> host_pb.WatchEventsResponse:
    """A RESYNC is about no object: its kind is ALL, and its id is empty."""
    return host_pb.WatchEventsResponse(
        kind=OBJECT_KINDS[notice.kind], id=notice.id, change=CHANGES[notice.what]
    )


def decode_notice(message: host_pb.WatchEventsResponse) -> ChangeNotice:
    """A kind or a change that we do not know becomes a RESYNC: listing everything is always right."""
    kind = next((kind for kind, number in OBJECT_KINDS.items() if number == message.kind), None)
    what = next((what for what, number in CHANGES.items() if number == message.change), ChangeType.RESYNC)
    if kind is None or what is ChangeType.RESYNC:
        return ChangeNotice(None, "", ChangeType.RESYNC)
    return ChangeNotice(kind, message.id, what)


def select_events(
    events: Iterable[RuntimeEvent], kinds: Collection[RuntimeKind], query: EventQuery
) -> list[pb.Event]:
    """Those of the kinds that the service serves, in the order in which they are given."""
    return [encode_event(event) for event in events if event.kind in kinds and is_selected(event, query)]


def is_selected(event: RuntimeEvent, query: EventQuery) -> bool:
    """The time window includes both its ends and counts only when both are set."""
    if query.id and event.id != query.id:
        return False
    first, last = query.events_from_time, query.events_to_time
    if first > 0 and last > 0 and not first <= event.time <= last:
        return False
    return all(event.labels.get(key) == value for key, value in query.label_selector.items())
