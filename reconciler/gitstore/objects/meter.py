"""Reads folders of trees that anybody may have written, up to a limit: a few objects can name the same folder again and again, and so
unfold to millions of files.

Each folder counts each time that it is read, by its header first and its entries next, before one of them is parsed. So the cost is
bounded by the limits and not by what the objects unfold to. It knows neither paths nor what the files are.
"""

from __future__ import annotations

from collections.abc import Callable

from reconciler.gitstore.errors import MalformedError, TooLargeError
from reconciler.gitstore.objects.database import ObjectType
from reconciler.gitstore.objects.tree import ID_BYTES, ObjectId, Read
from reconciler.gitstore.repo import DiffLimits

_SIDES = 2  # a difference reads the old folders and the new ones


class Meter:
    """For one difference. `listing` raises TooLargeError once the limits are passed."""

    def __init__(
        self, header: Callable[[ObjectId], tuple[ObjectType, int]], read: Read, limits: DiffLimits
    ) -> None:
        self._header, self._read, self._limits = header, read, limits
        self._entries = _SIDES * limits.entries
        self._bytes = _SIDES * limits.folder_bytes

    def listing(self, id: ObjectId) -> bytes:
        type, size = self._header(id)
        if type is not ObjectType.TREE:
            raise MalformedError(f"object {id} is a {type.name.lower()} and not a tree", "run `git fsck`")
        self._bytes -= size
        if self._bytes < 0:
            raise TooLargeError(f"its folders have more than {self._limits.folder_bytes:,} bytes")
        data = self._read(id)
        self._entries -= count_entries(data, self._entries + 1)
        if self._entries < 0:
            raise TooLargeError(f"its folders have more than {self._limits.entries:,} entries")
        return data


def count_entries(tree: bytes, most: int) -> int:
    """The entries of a raw tree, and no more than `most`: without keeping any of them."""
    place, found = 0, 0
    while found < most and (place := tree.find(b"\0", place) + 1):
        place += ID_BYTES
        found += 1
    return found
