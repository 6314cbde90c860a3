"""A plan for people: aligned, in color on a terminal."""

from __future__ import annotations

from collections.abc import Sequence

from reconciler.cli.plans import phrases
from reconciler.cli.terminal import Terminal, TextStyle, printable
from reconciler.plan import Action, PendingApproval, Plan, SourceChange, UnschedulableObject
from reconciler.plan.suggestion import suggest
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


def write(plan: Plan, terminal: Terminal, *, is_verbose: bool = False) -> None:
    _source_changes(plan.source_changes, terminal)
    _changes(plan, terminal, is_verbose)
    _unschedulable(plan.unschedulable, terminal)
    _pending(plan.pending_approvals, terminal)
    _problems(plan.problems, terminal)
    _usage(plan, terminal)
    terminal.line(terminal.paint(phrases.summary(plan), TextStyle.BOLD))


def _source_changes(changes: Sequence[SourceChange], terminal: Terminal) -> None:
    if not changes:
        return
    terminal.line(terminal.paint("source changes", TextStyle.BOLD))
    for each in changes:
        sign, color = (
            ("+", TextStyle.GREEN)
            if each.is_added
            else ("-", TextStyle.RED)
            if each.is_gone
            else ("~", TextStyle.YELLOW)
        )
        detail = phrases.of_source_change(each)
        terminal.line(
            f"  {terminal.paint(sign, color)} {each.key}{'  ' + printable(detail) if detail else ''}"
        )
    terminal.line()


def _changes(plan: Plan, terminal: Terminal, is_verbose: bool) -> None:
    """What follows from the rest, without a reason of its own, is only counted."""
    ordered = phrases.by_weight(plan)
    if not ordered:
        return
    shown = [change for change in ordered if is_verbose or not phrases.is_plain(change)]
    terminal.line(terminal.paint("actions", TextStyle.BOLD))
    action_width = max((len(change.action) for change in shown), default=0)
    key_width = max((len(str(change.key)) for change in shown), default=0)
    for change in shown:
        action = terminal.paint(change.action.ljust(action_width), *_color(change.action))
        line = f"  {action}  {str(change.key).ljust(key_width)}  {printable(phrases.reason_of(change))}"
        terminal.line(line.rstrip())
    if counted := phrases.count_actions(
        [change for change in ordered if change not in shown and change.action is not Action.UNSCHEDULABLE]
    ):
        terminal.line(f"  {terminal.paint(counted + ' (-v shows each)', TextStyle.DIM)}")
    terminal.line()


def _color(action: Action) -> tuple[TextStyle, ...]:
    return (COLOURS[action],) if action in COLOURS else ()


def _unschedulable(objects: Sequence[UnschedulableObject], terminal: Terminal) -> None:
    if not objects:
        return
    terminal.line(terminal.paint("unschedulable", TextStyle.BOLD))
    for each in objects:
        terminal.line(f"  {terminal.paint(str(each.key), TextStyle.YELLOW)}")
        for pools, reason in phrases.rows_of(each.refusals):
            where = f"{pools}: " if pools else ""
            terminal.line(f"    {printable(where)}{printable(reason)}")
        if smallest := suggest(each.refusals):
            terminal.line(f"    {terminal.paint('would fit:', TextStyle.DIM)} {printable(smallest)}")
    terminal.line()


def _pending(pending: Sequence[PendingApproval], terminal: Terminal) -> None:
    if not pending:
        return
    terminal.line(terminal.paint("awaiting approval", TextStyle.BOLD))
    for each in pending:
        terminal.line(f"  {terminal.paint(printable(each.reason), TextStyle.YELLOW)}")
        for key in each.keys[:MOST_NAMED]:
            terminal.line(f"    {key}")
        if len(each.keys) > MOST_NAMED:
            terminal.line(f"    and {len(each.keys) - MOST_NAMED:,} more")
        if each.trailer:
            terminal.line("    to approve it, push this commit to the source branch:")
            terminal.line(f'    git commit --allow-empty -m "approve" --trailer "{printable(each.trailer)}"')
    terminal.line()


def _problems(problems: Sequence[Problem], terminal: Terminal) -> None:
    if not problems:
        return
    terminal.line(terminal.paint("problems", TextStyle.BOLD))
    for each in sorted(problems):
        color = TextStyle.RED if each.severity is Severity.ERROR else TextStyle.YELLOW
        place = ":".join(str(part) for part in (each.file, each.line or "", each.column or "") if part)
        named = f"{place}: " if place else ""
        terminal.line(
            f"  {printable(named)}{terminal.paint(each.severity, color)} {each.code} {printable(each.message)}"
        )
        if each.hint:
            terminal.line(f"    {terminal.paint('hint:', TextStyle.DIM)} {printable(each.hint)}")
    terminal.line()


def _usage(plan: Plan, terminal: Terminal) -> None:
    rows = [(str(usage.pool), *row) for usage in plan.usage for row in phrases.amounts(usage)]
    if not rows:
        return
    terminal.table(("CAPACITY", "RESOURCE", "ALLOCATABLE", "BEFORE", "AFTER"), rows)
    terminal.line()
