"""A ground for writeback, made of texts: what stands in the source and on the target branch, as a World would tell it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import cast

from reconciler.gitstore.objects.database import ObjectType, hash_object
from reconciler.gitstore.objects.tree import File, FileMode, ObjectId
from reconciler.gitstore.repo import Edit, ExistingBlob, Identity
from reconciler.plan.types import Change, Plan
from reconciler.world.objects.object_state import DocumentPlace, ObjectState, Origin
from reconciler.world.record import NOTHING, record_of
from reconciler.world.world import World
from reconciler.write import Written, draft
from reconciler.write.drafting import Signing
from schemas.kinds import Key
from schemas.manifest import Document, parse
from schemas.model import decode

NOW = datetime(2030, 1, 1, tzinfo=UTC)
SIGNING = Signing(Identity("gitvirt", "gitvirt@localhost"), NOW, "main", "refs/heads/live")


def file_of(path: str, text: str) -> File:
    return File(path, FileMode.FILE, hash_object(ObjectType.BLOB, text.encode()).id)


@dataclass
class Site:
    source_texts: Mapping[str, str]
    live_texts: Mapping[str, str]
    frozen: frozenset[str] = frozenset()  # paths of the source that nobody understands
    ordered: frozenset[Key] = frozenset()  # whatever the source says, live orders them gone
    source: ObjectId | None = "5" * 40
    target: ObjectId | None = "7" * 40
    objects: dict[Key, ObjectState] = field(default_factory=dict)
    foreign_edits: Sequence[str] = ()
    own: ObjectId = ""
    is_news: bool = False

    def __post_init__(self) -> None:
        self.source_files = {path: file_of(path, text) for path, text in self.source_texts.items()}
        self.live_files = {path: file_of(path, text) for path, text in self.live_texts.items()}
        for document in self._documents(self.live_texts):
            self.objects[document.key] = ObjectState(
                key=document.key,
                object=decode(document.kind, document.body),
                origin=Origin.GENERATED if "/generated/" in document.path else Origin.LEAVING,
                record=record_of(document.kind, document.body),
                live=DocumentPlace(document.path, document.index),
            )
        for document in self._documents(self.source_texts):
            before = self.objects.get(document.key)
            is_frozen = document.path in self.frozen
            if document.key in self.ordered or (is_frozen and before is None):
                continue
            self.objects[document.key] = ObjectState(
                key=document.key,
                object=decode(document.kind, document.body),
                origin=Origin.FROZEN if is_frozen else Origin.DECLARED,
                record=before.record if before else NOTHING,
                source=DocumentPlace(document.path, document.index),
                live=before.live if before else None,
            )

    def read(self, id: ObjectId) -> bytes:
        texts = (*self.source_texts.values(), *self.live_texts.values())
        return {hash_object(ObjectType.BLOB, text.encode()).id: text.encode() for text in texts}[id]

    def is_taken(self, path: str) -> bool:
        return path not in self.frozen

    def source_keys(self, path: str) -> Sequence[tuple[int, Key]]:
        return self._keys(path, self.source_texts)

    def live_keys(self, path: str) -> Sequence[tuple[int, Key]]:
        return self._keys(path, self.live_texts)

    @property
    def retained_volumes(self) -> Mapping[str, ObjectState]:
        return {}

    @property
    def world(self) -> World:
        """What is written reads no more of a World than this has."""
        return cast(World, self)

    @property
    def own_live(self) -> ObjectId | None:
        return self.own or self.target

    def written(self, *changes: Change, paths: Iterable[str] | None = None, is_news: bool = False) -> Written:
        every = self.source_files.keys() | self.live_files.keys() if paths is None else paths
        plan = Plan(self.source, self.target, changes)
        self.is_news = is_news
        return draft(plan, self.world, every, self.read, SIGNING)

    def live_after(self, *changes: Change, paths: Iterable[str] | None = None) -> dict[str, str]:
        """The texts of the target branch once the draft is on it."""
        found = dict(self.live_texts)
        written = self.written(*changes, paths=paths)
        for path, edit in (written.draft.edits if written.draft else {}).items():
            found.pop(path, None)
            if edit is not None:
                found[path] = self._text(edit)
        return found

    def _text(self, edit: Edit) -> str:
        assert edit is not None
        return (self.read(edit.id) if isinstance(edit, ExistingBlob) else edit).decode()

    @staticmethod
    def _keys(path: str, texts: Mapping[str, str]) -> Sequence[tuple[int, Key]]:
        if path not in texts:
            return ()
        return tuple((each.index, each.key) for each in parse(path, texts[path].encode()).documents)

    @staticmethod
    def _documents(texts: Mapping[str, str]) -> Iterable[Document]:
        for path, text in texts.items():
            if path.endswith(".yaml"):
                yield from parse(path, text.encode()).documents
