"""Whether the reconciler does its whole job, for /healthz; and whether it works at all, for /livez. Values only.

    /healthz   503 while a cause below exists: a person, or another program, has something to do
    /livez     503 only when no tick ended for a long time: a restart may help

A restart ends none of the causes, so a probe that restarts must ask /livez.

    cause              while
    NoSuccess          no tick has ended well for a minute, or five intervals
    SourceHeld         commits of the source branch are not applied until they are approved
    AwaitingApproval   a `live` that was lost or rewound awaits an approval
    LiveLost           `live` was lost or rewound, and hosts that must report first have not
    Blocked            there is nothing to reconcile: no source branch, or no settings

Limits: single deletions that await approval do not count. They are a person's everyday work, and have a metric.
"""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple


class HealthCause(StrEnum):
    NO_SUCCESS = "NoSuccess"
    SOURCE_HELD = "SourceHeld"
    AWAITING_APPROVAL = "AwaitingApproval"
    LIVE_LOST = "LiveLost"
    BLOCKED = "Blocked"


class HealthProblem(NamedTuple):
    """`cure` is the line or the command that ends it, where there is one."""

    cause: str
    message: str
    cure: str = ""


class Health(NamedTuple):
    """`words` say why, whether it is well or not. A service manager or a probe reads `is_well`; `words` are for people."""

    is_well: bool
    words: str
    problems: tuple[HealthProblem, ...] = ()
