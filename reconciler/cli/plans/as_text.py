"""A plan for people: aligned, in color on a terminal."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TypeAlias

from reconciler.cli.plans import phrases
from reconciler.cli.terminal import Terminal, TextStyle, printable
from reconciler.gitstore.approval import approve_command
from reconciler.plan.source_changes import SourceChange
from reconciler.plan.suggestion import suggest
from reconciler.plan.types import Action, PendingApproval, Plan, UnschedulableObject
from schemas.effects.effect import Creates, Deletes
from schemas.problem import Problem, Severity

COLOURS = {
    Action.SCHEDULE: TextStyle.GREEN,
    Action.ADOPT: TextStyle.GREEN,
    Action.MARK_DELETED: TextStyle.RED,
    Action.REMOVE: TextStyle.RED,
    Action.EVICT: TextStyle.YELLOW,
    Action.WITHDRAW: TextStyle.YELLOW,
    Action.AWAIT_APPROVAL: TextStyle.YELLOW,
    Action.BLOCKED: TextStyle.YELLOW,
}
MOST_NAMED = 10
Paint: TypeAlias = Callable[..., str]


def write(plan: Plan, terminal: Terminal, *, is_verbose: bool = False) -> None:
    """Prints the parts that have anything in them, and the summary as the last line, where a person looks first."""
    paint = terminal.paint
    for title, found in (
        ("source changes", _source_changes(plan.source_changes, paint)),
        ("actions", _changes(plan, paint, is_verbose)),
        ("unschedulable", _unschedulable(plan.unschedulable, paint)),
        ("awaiting approval", _pending(plan.pending_approvals, paint)),
        ("pool requests", (f"  {paint(printable(each), TextStyle.YELLOW)}" for each in plan.pool_requests)),
        ("problems", _problems(plan.problems, paint)),
    ):
        if lines := list(found):
            terminal.line(paint(title, TextStyle.BOLD))
            for line in lines:
                terminal.line(line)
            terminal.line()
    if rows := [(str(usage.pool), *row) for usage in plan.usage for row in phrases.amounts(usage)]:
        terminal.table(("CAPACITY", "RESOURCE", "ALLOCATABLE", "BEFORE", "AFTER"), rows)
        terminal.line()
    terminal.line(paint(phrases.summary(plan), TextStyle.BOLD))


def _source_changes(changes: Sequence[SourceChange], paint: Paint) -> Iterator[str]:
    for each in changes:
        sign, color = "~", TextStyle.YELLOW
        if isinstance(each.whole, Creates):
            sign, color = "+", TextStyle.GREEN
        elif isinstance(each.whole, Deletes):
            sign, color = "-", TextStyle.RED
        yield f"  {paint(sign, color)} {each.key}"
        for line in phrases.of_source_change(each):
            yield f"      {printable(line)}"


def _changes(plan: Plan, paint: Paint, is_verbose: bool) -> Iterator[str]:
    """What follows from the rest, without a reason of its own, is only counted."""
    ordered = phrases.by_weight(plan)
    shown = [change for change in ordered if is_verbose or not phrases.is_plain(change)]
    action_width = max((len(change.action) for change in shown), default=0)
    key_width = max((len(str(change.key)) for change in shown), default=0)
    for change in shown:
        action = paint(change.action.ljust(action_width), *_color(change.action))
        line = f"  {action}  {str(change.key).ljust(key_width)}  {printable(phrases.reason_of(change))}"
        yield line.rstrip()
    if counted := phrases.count_actions(
        [change for change in ordered if change not in shown and change.action is not Action.UNSCHEDULABLE]
    ):
        yield f"  {paint(counted + ' (-v shows each)', TextStyle.DIM)}"


def _color(action: Action) -> tuple[TextStyle, ...]:
    return (COLOURS[action],) if action in COLOURS else ()


def _unschedulable(objects: Sequence[UnschedulableObject], paint: Paint) -> Iterator[str]:
    for each in objects:
        yield f"  {paint(str(each.key), TextStyle.YELLOW)}"
        for pools, reason in phrases.rows_of(each.refusals):
            where = f"{pools}: " if pools else ""
            yield f"    {printable(where)}{printable(reason)}"
        if smallest := suggest(each.refusals):
            yield f"    {paint('would fit:', TextStyle.DIM)} {printable(smallest)}"


def _pending(pending: Sequence[PendingApproval], paint: Paint) -> Iterator[str]:
    for each in pending:
        yield f"  {paint(printable(each.reason), TextStyle.YELLOW)}"
        for key in each.keys[:MOST_NAMED]:
            yield f"    {key}"
        if len(each.keys) > MOST_NAMED:
            yield f"    and {len(each.keys) - MOST_NAMED:,} more"
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
