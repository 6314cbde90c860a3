"""Second step of an update: the report refs that moved, and the heartbeats that time alone changed.

Runs also when no ref moved, because a heartbeat expires by the clock. What it touches:

    a report names an object differently               the object
    a report starts or stops to be accepted            every object and every pool in it
    the heartbeat of its writer changes, or it asks    every pool that it announces
    it begins or ceases to be fresh                    objects in it that their pool has not confirmed
    a host becomes silent, or its silence ends         every known pool that its poollet may speak for
    it begins or ceases to be readable                 what is not placed because a host has it
    a report is new, or gone                           pools that are named like it, and what shorter names report of those

Judges nothing itself: reports/signed.py checks signatures, reports/authority.py says what counts. What is refused stays in
`reports`, so that its problem can be shown, and is left out where reports are accepted.
"""

from __future__ import annotations

from collections.abc import Iterator, Set

from reconciler.world.objects.relations import POOL_OF
from reconciler.world.record import is_on_a_host
from reconciler.world.reports.authority import Authority
from reconciler.world.reports.host_report import HostReport
from reconciler.world.reports.signed import judge
from reconciler.world.state import State
from reconciler.world.update.delta import POOLS, Delta, UpdateInputs
from schemas.kinds import Key
from schemas.settings.fleet import FleetSettings, prefixes


def load_reports(state: State, inputs: UpdateInputs, has_new_rules: bool) -> Delta:
    """Runs after the settings are read, which say whose reports count. Under new ones every signature is checked again."""
    reports = state.reports
    if has_new_rules or state.is_fresh:
        state.authority = Authority(state.rules.settings, state.rules.before, state.authority.reporting)
    accepted = {name: report.is_accepted for name, report in reports.by_poollet.items()}
    fresh = {name for name, report in reports.by_poollet.items() if reports.is_fresh(report.writer)}
    asks = {name: asks_of(report) for name, report in reports.by_poollet.items()}
    unread = reports.unread
    beats, silent = dict(reports.heartbeats), dict(reports.silent)
    moved = reports.advance(
        inputs.repo,
        inputs.snapshot,
        inputs.now,
        lambda report: is_accepted(state, inputs, report, has_new_rules),
        inputs.read_times,
    )
    keys, names = moved.keys, frozenset(reports.by_poollet)
    if names != state.authority.reporting:
        state.authority = Authority(state.rules.settings, state.rules.before, names)
    if moved.poollets or any(key.kind in POOLS for key in keys):
        state.problems = None
    for name, report in reports.by_poollet.items():
        is_other = accepted.get(name) != report.is_accepted
        if is_other:
            keys.update(report.entries)
            state.problems = None
        is_asking = asks.get(name) != asks_of(report)
        if is_other or is_asking or beats.get(report.writer) != reports.heartbeats[report.writer]:
            keys.update(report.announced_keys)
        if (name in fresh) != reports.is_fresh(report.writer):
            keys.update(state.relations.unconfirmed & report.entries.keys())
    if unread != reports.unread:
        keys.update(on_hosts(state))
    turned = {name for (name, _), _ in silent.items() ^ reports.silent.items()}
    replaced = (writer for writer, _ in beats.items() ^ reports.heartbeats.items())
    turned |= {writer[0] for writer in replaced if not reports.is_written_by(writer)}
    keys.update(state.pools_of(moved.faults | turned))
    if not state.is_fresh:
        keys.update(keys_of_namesakes(state, accepted.keys() ^ reports.by_poollet.keys()))
    return Delta(touched=keys, dirty=set(keys), blobs_read=moved.blobs_read)


def on_hosts(state: State) -> Iterator[Key]:
    """What is not placed on `live` because a report says that a host has it."""
    yield from (
        key for key, known in state.objects.items() if key.kind in POOL_OF and is_on_a_host(known.record)
    )


def asks_of(report: HostReport) -> str:
    """What the host asks for that writes it."""
    return report.poollet.asks if report.poollet is not None else ""


def keys_of_namesakes(state: State, names: Set[str]) -> Iterator[Key]:
    """What changes its owner when poollets of these names begin or cease to report: pools that are named like them, and what
    poollets with a shorter name report of those. Names may come by thousands, so each is looked up and none compared."""
    for pools in state.pools_by_kind.values():
        yield from (pool.key for pool in pools.values() if not names.isdisjoint(prefixes(pool.key.name)))
    shorter = {each for name in names for each in prefixes(name) if each != name}
    for report in (state.reports.by_poollet[each] for each in shorter & state.reports.by_poollet.keys()):
        yield from report.announced_keys
        yield from (
            key
            for key, each in report.entries.items()
            if not each.pool or not names.isdisjoint(prefixes(each.pool))
        )


def is_accepted(state: State, inputs: UpdateInputs, report: HostReport, has_new_rules: bool) -> bool:
    """Whether it may be relied on. Each commit's signature is checked once, and all again under other settings."""
    if report.fault:
        return False
    if inputs.verdict_record.replayed is not None:
        known = inputs.verdict_record.replayed.hosts[report.name]
        report.unsigned, report.is_refused = known.unsigned, known.is_refused
        return state.is_ours(report)
    rules = state.rules
    if report.judged != report.own_commit or has_new_rules:
        is_off = rules.settings.signatures.mode == rules.before.signatures.mode == "off"
        fleets: tuple[FleetSettings, ...] = () if is_off else (rules.settings, rules.before)
        before = (report.unsigned, report.is_refused)
        commit = inputs.repo.read(report.own_commit) if fleets else b""
        judge(report, commit, fleets, inputs.verifier, inputs.now)
        if before != (report.unsigned, report.is_refused):
            state.problems = None
    return state.is_ours(report)
