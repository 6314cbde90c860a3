"""Parsed files, kept on this disk by the ids of their blobs: a process that starts reads only new files.

Nothing but a shorter way to the same: every reading is found by the blob, the way it was read and the code that read it, and is
checked by a digest of its own. Whatever is wrong with the file that they lie in means that blobs are read again; it is said
once, and never an error.

Theory of operation
-------------------
    call        when                                    what it does
    begin       a World is read from nothing            look_up works from now on, and notes which rows were used
    look_up     files are taken in                      finds rows by name, in one question for many
    contents    a row was found                         checks its digest and decodes it; None: the blob is parsed instead
    keep, drop  a file was parsed; a file changed       notes it in memory
    settle      between two ticks                       writes after the first tick, then once about a thousand are noted;
                                                        after the first tick also deletes rows that were not used
    close       the process ends in order               writes the rest

Later updates do not look anything up: a blob that is new was never read before. A process that finds the database in use by
another one goes on without it.

Must never happen: an answer depends on whether the cache was there; a value of a Secret is in it; an error of the database
ends a tick.
"""

from __future__ import annotations

import hashlib
import importlib.metadata
import logging
import os
import sqlite3
import sys
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import TypeAlias, TypeVar

import reconciler.world
import schemas
from reconciler.gitstore.objects.tree import File
from reconciler.world.source.contents import Contents
from reconciler.world.source.parse_cache.encoding import decode, encode

log = logging.getLogger(__name__)

Name: TypeAlias = bytes  # of a reading: the blob's, and how it was read
T = TypeVar("T")

NAME = "readings.sqlite"
MANY = 1000  # readings that are new or gone are not written one by one
AT_ONCE = 500  # names that are looked for in one question
_DIGEST = 8
_WAY = 8
# What the power takes is read again, so nothing waits for the disk.
_SETTINGS = ("PRAGMA synchronous=OFF", "PRAGMA cell_size_check=ON", "PRAGMA cache_size=-8192")
_TABLES = (
    "CREATE TABLE IF NOT EXISTS made_by (fingerprint BLOB NOT NULL)",
    "CREATE TABLE IF NOT EXISTS reading (number INTEGER PRIMARY KEY, name BLOB NOT NULL UNIQUE, body BLOB NOT NULL)",
)
# A damaged one may tell what is wrong in bytes that are not text, or ask for more memory than there is.
_TROUBLE = (sqlite3.Error, OSError, UnicodeError, MemoryError)
_IN_USE_BY_OTHERS = (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)


def way(*words: object) -> bytes:
    """How a file is read, with all that this depends on beside its blob."""
    return hashlib.blake2b(repr(words).encode(), digest_size=_WAY).digest()


def name_of(file: File, how: bytes) -> Name:
    return bytes.fromhex(file.id) + how


