"""Hosts that wait for a pool which another host has, as `gitvirt status` shows them: what each has holds the names of its objects, for as long
as its candidate.json is there. Nothing removes that of a host that never comes back, so the command is shown."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from reconciler.cli.terminal import printable
from reconciler.decide.waiting_hosts import may_hold, removal
from reconciler.world.view import View
from schemas.kinds import Key, Kind

TITLE = "Hosts that wait without a pool"
CURE = (
    "no object is placed under a name that such a host has; if nothing runs there, or it is gone for good and powered off, run the command: "
    "a host that runs reports again"
)
NAMED_AT_MOST = 3


@dataclass(frozen=True, slots=True)
class CandidateHost:
    """`objects` are what its candidate.json names. `command` ends what it holds."""

    host: str
    poollet: str
    pools: tuple[str, ...]
    objects: tuple[str, ...]
    command: str


def list_candidates(view: View) -> Iterator[CandidateHost]:
    """Those of reports of this fleet that count (decide/waiting_hosts.py)."""
    for name, report in sorted(view.reports.by_poollet.items()):
        waiting = report.candidate
        if waiting is not None and view.is_ours(report) and may_hold(view, waiting, report):
            objects = tuple(str(Key(Kind(each.kind), each.namespace, each.name)) for each in waiting.objects)
            yield CandidateHost(waiting.host_id, name, waiting.pools, objects, removal(view, name))


def part_of_status(found: Sequence[CandidateHost]) -> tuple[str, str, Sequence[tuple[str, ...]]]:
    """Title, what to do, and a row for each."""
    return TITLE, CURE, [row_of(each) for each in found]


def row_of(each: CandidateHost) -> tuple[str, str, str, str]:
    has = ", ".join(each.objects[:NAMED_AT_MOST]) or "nothing"
    more = len(each.objects) - NAMED_AT_MOST
    return (
        printable(f"host {each.host}"),
        printable(f"poollet {each.poollet}"),
        printable(f"has {has}{f' and {more:,} more' if more > 0 else ''}"),
        printable(each.command),
    )


def value_of(each: CandidateHost) -> dict[str, object]:
    return {
        "hostID": each.host,
        "poollet": each.poollet,
        "pools": list(each.pools),
        "objects": list(each.objects),
        "command": each.command,
    }
