"""A plan for people: the verdict, then what is destroyed, and so on in the order of weight; in color on a terminal."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import groupby
from typing import TypeAlias

from reconciler.cli.plans import phrases
from reconciler.cli.plans.name_ranges import join_keys
from reconciler.cli.plans.outline import Group, Outline, PlanSection, Standing, Survival
from reconciler.cli.plans.survival import describe_survival
from reconciler.cli.plans.verdict import list_counts, verdict
from reconciler.cli.terminal import Terminal, TextStyle, printable
from reconciler.gitstore.approval import approve_command
from reconciler.plan.types import Change, PendingApproval, PoolUsage
from schemas.effects.words import describe_undo
from schemas.problem import Problem, Severity

MOST_NAMED = 10
ONE_SCREEN = 24  # lines; after more than these the verdict is said again, where a person looks
SIGNS = {
    PlanSection.DELETE: ("-", TextStyle.RED),
    PlanSection.RECREATE: ("-/+", TextStyle.RED),
    PlanSection.MOVE: (">", TextStyle.YELLOW),
    PlanSection.CHANGE: ("~", TextStyle.YELLOW),
    PlanSection.RETURN: ("<", TextStyle.GREEN),
    PlanSection.ADD: ("+", TextStyle.GREEN),
    PlanSection.UNSCHEDULABLE: ("!", TextStyle.YELLOW),
}
TITLES = {PlanSection.DELETE: "DELETE", PlanSection.RECREATE: "RECREATE"}
COLORS = {
    "add": TextStyle.GREEN,
    "return": TextStyle.GREEN,
    "delete": TextStyle.RED,
    "recreate": TextStyle.RED,
    "error": TextStyle.RED,
}
Paint: TypeAlias = Callable[..., str]


def write(outline: Outline, terminal: Terminal, *, is_verbose: bool = False) -> None:
    """Prints the parts that have anything in them, the verdict first."""
    lines = list(_lines(outline, terminal.paint, is_verbose))
    counts = [
        terminal.paint(count.text, TextStyle.BOLD, *_color(count.weight)) for count in list_counts(outline)
    ]
    shown = ", ".join(counts) or terminal.paint(verdict(outline), TextStyle.BOLD)
    terminal.line(shown)
    for line in lines:
        terminal.line(line)
    if outline.usage:
        terminal.line()
        terminal.table(("CAPACITY", "RESOURCE", "", "BEFORE", "AFTER", "OF"), list(_usage(outline.usage)))
    if outline.survival is not None and outline.groups:
        terminal.line()
        terminal.line(_survival(outline.survival, terminal.paint))
    if len(lines) + len(outline.usage) > ONE_SCREEN:
        terminal.line()
        terminal.line(shown)


def _color(weight: str) -> tuple[TextStyle, ...]:
    return (COLORS.get(weight, TextStyle.YELLOW),)


def _lines(outline: Outline, paint: Paint, is_verbose: bool) -> Iterator[str]:
    plan = outline.plan
    for section in PlanSection:
        yield from _part(
            TITLES.get(section, section.value), _groups(outline.groups_of(section), paint), paint
        )
    yield from _part("awaiting approval", _pending(plan.pending_approvals, paint), paint)
    requests = (f"  {paint(printable(each), TextStyle.YELLOW)}" for each in plan.pool_requests)
    yield from _part("pool requests", requests, paint)
    yield from _part("problems", _problems(plan.problems, paint), paint)
    yield from _background(outline.background, paint, is_verbose)


def _part(title: str, lines: Iterator[str], paint: Paint) -> Iterator[str]:
    if found := list(lines):
        yield ""
        yield paint(title, TextStyle.BOLD)
        yield from found


def _groups(groups: Sequence[Group], paint: Paint) -> Iterator[str]:
    for group in groups:
        sign, color = SIGNS[group.first.section]
        if group.first.section is PlanSection.UNSCHEDULABLE and group.first.is_new:
            sign = "+"
        yield f"  {paint(sign, color)} {printable(headline(group))}"
        for line in details(group):
            is_loss = "DESTROY" in line
            yield f"      {paint(printable(line), TextStyle.RED) if is_loss else printable(line)}"


def headline(group: Group) -> str:
    """`Machine/default/web-9 .. web-16 (8) on rack-a1 (4), rack-a2 (4)`."""
    entry, count = group.first, len(group.entries)
    parts = [join_keys(group.keys)]
    if count > 1:
        parts.append(f"({count:,})")
    if where := _where(group):
        parts.append(where)
    if group.first.standing is Standing.KNOWN:
        parts.append("(as before)")
    if entry.section is PlanSection.UNSCHEDULABLE and count > 1 and len(entry.facts) > 1:
        parts.append("for the same reasons")
    return " ".join(parts)


def _where(group: Group) -> str:
    """`rack-a1 -> rack-a2` for what moves; else where they are or come to, with the numbers of each."""
    entry = group.first
    if entry.is_move:
        if entry.standing is Standing.HELD and not entry.target:
            return f"stays on {entry.pool}"
        return f"{entry.pool} -> {entry.target or 'NOWHERE'}"
    targets = count_pools(each.target for each in group.entries)
    if targets:
        return f"onto {targets}"
    pools = count_pools(each.pool for each in group.entries)
    return f"on {pools}" if pools else ""


def count_pools(names: Iterator[str]) -> str:
    """`rack-a1 (4), rack-a2`."""
    counts = [(name, len(list(same))) for name, same in groupby(sorted(name for name in names if name))]
    shown = [f"{name} ({count:,})" if count > 1 else name for name, count in counts[:MOST_NAMED]]
    more = f" and {len(counts) - MOST_NAMED:,} more pools" if len(counts) > MOST_NAMED else ""
    return ", ".join(shown) + more


def details(group: Group) -> Iterator[str]:
    """What is destroyed, each field with when it applies, and the rest."""
    entry = group.first
    if losses := describe_losses(group):
        yield losses
    for line in entry.fields:
        yield f"{line.field}: {line.old} -> {line.new}"
        yield f"  {line.when}"
    yield from entry.facts


def describe_losses(group: Group) -> str:
    """`DESTROYS local disk root, 10Gi`. In words of what would come true where the entry waits."""
    entry = group.first
    if not entry.losses:
        return ""
    listed = "; ".join(
        _loss(each.kind.value, each.name, each.size_bytes and each.size) for each in entry.losses
    )
    is_coming = entry.standing in (Standing.PLANNED, Standing.KNOWN)
    verb = "DESTROYS" if is_coming else "would DESTROY"
    of_each = f" (each of {len(group.entries):,})" if len(group.entries) > 1 else ""
    when = f", {describe_undo(entry.undo)}" if entry.undo else ""
    return f"{verb} {listed}{of_each}{when}"


def _loss(kind: str, name: str, size: object) -> str:
    return f"{kind} {name}" + (f", {size}" if size else "")


def _pending(pending: Sequence[PendingApproval], paint: Paint) -> Iterator[str]:
    """The reasons, and the commit that approves. The objects have their entries above."""
    for each in pending:
        if each.keys and not each.trailer:
            continue  # no approval ends it, and its entry says what does
        yield f"  {paint(printable(each.reason), TextStyle.YELLOW)}"
        if each.keys:
            yield f"    {join_keys(each.keys)}"
        if each.trailer:
            yield "    to approve it, push this commit to the source branch:"
            yield f'    git commit --allow-empty -m "approve" --trailer "{printable(each.trailer)}"'
            command = approve_command(each.trailer.rpartition(" ")[2])
            yield f"    or run `{printable(command)}`, whose commit also survives a squash merge"


def _problems(problems: Sequence[Problem], paint: Paint) -> Iterator[str]:
    for each in sorted(problems):
        color = TextStyle.RED if each.severity is Severity.ERROR else TextStyle.YELLOW
        place = ":".join(str(part) for part in (each.file, each.line or "", each.column or "") if part)
        named = f"{place}: " if place else ""
        yield f"  {printable(named)}{paint(each.severity, color)} {each.code} {printable(each.message)}"
        if each.hint:
            yield f"    {paint('hint:', TextStyle.DIM)} {printable(each.hint)}"


def _background(changes: Sequence[Change], paint: Paint, is_verbose: bool) -> Iterator[str]:
    """What follows from the rest is only counted, unless people ask for each."""
    if not changes:
        return
    yield ""
    if not is_verbose:
        yield paint(f"also {phrases.count_actions(changes)} (-v shows each)", TextStyle.DIM)
        return
    yield paint("also", TextStyle.BOLD)
    for change in changes:
        yield f"  {change.action}  {change.key}  {printable(phrases.reason_of(change))}".rstrip()


def _usage(usage: Sequence[PoolUsage]) -> Iterator[tuple[str, ...]]:
    for each in usage:
        for resource, whole, before, after in phrases.amounts(each):
            name = phrases.resource_of(resource)
            if not phrases.is_changed(each, name):
                continue
            percents = [phrases.share(each, name, vector) for vector in (each.before, each.after)]
            drawn = f"{phrases.bar(percents[0])} -> {phrases.bar(percents[1])}"
            shown = [
                f"{amount} ({percent}%)" for amount, percent in zip((before, after), percents, strict=True)
            ]
            yield (str(each.pool), resource, drawn, *shown, whole)


def _survival(survival: Survival, paint: Paint) -> str:
    text = printable(describe_survival(survival))
    return text if survival.is_survived else paint(text, TextStyle.YELLOW)
