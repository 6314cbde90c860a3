"""The host: its state under one lock, its clock, and its state log. It knows no calls of the runtime protocol.

Theory of operation. There are two kinds of change, and only one of them is written to disk:

    change                     goes through    order
    a call's effect            `commit`        state log (memory of the kernel), then state, then disk, then the answer
    something becoming due     `run_due`       state only: a restart computes it again from record, clock and seed

`lock` brings the host up to the present time first, so a call never sees a state that is out of date; everything due
is applied in order of its time, with `event_time_ns` saying that time. The lock is held for microseconds: the caller
waits for the disk after it has left the lock, and callers that wait together share one flush.

    a call commits                                                when it fails there
    1. the changed records are encoded and appended as one entry  nothing has changed; the call raises Unavailable
    2. they replace those in memory, and every index follows      no I/O, so nothing fails here
    3. what follows at once: notices, freed volumes, consoles     no I/O of the log
    4. the log is rewritten, when most of it is out of date       the call raises Unavailable; its effect stays
    5. the lock is left, and the entry waited for                 the call raises Unavailable; its effect stays
    6. the answer

So Unavailable from a host with a log means that the call may have taken effect, as it does for every runtime. Time is not
logged as it passes: the log has the clock's line (see `clock`), and due times are in the records.

Must never happen: a call is answered before its effect is on disk; state has an effect that the log lacks; something
that is computed again after a restart comes out differently (it depends on the seed and the record alone).
"""

from __future__ import annotations

import threading
from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager
from typing import TypeVar

from msgspec.structs import replace

from iri.ended_assignments import EndedAssignments
from iri.errors import Internal, InvalidArgument, NotFound, Unavailable
from iri.host import RuntimeClasses, RuntimeMachineClass, RuntimeVolumeClass
from iri.identity import derive_id, require_assignment
from iri.journal import Journal
from iri.machine import RuntimeMachine
from iri.runtime import Console, RuntimeObject
from iri.simulated import machine_lifecycle, volume_lifecycle
from iri.simulated.clock import SECOND_NS, SimulatedClock
from iri.simulated.host_model import NEVER_NS, HostModel, ObjectEvent
from iri.simulated.machine_lifecycle import SimulatedMachine
from iri.simulated.profile import Profile
from iri.simulated.provider_quirks import build_quirks
from iri.simulated.seeded_random import SeededRandom
from iri.simulated.state import records
from iri.simulated.state.host_state import HostState
from iri.simulated.state.records import KINDS, TABLES, AnyRecord, HostRecord, Record, Table
from iri.simulated.state.state_log import LogChange, StateLog
from iri.simulated.volume_lifecycle import SimulatedSnapshot, SimulatedVolume
from iri.volume import RuntimeSnapshot, RuntimeVolume

AnyClass = TypeVar("AnyClass", RuntimeMachineClass, RuntimeVolumeClass)
NewObject = TypeVar("NewObject", RuntimeMachine, RuntimeVolume, RuntimeSnapshot)


