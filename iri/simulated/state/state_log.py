"""Records on disk: a log that is appended to, and rewritten when most of it is out of date.

Theory of operation. The file is a magic line and entries. An entry is one commit, all of it or nothing:

    length (4)  CRC-32 of payload (4)  CRC-32 of these two (4)  payload: msgpack list of (kind, id, record or nil)

The last change of a (kind, id) counts; nil removes it. A commit takes these steps:

    append    write() of one entry, under `_lock`       survives a crash of the process
    sync      fdatasync, outside of the host's lock     survives a crash of the machine; one flush serves all that wait
    rewrite   a new file, fsync, rename, fsync of the directory: at every moment one of the two files is whole

    found at start                               taken as
    the file ends within an entry, or in zeros   a crash while writing: that entry never was answered, so it is dropped
    a checksum that does not match, elsewhere    damage: an error with the byte, never a guess
    a failed write                               truncated away again, so that the next entry follows a whole one

Must never happen: `sync` returns for an entry that a crash can lose; two processes write one directory (a file lock).
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import struct
import threading
import zlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import msgspec

from iri.errors import Unavailable

MAGIC = b"gitvirt simulated host 1\n"
FRAME = struct.Struct("<III")  # length and CRC-32 of what follows, and the CRC-32 of these two
REWRITE_FROM_BYTES = 4 << 20
REWRITE_FACTOR = 4

LogKey = tuple[str, str]  # a kind and an id
LogChange = tuple[str, str, bytes | None]


class StateLogError(Unavailable):
    """The state cannot be read or written; the message names the file. A call that needed it is refused."""


class StateLog:
    """Thread-safe. `load` once, then `append` and `sync`; the caller decides when to `rewrite`."""

    def __init__(self, directory: Path, rewrite_from_bytes: int = REWRITE_FROM_BYTES) -> None:
        """StateLogError when another process has the directory."""
        self._rewrite_from_bytes = rewrite_from_bytes
        self._path = directory / "state.log"
        self._records: dict[LogKey, int] = {}  # the size of each, to know how much of the file is current
        self._current = 0
        self._written = self._synced = 0
        self._lock = threading.Lock()
        self._sync_lock = threading.Lock()
        try:
            directory.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._guard = os.open(directory / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise StateLogError(f"{directory}: {error.strerror}") from error
        try:
            fcntl.flock(self._guard, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(self._guard)
            raise StateLogError(f"{directory}: another simulated runtime uses this directory") from None
        self._file = -1
        self._size = 0

    def load(self) -> Mapping[LogKey, bytes]:
        """The current records. Called once, before anything is appended; a torn last entry is cut off."""
        data = self._path.read_bytes() if self._path.exists() else b""
        records: dict[LogKey, bytes] = {}
        end = 0
        if data:
            end = len(MAGIC)
            if not data.startswith(MAGIC):
                raise StateLogError(f"{self._path}: not a state log of a simulated host")
            for position, changes in read_entries(data, self._path):
                end = position
                for kind, id, record in changes:
                    if record is None:
                        records.pop((kind, id), None)
                    else:
                        records[kind, id] = record
        self._open(end) if data else self._rewrite(())
        for key, record in records.items():
            self._note(key, len(record))
        return records

    def append(self, changes: Sequence[LogChange]) -> int:
        """Writes all changes or none, as one entry. Returns the number to `sync`."""
        payload = msgspec.msgpack.encode(changes)
        entry = frame_entry(payload)
        with self._lock, self._translate_errors():
            try:
                self._write(entry)
            except OSError:
                with contextlib.suppress(OSError):
                    os.ftruncate(self._file, self._size)
                raise
            self._size += len(entry)
            self._written += 1
            for kind, id, record in changes:
                self._note((kind, id), None if record is None else len(record))
            return self._written

    def sync(self, entry: int) -> None:
        """Returns once that entry is on disk. Callers that wait at the same time share one flush."""
        with self._sync_lock:
            if self._synced >= entry:
                return
            with self._lock:
                written, file = self._written, os.dup(self._file)
            try:
                with self._translate_errors():
                    os.fdatasync(file)
            finally:
                os.close(file)
            self._synced = written

    def needs_rewrite(self) -> bool:
        """Whether the file is large and most of it is out of date."""
        return self._size > self._rewrite_from_bytes and self._size > REWRITE_FACTOR * self._current

    def rewrite(self, everything: Sequence[LogChange]) -> None:
        """Replaces the file by one with only these records; the old file stays until the new one is on disk."""
        with self._sync_lock, self._lock:
            with self._translate_errors():
                self._rewrite(everything)
            self._synced = self._written

    def close(self) -> None:
        """Releases the directory for another process."""
        for descriptor in (self._file, self._guard):
            if descriptor >= 0:
                os.close(descriptor)
        self._file = self._guard = -1

    @contextlib.contextmanager
    def _translate_errors(self) -> Iterator[None]:
        """The disk is full, or broken: the call that needed it fails, and the process goes on."""
        try:
            yield
        except OSError as error:
            raise StateLogError(f"the state cannot be written: {self._path}: {error.strerror}") from error

    def _write(self, data: bytes) -> None:
        """`write` may take less than all of it."""
        rest = memoryview(data)
        while rest:
            rest = rest[os.write(self._file, rest) :]

    def _rewrite(self, everything: Sequence[LogChange]) -> None:
        """The rename replaces the log in one step."""
        payload = msgspec.msgpack.encode(everything)
        new = self._path.with_suffix(".new")
        with open(new, "wb", opener=_private) as file:
            file.write(MAGIC + frame_entry(payload))
            file.flush()
            os.fsync(file.fileno())
        new.rename(self._path)
        folder = os.open(self._path.parent, os.O_RDONLY | os.O_CLOEXEC)
        os.fsync(folder)
        os.close(folder)
        self._open(self._path.stat().st_size)

    def _open(self, end: int) -> None:
        """Cuts off everything after `end`."""
        if self._file >= 0:
            os.close(self._file)
        self._file = os.open(self._path, os.O_RDWR | os.O_APPEND | os.O_CLOEXEC)
        os.ftruncate(self._file, end)
        self._size = end

    def _note(self, key: LogKey, size: int | None) -> None:
        """Keeps count of how many bytes of the file are current."""
        self._current -= self._records.pop(key, 0)
        if size is not None:
            self._records[key] = size
            self._current += size


def frame_entry(payload: bytes) -> bytes:
    """The entry as it is in the file: header, then payload."""
    length, checksum = len(payload), zlib.crc32(payload)
    return FRAME.pack(length, checksum, _header_checksum(length, checksum)) + payload


def read_entries(data: bytes, path: Path) -> Iterator[tuple[int, list[LogChange]]]:
    """Each whole entry with the offset of its end. Only the last may be torn: cut short, or all zeros."""
    position = len(MAGIC)
    while len(data) - position >= FRAME.size:
        length, checksum, own_checksum = FRAME.unpack_from(data, position)
        if not length and not any(memoryview(data)[position:]):
            return
        start = position + FRAME.size
        end = start + length
        is_intact = own_checksum == _header_checksum(length, checksum)
        if is_intact and end > len(data):
            return
        payload = data[start:end]
        if not is_intact or zlib.crc32(payload) != checksum:
            raise StateLogError(
                f"{path}: damaged at byte {position}; restore the file or start with another directory"
            )
        yield end, msgspec.msgpack.decode(payload, type=list[LogChange])
        position = end


def _header_checksum(length: int, checksum: int) -> int:
    """The header has its own, or a damaged length would look like an entry that a crash cut off, and the rest of the log would be dropped."""
    return zlib.crc32(length.to_bytes(4, "little") + checksum.to_bytes(4, "little"))


def _private(path: str, flags: int) -> int:
    """For the owner alone: the records have whole specs, with keys and Ignition data."""
    return os.open(path, flags, 0o600)
