"""An earlier revision, as far as it differs: what its files held that are changed or gone now."""

from __future__ import annotations

from dataclasses import dataclass, field

from schemas.kinds import Key
from schemas.validate.tree import AnyEntry


@dataclass(frozen=True, slots=True)
class Past:
    revision: str  # as somebody named it
    entries: tuple[AnyEntry, ...]  # of the files that differ
    same: frozenset[str]  # paths of files that are the same now
    unreadable: tuple[str, ...] = ()  # files of then that do not parse
    by_key: dict[Key, AnyEntry] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        by_key: dict[Key, AnyEntry] = {}
        for entry in self.entries:
            by_key.setdefault(entry.key, entry)
        object.__setattr__(self, "by_key", by_key)

    def before(self, now: AnyEntry) -> AnyEntry | None:
        """What an object of today was then, or None if it is new."""
        return now if now.path in self.same else self.by_key.get(now.key)
