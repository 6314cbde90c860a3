"""Merges objects with their details, which another service lists.

The merged object is the identical one as last time as long as object and detail are: callers compare with `is`, and
skip what has not changed.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec.structs import replace

from iri.client.list_decoder import ListDecoder
from iri.runtime import AnyObject
from iri.wire.calls import ObjectCalls


class DetailMerger:
    """Of one kind of object."""

    def __init__(self, calls: ObjectCalls[Any]) -> None:
        self._details = ListDecoder(calls.decode_detail)
        self._merged: dict[str, tuple[object, object, Any]] = {}  # object, detail, and the two together

    def merge(self, items: Mapping[str, AnyObject], response: bytes) -> Mapping[str, AnyObject]:
        """The objects, with a detail where the response has one. A detail of an unknown object is dropped."""
        fresh: dict[str, tuple[object, object, Any]] = {}
        for id, detail in self._details.decode(response, is_complete=True):
            item = items.get(id)
            if item is None:
                continue
            before = self._merged.get(id)
            if before is None or before[0] is not item or before[1] is not detail:
                before = item, detail, replace(item, detail=detail)
            fresh[id] = before
        self._merged = fresh
        return {**items, **{id: parts[2] for id, parts in fresh.items()}}
