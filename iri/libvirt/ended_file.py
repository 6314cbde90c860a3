"""Ended assignments of a libvirt runtime: a file in its folder, and the creations that are under way.

Theory of operation. A creation is checked, and some time later its domain or its record is there. `admit` spans both, so that
`end` can wait for the creations that passed the check before:

    admit    under the lock: refused if its assignment has ended, else counted until the creation is over
    end      the ids are on disk, then in memory; then it waits until no creation of them is counted

Must never happen: `end` returns while a creation of one of its assignments may still take effect.
"""

from __future__ import annotations

import contextlib
import threading
from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path

import msgspec

from iri.ended_assignments import EndedAssignments
from iri.errors import Internal, Unavailable
from iri.identity import ASSIGNMENT_LABEL
from iri.libvirt.whole_files import replace_file

WAIT_SECONDS = 10.0  # for a creation under way; it waits for libvirt only


class EndedFile:
    """Thread-safe. Machines and volumes share one."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._ended = EndedAssignments()
        self._creating: Counter[str] = Counter()
        self._changed = threading.Condition()

    def open(self) -> None:
        """Raises Internal for a file that this runtime did not write: to go on without it could create what was ended."""
        if not self._path.exists():
            return
        try:
            self._ended = EndedAssignments(msgspec.json.decode(self._path.read_bytes(), type=list[str]))
        except msgspec.MsgspecError as error:
            raise Internal(f"{self._path} cannot be read ({error}); restore it, or remove it") from None

    @contextlib.contextmanager
    def admit(self, labels: Mapping[str, str]) -> Iterator[None]:
        """Around the whole of a creation. InvalidArgument for one whose assignment has ended."""
        id = labels.get(ASSIGNMENT_LABEL, "")
        with self._changed:
            self._ended.refuse(labels)
            self._creating[id] += 1
        try:
            yield
        finally:
            with self._changed:
                self._creating[id] -= 1
                self._changed.notify_all()

    def end(self, ids: Collection[str]) -> None:
        """Unavailable while a creation takes too long: the caller asks again."""
        with self._changed:
            after = EndedAssignments(self._ended.ids)
            new, _ = after.add(ids)
            if new:
                replace_file(self._path, msgspec.json.encode(after.ids))
                self._ended = after
            if not self._changed.wait_for(lambda: not any(self._creating[id] for id in ids), WAIT_SECONDS):
                raise Unavailable("a creation under one of these assignments is under way; ask again")
