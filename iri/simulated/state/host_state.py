"""All records of a host, and what is worked out from them. Not thread-safe, knows no disk and no calls.

`apply` keeps usage, addresses, holders of volumes, the agenda and what is told in step, from nothing but the record
before and the record after. So a restart that applies every record once has everything again.
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

    what: ChangeType | None  # None: nobody can tell the difference
    freed_volumes: list[str]
    shared_addresses: list[str]
    went_off: bool  # a machine without a running system has no console


class HostState:
    def __init__(self) -> None:
        self.usage = Usage()
        self.networks = SimulatedNetworks()
        self.attachments = Attachments()
        self.agenda = TimerQueue()
        self._records: dict[Table, dict[str, Record]] = {table: {} for table in KINDS}
        self._told: dict[RuntimeKind, dict[str, RuntimeObject]] = {kind: {} for kind in KINDS.values()}
        self._snapshots: dict[RuntimeKind, Mapping[str, RuntimeObject]] = {}

    def get(self, table: type[AnyRecord], id: str) -> AnyRecord | None:
        return cast("AnyRecord | None", self._records[table].get(id))

    def record(self, table: Table, id: str) -> Record:
        """One that is known to be there."""
        return self._records[table][id]

    def all(self, table: type[AnyRecord]) -> Mapping[str, AnyRecord]:
        return cast("Mapping[str, AnyRecord]", self._records[table])

    def everything(self) -> list[RecordChange]:
        return [
            RecordChange(table, id, record)
            for table, kept in self._records.items()
            for id, record in kept.items()
        ]

    def objects(self, kind: type[AnyObject]) -> Mapping[str, AnyObject]:
        """All of a kind as told: the same mapping until one of them changes, and never changed in place."""
        snapshot = self._snapshots.get(kind)
        if snapshot is None:
            snapshot = self._snapshots[kind] = MappingProxyType(dict(self._told[kind]))
        return cast("Mapping[str, AnyObject]", snapshot)

    def apply(self, put: RecordChange) -> Applied:
        before, after = self._records[put.table].get(put.id), put.record
        self._keep(put, after)
        self.usage.change(before, after)
        if isinstance(before, SimulatedVolume) and after is None:
            self.attachments.drop_volume(put.id)
        elif isinstance(after, SimulatedVolume) and before is None:
            self.attachments.add_volume(put.id)
        what = self._publish(put, before, after)
        if put.table is not SimulatedMachine:
            return Applied(what, [], [], False)
        was = before if isinstance(before, SimulatedMachine) else None
        now = after if isinstance(after, SimulatedMachine) else None
        shared = self.networks.change(was, now)
        had_system = was is not None and was.phase in HAS_SYSTEM
        went_off = had_system and (now is None or now.phase not in HAS_SYSTEM)
        return Applied(what, self.attachments.change(put.id, was, now), shared, went_off)

    def _keep(self, put: RecordChange, after: Record | None) -> None:
        thing = (NAMES[put.table], put.id)
        if after is None:
            self._records[put.table].pop(put.id, None)
        else:
            self._records[put.table][put.id] = after
        if after is None or after.due_ns >= NEVER_NS:
            self.agenda.drop(thing)
        else:
            self.agenda.put(thing, after.due_ns)

    def _publish(self, put: RecordChange, before: Record | None, after: Record | None) -> ChangeType | None:
        kind = KINDS[put.table]
        if after is None:
            if self._told[kind].pop(put.id, None) is None:
                return None
            self._snapshots.pop(kind, None)
            return ChangeType.DELETED
        if before is not None and before.told == after.told:
            return None
        self._told[kind][put.id] = after.told
        self._snapshots.pop(kind, None)
        return ChangeType.CREATED if before is None else ChangeType.CHANGED
