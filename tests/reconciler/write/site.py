"""Files of source and live for tests of `reconciler.write`, given as texts, with the View that a World would have of them."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from datetime import UTC, datetime

from reconciler.gitstore.objects.commit import Commit, encode_commit
from reconciler.gitstore.objects.database import ObjectType, hash_object
from reconciler.gitstore.objects.tree import File, FileMode, ObjectId
from reconciler.gitstore.repo import Edit, ExistingBlob, Identity
from reconciler.plan.types import Change, Plan
from reconciler.world.objects.object_state import DocumentPlace, ObjectState, Origin
from reconciler.world.record import NOTHING, record_of
from reconciler.world.source.contents import Contents, Doc
from reconciler.world.source.parse_cache.cache import ParseCache
from reconciler.world.state import State
from reconciler.write.drafting import Signing, Written, draft
from schemas.kinds import Key
from schemas.manifest import Document, parse
from schemas.model import decode

NOW = datetime(2030, 1, 1, tzinfo=UTC)
SIGNING = Signing(Identity("gitvirt", "gitvirt@localhost"), NOW, "main", "refs/heads/live")


def file_of(path: str, text: str) -> File:
    return File(path, FileMode.FILE, hash_object(ObjectType.BLOB, text.encode()).id)


class Site(State):
    """`frozen` are paths of the source that cannot be used; `ordered` are ordered gone on live, whatever the source says."""

    def __init__(
        self,
        source_texts: Mapping[str, str],
        live_texts: Mapping[str, str],
        frozen: Collection[str] = (),
        ordered: Collection[Key] = (),
        foreign_edits: tuple[str, ...] = (),
        head: ObjectId = "7" * 40,
    ) -> None:
        super().__init__({}, ParseCache())
        self.source_texts, self.live_texts = source_texts, live_texts
        self.source_commit, self.live_commit, self.own_live = "5" * 40, head, "7" * 40
        self.foreign_edits = foreign_edits
        self._frozen = frozen
        for branch, texts in ((self.source, source_texts), (self.live, live_texts)):
            for path, text in texts.items():
                list(branch.put(path, file_of(path, text), contents_of(path, text)))
        for document in documents(live_texts):
            self.objects[document.key] = ObjectState(
                key=document.key,
                object=decode(document.kind, document.body),
                origin=Origin.GENERATED if "/generated/" in document.path else Origin.LEAVING,
                record=record_of(document.kind, document.body),
                live=DocumentPlace(document.path, document.index),
            )
        for document in documents(source_texts):
            before = self.objects.get(document.key)
            is_frozen = document.path in frozen
            if document.key in ordered or (is_frozen and before is None):
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
        if id == self.live_commit:
            who = Identity("Mallory", "mallory@example.org")
            return encode_commit(Commit("0" * 40, (), who, NOW, "change"))
        texts = (*self.source_texts.values(), *self.live_texts.values())
        return {hash_object(ObjectType.BLOB, text.encode()).id: text.encode() for text in texts}[id]

    def is_synced(self, path: str) -> bool:
        return path not in self._frozen

    def write(self, *changes: Change, paths: Iterable[str] | None = None, is_news: bool = False) -> Written:
        every = self.source.files.keys() | self.live.files.keys() if paths is None else paths
        self.last = None if is_news else self.source_commit
        return draft(Plan(self.source_commit, self.live_commit, changes), self, every, self.read, SIGNING)

    def live_after(self, *changes: Change, paths: Iterable[str] | None = None) -> dict[str, str]:
        """The texts of the target branch once the draft is on it."""
        found = dict(self.live_texts)
        written = self.write(*changes, paths=paths)
        for path, edit in (written.draft.edits if written.draft else {}).items():
            found.pop(path, None)
            if edit is not None:
                found[path] = self._text(edit)
        return found

    def _text(self, edit: Edit) -> str:
        assert edit is not None
        return (self.read(edit.id) if isinstance(edit, ExistingBlob) else edit).decode()


def contents_of(path: str, text: str) -> Contents:
    found = parse(path, text.encode()).documents
    return Contents(tuple(Doc(each.key, DocumentPlace(path, each.index)) for each in found))


def documents(texts: Mapping[str, str]) -> Iterable[Document]:
    for path, text in texts.items():
        if path.endswith(".yaml"):
            yield from parse(path, text.encode()).documents
