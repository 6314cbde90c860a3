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
from typing import Any, NamedTuple, cast

from iri.runtime import AnyObject, ChangeType, RuntimeKind, RuntimeObject
from iri.simulated.host_model import NEVER_NS
from iri.simulated.machine_lifecycle import HAS_SYSTEM, SimulatedMachine
from iri.simulated.state.addresses import SimulatedNetworks
from iri.simulated.state.attachments import Attachments
from iri.simulated.state.records import KINDS, NAMES, AnyRecord, Record, Table
from iri.simulated.state.state_log import LogKey
from iri.simulated.state.usage import Usage
from iri.simulated.volume_lifecycle import SimulatedVolume
from iri.timer_queue import TimerQueue


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
        self.timers: TimerQueue[LogKey, int] = TimerQueue()
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

    def all_records(self) -> list[Record]:
        return [record for kept in self._records.values() for record in kept.values()]

    def objects(self, kind: type[AnyObject]) -> Mapping[str, AnyObject]:
        """All of a kind as callers see them: the same mapping until one changes, and never changed in place."""
        snapshot = self._copies.get(kind)
        if snapshot is None:
            snapshot = self._copies[kind] = MappingProxyType(dict(self._published[kind]))
        return cast("Mapping[str, Any]", snapshot)

    def apply(self, table: Table, id: str, after: Record | None) -> Applied:
        """Replaces one record, or removes it for None, and updates every index."""
        before = self._records[table].get(id)
        self._keep(table, id, after)
        self.usage.update(before, after)
        if isinstance(before, SimulatedVolume) and after is None:
            self.attachments.drop_volume(id)
        elif isinstance(after, SimulatedVolume) and before is None:
            self.attachments.add_volume(id)
        what = self._publish(KINDS[table], id, before, after)
        if table is not SimulatedMachine:
            return Applied(what, [], [], False)
        was = before if isinstance(before, SimulatedMachine) else None
        now = after if isinstance(after, SimulatedMachine) else None
        shared = self.networks.update(was, now)
        had_system = was is not None and was.phase in HAS_SYSTEM
        lost_console = had_system and (now is None or now.phase not in HAS_SYSTEM)
        return Applied(what, self.attachments.update(id, was, now), shared, lost_console)

    def _keep(self, table: Table, id: str, after: Record | None) -> None:
        """The record itself, and when it changes next."""
        if after is None:
            self._records[table].pop(id, None)
        else:
            self._records[table][id] = after
        if after is None or after.due_ns >= NEVER_NS:
            self.timers.drop((NAMES[table], id))
        else:
            self.timers.put((NAMES[table], id), after.due_ns)

    def _publish(
        self, kind: RuntimeKind, id: str, before: Record | None, after: Record | None
    ) -> ChangeType | None:
        """The object for callers. A record may change without a visible difference."""
        if before is not None and after is not None and before.object == after.object:
            return None
        self._copies.pop(kind, None)
        if after is None:
            del self._published[kind][id]
            return ChangeType.DELETED
        self._published[kind][id] = after.object
        return ChangeType.CREATED if before is None else ChangeType.CHANGED