class SimulatedHost:
    """Thread-safe through `lock`. Without a state log, the state ends with the process."""

    def __init__(
        self, profile: Profile, seed: int, clock: SimulatedClock | None = None, log: StateLog | None = None
    ) -> None:
        self.clock = clock or SimulatedClock()
        self.record = HostRecord(seed=seed)
        self.state = HostState()
        self.ended = EndedAssignments()
        self.journal = Journal(self.event_time_ns)
        self._consoles: dict[str, list[Console]] = {}
        self._log = log
        self._entry = 0
        self._event_ns: int | None = None
        self._lock = threading.RLock()
        if log is not None:
            self._restore(log)
        self.set_profile(profile)

    def set_profile(self, profile: Profile) -> None:
        """Another profile from now on; existing objects stay. ValueError for an unknown behavior."""
        quirks = build_quirks(profile.behavior, profile.behavior_flags)
        with self._lock:
            self.profile = profile
            self.model = HostModel(profile.times, SeededRandom(self.record.seed), quirks)

    @property
    def classes(self) -> RuntimeClasses:
        """Those that a call has set, else the profile's."""
        return self.record.classes or self.profile.classes

    def event_time_ns(self) -> int:
        """The time of the event being applied: when it was due, else now."""
        return self.clock.now_ns() if self._event_ns is None else self._event_ns

    @contextmanager
    def lock(self, even_when_down: bool = False) -> Iterator[int]:
        """Exclusive use of an up-to-date host; yields the time. On leaving, everything committed is on disk.

        Unavailable while the host is down, or when the log cannot be written.
        """
        with self._lock:
            now_ns = self.run_due()
            if not even_when_down and now_ns < self.record.down_until_ns:
                seconds = (self.record.down_until_ns - now_ns) / SECOND_NS
                raise Unavailable(f"the host is restarting and will be back in {seconds:.1f}s")
            self._event_ns = now_ns
            try:
                yield now_ns
            finally:
                self._event_ns = None
            log, entry, self._entry = self._log, self._entry, 0
        if entry and log is not None:
            log.sync(entry)

    def run_due(self) -> int:
        """Applies everything that is due. Returns the time."""
        with self._lock:
            now_ns = self.clock.now_ns()
            for due_ns, (name, id) in self.state.timers.take_due(now_ns):
                self._event_ns = due_ns
                self._step(TABLES[name], id, due_ns)
            self._event_ns = None
            return now_ns

    def set_clock(self, rate: float) -> None:
        """Runs the clock at that rate from now on; 0 stops it. ValueError for an impossible rate."""
        with self.lock(even_when_down=True):
            self.clock.run(rate)
            self.commit(host_record=replace(self.record, clock=self.clock.state))

    def advance_clock(self, nanoseconds: int) -> None:
        """Moves the clock ahead and applies everything that is due by then."""
        with self.lock(even_when_down=True):
            self.clock.advance(nanoseconds)
            self.commit(host_record=replace(self.record, clock=self.clock.state))
        self.run_due()

    def next_due_ns(self) -> int | None:
        """For those who wait for the host. None: nothing will happen by itself, however long they wait."""
        with self._lock:
            return self.state.timers.next_due()

    def commit(self, *changed: Record, host_record: HostRecord | None = None) -> None:
        """Applies all changed records, after they are in the log; none of them when the log cannot be written.

        A call never removes a record: it orders the removal, and `run_due` carries it out.
        """
        if self._log is not None:
            encoded = [records.encode_record(record) for record in changed]
            if host_record is not None and host_record is not self.record:
                encoded.append(records.encode_host_record(host_record))
            self._entry = self._log.append(encoded)
        self.record = host_record or self.record
        for record in changed:
            self._apply(type(record), record.object.id, record)
        if self._log is not None and self._log.needs_rewrite():
            self._rewrite(self._log)

    def end_assignments(self, ids: Collection[str]) -> None:
        """On disk when the lock is left, as every commit."""
        after = EndedAssignments(self.ended.ids)
        new, dropped = after.add(ids)
        if self._log is not None and new:
            added: list[LogChange] = [(records.ENDED, id, b"") for id in new]
            self._entry = self._log.append([*added, *((records.ENDED, id, None) for id in dropped)])
        self.ended = after

    def add_events(self, subject: RuntimeObject, events: tuple[ObjectEvent, ...]) -> None:
        """The host adds the object and the time: that at which the event was due, not that of the call that applied it."""
        for reason, action, message, is_warning in events:
            self.journal.event(subject, reason, action, message, is_warning=is_warning)

    def find(self, table: type[AnyRecord], id: str, assignment: str = "") -> AnyRecord:
        """NotFound, or whatever the imitated provider answers for an unknown id. Such a provider knows no assignments."""
        record = self.state.get(table, id)
        if record is None:
            error = Internal if self.model.quirks.answers_internal_for_unknown_ids else NotFound
            raise error(f"{records.NAMES[table]} {id} does not exist")
        if not self.model.quirks.has_no_host_service:
            require_assignment(id, record.object.labels, assignment)
        return record

    def find_class(self, what: str, offered: Iterable[AnyClass], name: str) -> AnyClass:
        """InvalidArgument with the known classes, or what the imitated provider answers."""
        by_name = {each.name: each for each in offered}
        if name in by_name:
            return by_name[name]
        error = Internal if self.model.quirks.answers_internal_for_unknown_classes else InvalidArgument
        known = ", ".join(by_name) or "none"
        raise error(f"{what} class {name!r} does not exist here; there are: {known}")

    def pull_images(
        self, host_record: HostRecord, images: Iterable[str], now_ns: int
    ) -> tuple[HostRecord, int]:
        """When all images are on the host: the first use of an image pulls it. NEVER_NS when one cannot be pulled."""
        ready_ns = now_ns
        for image in images:
            if image in self.profile.unavailable_images:
                return host_record, NEVER_NS
            if image not in host_record.images:
                due_ns = self.model.after(now_ns, self.model.times.pull, "pull", image)
                host_record = replace(host_record, images={**host_record.images, image: due_ns})
            ready_ns = max(ready_ns, host_record.images[image])
        return host_record, ready_ns

    def identify(self, desired: NewObject, now_ns: int) -> tuple[HostRecord, NewObject]:
        """A new object with what the caller may set, and its id: from its uid label, else one that was never used."""
        host_record = self.record
        id = None if self.model.quirks.duplicates else derive_id(type(desired), desired.labels)
        if id is None:
            host_record = replace(host_record, nameless=host_record.nameless + 1)
            id = self.model.random.uuid("id", host_record.nameless)
        labels, annotations = desired.labels, desired.annotations
        return host_record, type(desired)(
            id=id, labels=labels, annotations=annotations, created_at=now_ns, spec=desired.spec
        )

    def add_console(self, machine_id: str, console: Console) -> None:
        """The host closes the console when the machine loses its power."""
        self._consoles.setdefault(machine_id, []).append(console)

    def has_console(self, machine_id: str, console: Console) -> bool:
        """Asked by the thread that keeps the host of an open console up to date; False ends that thread."""
        with self._lock:
            return console in self._consoles.get(machine_id, [])

    def drop_console(self, machine_id: str, console: Console) -> None:
        """The console's shell has ended."""
        with self._lock:
            left = [other for other in self._consoles.pop(machine_id, []) if other is not console]
            if left:
                self._consoles[machine_id] = left

    def close(self) -> None:
        """Ends every console and closes the log."""
        with self._lock:
            for consoles in list(self._consoles.values()):
                _close_all(consoles)
            if self._log is not None:
                self._log.close()
                self._log = None

    def _step(self, table: Table, id: str, due_ns: int) -> None:
        """Applies what is due for one record. Not logged: a restart computes it again."""
        before = self.state.require_record(table, id)
        after, events = self._compute_step(before, due_ns)
        self._apply(table, id, after)
        self.add_events((after or before).object, events)

    def _compute_step(self, record: Record, due_ns: int) -> tuple[Record | None, tuple[ObjectEvent, ...]]:
        """By the kind of the record; all three functions are pure."""
        match record:
            case SimulatedMachine():
                return machine_lifecycle.step(record, due_ns, self.model)
            case SimulatedVolume():
                return volume_lifecycle.step(record)
            case SimulatedSnapshot():
                return volume_lifecycle.step_snapshot(record)

    def _apply(self, table: Table, id: str, after: Record | None) -> None:
        """Replaces a record, and everything that follows at once: notices, events, volumes to remove, consoles to close."""
        applied = self.state.apply(table, id, after)
        if applied.what is not None:
            self.journal.notice(KINDS[table], id, applied.what)
        for address in applied.shared_addresses:
            message = f"another machine has the address {address} too"
            event = ObjectEvent("AddressInUse", "AttachNetworkInterface", message, is_warning=True)
            assert after is not None, "only a machine that exists has addresses"
            self.add_events(after.object, (event,))
        for volume_id in applied.freed_volumes:
            stored = self.state.get(SimulatedVolume, volume_id)
            if stored is not None and stored.phase is volume_lifecycle.VolumePhase.WAITING:
                removed = volume_lifecycle.start_removal(stored, self.event_time_ns(), self.model)
                self._apply(SimulatedVolume, volume_id, removed)
        if applied.lost_console:
            _close_all(self._consoles.get(id, []))

    def _restore(self, log: StateLog) -> None:
        """Reads the log; the records are up to date with the next `run_due`."""
        logged = log.load()
        host_record, restored = records.decode_records(logged)
        self.ended = EndedAssignments(id for kind, id in logged if kind == records.ENDED)
        if host_record is not None:
            self.record = host_record
        else:
            self.commit(host_record=replace(self.record))
        if self.record.clock is not None:
            self.clock.resume(self.record.clock)
        for record in restored:
            self.state.apply(type(record), record.object.id, record)

    def _rewrite(self, log: StateLog) -> None:
        """Writes the current records as a new log."""
        encoded = [records.encode_record(record) for record in self.state.all_records()]
        ended = [(records.ENDED, id, b"") for id in self.ended.ids]
        log.rewrite([*encoded, *ended, records.encode_host_record(self.record)])


def _close_all(consoles: list[Console]) -> None:
    """A copy, because each console drops itself from the list when it ends."""
    for console in list(consoles):
        console.close()