class ParseCache:
    """`folder` goes when the objects go that were read; without one nothing is kept. Not for two threads at once."""

    def __init__(self, folder: Path | None = None) -> None:
        self._path = None if folder is None else folder / NAME
        self._database: sqlite3.Connection | None = None
        self._new: dict[Name, Contents] = {}
        self._gone: set[Name] = set()
        # The numbers of those that were found, since a world began to be read.
        self._used: set[int] | None = None
        if self._path is not None:
            # Now, while the files are those that run: an upgrade may replace them under this process.
            self._known_code()

    def _known_code(self) -> None:
        try:
            cache_key()
        except OSError as error:
            log.warning("readings are not kept cause=%s", error)
            self._path = None

    def begin(self) -> None:
        """A world is read from its start."""
        self._used = set()

    def look_up(self, names: Iterable[Name]) -> Mapping[Name, object]:
        """The rows of the blobs that the cache has, not yet decoded."""
        if self._path is None or self._used is None:
            return {}
        used = list(names)
        return self._with(lambda database: self._looked_up(database, used), {})

    def contents(self, path: str, name: Name, body: object) -> Contents | None:
        """None for what was not written so."""
        if not isinstance(body, bytes) or body[:_DIGEST] != _digest(name, body[_DIGEST:]):
            return None
        return decode(path, body[_DIGEST:])

    def keep(self, name: Name, contents: Contents) -> None:
        if self._path is not None:
            self._gone.discard(name)
            self._new[name] = contents

    def drop(self, name: Name) -> None:
        """Drops the row of a file that changed. If another file has the same text, that file is parsed again at a later start."""
        if self._path is not None and self._new.pop(name, None) is None:
            self._gone.add(name)

    def settle(self) -> None:
        """Between two ticks. After the first one, what was not used is deleted, too."""
        if self._path is None:
            return
        if self._used is not None or len(self._new) + len(self._gone) >= MANY:
            self._with(self._write, None)
            self._used = None

    def close(self) -> None:
        if self._path is not None and (self._new or self._gone):
            self._with(self._write, None)
        if self._database is not None:
            self._database.close()
        self._database = self._path = None

    def _looked_up(self, database: sqlite3.Connection, names: list[Name]) -> dict[Name, object]:
        assert self._used is not None
        found: dict[Name, object] = {}
        for start in range(0, len(names), AT_ONCE):
            some = names[start : start + AT_ONCE]
            marks = ",".join("?" * len(some))
            question = f"SELECT number, name, body FROM reading WHERE name IN ({marks})"
            for number, name, body in database.execute(question, some):
                found[name] = body
                self._used.add(number)
        return found

    def _write(self, database: sqlite3.Connection) -> None:
        database.execute("BEGIN IMMEDIATE")
        unused = self._delete_unused(database)
        database.executemany("DELETE FROM reading WHERE number = ?", ((number,) for number in unused))
        database.executemany("DELETE FROM reading WHERE name = ?", ((name,) for name in self._gone))
        rows = (
            (name, _digest(name, data) + data)
            for name, contents in self._new.items()
            if (data := encode(contents)) is not None
        )
        database.executemany("INSERT OR REPLACE INTO reading (name, body) VALUES (?, ?)", rows)
        database.execute("COMMIT")
        if len(unused) > MANY:
            database.execute("VACUUM")
        self._new.clear()
        self._gone.clear()

    def _delete_unused(self, database: sqlite3.Connection) -> list[int]:
        used = self._used
        if used is None:
            return []
        numbers = database.execute("SELECT number FROM reading")
        return [number for (number,) in numbers if number not in used]

    def _with(self, work: Callable[[sqlite3.Connection], T], otherwise: T) -> T:
        """Runs one use of the database. Whatever goes wrong, it is not used any more by this process; the next one creates it again."""
        try:
            if self._database is None:
                self._database = self._open()
            return work(self._database)
        except _TROUBLE as error:
            self._give_up(error)
            return otherwise

    def _open(self) -> sqlite3.Connection:
        assert self._path is not None
        try:
            return _connect(self._path)
        except _TROUBLE as error:
            if getattr(error, "sqlite_errorcode", 0) in _IN_USE_BY_OTHERS:
                raise
            _remove(self._path)  # damaged, or of another version
            return _connect(self._path)

    def _give_up(self, error: Exception) -> None:
        assert self._path is not None
        log.warning("readings are not kept path=%s cause=%s", self._path, error)
        if self._database is not None:
            self._database.close()
        self._database = None
        if getattr(error, "sqlite_errorcode", 0) not in _IN_USE_BY_OTHERS:
            try:
                _remove(self._path)
            except OSError as left:
                log.warning("readings cannot be removed path=%s cause=%s", self._path, left.strerror)
        self._path, self._used = None, None
        self._new.clear()
        self._gone.clear()


class _ForeignError(sqlite3.DatabaseError):
    """Other code read these files: what it kept may mean something else now."""


def _connect(path: Path) -> sqlite3.Connection:
    """Opens or creates the database, for this account alone; a link in its place is not followed. Waits for no other process."""
    os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600))
    database = sqlite3.connect(path, timeout=0, isolation_level=None, check_same_thread=False)
    try:
        for line in (*_SETTINGS, *_TABLES):
            database.execute(line)
        made_by = database.execute("SELECT fingerprint FROM made_by").fetchall()
        if not made_by:
            database.execute("INSERT INTO made_by VALUES (?)", (cache_key(),))
        elif made_by != [(cache_key(),)]:
            raise _ForeignError("other code made it")
    except _TROUBLE:
        database.close()
        raise
    return database


def _remove(path: Path) -> None:
    for place in (path, path.with_name(f"{path.name}-journal")):
        place.unlink(missing_ok=True)


def _digest(name: Name, data: bytes) -> bytes:
    return hashlib.blake2b(data, digest_size=_DIGEST, key=name).digest()


_PACKAGES = (schemas, reconciler.world)
_LIBRARIES = ("msgspec", "yaml-rs", "jsonschema-rs", "ruamel.yaml")


@cache
def cache_key() -> bytes:
    """Of every line and every schema that reading goes by. Raises OSError when they cannot be read."""
    digest = hashlib.blake2b(sys.version.encode(), digest_size=16)
    for library in _LIBRARIES:
        digest.update(f"{library} {_version(library)}\0".encode())
    for package in _PACKAGES:
        folder = Path(package.__path__[0])
        for path in sorted(folder.rglob("*")):
            if path.suffix in (".py", ".json"):
                digest.update(f"{path.relative_to(folder)}\0".encode())
                digest.update(hashlib.blake2b(path.read_bytes()).digest())
    return digest.digest()


def _version(library: str) -> str:
    try:
        return importlib.metadata.version(library)
    except importlib.metadata.PackageNotFoundError as error:
        raise OSError(f"the version of {library} is unknown") from error
