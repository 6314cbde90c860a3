"""Records on disk: a log that is appended to, and rewritten when most of it is out of date.

What `sync` has returned for survives a crash of the process and of the machine. An entry that was being written when
it happened is dropped at the next start; damage anywhere else is an error that names the place, never a guess.
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

MAGIC = b"gitvirt simulated host 1\n"
FRAME = struct.Struct("<III")  # length and CRC-32 of what follows, and the CRC-32 of these two
REWRITE_FROM_BYTES = 4 << 20
REWRITE_FACTOR = 4

LogKey = tuple[str, str]  # a kind and an id
LogChange = tuple[str, str, bytes | None]


class StateLogError(Exception):
    """The state cannot be read or written; the message names the file."""


class StateLog:
    def __init__(self, directory: Path, rewrite_from_bytes: int = REWRITE_FROM_BYTES) -> None:
        """Only one process at a time may have the directory."""
        self._rewrite_from_bytes = rewrite_from_bytes
        self._path = directory / "ledger"
        self._records: dict[LogKey, int] = {}  # the size of each, to know how much of the file is alive
        self._alive = 0
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
            raise StateLogError(f"{directory}: another simulated runtime keeps its state there") from None
        self._file = -1
        self._size = 0

    def load(self) -> Mapping[LogKey, bytes]:
        """Everything there is, read once before anything is appended."""
        data = self._path.read_bytes() if self._path.exists() else b""
        records: dict[LogKey, bytes] = {}
        end = 0
        if data:
            end = len(MAGIC)
            if not data.startswith(MAGIC):
                raise StateLogError(f"{self._path}: not the state of a simulated host")
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
        """All of them or none, in one entry. Returns what to `sync`."""
        payload = msgspec.msgpack.encode(changes)
        entry = frame_entry(payload)
        with self._lock:
            try:
                self._write(entry)
            except OSError as error:
                with contextlib.suppress(OSError):
                    os.ftruncate(self._file, self._size)
                raise StateLogError(f"{self._path}: {error.strerror}") from error
            self._size += len(entry)
            self._written += 1
            for kind, id, record in changes:
                self._note((kind, id), None if record is None else len(record))
            return self._written

    def sync(self, entry: int) -> None:
        """Until that entry is on disk. Who waits together is served by one flush."""
        with self._sync_lock:
            if self._synced >= entry:
                return
            with self._lock:
                written, file = self._written, os.dup(self._file)
            try:
                os.fdatasync(file)
            except OSError as error:
                raise StateLogError(f"{self._path}: {error.strerror}") from error
            finally:
                os.close(file)
            self._synced = written

    def wants_rewrite(self) -> bool:
        return self._size > self._rewrite_from_bytes and self._size > REWRITE_FACTOR * self._alive

    def rewrite(self, everything: Sequence[LogChange]) -> None:
        """Only what is alive; the old file stays until the new one is whole and on disk."""
        with self._sync_lock, self._lock:
            try:
                self._rewrite(everything)
            except OSError as error:
                raise StateLogError(f"{self._path}: {error.strerror}") from error
            self._synced = self._written

    def close(self) -> None:
        for descriptor in (self._file, self._guard):
            if descriptor >= 0:
                os.close(descriptor)
        self._file = self._guard = -1

    def _write(self, data: bytes) -> None:
        rest = memoryview(data)
        while rest:
            rest = rest[os.write(self._file, rest) :]

    def _rewrite(self, everything: Sequence[LogChange]) -> None:
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
        if self._file >= 0:
            os.close(self._file)
        self._file = os.open(self._path, os.O_RDWR | os.O_APPEND | os.O_CLOEXEC)
        os.ftruncate(self._file, end)
        self._size = end

    def _note(self, key: LogKey, size: int | None) -> None:
        self._alive -= self._records.pop(key, 0)
        if size is not None:
            self._records[key] = size
            self._alive += size


def frame_entry(payload: bytes) -> bytes:
    length, checksum = len(payload), zlib.crc32(payload)
    return FRAME.pack(length, checksum, _header_checksum(length, checksum)) + payload


def read_entries(data: bytes, path: Path) -> Iterator[tuple[int, list[LogChange]]]:
    """Each whole entry with the offset of its end. Only the last may be torn: cut short, or zeros."""
    position = len(MAGIC)
    while len(data) - position >= FRAME.size:
        length, checksum, own_checksum = FRAME.unpack_from(data, position)
        if not length and not any(memoryview(data)[position:]):
            return
        start = position + FRAME.size
        end = start + length
        is_true = own_checksum == _header_checksum(length, checksum)
        if is_true and end > len(data):
            return
        payload = data[start:end]
        if not is_true or zlib.crc32(payload) != checksum:
            raise StateLogError(
                f"{path}: damaged at byte {position}; restore it or start with another directory"
            )
        yield end, msgspec.msgpack.decode(payload, type=list[LogChange])
        position = end


def _header_checksum(length: int, checksum: int) -> int:
    return zlib.crc32(length.to_bytes(4, "little") + checksum.to_bytes(4, "little"))


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)
