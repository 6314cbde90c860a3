"""What one step of the world brought. Values only."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from reconciler.gitstore import approval
from reconciler.gitstore.objects.tree import ObjectId
from schemas.kinds import Key
from schemas.problem import Problem


class Confirm(StrEnum):
    """What people confirm by a trailer of a source commit."""

    APPROVAL = approval.TRAILER  # the digest of what awaits approval
    POOL_DESTROYED = "Pool-Destroyed"  # NAME=hostID: that host of the pool is gone with all it had
    POOL_HOST = "Pool-Host"  # NAME=hostID: the grant of the pool moves to that host


@dataclass(frozen=True, slots=True)
class Confirmation:
    about: Confirm
    value: str
    commit: ObjectId
    time: datetime  # when it came into the source branch: of a merged commit, that of the merge


@dataclass(frozen=True, slots=True)
class SourceHold:
    """The source head is not used; the commit `use` is applied instead. `trailer` is what would approve it, where that helps; `cure`
    is what else does."""

    head: ObjectId
    use: ObjectId | None
    message: str
    trailer: str = ""
    code: str = "GV814"
    cure: str = ""


@dataclass(frozen=True, slots=True)
class WorldChanges:
    """`dirty` is everything a decision may come out differently for; paths are those whose files differ from before."""

    dirty: frozenset[Key] = frozenset()
    source_paths: frozenset[str] = frozenset()
    live_paths: frozenset[str] = frozenset()
    problems: tuple[Problem, ...] = ()  # all there are now, not only the new ones
    due: datetime | None = None  # when time alone changes something
    blobs_read: int = 0
