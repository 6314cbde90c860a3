"""The ids that objects and assignments get: given once, derived from where they come from, so that racing reconcilers agree. Pure."""

from __future__ import annotations

from uuid import UUID, uuid5

from schemas.kinds import Key, Kind

# A document whose values are sealed together must not be changed, so a Secret has no uid.
NAMELESS = frozenset({Kind.SECRET})


def uid(fleet: str, key: Key, commit: str) -> str:
    """The uid of an object that the source commit is the first to declare; declared again after its end it gets another."""
    return "" if key.kind in NAMELESS else str(uuid5(UUID(fleet), f"{key}@{commit}"))


def assignment_id(uid: str, live: str | None) -> str:
    """Of the assignment decided on this commit of `live`: each later decision is on a later commit."""
    return str(uuid5(UUID(uid), live or ""))
