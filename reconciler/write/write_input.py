"""What writing back needs to know of the world. A World is one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from reconciler.gitstore.objects.tree import File, ObjectId
from reconciler.world.objects.object_state import ObjectState
from schemas.kinds import Key


class WriteInput(Protocol):
    @property
    def source(self) -> ObjectId | None:
        """The source commit that is applied, which is not the head when that is held."""

    @property
    def target(self) -> ObjectId | None: ...

    @property
    def objects(self) -> Mapping[Key, ObjectState]: ...

    @property
    def source_files(self) -> Mapping[str, File]: ...

    @property
    def live_files(self) -> Mapping[str, File]:
        """As a reconciler wrote them last."""

    @property
    def own_live(self) -> ObjectId | None:
        """The newest commit on the target branch that a reconciler wrote; `live_files` are its files."""

    @property
    def foreign_edits(self) -> Sequence[str]:
        """Files that others changed on the target branch since."""

    def is_taken(self, path: str) -> bool:
        """Whether the text of a file of the source goes onto the target branch; a file that cannot be understood does not."""

    def source_keys(self, path: str) -> Sequence[tuple[int, Key]]:
        """The documents of ours in a file of the source: which of the file, and what it declares."""

    def live_keys(self, path: str) -> Sequence[tuple[int, Key]]: ...

    def retained_at(self, path: str) -> Sequence[tuple[int, ObjectState]]:
        """Retained volumes in a file of the target branch; they are not among `known`."""
