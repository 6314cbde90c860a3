"""The bytes of one file of the target branch: a function of what people wrote there and of the records of its documents.

The same view gives the same bytes, so writing what was read changes nothing.

All edits go through `schemas.edit`, which splices fields into the text and reads the result back. It refuses what it cannot do safely; then the answer is `Unwritable`, and the whole file stays as live has it.

An index is valid for one text: documents are edited first and removed afterwards, from the last to the first.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from typing import TypeAlias

from reconciler.gitstore.objects.tree import ObjectId
from reconciler.gitstore.repo import Edit, ExistingBlob
from reconciler.world.objects.object_state import DocumentPlace, ObjectState
from reconciler.world.record import NOTHING, fields
from reconciler.world.view import View
from reconciler.write.document_paths import DocumentPaths
from reconciler.write.yaml_documents import cut_document, join_documents, remove_documents
from schemas import live_layout
from schemas.edit import Edited, EditRefused, UnwritableError, edit_all, render
from schemas.edit.fields import Changes
from schemas.kinds import Key
from schemas.problem import Problem
from schemas.settings import fleet

Read: TypeAlias = Callable[[ObjectId], bytes]


@dataclass(frozen=True, slots=True)
class Unwritable:
    """The file cannot be written as it should be; the objects in it stay as they are."""

    problem: Problem
    keys: tuple[Key, ...]


class FileTexts:
    """Made for each attempt to draft, since the homes of objects depend on which ones are stuck. `read` gives a blob of the snapshot."""

    def __init__(self, view: View, document_paths: DocumentPaths, read: Read) -> None:
        self._view = view
        self._paths = document_paths
        self._read = read

    def desired_text(self, path: str, arriving: Collection[Key]) -> Edit | Unwritable:
        """`arriving` are objects whose document may be new in this file. None: there is no such file."""
        if live_layout.is_reconcilers(path):
            return self._own(path, arriving)
        if path in self._view.source.files and self._view.is_synced(path):
            return self._synced_text(path)
        if path not in self._view.live.files:
            return None
        return self._kept_text(path)

    def _synced_text(self, path: str) -> Edit | Unwritable:
        """What people wrote, with what is kept about it."""
        file = self._view.source.files[path]
        documents = self._view.source.documents(path)
        if not documents:
            return ExistingBlob(file.mode, file.id)
        gone: list[int] = []
        changes: dict[int, Changes] = {}
        for index, key in documents:
            known = self._view.objects.get(key)
            is_it = known is not None and known.source == DocumentPlace(path, index)
            if is_it and self._paths.home(key) == path:
                changes[index] = dict(fields(key.kind, self._paths.record(key) or NOTHING))
            else:
                gone.append(index)
        return self._edit(path, self._read(file.id), changes, gone, tuple(key for _, key in documents))

    def _kept_text(self, path: str) -> Edit | Unwritable:
        """What the target branch has: of a file that left the source, or that cannot be understood there."""
        file = self._view.live.files[path]
        documents = self._view.live.documents(path)
        # The last settings that could be read stay, though the source has none now: hosts and the next tick use them. So do
        # approvals and requests, which are used up while they are here.
        if (
            path == fleet.PATH
            or path.startswith(live_layout.STATEMENTS)
            or (not documents and path in self._view.source.files)
        ):
            return ExistingBlob(file.mode, file.id)
        staying = {index: key for index, key in documents if self._paths.home(key) == path}
        gone = [index for index, _ in documents if index not in staying]
        if not staying:
            return None
        changes: dict[int, Changes] = {}
        for index, key in staying.items():
            record, known = self._paths.record(key), self._view.objects[key]
            changes[index] = dict(fields(key.kind, record or NOTHING, base=known.record))
        return self._edit(path, self._read(file.id), changes, gone, tuple(staying.values()))

    def _own(self, path: str, arriving: Collection[Key]) -> Edit | Unwritable:
        there = {key for _, key in self._view.live.documents(path)} | set(arriving)
        keys = sorted(key for key in there if self._paths.home(key) == path)
        parts: list[bytes] = []
        for part in (*self._retained_documents(path), *(self._part(key, path) for key in keys)):
            if isinstance(part, Unwritable):
                return part
            parts.append(part)
        return join_documents(parts) if parts else None

    def _retained_documents(self, path: str) -> Iterator[bytes | Unwritable]:
        """Retained volumes stay as they are, but for the one that is taken back, or lost with its pool; each follows the grant of its
        pool."""
        file = self._view.live.files.get(path)
        for known in self._view.retained_volumes.values():
            place = known.live
            if file is None or place is None or place.path != path or self._is_over(known):
                continue
            data, record = cut_document(self._read(file.id), place.index), self._paths.retained_record(known)
            if record == known.record:
                yield data
                continue
            done = self._edit(
                path, data, {0: dict(fields(known.key.kind, record, base=known.record))}, (), ()
            )
            assert done is not None
            yield done

    def _is_over(self, retained: ObjectState) -> bool:
        """Whether this plan ends its retention: the same uid is declared again and takes the data back, or it is lost with its pool.

        Another uid of the same name is another volume. It must never take the document, and with it the data, of a retained one."""
        change = self._paths.change(retained.key)
        if change is None or (change.before is None) is (change.after is None):
            return False
        is_lost = change.after is None
        record = change.before if is_lost else change.after
        assert record is not None
        return record.uid == retained.record.uid and not (is_lost and retained.key in self._view.objects)

    def _part(self, key: Key, path: str) -> bytes | Unwritable:
        """One document of a file of the reconciler: rendered from the change's body, or cut out of where it is now."""
        change, record = self._paths.change(key), self._paths.record(key) or NOTHING
        if change is not None and change.body is not None:
            try:
                data, base = render(change.body), NOTHING
            except UnwritableError as error:
                return Unwritable(_unwritable(path, key, str(error)), (key,))
        else:
            known = self._view.objects[key]
            if known.live is None:
                raise ValueError(f"{key} has no document to move to {path}")
            file = self._view.live.files[known.live.path]
            data, base = cut_document(self._read(file.id), known.live.index), known.record
        done = self._edit(path, data, {0: dict(fields(key.kind, record, base=base))}, (), (key,))
        assert not isinstance(done, ExistingBlob)
        assert done is not None
        return done

    @staticmethod
    def _edit(
        path: str, data: bytes, changes: dict[int, Changes], gone: Collection[int], keys: tuple[Key, ...]
    ) -> bytes | Unwritable | None:
        match edit_all(data, changes, path=path):
            case Edited(edited):
                return remove_documents(edited, gone) if gone else edited
            case EditRefused(problem):
                return Unwritable(problem, keys)


def _unwritable(path: str, key: Key, words: str) -> Problem:
    return Problem(file=path, object=str(key), code="GV705", message=f"it cannot be written: {words}")
