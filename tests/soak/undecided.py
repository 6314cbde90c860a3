"""What people do where several hosts have an object that is to go, after a lost `live` was recovered: they keep the one of one host.

As the condition of the object and docs/trouble.md tell them: for each other host they commit the file that has its orphan deleted, and remove
that file once the orphan is gone. The last one is adopted, and the deletion goes on there.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from schemas.live_layout import ORPHANS
from schemas.model import Machine, Volume
from schemas.report.objects import Orphan
from tests.soak import hostile_reports

if TYPE_CHECKING:
    from schemas.kinds import Key
    from tests.soak.stage import Stage
    from tests.soak.walk import Life

MULTIPLE = "ReportedByMultiplePools"


def decide(life: Life) -> str:
    """The orders that people write now, by commit; empty where they have nothing to change."""
    stage, before = life.stage, life.people.orders
    after = {path: text for path, text in before.items() if is_there(stage, path, text)}
    for key in list_undecided(life):
        there = [file_of(one) for one in list_orphans(stage, key)]
        if any(path in after for path, _ in there):
            continue
        if there and not is_assigned(stage, key):  # else the one of that host is kept
            there.remove(life.chance.choice(there))
        after |= dict(there)
    if after == before:
        return ""
    life.people.orders = after
    life.people.commit()
    return ", ".join(after) or "no orders"


def list_undecided(life: Life) -> list[Key]:
    """Objects that left the source, and wait because several hosts report them."""
    live, declared = life.stage.live(), life.people.declared.texts
    objects: tuple[Machine | Volume, ...] = (*live.all(Machine), *live.all(Volume))
    return sorted(
        one.key
        for one in objects
        if f"{one.key.kind.value}/{one.key.name}" not in declared
        and any(each.reason == MULTIPLE for each in one.status.conditions)
    )


def is_assigned(stage: Stage, key: Key) -> bool:
    """Whether `live` assigns it to a host, which reports it, beside those that have it as an orphan."""
    objects: tuple[Machine | Volume, ...] = (*stage.live().all(Machine), *stage.live().all(Volume))
    return any(one.key == key and one.status.assignment is not None for one in objects)


def list_orphans(stage: Stage, key: Key) -> list[Orphan]:
    """Those of that kind and name in all reports."""
    reports = [hostile_reports.report_of(stage.fleet, name) for name in stage.hosts]
    return [
        one
        for report in reports
        for one in (report.orphans if report is not None else ())
        if (one.kind, one.namespace, one.name) == key and one.uid
    ]


def file_of(orphan: Orphan) -> tuple[str, str]:
    """The path and the text of the file that has it deleted."""
    return f"{ORPHANS}{orphan.uid}.yaml", f"pool: {orphan.pool}\n"


def is_there(stage: Stage, path: str, text: str) -> bool:
    """Whether the host of such a file still has the object. Its pools have its name."""
    return uid_of(path) in stage.uids(text.removeprefix("pool: ").strip()).values()


def uid_of(path: str) -> str:
    return path.removeprefix(ORPHANS).removesuffix(".yaml")


def is_ordered(stage: Stage, uid: str, name: str) -> bool:
    """Whether a file on `live` has the orphan of that uid deleted on this host."""
    return stage.texts().get(f"{ORPHANS}{uid}.yaml") == f"pool: {name}\n"
