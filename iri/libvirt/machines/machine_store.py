"""All machines by id. Every change to a machine goes through here, and watchers are notified here.

Rules. A record is written to libvirt before any caller sees it. Two changes to one machine's record follow each other
(`locked`). The listed object is replaced only when it differs, so equal machines are the identical object as before.

Must never happen: a secret is written into the domain's metadata, which every user of the host may read; an older observation
replaces a newer one (`observe` holds the machine's lock); a lock is held on the map while libvirt is called.

    lock                  held while                                   never while
    a machine's own       its record or observation is replaced        an image is fetched, or a guest is waited for
    the map               the two maps are replaced, in memory         libvirt or a secret is asked for anything

A machine's own lock may be taken twice by one thread. It is taken before the map's, never after.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Iterator, Mapping

import msgspec
from msgspec.structs import replace

from iri.errors import FailedPrecondition, NotFound
from iri.journal import Journal
from iri.libvirt.connect.domains import LibvirtDomains
from iri.libvirt.connect.machine_secrets import MachineSecrets
from iri.libvirt.domain.domain_state import RunState
from iri.libvirt.domain.record import (
    MachineRecord,
    decode_secrets,
    encode_secrets,
    from_metadata,
    merge_secrets,
    split_secrets,
    to_metadata,
)
from iri.libvirt.machines.guest import Guest, to_runtime_machine, with_conditions, with_observation
from iri.machine import RuntimeMachine
from iri.runtime import ChangeType

LOCKS = 251


class MachineStore:
    """`now` gives monotonic seconds, `now_ns` Unix nanoseconds."""

    def __init__(self, domains: LibvirtDomains, secrets: MachineSecrets, journal: Journal) -> None:
        self._domains = domains
        self._secrets = secrets
        self.journal = journal
        self.now, self.now_ns = time.monotonic, time.time_ns
        self._guests: dict[str, Guest] = {}
        self._listed: Mapping[str, RuntimeMachine] = {}
        self.unreadable: Mapping[str, str] = {}  # the reason, by id
        self._lock = threading.Lock()
        # A fixed number, shared by hash: a lock for each machine could never safely be thrown away.
        self._locks = tuple(threading.RLock() for _ in range(LOCKS))

    @property
    def machines(self) -> Mapping[str, RuntimeMachine]:
        """A snapshot; equal machines are the identical object as before."""
        return self._listed

    def ids(self) -> frozenset[str]:
        """Of the machines whose record could be read; `unreadable` has the others."""
        return frozenset(self._guests)

    def guests(self) -> tuple[Guest, ...]:
        """A copy: machines may come and go while the caller reads it."""
        with self._lock:
            return tuple(self._guests.values())

    def find(self, id: str) -> Guest | None:
        """None without such a machine. Without a lock: the answer may be outdated at once, and changes go through `update`."""
        return self._guests.get(id)

    def get(self, id: str) -> Guest:
        """As `find`, for calls of the interface: NotFound without such a machine."""
        guest = self._guests.get(id)
        if guest is None:
            raise NotFound(f"machine {id} does not exist")
        return guest

    @contextlib.contextmanager
    def lock(self, id: str) -> Iterator[None]:
        """While it lasts, no other thread changes this machine's record."""
        with self._locks[hash(id) % LOCKS]:
            yield

    def add(self, guest: Guest) -> RuntimeMachine:
        """For a machine whose domain libvirt has already; the caller holds its lock."""
        guest = with_conditions(guest, self.now_ns())
        with self._lock:
            self._replace(guest)
        self.journal.notice(RuntimeMachine, guest.id, ChangeType.CREATED)
        return self._listed[guest.id]

    def drop(self, id: str) -> None:
        """For a machine whose domain is gone. Watchers are told that it is deleted."""
        with self._lock:
            self._guests.pop(id, None)
            self._listed = {other: machine for other, machine in self._listed.items() if other != id}
        self.journal.notice(RuntimeMachine, id, ChangeType.DELETED)

    def update(self, id: str, change: Callable[[Guest], Guest]) -> Guest | None:
        """Returns None when the machine is gone. `change` is pure and quick: the map is locked."""
        with self._lock:
            before = self._guests.get(id)
            if before is None:
                return None
            after = with_conditions(change(before), self.now_ns())
            has_changed = self._replace(after)
        if has_changed:
            self.journal.notice(RuntimeMachine, id, ChangeType.CHANGED)
        return after

    def observe(self, id: str) -> Guest | None:
        """Asks libvirt for the domain's state. None when libvirt no longer has the domain."""
        with self.lock(id):  # or an older observation could replace a newer one
            try:
                observed = self._domains.observe(id)
            except NotFound:
                return None
            return self.update(id, lambda guest: with_observation(guest, observed, self.now()))

    def edit_record(self, id: str, change: Callable[[MachineRecord], MachineRecord]) -> Guest | None:
        """Changes the record, in libvirt first. Returns None when the machine is gone."""
        with self.lock(id):
            guest = self._guests.get(id)
            if guest is None:
                return None
            record = change(guest.record)
            if record == guest.record:
                return guest
            record = self.store_secrets(id, record, guest.record)
            self._domains.write_metadata(id, to_metadata(record))
            return self.update(id, lambda found: replace(found, record=record))

    def rewrite_record(self, guest: Guest) -> None:
        """Writes the record to libvirt again; a domain that was undefined while it runs is defined by that."""
        with self.lock(guest.id):
            latest = self._guests.get(guest.id)
            if latest is not None:
                self._domains.write_metadata(guest.id, to_metadata(latest.record))
                self.observe(guest.id)

    def store_secrets(
        self, id: str, record: MachineRecord, before: MachineRecord | None = None
    ) -> MachineRecord:
        """Puts the secrets of the record's spec into libvirt secrets, which only administrators of libvirt can read."""
        _, secrets = split_secrets(record.spec)
        old = split_secrets(before.spec)[1] if before is not None else None
        if secrets != old and (secrets or record.has_secrets):
            self._secrets.put(id, encode_secrets(secrets) if secrets else b"")
        return replace(record, has_secrets=bool(secrets))

    def recover(self) -> frozenset[str]:
        """Adds the machines that libvirt has and this store lacks: all at the start; later one that a killed libvirtd had defined.

        Machines with unreadable metadata are kept out, and their disks and secrets are left alone."""
        unreadable, recovered = {}, set()
        for id, found in self._domains.metadata().items():
            with self.lock(id):
                if id in self._guests:
                    continue
                try:
                    record = self.load_secrets(id, from_metadata(found))
                    observed = self._domains.observe(id)
                    is_known = observed.run_state is not RunState.UNFINISHED_START
                    is_autostart_off = is_known and not self._domains.is_autostart(id)
                except NotFound:
                    continue  # undefined meanwhile
                except (ValueError, msgspec.DecodeError) as error:
                    unreadable[id] = str(error)
                    continue
                guest = Guest(id=id, record=record, is_autostart_off=is_autostart_off)
                self.add(with_observation(guest, observed, self.now()))
            recovered.add(id)
        self.unreadable = unreadable
        return frozenset(recovered)

    def refuse_unreadable(self, id: str) -> None:
        """Raises FailedPrecondition: a new machine of that id would replace a domain, and its record with it."""
        if (reason := self.unreadable.get(id)) is not None:
            raise FailedPrecondition(f"machine {id} exists, but its metadata cannot be read: {reason}")

    def load_secrets(self, id: str, record: MachineRecord) -> MachineRecord:
        """The record with the secrets of its spec. Raises ValueError when they are lost: then the machine counts as unreadable."""
        if not record.has_secrets:
            return record
        data = self._secrets.get(id)
        if not data and record.deleted_at:
            # The deletion was cut off after it had deleted the secrets; it needs none to go on.
            return record
        if not data:
            raise ValueError("its libvirt secrets are missing")
        return replace(record, spec=merge_secrets(record.spec, decode_secrets(data)))

    def _replace(self, guest: Guest) -> bool:
        """Returns whether the listed object has changed."""
        self._guests[guest.id] = guest
        machine = to_runtime_machine(guest)
        if self._listed.get(guest.id) == machine:
            return False
        self._listed = {**self._listed, guest.id: machine}
        return True
