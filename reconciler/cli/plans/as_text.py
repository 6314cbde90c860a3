"""A plan for people: aligned, in colour on a terminal."""

from __future__ import annotations

from collections.abc import Sequence

from reconciler.cli.plans import words
from reconciler.cli.terminal import Style, Terminal, printable
from reconciler.plan import Action, Declaration, Held, Plan, Unplaced
from reconciler.plan.remedy import remedy
from schemas.problem import Problem, Severity

COLOURS = {
    Action.SCHEDULE: Style.GREEN,
    Action.ADOPT: Style.GREEN,
    Action.ORDER: Style.RED,
    Action.REMOVE: Style.RED,
    Action.EVICT: Style.YELLOW,
    Action.WITHDRAW: Style.YELLOW,
    Action.HOLD: Style.YELLOW,
    Action.BLOCK: Style.YELLOW,
}
MOST_NAMED = 10


def write(plan: Plan, terminal: Terminal, *, is_verbose: bool = False) -> None:
    _declared(plan.declared, terminal)
    _changes(plan, terminal, is_verbose)
    _unplaced(plan.unplaced, terminal)
    _held(plan.held, terminal)
    _problems(plan.problems, terminal)
    _rooms(plan, terminal)
    terminal.line(terminal.paint(words.summary(plan), Style.BOLD))


def _declared(declared: Sequence[Declaration], terminal: Terminal) -> None:
    if not declared:
        return
    terminal.line(terminal.paint("declared", Style.BOLD))
    for each in declared:
        sign, colour = (
            ("+", Style.GREEN) if each.is_added else ("-", Style.RED) if each.is_gone else ("~", Style.YELLOW)
        )
        said = words.of_declaration(each)
        terminal.line(f"  {terminal.paint(sign, colour)} {each.key}{'  ' + printable(said) if said else ''}")
    terminal.line()


def _changes(plan: Plan, terminal: Terminal, is_verbose: bool) -> None:
    """What follows from the rest, without a reason of its own, is only counted."""
    told = words.told(plan)
    if not told:
        return
    shown = [change for change in told if is_verbose or not words.is_plain(change)]
    terminal.line(terminal.paint("changes", Style.BOLD))
    action_width = max((len(change.action) for change in shown), default=0)
    key_width = max((len(str(change.key)) for change in shown), default=0)
    for change in shown:
        action = terminal.paint(change.action.ljust(action_width), *_colour(change.action))
        line = f"  {action}  {str(change.key).ljust(key_width)}  {printable(words.reason_of(change))}"
        terminal.line(line.rstrip())
    if counted := words.counted(
        [change for change in told if change not in shown and change.action is not Action.WAIT]
    ):
        terminal.line(f"  {terminal.paint(counted + ' (-v shows each)', Style.DIM)}")
    terminal.line()


def _colour(action: Action) -> tuple[Style, ...]:
    return (COLOURS[action],) if action in COLOURS else ()


def _unplaced(unplaced: Sequence[Unplaced], terminal: Terminal) -> None:
    if not unplaced:
        return
    terminal.line(terminal.paint("no place", Style.BOLD))
    for each in unplaced:
        terminal.line(f"  {terminal.paint(str(each.key), Style.YELLOW)}")
        for pools, reason in words.rows_of(each.refusals):
            where = f"{pools}: " if pools else ""
            terminal.line(f"    {printable(where)}{printable(reason)}")
        if smallest := remedy(each.refusals):
            terminal.line(f"    {terminal.paint('would fit:', Style.DIM)} {printable(smallest)}")
    terminal.line()


def _held(held: Sequence[Held], terminal: Terminal) -> None:
    if not held:
        return
    terminal.line(terminal.paint("held", Style.BOLD))
    for each in held:
        terminal.line(f"  {terminal.paint(printable(each.reason), Style.YELLOW)}")
        for key in each.keys[:MOST_NAMED]:
            terminal.line(f"    {key}")
        if len(each.keys) > MOST_NAMED:
            terminal.line(f"    and {len(each.keys) - MOST_NAMED:,} more")
        if each.trailer:
            terminal.line("    if this is meant, say so by a commit to the source branch:")
            terminal.line(f'    git commit --allow-empty -m "confirm" --trailer "{printable(each.trailer)}"')
    terminal.line()


def _problems(problems: Sequence[Problem], terminal: Terminal) -> None:
    if not problems:
        return
    terminal.line(terminal.paint("problems", Style.BOLD))
    for each in sorted(problems):
        colour = Style.RED if each.severity is Severity.ERROR else Style.YELLOW
        place = ":".join(str(part) for part in (each.file, each.line or "", each.column or "") if part)
        named = f"{place}: " if place else ""
        terminal.line(
            f"  {printable(named)}{terminal.paint(each.severity, colour)} {each.code} {printable(each.message)}"
        )
        if each.hint:
            terminal.line(f"    {terminal.paint('hint:', Style.DIM)} {printable(each.hint)}")
    terminal.line()


def _rooms(plan: Plan, terminal: Terminal) -> None:
    rows = [(str(room.pool), *row) for room in plan.rooms for row in words.amounts(room)]
    if not rows:
        return
    terminal.table(("CAPACITY", "RESOURCE", "ALLOCATABLE", "BEFORE", "AFTER"), rows)
    terminal.line()
