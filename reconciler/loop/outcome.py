"""How a tick ended. A closed union: who waits how long, what is logged and what is counted follow from it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import TypeAlias

from reconciler.gitstore.repo import Refs
from reconciler.plan import Plan
from schemas.problem import Problem


@dataclass(frozen=True, slots=True)
class Wrote:
    """The plan stands on the target branch, in this commit."""

    plan: Plan
    commit: str
    subject: str


@dataclass(frozen=True, slots=True)
class Rested:
    """There was nothing to write."""

    plan: Plan


@dataclass(frozen=True, slots=True)
class Postponed:
    """Nothing but bookkeeping would be written; it goes along with what comes next, or by itself at `until`."""

    plan: Plan
    until: datetime


@dataclass(frozen=True, slots=True)
class Raced:
    """Somebody else moved the target branch first; nothing was written. To be read again at once."""


@dataclass(frozen=True, slots=True)
class Moved:
    """The settings name other refs than those that were read."""

    refs: Refs


@dataclass(frozen=True, slots=True)
class Waiting:
    """There is nothing to reconcile, or nothing that may be: no source branch, or reports that are not there yet."""

    problems: tuple[Problem, ...]
    reason: str
    has_no_source: bool = False


@dataclass(frozen=True, slots=True)
class Failed:
    """It could not be done now. Nothing was written, or it is not known whether: the next snapshot tells."""

    trouble: str  # one word: network, auth, protocol, server, mirror, refused, damage, error
    cause: str
    cure: str = ""


Outcome: TypeAlias = Wrote | Rested | Postponed | Raced | Moved | Waiting | Failed
