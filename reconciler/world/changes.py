"""What one advance of the World hands to `decide` and `write`. Values only.

`WorldChanges` says where to look, never what to do. `SourceHold` and `Confirmation` are about the source branch as a whole:
why its head is not applied, and what people agree to by trailers of their commits. source/source_head.py makes both.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from reconciler.gitstore import approval
from reconciler.gitstore.objects.tree import ObjectId
from schemas.kinds import Key
from schemas.problem import Problem


class Confirm(StrEnum):
    """A request that people make with a trailer of a source commit. The value is the trailer's name.

    A trailer counts until `live` was made of its commit. So what follows from it must be recorded on `live` in that same commit.
    """

    APPROVAL = approval.TRAILER  # the digest of what awaits approval
    POOL_DESTROYED = approval.POOL_DESTROYED  # NAME=hostID: that host of the pool is gone with all it had
    POOL_HOST = approval.POOL_HOST  # NAME=hostID: the grant of the pool moves to that host


@dataclass(frozen=True, slots=True)
class Confirmation:
    """One trailer of one commit, or one file that states the same, that came into the source branch since the commit that was reconciled last."""

    about: Confirm
    value: str
    commit: ObjectId
    time: datetime  # when it came into the source branch: of a merged commit, that of the merge
    blob: ObjectId = ""  # the content of the file, where it is one
    # What later commits declare or remove: an approval of its deletion is older than that. None: too much to read.
    later: frozenset[Key] | None = frozenset()


@dataclass(frozen=True, slots=True)
class SourceHold:
    """The source head is not used; the commit `use` is applied instead.

    `trailer` is what approves the head, where an approval helps; `cure` is what helps otherwise. `code` is the Problem's code.
    Everything but new source commits goes on meanwhile: reports are read, and status is written.
    """

    head: ObjectId
    use: ObjectId | None
    message: str
    trailer: str = ""
    code: str = "GV814"
    cure: str = ""
    is_unsigned: bool = False  # a signed merge ends it


@dataclass(frozen=True, slots=True)
class WorldChanges:
    """What changed since `World.acknowledge` was called last.

    `dirty` is everything that a decision may come out differently for. It may name too much, which costs time; a key that is
    missing is a decision that is never made. The paths are those whose files differ from before: `write` looks at them again.
    """

    dirty: frozenset[Key] = frozenset()
    source_paths: frozenset[str] = frozenset()
    live_paths: frozenset[str] = frozenset()
    problems: tuple[Problem, ...] = ()  # all there are now, not only the new ones
    due: datetime | None = None  # when time alone changes something
    blobs_read: int = 0
