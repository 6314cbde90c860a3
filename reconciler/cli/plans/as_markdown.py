"""A plan as a comment on a pull request: the verdict, then what is destroyed, never folded; the rest unfolds with a click.

Forges refuse comments that are too long. Each part has a share of MOST_BYTES, and what does not fit is counted; the verdict has
all of it. Names and messages come from manifests and hosts: in a comment they could mention people, link away or form markup, so each is
escaped, or put into a code span or a diff block, where no markup has an effect.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

from reconciler.cli.plans import phrases
from reconciler.cli.plans.as_text import describe_losses, headline
from reconciler.cli.plans.file_links import FileLinks
from reconciler.cli.plans.name_ranges import join_keys
from reconciler.cli.plans.outline import Group, Outline, PlanSection, Standing, Survival, is_grave
from reconciler.cli.plans.survival import describe_survival
from reconciler.cli.plans.verdict import NO_CHANGES, list_counts
from reconciler.cli.terminal import printable
from reconciler.gitstore.approval import approve_command
from reconciler.plan.types import PendingApproval, PoolUsage
from schemas.problem import Problem, Severity

MOST_BYTES = 38_000  # of a comment that is never longer than 40 kB, with a marker and what a forge adds
MOST_FACTS = 20
LONGEST = 400  # characters of one line
MOST_RESOURCES = 6  # columns of the table of pools
SHORT = 3  # groups; a plan with no more is shown unfolded
ICONS = {
    "add": "🟢", "return": "🟢", "change": "🟡", "move": "🔵", "recreate": "🔴", "delete": "🔴", "unschedulable": "⛔", "held": "✋",
    "known": "⚪", "error": "❌",
}  # fmt: skip
# Of each section: icon, title, and how many bytes it may have. Together with the rest they stay below MOST_BYTES.
SECTIONS = {
    PlanSection.DELETE: ("🔴", "DELETE", 10_000),
    PlanSection.RECREATE: ("🔴", "RECREATE", 5_000),
    PlanSection.MOVE: ("🔵", "stop or move", 6_000),
    PlanSection.CHANGE: ("🟡", "change", 4_000),
    PlanSection.RETURN: ("🟢", "bring back", 2_000),
    PlanSection.ADD: ("🟢", "add", 3_000),
    PlanSection.UNSCHEDULABLE: ("⛔", "unschedulable", 3_000),
}
REST = 2_000  # for each of approvals, problems and capacity

ESCAPES = str.maketrans(
    {sign: f"\\{sign}" for sign in "\\`*_[]|#!~"} | {"<": "&lt;", ">": "&gt;", "&": "&amp;", "@": "&#64;"}
)


def render(outline: Outline, links: FileLinks | None = None) -> str:
    """All parts that have anything in them, with an empty line between each two."""
    return "\n\n".join(_parts(outline, links or FileLinks()))


def _parts(outline: Outline, links: FileLinks) -> Iterator[str]:
    counts = [f"{ICONS[count.weight]} {count.text}" for count in list_counts(outline)]
    yield f"### gitvirt plan: {' · '.join(counts) or NO_CHANGES}"
    for note in outline.notes:
        yield f"> {_plain(note)}"
    is_open = len(outline.groups) <= SHORT
    for section in PlanSection:
        yield from _section(section, outline.groups_of(section), links, is_open)
    yield from _pending(outline.plan.pending_approvals)
    requests = [f"> **Pool request:** {_plain(answer)}" for answer in outline.plan.pool_requests]
    yield from _fit(requests, REST, "pool requests", "\n>\n")
    yield from _problems(outline.plan.problems)
    yield from _capacity(outline, is_open)
    if outline.background:
        yield f"<sub>also {phrases.count_actions(outline.background)}</sub>"


def _section(section: PlanSection, groups: Sequence[Group], links: FileLinks, is_open: bool) -> Iterator[str]:
    """What destroys comes first and is never folded."""
    if not groups:
        return
    icon, title, most = SECTIONS[section]
    is_always = section in (PlanSection.DELETE, PlanSection.RECREATE)
    grave = [group for group in groups if is_always or is_grave(group.first)]
    rest = [group for group in groups if group not in grave]
    write = _list_item if section in (PlanSection.ADD, PlanSection.UNSCHEDULABLE) else _block
    total = sum(len(group.entries) for group in groups)
    if grave:
        yield f"#### {icon} {title}: {total:,}"
        found = list(_fit_groups(grave, write, links, most))
        yield from found
        most -= sum(map(_size, found))
    if rest:
        count = sum(len(group.entries) for group in rest)
        also = "other " if grave else ""
        body = list(_fit_groups(rest, write, links, most))
        is_shown = is_open or section in (PlanSection.MOVE, PlanSection.UNSCHEDULABLE)
        yield _fold(f"{icon} <b>{also}{title}: {count:,}</b>", body, is_open=is_shown)


def _fold(summary: str, body: Sequence[str], *, is_open: bool) -> str:
    opened = "<details open>" if is_open else "<details>"
    return "\n\n".join((f"{opened}<summary>{summary}</summary>", *body, "</details>"))


def _fit_groups(
    groups: Sequence[Group], write: Callable[[Group, FileLinks], str], links: FileLinks, most: int
) -> Iterator[str]:
    """As many as fit. What is left out is counted by objects."""
    left_out = 0
    for group in groups:
        text = write(group, links) if not left_out else ""
        if left_out or _size(text) > most:
            left_out += len(group.entries)
            continue
        most -= _size(text) + 2
        yield text
    if left_out:
        yield f"… and {left_out:,} more, left out of this comment: `gitvirt plan` lists all"


def _fit(texts: Iterable[str], most: int, what: str, between: str = "\n") -> Iterator[str]:
    """One part of as many texts as fit."""
    chosen, left_out = [], 0
    for text in texts:
        if left_out or _size(text) > most:
            left_out += 1
            continue
        most -= _size(text) + len(between)
        chosen.append(text)
    if left_out:
        chosen.append(f"… and {left_out:,} more {what}, left out of this comment")
    if chosen:
        yield between.join(chosen)


def _size(text: str) -> int:
    return len(text.encode())


def _block(group: Group, links: FileLinks) -> str:
    """A line with the object and its file, and a diff block of what happens to it."""
    is_short = not group.first.fields and not group.first.losses
    if is_short and group.first.section in (PlanSection.MOVE, PlanSection.RETURN):
        return _list_item(group, links)
    lines = list(_diff(group))
    shown = "\n".join(("```diff", *lines, "```")) if lines else ""
    return f"{_title(group, links)}\n{shown}".rstrip()


def _title(group: Group, links: FileLinks) -> str:
    """`**names** where · file`"""
    names = join_keys(group.keys)
    where = _plain(headline(group).removeprefix(names).strip().replace(" -> ", " → "))
    return " ".join(part for part in (f"**{_code(names)}**", where, _files(group, links)) if part)


def _files(group: Group, links: FileLinks) -> str:
    """The file of the first, at the field that changes if it is one alone; and how many more."""
    places = dict.fromkeys(entry.place for entry in group.entries if entry.place is not None)
    if not places:
        return ""
    place = next(iter(places))
    pointer = group.first.fields[0].pointer if len(group.first.fields) == 1 else ""
    line = links.line(place, pointer)
    name = place.path + (f":{line}" if line > 1 else "")
    files = len({each.path for each in places})
    more = f" and {phrases.many(files - 1, 'other file')}" if files > 1 else ""
    return f"· [{_plain(_cut(name))}]({links.link(place, pointer)}){more}"


def _diff(group: Group) -> Iterator[str]:
    """Red for what goes, green for what comes, and when it applies; a forge colors the lines by their first character."""
    entry = group.first
    if losses := describe_losses(group):  # red is for what this plan does
        yield f"{'-' if entry.standing is Standing.PLANNED else '#'} {_line(losses)}"
    for field in entry.fields:
        yield f"- {_line(f'{field.field}: {field.old}')}"
        yield f"+ {_line(f'{field.field}: {field.new}')}"
        yield f"{'!' if field.is_grave else '#'} {_line(field.when)}"
    for fact in _some(entry.facts):
        yield f"! {_line(fact)}"


def _list_item(group: Group, links: FileLinks) -> str:
    """What is added or unschedulable, with its facts below."""
    entry = group.first
    if len(entry.facts) == 1 and entry.section is not PlanSection.UNSCHEDULABLE:
        return f"- {_title(group, links)} · {_plain(_cut(entry.facts[0]))}"
    return "\n".join(
        (f"- {_title(group, links)}", *(f"  - {_plain(_cut(fact))}" for fact in _some(entry.facts)))
    )


def _some(facts: Sequence[str]) -> Iterator[str]:
    yield from facts[:MOST_FACTS]
    if len(facts) > MOST_FACTS:
        yield f"and {len(facts) - MOST_FACTS:,} more"


def _pending(pending: Sequence[PendingApproval]) -> Iterator[str]:
    """What a commit can approve. Other holds are with their objects."""
    for each in pending[:3]:
        if each.keys and not each.trailer:
            continue
        lines = (
            [f"> ✋ **Awaiting approval:** {_plain(_cut(each.reason))}"]
            if each.trailer
            else [f"> ✋ {_plain(_cut(each.reason))}"]
        )
        if each.trailer:
            lines.append(f"> To approve, merge a commit with the trailer {_code(each.trailer)},")
            lines.append(
                f"> or one of {_code(approve_command(each.trailer.rpartition(' ')[2]) + ' --branch NAME')}"
            )
        yield "\n".join(lines)


def _problems(problems: Sequence[Problem]) -> Iterator[str]:
    """Errors are shown, warnings fold."""
    for is_error in (True, False):
        found = [each for each in sorted(problems) if (each.severity is Severity.ERROR) is is_error]
        if not found:
            continue
        rows = [
            f"- {ICONS['error'] if is_error else '⚠️'} {_code(each.code)} "
            f"{_code(_cut(f'{each.file}:{each.line}' if each.line else each.file))} {_plain(_cut(each.message))}"
            for each in found
        ]
        body = list(_fit(rows, REST, "problems"))
        title = phrases.many(len(found), "error" if is_error else "warning or notice")
        yield _fold(f"<b>{title}</b>", body, is_open=is_error)


def _capacity(outline: Outline, is_open: bool) -> Iterator[str]:
    """A bar for each resource of each pool that changes, and whether one host may be lost."""
    survival = outline.survival if outline.groups else None
    last_line = (
        f"{'✅' if survival.is_survived else '⚠️'} {_survival(survival)}" if survival is not None else ""
    )
    if not outline.usage:
        if last_line:
            yield last_line
        return
    names = sorted({name for usage in outline.usage for name in _shown_resources(usage)})
    names = names[:MOST_RESOURCES]
    head = f"| pool | {' | '.join(_plain(name) for name in names)} |\n|---|{'---|' * len(names)}"
    rows = [_usage_row(usage, names) for usage in outline.usage]
    body = [f"{head}\n{each}" for each in _fit(rows, REST, "pools")]
    yield _fold(f"📊 <b>capacity of {phrases.many(len(outline.usage), 'pool')}</b>", body, is_open=is_open)
    if last_line:
        yield last_line


def _survival(survival: Survival) -> str:
    return _plain(describe_survival(survival))


def _shown_resources(usage: PoolUsage) -> Iterator[str]:
    for resource, *_ in phrases.amounts(usage):
        if phrases.is_changed(usage, phrases.resource_of(resource)):
            yield resource


def _usage_row(usage: PoolUsage, names: Sequence[str]) -> str:
    """A bar for each resource as it is after the plan: `███░░ 45% → 85%, 68Gi of 80Gi`."""
    amounts = {resource: (whole, after) for resource, whole, _, after in phrases.amounts(usage)}
    cells = [_code(_cut(str(usage.pool)))]
    for shown in names:
        name = phrases.resource_of(shown)
        if shown not in amounts or not phrases.is_changed(usage, name):
            cells.append("")
            continue
        whole, after = amounts[shown]
        old, new = (phrases.share(usage, name, vector) for vector in (usage.before, usage.after))
        cells.append(f"{_code(phrases.bar(new))} {old}% → {new}%, {_plain(after)} of {_plain(whole)}")
    return f"| {' | '.join(cells)} |"


def _cut(text: str) -> str:
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…"


def _line(text: str) -> str:
    """A line of a diff block: it begins with a sign of ours, so no text can end the block."""
    return _cut(printable(text))


def _code(text: str) -> str:
    """As it is; nothing in it can end the span or the cell."""
    return "`" + printable(_cut(text)).replace("`", "'").replace("|", "\\|") + "`" if text else ""


def _plain(text: str) -> str:
    """Words of people and hosts: neither markup, nor mentions, nor links of theirs take effect."""
    return printable(_cut(text)).translate(ESCAPES)
