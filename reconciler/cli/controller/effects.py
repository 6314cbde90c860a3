"""What a commit would do to some objects: the reconciler's own plan of it, in the words of `gitvirt plan`, and what of that needs consent."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from reconciler.cli.fleet_repo import FleetRepo
from reconciler.cli.mutate.forecast import forecast
from reconciler.cli.mutate.output import FileEdit
from reconciler.cli.plan import make_outline
from reconciler.cli.plans.as_text import TITLES, details, headline
from reconciler.cli.plans.entries import group_entries
from reconciler.cli.plans.outline import Entry, PlanSection
from schemas.kinds import Key
from schemas.model import Machine, Object

STOPS = (PlanSection.DELETE, PlanSection.RECREATE, PlanSection.MOVE)


@dataclass(frozen=True, slots=True)
class CommitEffects:
    """`lines` for people. `destroys`: data is lost, now or once what holds it has ended; `stops`: a guest is stopped, if only for a moment."""

    lines: tuple[str, ...] = ()
    destroys: bool = False
    stops: bool = False

    @property
    def words(self) -> str:
        return "; ".join(line.strip() for line in self.lines)


def find_effects(fleet: FleetRepo, edits: Sequence[FileEdit], keys: Collection[Key]) -> CommitEffects:
    """On these objects. Without a target branch nothing runs yet, and a commit has no effect that could be named."""
    seen = forecast(fleet, edits, datetime.now(UTC))
    if seen is None:
        return CommitEffects()
    entries = [each for each in make_outline(seen).entries() if each.key in keys]
    lines: list[str] = []
    for group in group_entries(entries):
        section = group.first.section
        lines.append(f"{TITLES.get(section, section.value)} {headline(group)}")
        lines += (f"  {line}" for line in details(group))
    return CommitEffects(tuple(lines), any(each.losses for each in entries), any(map(is_stop, entries)))


def is_stop(entry: Entry) -> bool:
    return entry.section in STOPS and (bool(entry.pool) or entry.is_move)


def list_concerned(before: Object, after: Object | None = None) -> set[Key]:
    """The object, and the volumes that it has or had: those that it generates go with their entries."""
    machines = [each for each in (before, after) if isinstance(each, Machine)]
    volumes = (each.volume_key(disk) for each in machines for disk in each.spec.volumes)
    return {before.key, *(key for key in volumes if key is not None)}
