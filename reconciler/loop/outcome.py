"""How a tick ended. A closed union: who waits how long, what is logged and what is counted follow from it.

Each outcome carries the `label` that metrics count it by (docs/run.md).

An outcome is a value and never an exception, because each of them is expected: to lose a push is how several reconcilers share a fleet, and a
remote that is away is an ordinary hour. `reconciler.loop.loop` has the table of what follows from each. A new outcome is added here, and
`assert_never` then names every place that must handle it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, TypeAlias

from reconciler.gitstore.repo import Refs
from reconciler.plan.types import Plan
from schemas.problem import Problem


@dataclass(frozen=True, slots=True)
class Committed:
    """The plan is on the target branch, in this commit."""

    label: ClassVar[str] = "committed"
    plan: Plan
    commit: str
    subject: str


@dataclass(frozen=True, slots=True)
class NoChange:
    """There was nothing to write, or progress alone (`reconciler.plan.significance`): that goes along with the next commit."""

    label: ClassVar[str] = "no_change"
    plan: Plan


@dataclass(frozen=True, slots=True)
class Conflict:
    """Another writer moved the target branch first; nothing was written. The next tick reads again at once."""

    label: ClassVar[str] = "conflict"


@dataclass(frozen=True, slots=True)
class RefsChanged:
    """The settings name other refs than those that were read."""

    label: ClassVar[str] = "refs_changed"
    refs: Refs


@dataclass(frozen=True, slots=True)
class TickBlocked:
    """There is nothing that may be reconciled: no source branch, no fleet, or a lost `live` that waits for reports."""

    label: ClassVar[str] = "blocked"
    problems: tuple[Problem, ...]
    reason: str
    has_no_source: bool = False
    ends: str = (
        ""  # until when it waits, and for whom: for the log alone, because it differs from tick to tick
    )


@dataclass(frozen=True, slots=True)
class Failed:
    """It could not be done now. Nothing was written, or it is unknown whether: the next snapshot shows it."""

    label: ClassVar[str] = "failed"
    trouble: str  # one word: network, auth, protocol, server, mirror, refused, damage, error
    cause: str
    cure: str = ""


Outcome: TypeAlias = Committed | NoChange | Conflict | RefsChanged | TickBlocked | Failed
