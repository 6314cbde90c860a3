"""The host: its state under one lock, its clock, and its ledger. It knows no calls of the runtime protocol.

A change is committed: written down, then applied. What merely falls due is applied alone, because a restart works it
out again. The lock is held for microseconds; whoever wants a change on disk waits for that outside of it.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager

from msgspec.structs import replace

from iri.errors import Unavailable
from iri.host import RuntimeClasses
from iri.identity import derive_id
from iri.journal import Journal
from iri.runtime import Console, RuntimeKind, RuntimeObject
from iri.simulated import machine_lifecycle, volume_lifecycle
from iri.simulated.clock import SECOND_NS, SimulatedClock
from iri.simulated.host_model import NEVER_NS, HostModel, LifecycleEvent
from iri.simulated.machine_lifecycle import SimulatedMachine
from iri.simulated.profile import Profile
from iri.simulated.provider_quirks import ProviderQuirks, build_quirks
from iri.simulated.seeded_random import SeededRandom
from iri.simulated.state import records
from iri.simulated.state.host_state import HostState
from iri.simulated.state.records import KINDS, TABLES, HostRecord, Record, RecordChange, Table
from iri.simulated.state.state_log import StateLog, StateLogError
from iri.simulated.volume_lifecycle import SimulatedSnapshot, SimulatedVolume


class SimulatedHost:
    def __init__(
        self, profile: Profile, seed: int, clock: SimulatedClock | None = None, ledger: StateLog | None = None
    ) -> None:
        self.clock = clock or SimulatedClock()
        self.facts = HostRecord(seed=seed)
        self.state = HostState()
        self.journal = Journal(self.moment_ns)
        self._consoles: dict[str, list[Console]] = {}
        self._ledger = ledger
        self._entry = 0
        self._moment_ns: int | None = None
        self._lock = threading.RLock()
        if ledger is not None:
            self._restore(ledger)
        self.become(profile, build_quirks(profile.behaviour, profile.behaviour_flags))

    def become(self, profile: Profile, behaviour: ProviderQuirks) -> None:
        """Another kind of host from now on; what is there stays."""
        with self._lock:
            self.profile = profile
            self.nature = HostModel(profile.times, SeededRandom(self.facts.seed), behaviour)

    @property
    def classes(self) -> RuntimeClasses:
        return self.facts.classes or self.profile.classes

    def moment_ns(self) -> int:
        """When what is being done happens: the time it fell due, else now."""
        return self.clock.now_ns() if self._moment_ns is None else self._moment_ns

    @contextmanager
    def entered(self, even_when_down: bool = False) -> Iterator[int]:
        """Alone with a host that is up to date; the time is yielded. What was committed is on disk afterwards."""
        with self._lock:
            now_ns = self.settle()
            if not even_when_down and now_ns < self.facts.down_until_ns:
                seconds = (self.facts.down_until_ns - now_ns) / SECOND_NS
                raise Unavailable(f"the host is restarting and back in {seconds:.1f} s")
            self._moment_ns = now_ns
            try:
                yield now_ns
            finally:
                self._moment_ns = None
            ledger, entry, self._entry = self._ledger, self._entry, 0
        if entry and ledger is not None:
            with _kept():
                ledger.sync(entry)

    def settle(self) -> int:
        """Lets everything happen that is due. Returns the time."""
        with self._lock:
            now_ns = self.clock.now_ns()
            for due_ns, (name, id) in self.state.agenda.take_due(now_ns):
                self._moment_ns = due_ns
                self._step(TABLES[name], id, due_ns)
            self._moment_ns = None
            return now_ns

    def set_clock(self, rate: float) -> None:
        """Goes on from now at that rate; 0 stands still. ValueError for a rate that is none."""
        with self.entered(even_when_down=True):
            self.clock.run(rate)
            self.commit(facts=replace(self.facts, clock=self.clock.state))

    def advance_clock(self, nanoseconds: int) -> None:
        """Jumps ahead, and lets everything happen that is due by then."""
        with self.entered(even_when_down=True):
            self.clock.advance(nanoseconds)
            self.commit(facts=replace(self.facts, clock=self.clock.state))
        self.settle()

    def next_due_ns(self) -> int | None:
        with self._lock:
            return self.state.agenda.next_due_ns()

    def commit(self, *puts: RecordChange, facts: HostRecord | None = None) -> None:
        """All of it, written down first; nothing when it cannot be written down."""
        if self._ledger is not None:
            changes = [records.encode_change(put) for put in puts]
            if facts is not None and facts is not self.facts:
                changes.append(records.encode_host_record(facts))
            with _kept():
                self._entry = self._ledger.append(changes)
        self.facts = facts or self.facts
        for put in puts:
            self._apply(put)
        if self._ledger is not None and self._ledger.wants_rewrite():
            self._rewrite(self._ledger)

    def tell(self, subject: RuntimeObject, happenings: tuple[LifecycleEvent, ...]) -> None:
        for reason, action, message, is_warning in happenings:
            self.journal.event(subject, reason, action, message, is_warning=is_warning)

    def pulled(self, facts: HostRecord, images: Iterable[str], now_ns: int) -> tuple[HostRecord, int]:
        """When all of them are there: the first to ask has an image pulled. NEVER_NS if one cannot be."""
        ready_ns = now_ns
        for image in images:
            if image in self.profile.unavailable_images:
                return facts, NEVER_NS
            if image not in facts.images:
                due_ns = self.nature.after(now_ns, self.nature.times.pull, "pull", image)
                facts = replace(facts, images={**facts.images, image: due_ns})
            ready_ns = max(ready_ns, facts.images[image])
        return facts, ready_ns

    def identified(self, kind: RuntimeKind, labels: Mapping[str, str]) -> tuple[HostRecord, str]:
        """The id of a new object: by its uid, or one that was never used."""
        known = None if self.nature.behaviour.duplicates else derive_id(kind, labels)
        if known is not None:
            return self.facts, known
        facts = replace(self.facts, nameless=self.facts.nameless + 1)
        return facts, self.nature.chance.uuid("id", facts.nameless)

    def attend(self, machine_id: str, console: Console) -> None:
        """The console is closed when the machine loses its power."""
        self._consoles.setdefault(machine_id, []).append(console)

    def is_attended(self, machine_id: str, console: Console) -> bool:
        with self._lock:
            return console in self._consoles.get(machine_id, [])

    def leave(self, machine_id: str, console: Console) -> None:
        with self._lock:
            left = [other for other in self._consoles.pop(machine_id, []) if other is not console]
            if left:
                self._consoles[machine_id] = left

    def close(self) -> None:
        with self._lock:
            for consoles in list(self._consoles.values()):
                _close_all(consoles)
            if self._ledger is not None:
                self._ledger.close()
                self._ledger = None

    def _step(self, table: Table, id: str, due_ns: int) -> None:
        before = self.state.record(table, id)
        after, told = self._stepped(before, due_ns)
        self._apply(RecordChange(table, id, after))
        self.tell((after or before).told, told)

    def _stepped(self, record: Record, due_ns: int) -> tuple[Record | None, tuple[LifecycleEvent, ...]]:
        match record:
            case SimulatedMachine():
                return machine_lifecycle.step(record, due_ns, self.nature)
            case SimulatedVolume():
                return volume_lifecycle.step(record)
            case SimulatedSnapshot():
                return volume_lifecycle.step_snapshot(record)

    def _apply(self, put: RecordChange) -> None:
        applied = self.state.apply(put)
        if applied.what is not None:
            self.journal.notice(KINDS[put.table], put.id, applied.what)
        for address in applied.shared_addresses:
            if isinstance(put.record, SimulatedMachine):
                message = f"{address} belongs to another machine as well"
                self.tell(
                    put.record.told,
                    (LifecycleEvent("AddressInUse", "AttachNetworkInterface", message, True),),
                )
        for volume_id in applied.freed_volumes:
            stored = self.state.get(SimulatedVolume, volume_id)
            if stored is not None and stored.phase is volume_lifecycle.VolumePhase.WAITING:
                self._apply(
                    RecordChange(
                        SimulatedVolume,
                        volume_id,
                        volume_lifecycle.start_removal(stored, self.moment_ns(), self.nature),
                    )
                )
        if applied.went_off:
            _close_all(self._consoles.get(put.id, []))

    def _restore(self, ledger: StateLog) -> None:
        facts, puts = records.decode_records(ledger.load())
        if facts is not None:
            self.facts = facts
        else:
            self.commit(facts=replace(self.facts))
        if self.facts.clock is not None:
            self.clock.resume(self.facts.clock)
        for put in puts:
            self.state.apply(put)

    def _rewrite(self, ledger: StateLog) -> None:
        changes = [records.encode_change(put) for put in self.state.everything()]
        with _kept():
            ledger.rewrite([*changes, records.encode_host_record(self.facts)])


def _close_all(consoles: list[Console]) -> None:
    for console in list(consoles):
        console.close()


@contextmanager
def _kept() -> Iterator[None]:
    try:
        yield
    except StateLogError as error:
        raise Unavailable(f"the state cannot be kept: {error}") from error
