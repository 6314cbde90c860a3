"""All records of a host, and the indexes computed from them. Not thread-safe, knows no disk and no calls.

Theory of operation. `apply` replaces one record and updates every index from nothing but the record before and the
record after:

    records in -> usage         how much of each resource is promised
               -> networks      which addresses are taken
               -> attachments   which machine has which volume
               -> timers        when the record changes next
               -> published     the objects that callers see, copied only when one of them changed

So indexes and records cannot disagree, and a restart that applies every record once has all indexes again.
Must never happen: an index is changed from anywhere else.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple, cast

from iri.runtime import AnyObject, ChangeType, RuntimeKind, RuntimeObject
from iri.simulated.host_model import NEVER_NS
from iri.simulated.machine_lifecycle import HAS_SYSTEM, SimulatedMachine
from iri.simulated.state.addresses import SimulatedNetworks
from iri.simulated.state.attachments import Attachments
from iri.simulated.state.records import KINDS, NAMES, AnyRecord, Record, RecordChange, Table
from iri.simulated.state.usage import Usage
from iri.simulated.timer_queue import TimerQueue
from iri.simulated.volume_lifecycle import SimulatedVolume


class Applied(NamedTuple):
    """What an applied record means for others."""

    what: ChangeType | None  # None: callers see no difference
    freed_volumes: list[str]
    shared_addresses: list[str]
    lost_console: bool  # a machine whose system stopped running has no console any more


class HostState:
    """Read through its methods and indexes; written through `apply` alone."""

    def __init__(self) -> None:
        self.usage = Usage()
        self.networks = SimulatedNetworks()
        self.attachments = Attachments()
        self.timers = TimerQueue()
        self._records: dict[Table, dict[str, Record]] = {table: {} for table in KINDS}
        self._published: dict[RuntimeKind, dict[str, RuntimeObject]] = {kind: {} for kind in KINDS.values()}
        self._copies: dict[RuntimeKind, Mapping[str, RuntimeObject]] = {}

    def get(self, table: type[AnyRecord], id: str) -> AnyRecord | None:
        return cast("AnyRecord | None", self._records[table].get(id))

    def require_record(self, table: Table, id: str) -> Record:
        """One that exists."""
        return self._records[table][id]

    def list_records(self, table: type[AnyRecord]) -> Mapping[str, AnyRecord]:
        return cast("Mapping[str, AnyRecord]", self._records[table])

    def list_changes(self) -> list[RecordChange]:
        """Every record, as changes that would build the state again."""
        return [
            RecordChange(table, id, record)
            for table, kept in self._records.items()
            for id, record in kept.items()
        ]

    def objects(self, kind: type[AnyObject]) -> Mapping[str, AnyObject]:
        """All of a kind as callers see them: the same mapping until one changes, and never changed in place."""
        snapshot = self._copies.get(kind)
        if snapshot is None:
            snapshot = self._copies[kind] = MappingProxyType(dict(self._published[kind]))
        return cast("Mapping[str, AnyObject]", snapshot)

    def apply(self, put: RecordChange) -> Applied:
        """Replaces one record and updates every index."""
        before, after = self._records[put.table].get(put.id), put.record
        self._keep(put, after)
        self.usage.update(before, after)
        if isinstance(before, SimulatedVolume) and after is None:
            self.attachments.drop_volume(put.id)
        elif isinstance(after, SimulatedVolume) and before is None:
            self.attachments.add_volume(put.id)
        what = self._publish(put, before, after)
        if put.table is not SimulatedMachine:
            return Applied(what, [], [], False)
        was = before if isinstance(before, SimulatedMachine) else None
        now = after if isinstance(after, SimulatedMachine) else None
        shared = self.networks.update(was, now)
        had_system = was is not None and was.phase in HAS_SYSTEM
        lost_console = had_system and (now is None or now.phase not in HAS_SYSTEM)
        return Applied(what, self.attachments.update(put.id, was, now), shared, lost_console)

    def _keep(self, put: RecordChange, after: Record | None) -> None:
        """The record itself, and when it changes next."""
        key = (NAMES[put.table], put.id)
        if after is None:
            self._records[put.table].pop(put.id, None)
        else:
            self._records[put.table][put.id] = after
        if after is None or after.due_ns >= NEVER_NS:
            self.timers.drop(key)
        else:
            self.timers.put(key, after.due_ns)

    def _publish(self, put: RecordChange, before: Record | None, after: Record | None) -> ChangeType | None:
        """The object for callers. A record may change without a visible difference."""
        kind = KINDS[put.table]
        if after is None:
            if self._published[kind].pop(put.id, None) is None:
                return None
            self._copies.pop(kind, None)
            return ChangeType.DELETED
        if before is not None and before.public_object == after.public_object:
            return None
        self._published[kind][put.id] = after.public_object
        self._copies.pop(kind, None)
        return ChangeType.CREATED if before is None else ChangeType.CHANGED
