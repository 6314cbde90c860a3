"""A World without files: a test states what exists, what is reported and what is unverified, and nothing else."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec

from reconciler.world.changes import Confirm, Confirmation
from reconciler.world.objects.object_state import DocumentPlace, ObjectState, Origin
from reconciler.world.pools.grants import Grant
from reconciler.world.pools.pool_state import PoolState
from reconciler.world.record import ASSIGNED, Record, empty_status, record_of
from reconciler.world.reports.authority import AcceptedReports
from reconciler.world.reports.heartbeat import Heartbeat
from reconciler.world.reports.host_report import HostReport
from reconciler.world.reports.object_report import ObjectReport
from reconciler.world.reports.recovery_wait import MissingHost
from reconciler.world.source.parse_cache.cache import ParseCache
from reconciler.world.source.rules import Rules
from reconciler.world.source.source_head import SourceHead
from reconciler.world.state import State
from reconciler.world.view import HostSeen
from schemas.kinds import Key, Kind, api_version
from schemas.model import Assignment, Evict, MachineStatus, Taint, decode
from schemas.model.capacity import Shortfall
from schemas.report import objects as report
from schemas.settings.fleet import FleetIdentity, FleetSettings

FLEET = "5a1e9a5e-0d5c-4f0b-9a54-6d1b6f6f7f10"
NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
LIVE = "1" * 40
SOURCE = "2" * 40


class Small(State):
    """Answers with what a test put in where a real World would read reports, files and capacity."""

    def __init__(self) -> None:
        super().__init__({}, ParseCache())
        self.source_commit, self.live_commit = SOURCE, LIVE
        self.head = SourceHead(SOURCE)
        settings = FleetSettings(fleet=FleetIdentity(id=FLEET))
        self.rules = Rules(settings, settings)
        self.commits: dict[str, str] = {}  # by the hostID that wrote them
        self.reported_at = NOW - timedelta(minutes=1)  # all of them
        self.own_reports: dict[Key, ObjectReport] = {}
        self.claims: dict[Key, tuple[ObjectReport, ...]] = {}
        self.refused: dict[Key, tuple[str, ...]] = {}
        self.short: dict[str, tuple[Shortfall, ...]] = {}
        self.unverified: dict[Key, str] = {}
        self.missing: tuple[MissingHost, ...] = ()
        self.is_lost = False  # live is
        self.add(*classes())

    def host_seen(self, pool: Key, host: str) -> HostSeen:
        state, commit = self.find_pool(pool), self.commits.get(host, "")
        beat = state.heartbeat if state is not None and state.grant.host == host else None
        return HostSeen(commit, self.reported_at if commit else None, beat)

    def accepted_reports(self, key: Key) -> AcceptedReports:
        return AcceptedReports(self.own_reports.get(key), self.claims.get(key, ()), self.refused.get(key, ()))

    def shortfalls(self, machine: Key, pool: str) -> tuple[Shortfall, ...]:
        return self.short.get(pool, ())

    def why_unverified(self, key: Key) -> str:
        return self.unverified.get(key, "")

    @property
    def is_live_lost(self) -> bool:
        return self.is_lost

    @property
    def missing_hosts(self) -> tuple[MissingHost, ...]:
        return self.missing

    # How tests build it

    def add(self, *many: ObjectState) -> Small:
        for known in many:
            self.relations.replace(self.objects.get(known.key), known)
            self.objects[known.key] = known
        return self

    def leave_source(self, *keys: Key) -> Small:
        """They are on live and no longer in the source."""
        return self.add(
            *(msgspec.structs.replace(self.objects[key], origin=Origin.LEAVING, source=None) for key in keys)
        )

    def order_deletion(self, key: Key) -> Small:
        known = self.objects[key]
        record = msgspec.structs.replace(known.record, deletion_timestamp="2026-03-01T11:00:00Z")
        return self.add(msgspec.structs.replace(known, record=record, origin=Origin.LEAVING, source=None))

    def pool(self, name: str, **changes: Any) -> Small:
        given: dict[str, Any] = {
            "poollet": name,
            "grant": Grant(name, 1),
            "heartbeat": Heartbeat.ALIVE,
            "announced": report.PoolReport(status=report.ReportedPoolStatus(state="Ready")),
            "classes": frozenset({"small"}),
        }
        return self.with_pool(Key(Kind.MACHINE_POOL, "", name), given | changes)

    def volume_pool(self, name: str, **changes: Any) -> Small:
        given: dict[str, Any] = {"poollet": name, "grant": Grant(name, 1), "heartbeat": Heartbeat.ALIVE}
        return self.with_pool(Key(Kind.VOLUME_POOL, "", name), given | changes)

    def with_pool(self, key: Key, given: Mapping[str, Any]) -> Small:
        self.pools_by_kind[key.kind][key.name] = PoolState(key, is_declared=False, **given)
        return self

    def wait_on(self, host: str, name: str = "a") -> Small:
        """The poollet of that name has a candidate on that host."""
        candidate = report.CandidateReport(name=name, host_id=host, instance="1")
        self.reports.by_poollet[name] = HostReport(name, LIVE, LIVE, NOW, host=name, candidate=candidate)
        return self

    def confirm(self, about: Confirm, value: str) -> Small:
        new = Confirmation(about, value, SOURCE, NOW)
        self.head = replace(self.head, confirmations=(*self.head.confirmations, new))
        return self

    def confirm_destroyed(self, name: str) -> Small:
        """A commit states it of the host of that pool, which had the grant of both kinds until the commit before this tick."""
        request = {"commit": SOURCE, "host": name, "state": "Fenced"}
        for kind in (Kind.MACHINE_POOL, Kind.VOLUME_POOL):
            self.add(make_object(kind, name, {}, status={"epoch": 2, "destroyed": request}))
        return self

    def with_report(self, key: Key, phase: Any, **changes: Any) -> Small:
        """What the pool that it is assigned to reports of it."""
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
        self.own_reports[key] = ObjectReport(**(given | changes))
        return self


def classes() -> tuple[ObjectState, ...]:
    """In every world, so that no test has to declare them."""
    return (
        make_object(Kind.MACHINE_CLASS, "small", {"capabilities": {"cpu": 1, "memory": 1}}),
        make_object(Kind.MACHINE_CLASS, "huge", {"capabilities": {"cpu": 64, "memory": 64}}),
        make_object(Kind.VOLUME_CLASS, "fast", {"capabilities": {"tps": 1, "iops": 1}}),
    )


def uid_of(name: str) -> str:
    return f"00000000-0000-4000-8000-{abs(hash_of(name)):012d}"


def hash_of(name: str) -> int:
    """The same in every process."""
    return int.from_bytes(name.encode()[-5:], "big") % 10**12


def make_object(
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
    return make_object(Kind.MACHINE, name, spec, on=on, **changes)


def volume(name: str, *, on: str = "", **changes: Any) -> ObjectState:
    spec = {
        "volumeClassRef": {"name": "fast"},
        "resources": {"storage": "1Gi"},
        **changes.pop("spec", {}),
    }
    return make_object(Kind.VOLUME, name, spec, on=on, **changes)


def order_eviction(known: ObjectState, reason: str = "Drained") -> ObjectState:
    status = known.record.status
    assert isinstance(status, MachineStatus)
    assert status.assignment is not None
    order = Evict(assignment=status.assignment.id, reason=reason)
    changed = msgspec.structs.replace(status, evict=order)
    return msgspec.structs.replace(known, record=msgspec.structs.replace(known.record, status=changed))


DRAIN = Taint(key="gitvirt.dev/drain", effect="NoExecute")
