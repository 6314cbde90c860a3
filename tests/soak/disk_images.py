"""Disk images of hosts: a host comes back from an older one, or a second host boots from a copy. Acts of a life.

A stock provider starts its guests as it likes after a boot, and cannot be told to keep one off: neither happens to its hosts.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import TYPE_CHECKING

from msgspec.structs import replace

from iri.ended_assignments import EndedAssignments
from iri.simulated.state.records import TABLES, HostRecord, Record
from tests.poollet.stage import Note, StagedHost

if TYPE_CHECKING:
    from tests.soak.walk import Life

KEPT = 2
OURS = "gitvirt"  # the behavior of our own runtimes
ONLY_OURS = ("old-image", "clone")


@dataclass(frozen=True)
class DiskImage:
    """What a host had on its disks, and the hostID that its configuration names."""

    host: HostRecord
    records: tuple[Record, ...]
    ended: tuple[str, ...]
    note: Note  # of its poollet
    id: int

    def boot(self, staged: StagedHost) -> None:
        """Onto a new machine, whose guests wait for `live`."""
        host = staged.host
        host.record = replace(self.host, holds_starts=True, down_until_ns=0)
        host.ended = EndedAssignments(self.ended)
        for table in TABLES.values():
            for record in self.records:
                if type(record) is table:
                    host.state.apply(table, record.object.id, record)


def take(life: Life, name: str) -> DiskImage:
    host = life.stage.machines[name].host
    host.run_due()
    records = tuple(host.state.all_records())
    note = dataclasses.replace(life.stage.notes.get(name, Note()))
    return DiskImage(host.record, records, host.ended.ids, note, life.stage.ids[name][-1])


def image(life: Life) -> str:
    """An operator copies the disks of a host."""
    name = life.host()
    life.images[name] = [*life.images.get(name, [])[-KEPT + 1 :], take(life, name)]
    return name


def restore_host(life: Life) -> str:
    """The host goes on with an older image of its disks: what came since is lost, and what left it is there again."""
    if life.behavior != OURS:
        return ""
    name = life.host()
    found = [one for one in life.images.get(name, ()) if one.id == life.stage.ids[name][-1]]
    if not found:
        return ""
    life.stage.restore_host(name, life.chance.choice(found))
    return name


def clone(life: Life) -> str:
    """A second host boots from a copy of the disks, with the same name and hostID; or the one that does is switched off."""
    if life.behavior != OURS:
        return ""
    name = life.host()
    if name in life.stage.clones:
        del life.stage.clones[name]
        return f"{name}: the clone is off"
    life.stage.add_clone(name, take(life, name))
    return name
