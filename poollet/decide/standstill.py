"""What is said while the target branch is not to be obeyed, or not known yet: all as before, and no steps.

The states that runtimes tell are kept up, so that people see what runs. Orders are read only to mark what another host
that had this name may have.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace as with_changes

from msgspec.structs import replace

from iri.machine import RuntimeMachine
from iri.runtime import RuntimeKind
from poollet.decide import elsewhere
from poollet.decide import orphans as unordered
from poollet.decide.actions import Ref
from poollet.decide.decision import Decision, Situation, by_name
from poollet.decide.decision_pass import FINAL, Round
from poollet.decide.inventory import Inventory
from poollet.decide.memory import Entry, Memory, pool_of
from poollet.report import iri_to_report
from poollet.runtimes.runtime_lists import ListKey
from poollet.sync.live_view import LiveView
from schemas import report
from schemas.kinds import Kind

IRI_KINDS: Mapping[Kind, RuntimeKind] = {kind: iri_kind for iri_kind, kind in unordered.KINDS.items()}


def standstill(situation: Situation, inventory: Inventory) -> Decision:
    objects = situation.view.objects if situation.view is not None else {}
    round = Round(situation, LiveView(commit="", objects=objects), inventory)
    memory = situation.memory
    let_go = elsewhere.let_go(situation.view, round) if situation.view is not None else frozenset()
    for key, entry in memory.entries.items():
        if key in let_go:
            continue
        round.entries[key] = refreshed(entry, Ref(IRI_KINDS[key.kind], entry.uid), round)
    waits = elsewhere.waits(situation.view, memory.former)
    if memory.former and situation.view is not None and not waits:
        round.entries = elsewhere.taken_over(situation.view, memory.former, round)
        memory = with_changes(memory, former="", former_pools=frozenset())
        round.look_again(situation.now_ms)  # from here on as always
    said = {
        Ref(IRI_KINDS[key.kind], entry.uid)
        for key, entry in round.entries.items()
        if entry.phase not in FINAL
    }
    known = {(one.kind, one.id): one for one in memory.orphans}
    found = tuple(known.get((one.kind, one.id), one) for one in unordered.orphans(round, said))
    return Decision(
        machines=by_name(round.entries, report.MachineReport),
        volumes=by_name(round.entries, report.VolumeReport),
        snapshots=by_name(round.entries, report.SnapshotReport),
        orphans=found,
        memory=remembering(memory, round, found),
        again_ms=round.again_ms,
        waits=waits,
    )


def remembering(memory: Memory, round: Round, found: tuple[report.Orphan, ...]) -> Memory:
    return with_changes(
        memory, entries=round.entries, orphans=found, missing={**memory.missing, **round.missing}
    )


def refreshed(entry: Entry, ref: Ref, round: Round) -> Entry:
    if entry.phase in FINAL:
        return entry
    pool = round.situation.facts.pools.get(pool_of(entry))
    if pool is None:
        return entry
    if round.inventory.observed.listing(ListKey(pool.runtime, ref.kind)) is None:
        return replace(entry, phase="unknown")
    there = round.inventory.at(ref, pool.runtime)
    if there is None:
        return entry
    if isinstance(there, RuntimeMachine) and isinstance(entry, report.MachineReport):
        status = entry.status or report.ReportedMachineStatus()
        status = replace(status, state=iri_to_report.machine_state(there))
        return replace(entry, phase="present", status=status)
    return replace(entry, phase="present")
