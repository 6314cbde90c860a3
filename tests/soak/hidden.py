"""What hosts have and no reconciler can know of, while an old `live` is put back. So it does not count as being twice, or as a second writer.

There are two ways: a report that is forged with the host's key; and a host that is silent for a heartbeat timeout while a reconciler has not seen
the lost `live`, because it began without its mirror, or has not reached the server since (docs/operations.md, "Where the order matters").
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from iri.machine import RuntimeMachine
from iri.volume import RuntimeVolume
from schemas.model import Machine, Volume
from schemas.settings.fleet import MIN_HEARTBEAT_TIMEOUT_MILLISECONDS
from tests.poollet.fleet import REPORTS

if TYPE_CHECKING:
    from tests.soak.stage import Stage


@dataclass
class Hidden:
    """`things` are hosts and uids; `since` is when a reconciler began without its mirror, with the reports of that moment."""

    things: set[tuple[str, str]] = field(default_factory=set)
    since: tuple[int, dict[str, str | None]] | None = None

    def hide(self, stage: Stage, name: str) -> None:
        """What is there and `live` does not assign there."""
        live = stage.live()
        declared: tuple[Machine | Volume, ...] = (*live.all(Machine), *live.all(Volume))
        places = {one.metadata.uid: one.status.assignment for one in declared}
        for kind in (RuntimeMachine, RuntimeVolume):
            for uid in stage.uids(name, kind).values():
                given = places.get(uid)
                if given is None or given.pool != name:
                    self.things.add((name, uid))

    def begin(self, stage: Stage) -> None:
        heads = {name: stage.fleet.head(REPORTS + name) for name in stage.hosts}
        self.since = stage.time.ms, heads

    def end(self, stage: Stage) -> None:
        """Every host has reported, and applies the `live` that was put back. What that assigns where it is, or is gone, is hidden no more."""
        self.since = None
        before, self.things = self.things, set()
        for name in stage.hosts:
            self.hide(stage, name)
        self.things &= before

    def hide_silent(self, stage: Stage) -> None:
        """What hosts have that did not report since a reconciler began."""
        if self.since is None or stage.time.ms < self.since[0] + MIN_HEARTBEAT_TIMEOUT_MILLISECONDS:
            return
        for name, head in self.since[1].items():
            if stage.fleet.head(REPORTS + name) == head:
                self.hide(stage, name)
