"""From a Plan to its Outline: one entry for each object that something happens to, grouped where equal ones say the same. Pure.

What people changed and what the reconciler does about it are one entry. It is in the section of the weightiest thing that happens to
the object; the rest of the plan (status, claims, generated objects of a new machine) is only counted, as the background.

Must never happen: an object whose data is destroyed has no entry, or one that does not say so.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from reconciler.cli.plans import object_facts as facts
from reconciler.cli.plans.field_lines import field_line, is_waiting
from reconciler.cli.plans.kept_machines import describe_replacement, describe_return
from reconciler.cli.plans.moves import MachineMove
from reconciler.cli.plans.name_ranges import natural_key
from reconciler.cli.plans.outline import Entry, FilePlace, Group, PlanSection, Standing, is_grave
from reconciler.decide.references import find_needed
from reconciler.decide.removal.replacement import is_replaced
from reconciler.decide.removal.undo import describe_undo_time
from reconciler.plan.source_changes import FieldEffect, SourceChange
from reconciler.plan.types import Action, Change, Plan, PoolUsage
from reconciler.world.objects.object_state import ObjectState, Origin
from reconciler.world.view import View
from schemas.effects import words
from schemas.effects.effect import (
    Deletes,
    Effect,
    Loss,
    Moves,
    NeedsRecreation,
    Recreates,
    Refused,
    Renames,
    SwitchesPower,
    list_losses,
)
from schemas.effects.removal import removal_of
from schemas.kinds import Key, Kind
from schemas.model import Object, decode

# Actions that have an entry of their own. All others follow from these, or say what a host reported.
LISTED = (Action.SCHEDULE, Action.ADOPT, Action.EVICT, Action.WITHDRAW, Action.MARK_DELETED, Action.STOP, Action.RETURN, Action.RETAIN, Action.BLOCKED)  # fmt: skip
ORDER = tuple(PlanSection)


@dataclass(slots=True)
class Builder:
    """The entries of one plan. `entries` is by key: an object has one."""

    view: View
    plan: Plan
    moves: Mapping[Key, MachineMove]
    usage: Mapping[Key, PoolUsage] = field(default_factory=dict)  # by pool
    before: Mapping[Key, Mapping[str, object]] = field(default_factory=dict)  # changed documents as they were
    changes: dict[Key, Change] = field(init=False)
    needed: Mapping[Key, Key] = field(
        init=False
    )  # absent objects that stay for now, with the one that needs each
    entries: dict[Key, Entry] = field(default_factory=dict)
    renamed: set[Key] = field(
        default_factory=set
    )  # old names: what becomes of them is in the entry of the new one

    def __post_init__(self) -> None:
        self.changes = {change.key: change for change in self.plan.changes}
        stopped = {change.key for change in self.plan.changes if change.action is Action.STOP}
        held = {key for pending in self.plan.pending_approvals for key in pending.keys}
        kept = self.view.relations.kept & self.view.relations.absent
        self.needed = find_needed(self.view, {*stopped, *held, *kept} & self.view.relations.absent)

    def build(self) -> tuple[Entry, ...]:
        for source_change in self.plan.source_changes:
            self.add_source_change(source_change)
        for change in self.plan.changes:
            is_new = change.key not in self.entries and change.key not in self.renamed
            if is_new and not self.is_background(change):
                self.add_change(change)
        self.add_held()
        self.add_waiting()
        for move in self.moves.values():
            self.add_move(move)
        self.add_unschedulable()
        return tuple(self.entries.values())

    def list_background(self) -> tuple[Change, ...]:
        """Changes of the plan that have no entry, the weightiest first."""
        rank = {action: place for place, action in enumerate(Action)}
        hidden = self.entries.keys() | self.renamed
        rest = (
            each
            for each in self.plan.changes
            if each.key not in hidden and each.action is not Action.UNSCHEDULABLE
        )
        return tuple(sorted(rest, key=lambda each: (rank[each.action], each.key)))

    def is_background(self, change: Change) -> bool:
        """What belongs to a machine of the plan, and what only records."""
        known = self.view.objects.get(change.key)
        if change.action not in LISTED or change.body is not None:
            return True
        if known is not None and known.origin is Origin.GENERATED:
            owner = self.view.objects.get(facts.owner_key(known))
            return change.action is not Action.MARK_DELETED or owner is None or not owner.is_active
        # Which host or address an interface has is said of its machine.
        return change.key.kind is Kind.NETWORK_INTERFACE and change.action is Action.BLOCKED

    def add_source_change(self, source_change: SourceChange) -> None:
        key, whole = source_change.key, source_change.whole
        change = self.changes.get(key)
        known = self.view.objects.get(key)
        if known is not None and known.record.undo is not None and known.source is not None:
            self.add_kept(known, source_change.fields)
            return
        match whole:
            case Deletes():
                self.add_deletion(key, whole, change)
            case Renames():
                self.add_rename(key, whole, change)
            case None:
                self.add_fields(source_change, change)
            case _:
                self.add_new(key, change)

    def add_rename(self, key: Key, whole: Renames, change: Change | None) -> None:
        old = key._replace(name=whole.old)
        self.renamed.add(old)
        where = self.view.objects[old].record.pool if old in self.view.objects else ""
        stopped = self.changes.get(old)
        is_undoable = stopped is not None and stopped.action is Action.STOP
        is_held = any(old in pending.keys for pending in self.plan.pending_approvals)
        self.entries[key] = replace(
            self.entry(PlanSection.RECREATE, key),
            pool=where,
            target=change.pool if change is not None and change.action is Action.SCHEDULE else "",
            facts=(words.describe_effect(replace(whole, losses=())),),
            losses=whole.losses if where and not is_held else (),  # an entry of its own says what is held
            undo=describe_undo_time(self.view) if is_undoable else "",
            is_new=True,
        )

    def add_deletion(self, key: Key, whole: Deletes, change: Change | None) -> None:
        """What the plan does decides what is destroyed: a volume without a pool has no data, one that is retained keeps it."""
        is_retained = change is not None and change.action is Action.RETAIN
        known = self.view.objects.get(key)
        pool = known.record.pool if known is not None else ""
        is_there = bool(pool) or key.kind is Kind.VOLUME_SNAPSHOT
        described = (f"keeps its data as a retained volume on {pool}",) if is_retained else ()
        losses = whole.losses if is_there and not is_retained else ()
        undo = describe_undo_time(self.view) if change is not None and change.action is Action.STOP else ""
        standing = Standing.PLANNED
        if change is None and key in self.needed:
            standing, described = Standing.HELD, (f"not deleted now: {self.needed[key]} stays, and needs it",)
        made = replace(self.entry(PlanSection.DELETE, key), standing=standing, pool=pool)
        self.entries[key] = replace(made, facts=described, losses=losses, undo=undo)

    def add_new(self, key: Key, change: Change | None) -> None:
        known = self.view.objects.get(key)
        described = tuple(facts.describe_object(self.view, known)) if known is not None else ()
        made = replace(self.entry(PlanSection.ADD, key), facts=described, is_new=True)
        if change is not None and change.action is Action.BLOCKED:
            made = replace(
                made, section=PlanSection.UNSCHEDULABLE, is_blocked=True, facts=(f"blocked: {change.reason}",)
            )
        elif change is not None and change.action in (Action.SCHEDULE, Action.ADOPT):
            made = replace(made, target=change.pool)
        self.entries[key] = made

    def add_fields(self, source_change: SourceChange, change: Change | None) -> None:
        """A change that validation refuses is not applied at all: the reconciler keeps the last good text of the file."""
        key, effects = source_change.key, [each.effect for each in source_change.fields]
        known = self.view.objects.get(key)
        made = replace(
            self.entry(section_of(effects), key),
            is_now=any(isinstance(each, Recreates) for each in effects),
            pool=known.record.pool if known is not None else "",
            fields=tuple(field_line(each) for each in source_change.fields),
            losses=unique(
                loss for effect in effects if not is_waiting(effect) for loss in list_losses(effect)
            ),
        )
        if any(isinstance(effect, Refused) for effect in effects):
            made = replace(made, standing=Standing.HELD, losses=(), facts=("not applied",))
        if known is not None and (
            short := facts.describe_shortage(self.view, known, self.old_of(key), self.usage)
        ):
            made = replace(made, facts=(*made.facts, short), is_unfit=True)
        if change is not None and change.action is Action.BLOCKED:
            made = replace(made, facts=(f"blocked: {change.reason}",))
        if change is not None and change.action is Action.SCHEDULE:
            made = replace(made, target=change.pool)
        if key.kind is Kind.MACHINE_POOL:
            leaving = [move for move in self.moves.values() if move.source == key.name]
            made = replace(made, facts=tuple(facts.describe_leaving(leaving)))
        if change is not None and change.action is Action.ANNOUNCE:
            stays = "the pool stays: its host announces it, and only its file is removed"
            made = replace(made, facts=(stays, *made.facts))
        self.entries[key] = made

    def add_kept(self, known: ObjectState, fields: Sequence[FieldEffect] = ()) -> None:
        """A machine that is kept for an undo, and declared: it comes back, or another one of its name waits for its end."""
        key, made = known.key, self.entry(PlanSection.RETURN, known.key)
        if is_replaced(known):
            self.entries[key] = describe_replacement(self.view, made, known)
        else:
            self.entries[key] = describe_return(made, known, self.changes.get(key), fields)

    def add_waiting(self) -> None:
        """Machines that wait for the end of a kept one since an earlier commit: what that DESTROYS is named until it happens."""
        for key in sorted(self.view.relations.kept):
            known = self.view.objects[key]
            if is_replaced(known) and key not in self.entries:
                self.add_kept(known)
                self.entries[key] = replace(self.entries[key], standing=Standing.KNOWN)

    def old_of(self, key: Key) -> Object | None:
        """A changed object as it was."""
        return decode(key.kind, self.before[key]) if key in self.before else None

    def add_change(self, change: Change) -> None:
        """What the plan does to an object that people did not change now."""
        key, known = change.key, self.view.objects.get(change.key)
        before = change.before.pool if change.before is not None else ""
        if (
            known is not None
            and change.before is not None
            and change.before.undo is not None
            and known.source
        ):
            self.add_kept(known)
            return
        match change.action:
            case Action.MARK_DELETED | Action.STOP | Action.RETAIN:
                owned = known is not None and bool(known.record.owners)
                whole = removal_of(known.object, is_owned=owned) if known is not None else Deletes()
                self.add_deletion(key, whole, change)
                if change.reason and owned:
                    self.tell(key, change.reason)
            case Action.SCHEDULE | Action.ADOPT:
                is_move = before not in ("", change.pool)
                made = self.entry(PlanSection.MOVE if is_move else PlanSection.ADD, key)
                described = ("adopted: its host reports it",) if change.action is Action.ADOPT else ()
                self.entries[key] = replace(
                    made, pool=before, target=change.pool, facts=described, is_move=is_move
                )
            case Action.BLOCKED:
                made = self.entry(PlanSection.UNSCHEDULABLE, key)
                self.entries[key] = replace(
                    made, pool=before, is_blocked=True, facts=(f"blocked: {change.reason}",)
                )
            case Action.WITHDRAW:
                made = self.entry(PlanSection.MOVE, key)
                self.entries[key] = replace(made, pool=before, facts=(change.reason,), is_move=True)

    def add_held(self) -> None:
        """Deletions that wait, for an approval or for something else; also those that waited before."""
        for pending in self.plan.pending_approvals:
            standing = Standing.AWAITS_APPROVAL if pending.trailer else Standing.HELD
            for key in pending.keys:
                known = self.view.objects.get(key)
                whole = removal_of(known.object) if known is not None else Deletes()
                self.add_deletion(key, whole, None)
                self.entries[key] = replace(self.entries[key], standing=standing)
                self.tell(key, f"not deleted now: {pending.reason}")

    def add_move(self, move: MachineMove) -> None:
        """Into the entry that the machine has, or as one of its own."""
        made = self.entries.get(move.key) or self.entry(PlanSection.MOVE, move.key)
        known = self.view.objects[move.key]
        losses = facts.local_losses(known.object)
        self.entries[move.key] = replace(
            made,
            section=PlanSection.MOVE if made.section in ORDER[2:] else made.section,
            standing=Standing.HELD if move.is_held else made.standing,
            pool=move.source,
            target="" if move.is_held else move.target,
            facts=(*made.facts, *facts.describe_move(move)),
            losses=unique((*made.losses, *losses)),
            is_move=True,
        )

    def add_unschedulable(self) -> None:
        """With the reasons of every pool. One that no change is about was so before.

        The scheduler gives equal objects one tuple of refusals, and that is described once."""
        described: dict[int, tuple[str, ...]] = {}  # by the identity of the tuple, which the plan keeps
        for each in self.plan.unschedulable:
            made = self.entries.get(each.key)
            is_known = made is None and each.key not in self.changes
            if made is None:
                made = self.entry(PlanSection.UNSCHEDULABLE, each.key)
            if is_known:
                made = replace(made, standing=Standing.KNOWN)
            why = described.get(id(each.refusals))
            if why is None:
                why = described[id(each.refusals)] = tuple(facts.describe_refusals(each.refusals))
            is_section = made.section in (PlanSection.ADD, PlanSection.UNSCHEDULABLE)
            section = PlanSection.UNSCHEDULABLE if is_section else made.section
            self.entries[each.key] = replace(made, section=section, facts=why)

    def tell(self, key: Key, fact: str) -> None:
        made = self.entries[key]
        self.entries[key] = replace(made, facts=(*made.facts, fact))

    def entry(self, section: PlanSection, key: Key) -> Entry:
        return Entry(section, key, place=self.place_of(key))

    def place_of(self, key: Key) -> FilePlace | None:
        """Where people find its document: in the source, or where it was."""
        known = self.view.objects.get(key)
        if known is None or known.origin is Origin.GENERATED:
            return None
        place, is_old = known.source, False
        if place is None or known.origin is Origin.LEAVING:
            place, is_old = known.live, True
        return FilePlace(place.path, place.index, is_old) if place is not None else None


def section_of(effects: Iterable[Effect]) -> PlanSection:
    """By the weightiest of them."""
    found = PlanSection.CHANGE
    for effect in effects:
        match effect:
            case NeedsRecreation() | Recreates():
                return PlanSection.RECREATE
            case Moves() | SwitchesPower(to="Off" | "Restart"):
                found = PlanSection.MOVE
    return found


def unique(losses: Iterable[Loss]) -> tuple[Loss, ...]:
    return tuple(dict.fromkeys(losses))


def group_entries(entries: Iterable[Entry]) -> tuple[Group, ...]:
    """In the order of sections, then of names. Entries of one group differ in names, and in pools where these say nothing."""
    found: dict[object, list[Entry]] = {}
    for entry in sorted(entries, key=lambda each: (ORDER.index(each.section), natural_key(each.key))):
        found.setdefault(signature(entry), []).append(entry)
    groups = [Group(tuple(members)) for members in found.values()]
    return tuple(sorted(groups, key=lambda group: rank(group.first)))


def rank(entry: Entry) -> tuple[int, bool, bool]:
    """The weightiest section first; in it what must be read, and last what does not come true with this plan."""
    return ORDER.index(entry.section), not is_grave(entry), entry.standing is not Standing.PLANNED


def signature(entry: Entry) -> object:
    """What is equal in one group. Where each machine goes is part of it where machines move."""
    where = (entry.pool, entry.target) if entry.is_move else (bool(entry.pool), bool(entry.target))
    name = entry.key.name
    losses = tuple((loss.kind, loss.name.replace(name, "*"), loss.size_bytes) for loss in entry.losses)
    lines = tuple(replace(line, pointer="") for line in entry.fields)
    state = (entry.section, entry.standing, entry.is_new, entry.is_blocked, entry.is_unfit)
    return (state, entry.key.kind, entry.key.namespace, where, lines, entry.facts, losses, entry.undo)
