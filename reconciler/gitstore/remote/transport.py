"""What the store asks of a remote: list refs, fetch them into the mirror, move them by compare-and-swap.

Owns the protocol and its outcomes, which are values. It must not know how bytes travel; git_transport.py does.

A push has four ends, and a caller must keep them apart: it happened; another writer was first (read again); the server does not want it (a person must
act); or the remote could not be used, where `is_unknown` says whether it may have happened nevertheless.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol, TypeAlias

ObjectId: TypeAlias = str
"""40 hexadecimal digits."""


class RemoteErrorKind(StrEnum):
    """Where an `Unavailable` comes from, which is also who can cure it."""

    NETWORK = "network"
    AUTH = "auth"
    PROTOCOL = "protocol"
    SERVER = "server"  # it answered with an error of its own: disk full, 5xx
    MIRROR = "mirror"  # this side: our disk, our git program


@dataclass(frozen=True, slots=True)
class RemoteUnavailable:
    """The remote could not be used. Nothing was changed, unless `is_unknown`: then a push may have landed.

    `is_timeout`: the call took all of its time, so that more time might do."""

    kind: RemoteErrorKind
    cause: str
    cure: str
    is_unknown: bool = False
    is_timeout: bool = False


@dataclass(frozen=True, slots=True)
class PushRefused:
    """The server rejected this content (a hook, branch protection): pushing the same again fails again."""

    refs: tuple[str, ...]
    words: str
    is_checked_out: bool = False  # the remote is not bare, and has a branch of these checked out


@dataclass(frozen=True, slots=True)
class PushConflict:
    """Someone else moved a ref first. `refs` is where the pushed refs are now on the remote."""

    refs: Mapping[str, ObjectId | None]


@dataclass(frozen=True, slots=True)
class RefsPushed:
    """Every ref is on the remote as asked."""

    refs: Mapping[str, ObjectId | None]


@dataclass(frozen=True, slots=True)
class RefsListed:
    """`default_branch` is what the remote's HEAD points to, when it says so."""

    refs: Mapping[str, ObjectId]
    default_branch: str | None = None


@dataclass(frozen=True, slots=True)
class RefsFetched:
    """The mirror holds the needed refs as the remote has them. `missing` were asked for by name and are not there."""

    missing: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class RefUpdate:
    """Move `ref` from `old` to `new`. None means that it does not exist: before, or after."""

    ref: str
    old: ObjectId | None
    new: ObjectId | None


class RefSet:
    """Refs by their full names, or by prefixes that end in `/*`. A process may want the reports of hundreds of poollets."""

    def __init__(self, needed: Iterable[str]) -> None:
        names = frozenset(needed)
        self._folders = tuple(name[:-1] for name in names if name.endswith("/*"))
        self._names = names

    def __contains__(self, ref: str) -> bool:
        return ref in self._names or ref.startswith(self._folders)


class Transport(Protocol):
    """`needed` are full ref names, or prefixes that end in `/*`. `seconds` bounds the whole call."""

    def list_refs(self, needed: Sequence[str], seconds: float) -> RefsListed | RemoteUnavailable: ...

    def fetch(self, needed: Sequence[str], seconds: float) -> RefsFetched | RemoteUnavailable: ...

    def push(
        self, updates: Sequence[RefUpdate], seconds: float
    ) -> RefsPushed | PushConflict | PushRefused | RemoteUnavailable: ...
