"""What must hold between the lines of a plan and what hosts report once it has come true. The laws of `test_plan_lines`.

A line is read twice: from the text that people see, and from the JSON of the same plan. Both have to say the same.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from reconciler.cli.plans import as_json, as_markdown
from reconciler.cli.plans.outline import Outline
from tests.poollet.effects_bench import Documents, Guest, Observed, print_plan

TITLES = ("DELETE", "RECREATE", "stop or move", "change", "add", "unschedulable")
HEADLINE = re.compile(
    r"  (?:-/\+|[-+~>!]) (?P<prefix>\w+/(?:[\w-]+/)?)(?P<names>.*?)(?P<count> \(\d+\))?(?P<where>(?: on | onto | stays on ).*?| \S+ -> \S+)?(?: \(as before\)| for the same reasons)*"
)
LOSS = re.compile(r"(local disk|volume|snapshot) ([\w-]+)")
DESTROYED = re.compile(r"(local disk|volume|snapshot) ([\w-]+)(?: of ([\w-]+))?")
GRAVE = re.compile("DELETE|DESTROY|RECREATE")


@dataclass(frozen=True)
class PrintedEntry:
    """A headline of the text with the lines below it."""

    section: str
    names: tuple[str, ...]  # Kind/namespace/name
    where: str
    lines: tuple[str, ...]

    @property
    def losses(self) -> set[str]:
        """What it says is destroyed now, or later: `local disk root`."""
        phrases = [line for line in self.lines if line.startswith("DESTROYS ")]
        return {f"{kind} {name}" for line in phrases for kind, name in LOSS.findall(line)}


def read_text(printed: Sequence[str]) -> Iterator[PrintedEntry]:
    """The entries of a printed plan."""
    section, found = "", None
    for line in printed:
        if line in TITLES:
            section = line.lower()
        elif line and not line.startswith(" "):
            section = ""
        if section and (match := HEADLINE.fullmatch(line)):
            if found:
                yield found
            names = tuple(match["prefix"] + name for name in expand(match["names"]))
            found = PrintedEntry(section, names, (match["where"] or "").strip(), ())
        elif section and found and line.startswith("      "):
            found = replace(found, lines=(*found.lines, line[6:]))
    if found:
        yield found


def expand(names: str) -> Iterator[str]:
    """`db, m1 .. m3` → db, m1, m2, m3"""
    for part in names.split(", "):
        first, _, last = part.partition(" .. ")
        if not last:
            yield first
            continue
        stem = first.rstrip("0123456789")
        yield from (
            f"{stem}{number}" for number in range(int(first[len(stem) :]), int(last[len(stem) :]) + 1)
        )


@dataclass(frozen=True)
class ReadPlan:
    """One plan in all of its forms."""

    document: Mapping[str, Any]
    printed: Sequence[str]
    markdown: str
    entries: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)  # of the JSON, by object
    effects: Mapping[str, set[str]] = field(default_factory=dict)  # of fields, by object

    @property
    def text(self) -> str:
        return "\n".join(self.printed)

    def losses(self, *, is_undoable: bool | None = None) -> set[str]:
        """What the entries that come true destroy: `local disk root of m1`, `volume v1`."""
        return {
            describe_loss(loss)
            for entry in self.entries.values()
            if entry["standing"] == "planned" and is_undoable in (None, bool(entry["undo"]))
            for loss in entry["destroys"]
        }


def describe_loss(loss: Mapping[str, Any]) -> str:
    return f"{loss['kind']} {loss['name']}" + (f" of {loss['machine']}" if loss["machine"] else "")


def read_plan(outline: Outline) -> ReadPlan:
    document = json.loads(json.dumps(as_json.document(outline)))
    entries = {entry["object"]: entry for entry in document["entries"]}
    effects = {
        each["object"]: {line["effect"] for line in each["fields"]} for each in document["sourceChanges"]
    }
    return ReadPlan(document, print_plan(outline), as_markdown.render(outline), entries, effects)


def check_forms(plan: ReadPlan) -> None:
    """Text, JSON and comment say the same of the same objects."""
    printed = list(read_text(plan.printed))
    in_text = {name: each for each in printed for name in each.names}
    assert in_text.keys() == plan.entries.keys(), plan.text
    for name, entry in plan.entries.items():
        line = in_text[name]
        assert line.section == entry["section"], plan.text
        losses = {f"{loss['kind']} {loss['name']}" for loss in entry["destroys"]}
        assert len(line.names) > 1 or line.losses == (losses if entry["standing"] == "planned" else set()), (
            plan.text
        )
        if entry["target"]:
            assert re.search(rf"\b{entry['target']}\b", line.where), plan.text
        for field_line in entry["fields"]:
            assert f"{field_line['field']}: {field_line['old']} -> {field_line['new']}" in line.lines, (
                plan.text
            )
            assert f"  {field_line['when']}" in line.lines, plan.text
        if losses and entry["standing"] == "planned":
            assert GRAVE.search(plan.printed[0].upper()), plan.text
            for loss in losses:
                assert loss in plan.markdown, plan.markdown
    assert plan.document["summary"] == plan.printed[0]


def check_machines(
    plan: ReadPlan, observed: tuple[Observed, Observed], objects: Documents, lost: Sequence[str]
) -> None:
    """Each machine is where its line says, as the same guest where nothing says otherwise. Nothing happens on a host that is lost."""
    before, after = observed
    in_plan = (key.rpartition("/")[2] for key in plan.entries if key.startswith("Machine/"))
    for name in sorted({*before.machines, *after.machines, *in_plan}):
        was, now = before.machines.get(name), after.machines.get(name)
        entry = plan.entries.get(f"Machine/default/{name}")
        case = Case(plan, name, was, now, f"{name}: {was}\n-> {now}\n{plan.text}")
        if was is not None and was.host in lost:
            assert now == was, case.context
        elif was is None:
            check_new(case, entry)
        elif entry is None:
            check_unnamed(case)
        else:
            check_named(case, entry, objects)


@dataclass(frozen=True)
class Case:
    """One machine before and after."""

    plan: ReadPlan
    name: str
    was: Guest | None
    now: Guest | None
    context: str

    @property
    def effects(self) -> set[str]:
        return self.plan.effects.get(f"Machine/default/{self.name}", set())


def check_new(case: Case, entry: Mapping[str, Any] | None) -> None:
    """What was nowhere starts where the plan says. What waits may start only because the plan makes room, or releases a volume."""
    if entry is not None and entry["target"] and entry["standing"] == "planned":
        assert case.now is not None, case.context
        assert case.now.host == entry["target"], case.context
    elif case.now is not None:
        assert entry is None or entry["section"] in ("unschedulable", "recreate", "add", "change"), (
            case.context
        )
        assert any(each["section"] != "add" for each in case.plan.entries.values()), case.context


def check_unnamed(case: Case) -> None:
    """Nothing happens to a machine that no line names, but for one that another line says is renamed."""
    old_names = {
        each["effect"].split()[1]
        for each in case.plan.document["sourceChanges"]
        if each["change"] == "rename"
    }
    if case.name in old_names:
        return
    assert case.was is not None
    assert case.now is not None, case.context
    assert place(case.now) == place(case.was), case.context


def check_named(case: Case, entry: Mapping[str, Any], objects: Documents) -> None:
    was, now, is_planned = case.was, case.now, entry["standing"] == "planned"
    assert was is not None
    if is_planned and entry["section"] == "delete":
        assert now is None, case.context
        return
    if is_planned and is_move(entry) and not entry["target"]:
        assert now is None, case.context  # it can start nowhere
        return
    assert now is not None, case.context
    assert now.uid == was.uid, case.context
    if is_planned and entry["target"]:
        assert now.host == entry["target"], case.context
    else:
        assert now.host == was.host, case.context
        check_guest(case, is_planned=is_planned)
    declared = objects.get(case.name, {})
    is_paused = declared.get("metadata", {}).get("annotations", {}).get("gitvirt.dev/paused")
    if declared and is_planned and not is_paused and not entry["facts"]:
        assert now.is_on == (declared["spec"].get("power", "On") == "On"), case.context


def is_move(entry: Mapping[str, Any]) -> bool:
    """Whether it leaves its pool, unlike a machine that only stops or restarts."""
    return entry["section"] == "stop or move" and any("STOPS on" in fact for fact in entry["facts"])


def check_guest(case: Case, *, is_planned: bool) -> None:
    """One that stays on its host is the same guest, and starts or stops only if a field says so."""
    was, now = case.was, case.now
    assert was is not None
    assert now is not None
    is_recreated = is_planned and "replace" in case.effects
    assert (now.id != was.id) == is_recreated, case.context
    if not is_recreated:
        is_same = (now.boots, now.is_on) == (was.boots, was.is_on)
        assert is_same != (is_planned and "power" in case.effects), case.context


def place(guest: Guest) -> tuple[object, ...]:
    return (guest.host, guest.id, guest.uid, guest.boots, guest.is_on, guest.disks)


def check_messages(lost: set[str], messages: Sequence[str], plan: ReadPlan) -> None:
    """Each thing that was destroyed is named by a commit on live whose subject has the word, in the plan and in the comment."""
    grave = [message for message in messages if GRAVE.search(message.partition("\n")[0])]
    for each in sorted(lost):
        kind, name, owner = DESTROYED.fullmatch(each).groups()  # type: ignore[union-attr]
        line = re.compile(rf"/{re.escape(owner or name)}\b.*|\b{re.escape(f'{kind} {name}')}\b.*")
        assert any(line.search(message) for message in grave), (each, messages)
        for shown in (plan.text, plan.markdown):
            assert GRAVE.search(shown), shown
            assert f"{kind} {name}" in shown, (each, shown)
