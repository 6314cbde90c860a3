"""Events to messages and back, and which events a ListEvents request selects.

The published message has no field for the kind of object that an event is about, so an annotation carries it; an event
without the annotation, from another runtime, is about the main kind of its service.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable

from iri.proto.event.v1alpha1 import api_pb2 as pb
from iri.proto.machine.v1alpha1 import api_pb2 as machine_pb
from iri.proto.volume.v1alpha1 import api_pb2 as volume_pb
from iri.runtime import KIND_NAMES, RuntimeEvent, RuntimeKind
from iri.wire.message_codec import encode, freeze

EventQuery = machine_pb.EventFilter | volume_pb.EventFilter

KIND_ANNOTATION = "gitvirt.dev/kind"
KINDS = {name: kind for kind, name in KIND_NAMES.items()}


def encode_event(event: RuntimeEvent) -> pb.Event:
    """With the annotation that names the object's kind."""
    message = encode(pb.Event, event)
    message.spec.involved_object_meta.annotations[KIND_ANNOTATION] = KIND_NAMES[event.kind]
    return message


def decode_event(message: pb.Event, default: RuntimeKind) -> RuntimeEvent:
    named = message.spec.involved_object_meta.annotations.get(KIND_ANNOTATION, "")
    return freeze(RuntimeEvent, message, kind=KINDS.get(named, default))


def select_events(
    events: Iterable[RuntimeEvent], kinds: Collection[RuntimeKind], query: EventQuery
) -> list[pb.Event]:
    return [encode_event(event) for event in events if event.kind in kinds and is_selected(event, query)]


def is_selected(event: RuntimeEvent, query: EventQuery) -> bool:
    """The time window includes both its ends and counts only when both are set."""
    if query.id and event.id != query.id:
        return False
    first, last = query.events_from_time, query.events_to_time
    if first > 0 and last > 0 and not first <= event.time <= last:
        return False
    return all(event.labels.get(key) == value for key, value in query.label_selector.items())
