"""A map from a key to some keys that costs little where most have one only."""

from __future__ import annotations

from collections.abc import Collection

from schemas.kinds import Key


class Index:
    """A single value is kept alone, without a set around it."""

    __slots__ = ("_held",)

    def __init__(self) -> None:
        self._held: dict[Key, Key | set[Key]] = {}

    def add(self, at: Key, value: Key) -> None:
        found = self._held.get(at)
        if found is None:
            self._held[at] = value
        elif isinstance(found, set):
            found.add(value)
        elif found != value:
            self._held[at] = {found, value}

    def discard(self, at: Key, value: Key) -> None:
        found = self._held.get(at)
        if isinstance(found, set):
            found.discard(value)
            if not found:
                del self._held[at]
        elif found == value:
            del self._held[at]

    def get(self, at: Key) -> Collection[Key]:
        found = self._held.get(at)
        if found is None:
            return ()
        return found if isinstance(found, set) else (found,)
