"""The inputs of a decision and its result. Values only; `decide` turns one into the other."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeVar

from poollet.decide.actions import ExecutorState, ObjectAction
from poollet.decide.gates import OPEN, HostPermissions
from poollet.decide.host_facts import PoolletFacts
from poollet.decide.memory import Entry, Memory
from poollet.runtimes.runtime_lists import RuntimeLists
from poollet.sync.live_view import LiveView
from schemas import report
from schemas.kinds import Key

Name = tuple[str, ...]
AnyEntry = TypeVar("AnyEntry", report.MachineReport, report.VolumeReport, report.SnapshotReport)


@dataclass(frozen=True)
class DecisionInput:
    """`now_ms` is a moment of a clock that never jumps. `view` is None while `live` is not applied; `host` says which gates are
    closed for everything on this host."""

    view: LiveView | None
    observed: RuntimeLists
    executor: ExecutorState
    memory: Memory
    facts: PoolletFacts
    now_ms: int
    host: HostPermissions = OPEN


@dataclass(frozen=True)
class Decision:
    """`actions` in the order to begin them. `recheck_at_ms`: look at fresh lists by then, though nothing else happens."""

    actions: tuple[ObjectAction, ...] = ()
    machines: Mapping[Name, report.MachineReport] = field(default_factory=dict)
    volumes: Mapping[Name, report.VolumeReport] = field(default_factory=dict)
    snapshots: Mapping[Name, report.SnapshotReport] = field(default_factory=dict)
    orphans: tuple[report.Orphan, ...] = ()
    memory: Memory = field(default_factory=Memory)
    recheck_at_ms: int | None = None


def by_name(entries: Mapping[Key, Entry], kind: type[AnyEntry]) -> dict[Name, AnyEntry]:
    """The entries of a kind, as the report has them."""
    return {
        (key.namespace, key.name): entry for key, entry in sorted(entries.items()) if isinstance(entry, kind)
    }
