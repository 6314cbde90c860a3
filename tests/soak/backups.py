"""An administrator restores the Git server from a backup: acts of a life, by the ways that docs/operations.md knows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.poollet.fleet import LIVE, MAIN, REPORTS
from tests.soak.stage import PARTIES, RECONCILERS

if TYPE_CHECKING:
    from tests.soak.walk import Life

KEPT = 3
WAYS = ("whole", "live", "reports", "mirror")


def back_up(life: Life) -> str:
    life.backups = [*life.backups[-KEPT + 1 :], dict(life.stage.fleet.remote.refs)]
    return f"{len(life.backups)} kept"


def restore(life: Life) -> str:
    """All refs of a backup (`whole`: into an empty repo; `mirror`: over what is there), only live, or only the reports. What people
    have declared since is in their clones, and they push it again. Reconcilers were stopped meanwhile, or not."""
    backups = [one for one in life.backups if LIVE in one]
    if not backups:
        return ""
    backup, way = life.chance.choice(backups), life.chance.choice(WAYS)
    remote = life.stage.fleet.remote
    life.laws.expect_recovery()
    if way == "live":
        remote.refs[LIVE] = backup[LIVE]
    elif way == "reports":
        remote.refs.update({ref: commit for ref, commit in backup.items() if ref.startswith(REPORTS)})
    else:
        _replace(life, backup, way)
    if is_restarted := life.chance.random() < 0.5:
        for who in RECONCILERS:
            life.stage.forget(who)
    life.stage.hidden.begin(
        life.stage
    )  # also without a restart one of them may have been away since it began
    life.reached[f"restored: {way}"] += 1
    return f"{way}, of {len(life.backups)} backups{', reconcilers restarted' if is_restarted else ''}"


def _replace(life: Life, backup: dict[str, str], way: str) -> None:
    remote = life.stage.fleet.remote
    newest = remote.refs[MAIN]
    remote.refs.clear()
    remote.refs.update(backup)
    if way == "whole":
        remote.late.clear()
    elif life.chance.random() < 0.3:
        for who in life.chance.sample(PARTIES, 3):
            life.turn(who)
    remote.refs[MAIN] = newest
