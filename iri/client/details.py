"""Merges objects with their details, which another service lists.

The merged object is the identical one as last time as long as object and detail are: callers compare with `is`, and
skip what has not changed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Generic, TypeVar

import msgspec
from msgspec.structs import replace

from iri.client.list_decoder import ListDecoder
from iri.errors import Unimplemented
from iri.machine import MachineDetail, RuntimeMachine
from iri.proto.gitvirt.host.v1alpha1 import api_pb2 as pb
from iri.volume import RuntimeVolume, VolumeDetail
from iri.wire.message_codec import freeze

Described = TypeVar("Described", RuntimeMachine, RuntimeVolume)
Detail = TypeVar("Detail", MachineDetail, VolumeDetail)


class ObjectDetail(msgspec.Struct, Generic[Detail], frozen=True):
    """A detail and the object that it belongs to."""

    id: str
    detail: Detail


class DetailMerger(Generic[Described, Detail]):
    """Of one kind of object. `decode` decodes one detail of a response."""

    def __init__(self, decode: Callable[[bytes], ObjectDetail[Detail]]) -> None:
        self._known: ListDecoder[ObjectDetail[Detail]] = ListDecoder(decode)
        self._merged: dict[str, tuple[Described, Detail, Described]] = {}

    def decode(self, response: bytes) -> Mapping[str, Detail]:
        found = self._known.decode(response, is_complete=True)
        return {description.id: description.detail for description in found}

    def merge(
        self, items: Mapping[str, Described], describe: Callable[[], Mapping[str, Detail]]
    ) -> Mapping[str, Described]:
        """The objects with details where `describe` returns one; all without, if it raises Unimplemented."""
        try:
            details = describe()
        except Unimplemented:
            return items
        known = self._merged
        fresh: dict[str, tuple[Described, Detail, Described]] = {}
        for id, detail in details.items():
            item = items.get(id)
            if item is None:
                continue
            before = known.get(id)
            if before is None or before[0] is not item or before[1] is not detail:
                before = item, detail, replace(item, detail=detail)
            fresh[id] = before
        self._merged = fresh
        return {**items, **{id: parts[2] for id, parts in fresh.items()}}


def decode_machine_detail(data: bytes) -> ObjectDetail[MachineDetail]:
    message = pb.MachineDescription.FromString(data)
    return ObjectDetail(message.machine_id, freeze(MachineDetail, message))


def decode_volume_detail(data: bytes) -> ObjectDetail[VolumeDetail]:
    message = pb.VolumeDescription.FromString(data)
    return ObjectDetail(message.volume_id, freeze(VolumeDetail, message))
