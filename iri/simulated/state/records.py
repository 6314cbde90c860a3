"""What the host writes down, and how: a record for each object, and its facts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar

import msgspec

from iri.host import RuntimeClasses
from iri.machine import RuntimeMachine
from iri.runtime import RuntimeKind
from iri.simulated.clock import ClockState
from iri.simulated.machine_lifecycle import SimulatedMachine
from iri.simulated.state.state_log import LogChange, LogKey, StateLogError
from iri.simulated.volume_lifecycle import SimulatedSnapshot, SimulatedVolume
from iri.volume import RuntimeSnapshot, RuntimeVolume


class HostRecord(msgspec.Struct, frozen=True, kw_only=True):
    """What belongs to the host and to no object. Without classes it offers the profile's, without a clock real time."""

    seed: int
    classes: RuntimeClasses | None = None
    clock: ClockState | None = None
    down_until_ns: int = 0
    nameless: int = 0  # objects ever made without a uid, so that no id comes twice
    images: Mapping[str, int] = {}  # when each is there


Record = SimulatedMachine | SimulatedVolume | SimulatedSnapshot
AnyRecord = TypeVar("AnyRecord", SimulatedMachine, SimulatedVolume, SimulatedSnapshot)
Table = type[SimulatedMachine] | type[SimulatedVolume] | type[SimulatedSnapshot]

# Volumes come before machines: who holds them is worked out from both.
TABLES: Mapping[str, Table] = {
    "volume": SimulatedVolume,
    "snapshot": SimulatedSnapshot,
    "machine": SimulatedMachine,
}
NAMES: Mapping[Table, str] = {table: name for name, table in TABLES.items()}
KINDS: Mapping[Table, RuntimeKind] = {
    SimulatedMachine: RuntimeMachine,
    SimulatedVolume: RuntimeVolume,
    SimulatedSnapshot: RuntimeSnapshot,
}
HOST_RECORD = ("facts", "")


class RecordChange(msgspec.Struct, frozen=True):
    """A record as it is to be, or None when there is to be none. For the facts, table and id say nothing."""

    table: Table
    id: str
    record: Record | None


def encode_change(put: RecordChange) -> LogChange:
    return NAMES[put.table], put.id, None if put.record is None else msgspec.msgpack.encode(put.record)


def encode_host_record(facts: HostRecord) -> LogChange:
    return (*HOST_RECORD, msgspec.msgpack.encode(facts))


def decode_records(written: Mapping[LogKey, bytes]) -> tuple[HostRecord | None, list[RecordChange]]:
    """In the order in which they can be applied."""
    facts = written.get(HOST_RECORD)
    try:
        puts = [
            RecordChange(table, id, msgspec.msgpack.decode(data, type=table))
            for name, table in TABLES.items()
            for (kind, id), data in written.items()
            if kind == name
        ]
        return (msgspec.msgpack.decode(facts, type=HostRecord) if facts else None), puts
    except msgspec.MsgspecError as error:
        raise StateLogError(f"the state was written by another version: {error}") from None
