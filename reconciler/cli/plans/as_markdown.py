"""A plan as a comment on a pull request: tables in the order of what a reviewer asks first.

Forges refuse comments that are too long, so long tables are cut and say so. Names and messages come from manifests
and hosts: in a comment they could mention people, link elsewhere or form markup, so each is escaped or put into a
code span.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from reconciler.cli.plans import phrases
from reconciler.cli.terminal import printable
from reconciler.gitstore.approval import approve_command
from reconciler.plan.suggestion import suggest
from reconciler.plan.types import Action, Plan
from schemas.effects.words import name_effect

MOST_REASONS = 20
MOST_ROWS = 100  # forges refuse comments beyond some 60,000 characters

ESCAPES = str.maketrans(
    {sign: f"\\{sign}" for sign in "\\`*_[]|#!"} | {"<": "&lt;", ">": "&gt;", "@": "&#64;"}
)


def render(plan: Plan) -> str:
    return "\n".join(_lines(plan))


def _lines(plan: Plan) -> Iterator[str]:
    yield f"### gitvirt plan: {phrases.summary(plan)}"
    for part in (
        _source_changes(plan),
        _placements(plan),
        _others(plan),
        _unschedulable(plan),
        _pending(plan),
        _problems(plan),
        _usage(plan),
    ):
        lines = list(part)
        if lines:
            yield ""
            yield from lines


def _source_changes(plan: Plan) -> Iterator[str]:
    rows = []
    for each in plan.source_changes:
        what = name_effect(each.whole) if each.whole is not None else "change"
        lines = "<br>".join(_plain(line) for line in phrases.of_source_change(each))
        rows.append((what, _code(str(each.key)), lines))
    yield from _table("Source changes", ("", "object", "what and when"), rows)


def _placements(plan: Plan) -> Iterator[str]:
    rows = [
        (
            _code(pool),
            f"{len(changes):,}",
            ", ".join(_code(str(change.key)) for change in changes[:5]) + (", …" if len(changes) > 5 else ""),
        )
        for pool, changes in phrases.by_pool(plan).items()
    ]
    yield from _table("Placements", ("pool", "", "objects"), rows)


def _others(plan: Plan) -> Iterator[str]:
    rows = [
        (change.action.value, _code(str(change.key)), _plain(phrases.reason_of(change)))
        for change in phrases.by_weight(plan)
        if change.action not in (Action.SCHEDULE, Action.ADOPT) and not phrases.is_plain(change)
    ]
    yield from _table("Other actions", ("", "object", "why"), rows)


def _unschedulable(plan: Plan) -> Iterator[str]:
    rows = [
        (
            _code(str(each.key)),
            "<br>".join(
                _plain(f"{pools}: {reason}" if pools else reason)
                for pools, reason in phrases.rows_of(each.refusals)[:MOST_REASONS]
            ),
            _plain(suggest(each.refusals)),
        )
        for each in plan.unschedulable
    ]
    yield from _table("Unschedulable", ("object", "why", "would fit"), rows)


def _pending(plan: Plan) -> Iterator[str]:
    for each in plan.pending_approvals:
        yield f"> **Awaiting approval:** {_plain(each.reason)}"
        for key in each.keys[:10]:
            yield f"> - {_code(str(key))}"
        if len(each.keys) > 10:
            yield f"> - and {len(each.keys) - 10:,} more"
        if each.trailer:
            yield f"> To approve, merge a commit with the trailer {_code(each.trailer)},"
            yield f"> or one of {_code(approve_command(each.trailer.rpartition(' ')[2]) + ' --branch NAME')}"
    for answer in plan.pool_requests:
        yield f"> **Pool request:** {_plain(answer)}"


def _problems(plan: Plan) -> Iterator[str]:
    rows = [
        (each.severity.value, _code(each.code), _code(each.file) if each.file else "", _plain(each.message))
        for each in sorted(plan.problems)
    ]
    yield from _table("Problems", ("", "code", "file", "what"), rows)


def _usage(plan: Plan) -> Iterator[str]:
    rows = [(_code(str(usage.pool)), *row) for usage in plan.usage for row in phrases.amounts(usage)]
    yield from _table("Capacity", ("pool", "resource", "allocatable", "before", "after"), rows)


def _table(title: str, header: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """A table of a plan for a pull request; nothing without rows. Bounded, because forges refuse a comment that is too long."""
    if not rows:
        return
    yield f"**{title}**"
    yield ""
    yield f"| {' | '.join(header)} |"
    yield f"|{'---|' * len(header)}"
    for row in rows[:MOST_ROWS]:
        yield f"| {' | '.join(row)} |"
    if len(rows) > MOST_ROWS:
        yield ""
        yield f"and {len(rows) - MOST_ROWS:,} more"


def _code(text: str) -> str:
    """As it is; nothing in it can end the span or the cell."""
    return "`" + printable(text).replace("`", "'").replace("|", "\\|") + "`" if text else ""


def _plain(text: str) -> str:
    """Words of people and hosts: neither markup, nor mentions, nor links of theirs take effect."""
    return printable(text).translate(ESCAPES)
