"""A world made by hand: what a test says there is, and nothing else. Answers every question by looking at all of it."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec

from reconciler.world.changes import Confirm, Confirmation, SourceHold
from reconciler.world.objects.object_state import DocumentPlace, ObjectState, Origin
from reconciler.world.objects.relations import Relations
from reconciler.world.pools.grants import NO_GRANT, Grant
from reconciler.world.pools.pool_state import PoolState
from reconciler.world.record import ASSIGNED, Record, empty_status, record_of
from reconciler.world.reports.authority import AcceptedReports
from reconciler.world.reports.heartbeat import Heartbeat
from reconciler.world.reports.recovery_wait import MissingHost
from reconciler.world.reports.reports import ObjectReport
from reconciler.world.state import HostSeen
from schemas.kinds import Key, Kind, api_version
from schemas.model import Assignment, Evict, MachineStatus, Taint, decode
from schemas.model.capacity import Shortfall
from schemas.problem import Problem
from schemas.report import objects as report
from schemas.settings.fleet import FleetIdentity, FleetSettings
from schemas.validate.finding import Finding

FLEET = "5a1e9a5e-0d5c-4f0b-9a54-6d1b6f6f7f10"
NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
LIVE = "1" * 40
SOURCE = "2" * 40


@dataclass
class Small:
    objects: dict[Key, ObjectState] = field(default_factory=lambda: {each.key: each for each in classes()})
    reports: dict[str, str] = field(default_factory=dict)  # commits, by the hostID that wrote them
    reported: datetime = NOW - timedelta(minutes=1)  # all of them
    words: dict[Key, ObjectReport] = field(default_factory=dict)
    claims: dict[Key, tuple[ObjectReport, ...]] = field(default_factory=dict)
    pools: dict[str, PoolState] = field(default_factory=dict)
    volume_pools: dict[str, PoolState] = field(default_factory=dict)
    absent: set[Key] = field(default_factory=set)
    short: dict[str, tuple[Shortfall, ...]] = field(default_factory=dict)
    doubts: dict[Key, str] = field(default_factory=dict)
    findings: dict[Key, tuple[Finding, ...]] = field(default_factory=dict)
    frozen: dict[str, tuple[Problem, ...]] = field(default_factory=dict)
    refused: dict[Key, tuple[str, ...]] = field(default_factory=dict)
    confirmations: list[Confirmation] = field(default_factory=list)
    settings: FleetSettings = field(default_factory=lambda: FleetSettings(fleet=FleetIdentity(id=FLEET)))
    previous_settings: FleetSettings | None = None
    source: str | None = SOURCE
    target: str | None = LIVE
    held_source: SourceHold | None = None
    is_live_lost: bool = False
    can_recover: bool = True
    missing_hosts: tuple[MissingHost, ...] = ()
    retained_volumes: dict[str, ObjectState] = field(default_factory=dict)

    @property
    def relations(self) -> Relations:
        """Of all objects, put together at each question."""
        found = Relations()
        for known in self.objects.values():
            found.replace(None, known)
        found.absent = self.absent
        return found

    def state(self, pool: Key) -> PoolState | None:
        return (self.pools if pool.kind is Kind.MACHINE_POOL else self.volume_pools).get(pool.name)

    def grant(self, pool: Key) -> Grant:
        state = self.state(pool)
        return state.grant if state is not None else NO_GRANT

    def host_seen(self, pool: Key, host: str) -> HostSeen:
        state, commit = self.state(pool), self.reports.get(host, "")
        beat = state.heartbeat if state is not None and state.grant.host == host else None
        return HostSeen(commit, self.reported if commit else None, beat)

    def accepted_reports(self, key: Key) -> AcceptedReports:
        return AcceptedReports(self.words.get(key), self.claims.get(key, ()), self.refused.get(key, ()))

    def shortfalls(self, machine: Key, pool: str) -> Collection[Shortfall]:
        return self.short.get(pool, ())

    def why_unverified(self, key: Key) -> str:
        return self.doubts.get(key, "")

    def faults(self, key: Key) -> Collection[Finding]:
        return self.findings.get(key, ())

    # What tests make it of.

    def add(self, *many: ObjectState) -> Small:
        self.objects |= {known.key: known for known in many}
        return self

    def goes(self, *keys: Key) -> Small:
        """Gone from the source."""
        for key in keys:
            self.objects[key] = msgspec.structs.replace(self.objects[key], origin=Origin.LEAVING, source=None)
            self.absent.add(key)
        return self

    def ordered_gone(self, key: Key) -> Small:
        known = self.objects[key]
        record = msgspec.structs.replace(known.record, deletion_timestamp="2026-03-01T11:00:00Z")
        self.objects[key] = msgspec.structs.replace(known, record=record, origin=Origin.LEAVING, source=None)
        self.absent.discard(key)
        return self

    def pool(self, name: str, **changes: Any) -> Small:
        given: dict[str, Any] = {
            "poollet": name,
            "grant": Grant(name, 1),
            "heartbeat": Heartbeat.ALIVE,
            "announced": report.PoolReport(status=report.ReportedPoolStatus(state="Ready")),
            "classes": frozenset({"small"}),
        }
        self.pools[name] = PoolState(Key(Kind.MACHINE_POOL, "", name), is_declared=False, **(given | changes))
        return self

    def volume_pool(self, name: str, **changes: Any) -> Small:
        given: dict[str, Any] = {"poollet": name, "grant": Grant(name, 1), "heartbeat": Heartbeat.ALIVE}
        key = Key(Kind.VOLUME_POOL, "", name)
        self.volume_pools[name] = PoolState(key, is_declared=False, **(given | changes))
        return self

    def confirms(self, about: Confirm, value: str) -> Small:
        self.confirmations.append(Confirmation(about, value, SOURCE, NOW))
        return self

    def says_destroyed(self, name: str) -> Small:
        """A commit states it of the host of that pool, which has the grant of both kinds."""
        granted = {"host": {"id": name}, "epoch": 1}
        for kind in (Kind.MACHINE_POOL, Kind.VOLUME_POOL):
            self.add(known(kind, name, {}, status=granted))
        return self.confirms(Confirm.POOL_DESTROYED, f"{name}={name}")

    def with_report(self, key: Key, phase: Any, **changes: Any) -> Small:
        """The word of the pool that it is assigned to."""
        record = self.objects[key].record
        assignment = record.assignment
        assert assignment is not None
        given: dict[str, Any] = {
            "poollet": assignment.pool,
            "host": assignment.pool,
            "pool": assignment.pool,
            "uid": record.uid,
            "assignment": assignment.id,
            "phase": phase,
        }
        self.words[key] = ObjectReport(**(given | changes))
        return self


def classes() -> tuple[ObjectState, ...]:
    """That nobody has to mention."""
    return (
        known(Kind.MACHINE_CLASS, "small", {"capabilities": {"cpu": 1, "memory": 1}}),
        known(Kind.MACHINE_CLASS, "huge", {"capabilities": {"cpu": 64, "memory": 64}}),
        known(Kind.VOLUME_CLASS, "fast", {"capabilities": {"tps": 1, "iops": 1}}),
    )


def uid_of(name: str) -> str:
    return f"00000000-0000-4000-8000-{abs(hash_of(name)):012d}"


def hash_of(name: str) -> int:
    """The same in every process."""
    return int.from_bytes(name.encode()[-5:], "big") % 10**12


def known(
    kind: Kind,
    name: str,
    spec: Mapping[str, Any] | None = None,
    *,
    on: str = "",
    is_new: bool = False,
    origin: Origin = Origin.DECLARED,
    status: Mapping[str, Any] | None = None,
    **metadata: Any,
) -> ObjectState:
    """An object of the source that live has too, unless `is_new`; `on` is the pool that it is assigned to."""
    key = Key(kind, "default" if kind.is_namespaced else "", name)
    whole: dict[str, Any] = {"name": name, **metadata}
    if kind.is_namespaced:
        whole["namespace"] = "default"
    body: dict[str, Any] = {"apiVersion": api_version(kind), "kind": kind.value, "metadata": whole}
    if spec is not None:
        body |= spec if kind in (Kind.SECRET, Kind.MACHINE_CLASS, Kind.VOLUME_CLASS) else {"spec": spec}
    place = DocumentPlace(f"{kind.value}-{name}.yaml", 0)
    if is_new:
        return ObjectState(key, decode(kind, body), origin, Record(), place, None)
    live = body | {"metadata": whole | {"uid": "" if kind is Kind.SECRET else uid_of(name)}}
    if status is not None:
        live["status"] = status
    record = record_of(kind, live)
    if on:
        assert isinstance(record.status, ASSIGNED)
        assigned = msgspec.structs.replace(
            record.status, assignment=Assignment(pool=on, id=f"{uid_of(name)[:-1]}a", host=on, epoch=1)
        )
        record = msgspec.structs.replace(record, pool=on, status=assigned)
    if record.status is None:
        record = msgspec.structs.replace(record, status=empty_status(kind))
    return ObjectState(key, decode(kind, body), origin, record, place, place)


def machine(name: str, *, on: str = "", **changes: Any) -> ObjectState:
    spec = {"machineClassRef": {"name": "small"}, **changes.pop("spec", {})}
    return known(Kind.MACHINE, name, spec, on=on, **changes)


def volume(name: str, *, on: str = "", **changes: Any) -> ObjectState:
    spec = {
        "volumeClassRef": {"name": "fast"},
        "resources": {"storage": "1Gi"},
        **changes.pop("spec", {}),
    }
    return known(Kind.VOLUME, name, spec, on=on, **changes)


def evicted(known: ObjectState, reason: str = "Drained") -> ObjectState:
    status = known.record.status
    assert isinstance(status, MachineStatus)
    assert status.assignment is not None
    order = Evict(assignment=status.assignment.id, reason=reason)
    changed = msgspec.structs.replace(status, evict=order)
    return msgspec.structs.replace(known, record=msgspec.structs.replace(known.record, status=changed))


DRAIN = Taint(key="gitvirt.dev/drain", effect="NoExecute")
