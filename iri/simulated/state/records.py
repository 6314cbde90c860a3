"""The records that a host keeps, and how each is encoded for the state log: one per object, and one for the host.

A record holds all that a restart cannot compute again. Its encoding is msgpack by field name, so fields may be added
with a default; a log with fields of another version is refused, never guessed at.

Not in a record, because a restart computes it again: indexes, listed objects, timers, and every step that has become due since the
record was committed. Lost with the process: events, faults, watches and open consoles.
"""

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
    """What belongs to no object. Without `classes` the host offers the profile's; without `clock` it runs in real time."""

    seed: int
    classes: RuntimeClasses | None = None
    clock: ClockState | None = None
    down_until_ns: int = 0
    nameless: int = 0  # objects ever created without a uid label, so that no id is used twice
    images: Mapping[str, int] = {}  # when each image is or was pulled
    holds_starts: bool = False  # after a boot, machines stay off until their power is ordered


Record = SimulatedMachine | SimulatedVolume | SimulatedSnapshot
AnyRecord = TypeVar("AnyRecord", SimulatedMachine, SimulatedVolume, SimulatedSnapshot)
Table = type[SimulatedMachine] | type[SimulatedVolume] | type[SimulatedSnapshot]

# Volumes come before machines: attachments are computed from both.
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
ENDED = "ended"  # the kind of an entry for each ended assignment, without content


def encode_record(record: Record) -> LogChange:
    """Kind and id are the key in the log, where the last record of a key counts."""
    return NAMES[type(record)], record.object.id, msgspec.msgpack.encode(record)


def encode_host_record(host_record: HostRecord) -> LogChange:
    """Under a key that no object has."""
    return (*HOST_RECORD, msgspec.msgpack.encode(host_record))


def decode_records(logged: Mapping[LogKey, bytes]) -> tuple[HostRecord | None, list[Record]]:
    """The host's record and all others, in the order in which they can be applied."""
    host_record = logged.get(HOST_RECORD)
    try:
        records: list[Record] = [
            msgspec.msgpack.decode(data, type=table)
            for name, table in TABLES.items()
            for (kind, _), data in logged.items()
            if kind == name
        ]
        return (msgspec.msgpack.decode(host_record, type=HostRecord) if host_record else None), records
    except msgspec.MsgspecError as error:
        raise StateLogError(f"the state log was written by another version: {error}") from None
