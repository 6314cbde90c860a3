"""Events to messages and back. The published message has no field for the kind of object that an event is about, so an
annotation says it; events of other runtimes are taken to be about their service's main kind.
"""

from __future__ import annotations

from iri.proto.event.v1alpha1 import api_pb2 as pb
from iri.runtime import KIND_NAMES, Event, Kind
from iri.wire.mirror import fill, freeze

KIND_ANNOTATION = "gitvirt.dev/kind"
KINDS = {name: kind for kind, name in KIND_NAMES.items()}


def event_message(event: Event) -> pb.Event:
    message = pb.Event()
    fill(message, event)
    message.spec.involved_object_meta.annotations[KIND_ANNOTATION] = KIND_NAMES[event.kind]
    return message


def event_of(message: pb.Event, default: Kind) -> Event:
    named = message.spec.involved_object_meta.annotations.get(KIND_ANNOTATION, "")
    return freeze(Event, message, kind=KINDS.get(named, default))
