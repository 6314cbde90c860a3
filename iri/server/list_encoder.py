"""Selects and encodes lists. An object that is the identical one as last time is not encoded again.

With thousands of objects and callers that list every few seconds, encoding is most of the work of a server. Identity is
enough to know that nothing changed, because objects are frozen; a runtime returns the identical object while it is
unchanged (iri.runtime.Runtime.objects).

A response is whole or an error: a list that exceeds a message is refused, never cut, because a caller takes a missing
object for gone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Generic

from google.protobuf.message import Message

from iri.errors import ResourceExhausted
from iri.runtime import KIND_NAMES, AnyObject, RuntimeKind
from iri.wire.connection import LARGEST_MESSAGE_BYTES
from iri.wire.list_items import join_items


class ListEncoder(Generic[AnyObject]):
    """For the objects of one kind. Thread-safe: an entry is replaced as a whole, and encoding twice is harmless."""

    def __init__(self, kind: type[AnyObject], encode: Callable[[AnyObject], Message]) -> None:
        self._kind: type[AnyObject] = kind
        self._encode: Callable[[AnyObject], Message] = encode
        self._encoded: dict[str, tuple[AnyObject, bytes]] = {}

    def encode(self, objects: Mapping[str, AnyObject], id: str, labels: Mapping[str, str]) -> bytes:
        """The encoded response with the selected objects: the one with that id, else those with all of these labels."""
        parts = [self._bytes(item) for item in select_objects(objects, id, labels)]
        if not id and not labels:
            self._forget(objects)
        response = join_items(parts)
        if len(response) > LARGEST_MESSAGE_BYTES:
            raise ResourceExhausted(describe_excess(self._kind, len(parts), len(response)))
        return response

    def _bytes(self, item: AnyObject) -> bytes:
        """The kept encoding, if the object is the identical one."""
        known = self._encoded.get(item.id)
        if known is not None and known[0] is item:
            return known[1]
        encoded = self._encode(item).SerializeToString()
        self._encoded[item.id] = (item, encoded)
        return encoded

    def _forget(self, objects: Mapping[str, AnyObject]) -> None:
        """Drops the entries of objects that do not exist any more, once they are the larger part."""
        if len(self._encoded) > 2 * len(objects) + 16:
            self._encoded = {id: known for id, known in self._encoded.copy().items() if id in objects}


def select_objects(
    objects: Mapping[str, AnyObject], id: str, labels: Mapping[str, str]
) -> Iterable[AnyObject]:
    """An id ignores labels."""
    if id:
        return [objects[id]] if id in objects else []
    found: Iterable[AnyObject] = objects.values()
    # A label at a time keeps the loop over thousands of objects as tight as it can be.
    for key, value in labels.items():
        found = [item for item in found if item.labels.get(key) == value]
    return found


def describe_excess(kind: RuntimeKind, count: int, size: int) -> str:
    """The error of a list that is too large for one response, with what the caller can do: pages are not in the protocol."""
    return (
        f"{count} {KIND_NAMES[kind].lower()}s take {size / 2**20:.1f} MiB and a response holds "
        f"{LARGEST_MESSAGE_BYTES // 2**20} MiB: ask for fewer, by id or by label"
    )
