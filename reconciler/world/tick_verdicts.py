"""The verdicts of a tick, taken out of its World. See verdicts.py."""

from __future__ import annotations

from collections import defaultdict
from datetime import timedelta

from reconciler.world.reports.heartbeat import Heartbeat
from reconciler.world.reports.start_wait import FIRST_READY, FIRST_REPORTS
from reconciler.world.verdicts import HostVerdict, Verdicts
from reconciler.world.world import World


def collect_verdicts(world: World) -> Verdicts:
    """After the plan is made: rules ask for some verdicts only then."""
    return Verdicts(
        hosts=_hosts(world),
        absent=dict(world.reports.watch.absent),
        is_late=world.reports.is_late,
        awaited=tuple((each.name, each.host) for each in world.awaited_hosts),
        is_starting=world.time_for_first_reports > timedelta(0),
        gathers=(
            world.time_to_gather(FIRST_REPORTS) > timedelta(0),
            world.time_to_gather(FIRST_READY) > timedelta(0),
            world.time_to_gather(world.usual_timeout) > timedelta(0),
        ),
        live_seen=world.rewind.own,
        ours=frozenset(world.verdict_record.ours),
        descents=frozenset(world.verdict_record.descents),
        signatures=dict(world.verdict_record.signatures),
    )


def _hosts(world: World) -> dict[str, HostVerdict]:
    reports = world.reports
    beats: dict[str, dict[str, Heartbeat]] = defaultdict(dict)
    for (name, host), beat in reports.heartbeats.items():
        beats[name][host] = beat
    return {name: _verdict(world, name, beats[name]) for name in sorted({*beats, *reports.by_poollet})}


def _verdict(world: World, name: str, beats: dict[str, Heartbeat]) -> HostVerdict:
    reports = world.reports
    report = reports.by_poollet.get(name)
    if report is None:
        return HostVerdict(heartbeats=beats)
    is_cited = name in reports.cited
    return HostVerdict(
        commit=None if report.fault else report.commit,
        host=report.host,
        fault=report.fault,
        is_no_commit=report.is_no_commit,
        unsigned=report.unsigned,
        is_refused=report.is_refused,
        heartbeats=beats,
        disconnected=frozenset(
            host for host in beats if reports.has_lost_link((name, host), world.usual_timeout)
        ),
        older=frozenset(host for host, beat in beats.items() if not _is_newest(world, name, host, beat)),
        own_commit=report.own_commit if is_cited else "",
        time=report.time if is_cited else None,
    )


def _is_newest(world: World, name: str, host: str, beat: Heartbeat) -> bool:
    """Asked of hosts that are alive alone: of others no rule does."""
    return beat is not Heartbeat.ALIVE or world.reports.watch.is_newest((name, host))
