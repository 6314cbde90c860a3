"""Whether `live` was rewound: it lacks commits that were applied. Pure values; update/judge_live.py finds them.

Theory of operation
-------------------
A Git server that is restored from a backup, or a force push, gives a `live` that is older than what hosts run. Each of these is
evidence that a commit is missing from the history of `live`:

    evidence                                                    alone it holds
    this process wrote or saw the commit on `live`              the fleet
    a report names it as its `liveCommit`                       its own pools, and the unplaced objects that it names
    a report names a higher epoch of a granted pool             the same
    ... two poollets or more report such                        the fleet
    ... the commit is here, and a reconciler of this fleet      the fleet
        wrote it (signed, where the fleet asks for that)
    ... a commit on the source approves its digest              the fleet

While the fleet is held, `live` counts as lost (`View.is_live_lost`): nothing is written until every known host is accounted for; then
what runs is adopted, and the rest placed. That commit, the recovery commit, names the evidence, which then holds nothing any more
(gitstore/live_recovery.py).

One report alone holds little, because one stolen key can write it: it neither stops the fleet nor opens adoption.

Must never happen: a `live` that lacks what hosts applied is taken as it is; one host, or one key, stops the fleet.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime

from reconciler.gitstore.objects.tree import ObjectId

NAMED_AT_MOST = 5


@dataclass(slots=True)
class LiveSeen:
    """What this process saw of `live`; it outlives the World. `commit` is the newest one of a reconciler that it wrote or saw. `lost_since`
    is when it first saw that `live` is lost or rewound, by the clock of heartbeats: a host is accounted for by what it reports after that."""

    commit: ObjectId | None = None
    lost_since: datetime | None = None


@dataclass(frozen=True, slots=True)
class Rewind:
    """The evidence. `own` is the missing commit that this process wrote or saw. `reports` has for each poollet what its report names
    and `live` lacks: commits, and epochs as POOL@EPOCH. `is_proven`: it holds the fleet."""

    own: ObjectId | None = None
    reports: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    commits: frozenset[ObjectId] = frozenset()
    is_proven: bool = False

    @property
    def subjects(self) -> tuple[str, ...]:
        """Each is the subject of an approval of the recovery. Sorted, so that all print the same one first."""
        return tuple(sorted({each for named in self.reports.values() for each in named} | self.commits))

    def describe(self) -> str:
        """For people: which commits are missing, and who names them."""
        return join_some(
            [
                *([f"{self.own[:12]} (this process wrote or saw it)"] if self.own else []),
                *(
                    f"{_short(each)} (the report of {name} names it)"
                    for name, named in sorted(self.reports.items())
                    for each in named
                ),
            ]
        )


NO_REWIND = Rewind()


@dataclass(frozen=True, slots=True)
class PendingRecovery:
    """A recovery that hosts apply once people approve it. `differences` say which machines it assigns elsewhere than the `live`
    before it."""

    commit: ObjectId
    hosts: tuple[str, ...]
    differences: tuple[str, ...]


def join_some(parts: Iterable[str], most: int = NAMED_AT_MOST) -> str:
    found = list(parts)
    more = [f"{len(found) - most:,} more"] if len(found) > most else []
    return ", ".join([*found[:most], *more])


def difference(name: str, before: str, after: str) -> str:
    """From where to where: of one machine, as the rewound `live` has it and as hosts report it."""
    return f"{name}: {before or 'no pool'} -> {after or 'no pool'}"


def describe_differences(differences: Iterable[str]) -> str:
    """For a message; what is empty differs nowhere."""
    found = sorted(differences)
    if not found:
        return "Each machine is on the pool that live names"
    are = "machine is" if len(found) == 1 else "machines are"
    return f"{len(found):,} {are} on another pool than the one that live names: {join_some(found, 20)}"


def _short(subject: str) -> str:
    return subject if "@" in subject else subject[:12]


def names_of(rewind: Rewind) -> Iterator[str]:
    """Poollets whose reports hold their own pools."""
    yield from () if rewind.is_proven else rewind.reports
