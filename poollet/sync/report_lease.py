"""Whose the report ref is: when a poollet may take it over, when it waits, and when it goes because another has it. Pure.

A host that comes back takes its own ref at once. Another host of the same name is either dead, which a grace without a
move shows, or alive, and then one of the two must go: the one that finds the other's moves.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypeAlias

from reconciler.gitstore.objects.tree import ObjectId
from schemas.report import PoolletReport
from schemas.settings import fleet


@dataclass(frozen=True, slots=True)
class Take:
    """The ref may be written."""


@dataclass(frozen=True, slots=True)
class Wait:
    until_ms: int
    message: str


@dataclass(frozen=True, slots=True)
class Yield:
    """Somebody else writes it. The process ends and says so."""

    message: str


Claim: TypeAlias = Take | Wait | Yield


@dataclass(frozen=True, slots=True)
class Found:
    """What a look at the ref found: its commit, and who wrote it; `by` is None where that cannot be read."""

    commit: ObjectId | None
    by: PoolletReport | None


@dataclass
class Claimant:
    """One run of a poollet before its ref. `moment_ms` are of a clock that never jumps."""

    name: str
    host_id: str
    instance: str
    has_landed: bool = False
    _before: set[str] = field(default_factory=set)  # instances whose reports this one has replaced
    _seen: Found | None = None
    _since_ms: int = 0

    def judge(self, found: Found, moment_ms: int) -> Claim:
        by = found.by
        if found.commit is None or (by is not None and by.instance in {self.instance, *self._before}):
            return Take()
        if self.has_landed:
            return Yield(self._taken_over(found))
        if by is not None and (by.host_id == self.host_id or by.leaving == "leaving"):
            self._before.add(by.instance)
            return Take()
        if self._seen is None:
            self._seen, self._since_ms = found, moment_ms
        if self._seen.commit != found.commit:
            return Yield(self._taken_over(found))
        until_ms = self._since_ms + _grace_ms(by)
        if moment_ms >= until_ms:
            if by is not None:
                self._before.add(by.instance)
            return Take()
        seconds = (until_ms - moment_ms + 999) // 1000
        return Wait(until_ms, f"{self._last(found)}; it is taken over unless that moves within {seconds} s")

    def _last(self, found: Found) -> str:
        who = "somebody unknown" if found.by is None else f"the host {found.by.host_id}"
        return f"the report of poollet {self.name} was last written by {who}, and this host is {self.host_id}"

    def _taken_over(self, found: Found) -> str:
        if found.by is not None and found.by.host_id == self.host_id:
            return f"another poollet named {self.name} runs on this host, and has taken the report over"
        who = "somebody unknown" if found.by is None else f"the host {found.by.host_id}"
        return (
            f"another poollet named {self.name} is alive: {who} writes its report, and this host is {self.host_id}; "
            "names are unique, so give one of the two another name in poollet.yaml"
        )


def _grace_ms(by: PoolletReport | None) -> int:
    return (
        fleet.MIN_HEARTBEAT_TIMEOUT_MILLISECONDS
        if by is None
        else fleet.heartbeat_timeout_milliseconds(by.interval)
    )
