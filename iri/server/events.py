"""Which of a runtime's events a ListEvents request asks for."""

from __future__ import annotations

from collections.abc import Collection

from iri.proto.event.v1alpha1 import api_pb2 as event_pb
from iri.proto.machine.v1alpha1 import api_pb2 as machine_pb
from iri.proto.volume.v1alpha1 import api_pb2 as volume_pb
from iri.runtime import Event, Kind, Runtime
from iri.wire.events import event_message

Filter = machine_pb.EventFilter | volume_pb.EventFilter


def listed_events(runtime: Runtime, kinds: Collection[Kind], wanted: Filter) -> list[event_pb.Event]:
    return [
        event_message(event) for event in runtime.events() if event.kind in kinds and is_wanted(event, wanted)
    ]


def is_wanted(event: Event, wanted: Filter) -> bool:
    """The window holds both its ends and counts only when both are set."""
    if wanted.id and event.id != wanted.id:
        return False
    first, last = wanted.events_from_time, wanted.events_to_time
    if first > 0 and last > 0 and not first <= event.time <= last:
        return False
    return all(event.labels.get(key) == value for key, value in wanted.label_selector.items())
