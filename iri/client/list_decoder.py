"""Decodes lists. An item with the same bytes as last time is the identical struct as last time.

A caller lists thousands of objects every few seconds, and few of them have changed; so decoding is a lookup of bytes.
What is kept is the last complete list, and up to SPARE items of partial lists since then.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar

from google.protobuf.message import DecodeError

from iri.errors import Internal
from iri.wire.list_items import split_items

Item = TypeVar("Item")

# Items of partial lists that are kept beside the last complete list.
SPARE = 1024


class ListDecoder(Generic[Item]):
    """The items of one kind of list response."""

    def __init__(self, decode: Callable[[bytes], Item]) -> None:
        self._decode = decode
        self._known: dict[bytes, Item] = {}
        self._complete = 0

    def decode(self, response: bytes, *, is_complete: bool) -> list[Item]:
        """The items of a response. A complete list replaces what is kept; a partial one adds to it."""
        known = self._known
        try:
            items = [(data, known.get(data) or self._decode(data)) for data in split_items(response)]
        except DecodeError:
            raise Internal("the list that the runtime sent cannot be decoded") from None
        if is_complete or len(known) + len(items) > self._complete + SPARE:
            self._known, self._complete = dict(items), len(items)
        else:
            known.update(items)
        return [item for _, item in items]
