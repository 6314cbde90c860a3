"""What the host writes down, and how: a record for each object, and its facts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar

import msgspec

from iri.host import RuntimeClasses
from iri.machine import RuntimeMachine
from iri.runtime import RuntimeKind
from iri.simulated.clock import ClockState
from iri.simulated.machine_lifecycle import Guest
from iri.simulated.state.state_log import Change, Key, LedgerError
from iri.simulated.volume_lifecycle import Shot, Stored
from iri.volume import RuntimeSnapshot, RuntimeVolume


class Facts(msgspec.Struct, frozen=True, kw_only=True):
    """What belongs to the host and to no object. Without classes it offers the profile's, without a clock real time."""

    seed: int
    classes: RuntimeClasses | None = None
    clock: ClockState | None = None
    down_until_ns: int = 0
    nameless: int = 0  # objects ever made without a uid, so that no id comes twice
    images: Mapping[str, int] = {}  # when each is there


Record = Guest | Stored | Shot
AnyRecord = TypeVar("AnyRecord", Guest, Stored, Shot)
Table = type[Guest] | type[Stored] | type[Shot]

# Volumes come before machines: who holds them is worked out from both.
TABLES: Mapping[str, Table] = {"volume": Stored, "snapshot": Shot, "machine": Guest}
NAMES: Mapping[Table, str] = {table: name for name, table in TABLES.items()}
KINDS: Mapping[Table, RuntimeKind] = {Guest: RuntimeMachine, Stored: RuntimeVolume, Shot: RuntimeSnapshot}
FACTS = ("facts", "")


class Put(msgspec.Struct, frozen=True):
    """A record as it is to be, or None when there is to be none. For the facts, table and id say nothing."""

    table: Table
    id: str
    record: Record | None


def change(put: Put) -> Change:
    return NAMES[put.table], put.id, None if put.record is None else msgspec.msgpack.encode(put.record)


def facts_change(facts: Facts) -> Change:
    return (*FACTS, msgspec.msgpack.encode(facts))


def read(written: Mapping[Key, bytes]) -> tuple[Facts | None, list[Put]]:
    """In the order in which they can be applied."""
    facts = written.get(FACTS)
    try:
        puts = [
            Put(table, id, msgspec.msgpack.decode(data, type=table))
            for name, table in TABLES.items()
            for (kind, id), data in written.items()
            if kind == name
        ]
        return (msgspec.msgpack.decode(facts, type=Facts) if facts else None), puts
    except msgspec.MsgspecError as error:
        raise LedgerError(f"the state was written by another version: {error}") from None
