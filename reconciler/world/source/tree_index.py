"""The files of one branch and the documents in them, kept up file by file. Reads nothing and judges nothing.

There are two: of the source as it is used, and of live as a reconciler wrote it. Each is changed by `put` alone, which keeps the
indexes by key in step with the files. Several documents may have one key, in the source by a mistake of people, on live while
an object that is being deleted is declared again; which of them counts objects/resolve.py says.
"""

from __future__ import annotations

from collections.abc import Iterator

from reconciler.gitstore.objects.tree import File
from reconciler.world.source.contents import Contents, Doc
from schemas.kinds import Key


class TreeIndex:
    """`files` are all leaves of the tree; `contents` those that are read as manifests."""

    def __init__(self) -> None:
        self.files: dict[str, File] = {}
        self.contents: dict[str, Contents] = {}
        self.problem_files: dict[str, Contents] = {}  # those with more to say than their documents
        self.unreadable: set[str] = set()  # those that may hold anything
        self.foreign_names: dict[str, set[str]] = {}  # paths of documents of a name that are none of ours
        self._where: dict[Key, Doc | tuple[Doc, ...]] = {}
        self._refusing: dict[Key, tuple[str, ...]] = {}

    def docs(self, key: Key) -> tuple[Doc, ...]:
        """In the order of their places."""
        found = self._where.get(key)
        if found is None:
            return ()
        return found if isinstance(found, tuple) else (found,)

    def has(self, key: Key) -> bool:
        return key in self._where

    def refusing(self, key: Key) -> tuple[str, ...]:
        """Malformed files that may declare it."""
        return self._refusing.get(key, ())

    def keys_at(self, path: str) -> tuple[Key, ...]:
        found = self.contents.get(path)
        return tuple(doc.key for doc in found.docs) if found else ()

    def documents(self, path: str) -> tuple[tuple[int, Key], ...]:
        found = self.contents.get(path)
        return tuple((doc.place.index, doc.key) for doc in found.docs) if found else ()

    def keys(self) -> Iterator[Key]:
        return iter(self._where)

    def put(self, path: str, file: File | None, contents: Contents | None) -> Iterator[Key]:
        """Sets what a path contains; yields the keys that this concerns, those of before too.

        A generator: nothing is set until it is run to its end.
        """
        before = self.contents.pop(path, None)
        if before is not None:
            yield from self._take_out(path, before)
        if file is None:
            self.files.pop(path, None)
        else:
            self.files[path] = file
        if contents is not None:
            self.contents[path] = contents
            yield from self._put_in(path, contents)

    def _take_out(self, path: str, contents: Contents) -> Iterator[Key]:
        self.problem_files.pop(path, None)
        self.unreadable.discard(path)
        for name in contents.foreign_names:
            paths_of = self.foreign_names.get(name, set())
            paths_of.discard(path)
            if not paths_of:
                self.foreign_names.pop(name, None)
        for doc in contents.docs:
            others = tuple(each for each in self.docs(doc.key) if each.place != doc.place)
            if others:
                self._where[doc.key] = others if len(others) > 1 else others[0]
            else:
                self._where.pop(doc.key, None)
            yield doc.key
        for key in contents.refused:
            paths = tuple(each for each in self._refusing.get(key, ()) if each != path)
            if paths:
                self._refusing[key] = paths
            else:
                self._refusing.pop(key, None)
            yield key

    def _put_in(self, path: str, contents: Contents) -> Iterator[Key]:
        if not contents.is_plain:
            self.problem_files[path] = contents
        if contents.is_opaque:
            self.unreadable.add(path)
        for name in contents.foreign_names:
            self.foreign_names.setdefault(name, set()).add(path)
        for doc in contents.docs:
            found = self.docs(doc.key)
            self._where[doc.key] = tuple(sorted((*found, doc), key=_place)) if found else doc
            yield doc.key
        for key in contents.refused:
            self._refusing[key] = tuple(sorted({*self._refusing.get(key, ()), path}))
            yield key


def _place(doc: Doc) -> tuple[str, int]:
    return doc.place.path, doc.place.index
