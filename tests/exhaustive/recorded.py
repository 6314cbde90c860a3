"""A remote that remembers all that it ever was, and shows a party an older state of it where a deviation says so.

Owns which states a party could have seen. What it read or wrote itself it never sees undone, as on every Git server.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from reconciler.gitstore.memory import Fault, MemoryObjects, MemoryRemote, MemoryTransport, no_fault
from reconciler.gitstore.objects.commit import Sign
from reconciler.gitstore.remote.transport import (
    PushConflict,
    PushRefused,
    RefSet,
    RefsFetched,
    RefsListed,
    RefsPushed,
    RefUpdate,
    RemoteUnavailable,
)
from reconciler.gitstore.repo import Refs
from reconciler.gitstore.store import Store
from tests.poollet.fleet import Fleet

Heads = Mapping[str, str]


class RecordedRemote(MemoryRemote):
    def __init__(self) -> None:
        super().__init__()
        self.states: list[Heads] = [{}]

    def move(self, updates: Sequence[RefUpdate]) -> RefsPushed | PushConflict | PushRefused:
        outcome = super().move(updates)
        if isinstance(outcome, RefsPushed):
            self.states.append(dict(self.refs))
        return outcome

    def restore(self, ref: str, commit: str) -> None:
        """What an administrator does on the server."""
        self.refs[ref] = commit
        self.states.append(dict(self.refs))


@dataclass(frozen=True)
class Read:
    """One look of a party at the remote: the refs that it asked for at each moment since its last look, the newest last."""

    who: str
    number: int
    since: int
    now: int


@dataclass
class Reader:
    """What one party has seen. `show` chooses the state that its next look gets, out of `Read`."""

    who: str
    show: Callable[[Read], Heads]
    seen: int = 0
    reads: list[Read] = field(default_factory=list)


class RecordedFleet(Fleet):
    """Its parties read through a `Reader`; whoever has no faults reads the present."""

    def __init__(self) -> None:
        super().__init__(is_bare=True)
        self.recorded = self.remote = RecordedRemote()
        self.writer = self.client(Refs())
        self.reader: Reader | None = None  # of the party whose turn it is

    @property
    def states(self) -> list[Heads]:
        return self.recorded.states

    @property
    def now(self) -> int:
        return len(self.states) - 1

    def client(self, refs: Refs, fault: Fault = no_fault, sign: Sign | None = None) -> Store:
        local = MemoryObjects(self.remote)
        is_party = fault is not no_fault
        transport = RecordedTransport(local, fault, self) if is_party else MemoryTransport(local)
        return Store(local, transport, refs, sign=sign)


class RecordedTransport(MemoryTransport):
    """Lists and fetches what its reader is shown: both of one look are of the same moment."""

    def __init__(self, local: MemoryObjects, fault: Fault, fleet: RecordedFleet) -> None:
        super().__init__(local, fault)
        self._fleet = fleet
        self._shown: Heads = {}

    def list_refs(self, needed: Sequence[str], seconds: float) -> RefsListed | RemoteUnavailable:
        del seconds
        if failure := self.fault("list_refs", "before"):
            return failure
        self._shown, names = self._look(), RefSet(needed)
        listed = RefsListed({ref: id for ref, id in sorted(self._shown.items()) if ref in names}, None)
        return self.fault("list_refs", "after") or listed

    def fetch(self, needed: Sequence[str], seconds: float) -> RefsFetched | RemoteUnavailable:
        present, self.local.remote.refs = self.local.remote.refs, dict(self._shown)
        try:
            return super().fetch(needed, seconds)
        finally:
            self.local.remote.refs = present

    def push(
        self, updates: Sequence[RefUpdate], seconds: float
    ) -> RefsPushed | PushConflict | PushRefused | RemoteUnavailable:
        done = super().push(updates, seconds)
        reader = self._fleet.reader
        if reader is not None and not isinstance(done, RemoteUnavailable):
            reader.seen = self._fleet.now
        return done

    def _look(self) -> Heads:
        reader, states = self._fleet.reader, self._fleet.states
        assert reader is not None, "a party reads only in its turn"
        read = Read(reader.who, len(reader.reads) + 1, reader.seen, len(states) - 1)
        reader.reads.append(read)
        shown = reader.show(read)
        reader.seen = max([reader.seen, *(n for n, state in enumerate(states) if state is shown)])
        return shown
