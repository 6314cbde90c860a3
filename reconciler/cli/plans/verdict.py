"""The first line of a plan: how many of what, and what is destroyed. Pure.

`2 to add, 3 to change, 1 to DELETE (destroys 1 local disk, 10Gi), 1 unschedulable`. Each object counts once, where its entry is. What
waits for an approval and what is held for another reason are counted apart: no commit approves the latter.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from reconciler.cli.plans.outline import Entry, Outline, PlanSection, Standing
from reconciler.cli.plans.phrases import many
from schemas.effects.effect import Loss, LossKind
from schemas.model.quantity import units


@dataclass(frozen=True, slots=True)
class Count:
    """One part of the line. `weight` names what it is about, for a color or an icon."""

    text: str
    weight: str


NO_CHANGES = "no changes"
ACCESS = ("GV628", "GV629")  # who may connect to the link, and what clients may do
Choice = Callable[[Entry], bool]


def is_recreated(entry: Entry) -> bool:
    """With this commit."""
    return entry.section is PlanSection.RECREATE and (entry.is_new or entry.is_now)


def is_to_recreate(entry: Entry) -> bool:
    """Only once people order it."""
    return entry.section is PlanSection.RECREATE and not is_recreated(entry)


# What is counted of the entries that come true with the plan: weight, words, whether losses are added, and which entries.
COUNTED: tuple[tuple[str, str, str, Choice], ...] = (
    ("add", "to add", "", lambda each: each.section is PlanSection.ADD),
    ("return", "to bring back", "DESTROYS", lambda each: each.section is PlanSection.RETURN),
    ("change", "to change", "DESTROYS", lambda each: each.section is PlanSection.CHANGE and not each.is_unfit),
    ("unschedulable", "to change that does NOT fit", "DESTROYS", lambda each: each.section is PlanSection.CHANGE and each.is_unfit),
    ("move", "to move", "DESTROYS", lambda each: each.section is PlanSection.MOVE and each.is_move),
    ("move", "to stop or restart", "DESTROYS", lambda each: each.section is PlanSection.MOVE and not each.is_move),
    ("recreate", "to RECREATE", "destroys", is_recreated),
    ("recreate", "without effect until RECREATED", "DESTROYS", is_to_recreate),
    ("delete", "to DELETE", "destroys", lambda each: each.section is PlanSection.DELETE),
    ("unschedulable", "unschedulable", "", lambda each: each.section is PlanSection.UNSCHEDULABLE and not each.is_blocked),
    ("unschedulable", "blocked", "", lambda each: each.section is PlanSection.UNSCHEDULABLE and each.is_blocked),
)  # fmt: skip


def verdict(outline: Outline) -> str:
    return ", ".join(count.text for count in list_counts(outline)) or NO_CHANGES


def list_counts(outline: Outline) -> Iterator[Count]:
    """In the order in which people read them."""
    entries, plan = outline.entries(), outline.plan
    planned = [entry for entry in entries if entry.standing is Standing.PLANNED]
    for weight, words, destroys, is_counted in COUNTED:
        if chosen := [entry for entry in planned if is_counted(entry)]:
            lost = describe_loss(chosen) if destroys else ""
            yield Count(f"{len(chosen):,} {words}" + (f" ({destroys} {lost})" if lost else ""), weight)
    # What has objects is counted by these.
    awaiting = _count(entries, Standing.AWAITS_APPROVAL) + sum(not each.keys for each in plan.awaiting)
    held = _count(entries, Standing.HELD) + sum(not each.keys for each in plan.holds)
    if awaiting:
        yield Count(f"{awaiting:,} awaiting approval", "held")
    if held:
        yield Count(f"{held:,} held", "held")
    known = [entry for entry in entries if entry.standing is Standing.KNOWN]
    if again := [entry for entry in known if entry.section is PlanSection.RECREATE]:
        lost = describe_loss(again)
        text = f"{len(again):,} to RECREATE as before" + (f" (destroys {lost})" if lost else "")
        yield Count(text, "recreate")
    if len(known) > len(again):
        yield Count(f"{len(known) - len(again):,} unschedulable as before", "known")
    if plan.pool_requests:
        yield Count(many(len(plan.pool_requests), "pool request"), "held")
    if access := sum(problem.code in ACCESS for problem in plan.problems):
        yield Count(f"{many(access, 'change')} of access", "change")
    if errors := sum(problem.severity == "error" for problem in plan.problems):
        yield Count(many(errors, "error"), "error")


def _count(entries: Iterable[Entry], standing: Standing) -> int:
    return sum(entry.standing is standing for entry in entries)


def describe_loss(entries: Iterable[Entry]) -> str:
    """`2 local disks, 20Gi; 1 volume, 5Gi`. A disk counts once, also if two entries name it."""
    losses = {(entry.key.namespace, loss) for entry in entries for loss in entry.losses}
    return "; ".join(
        sum_losses(kind, [loss for _, loss in losses if loss.kind is kind])
        for kind in LossKind
        if any(loss.kind is kind for _, loss in losses)
    )


def sum_losses(kind: LossKind, losses: list[Loss]) -> str:
    size = sum(loss.size_bytes for loss in losses)
    return many(len(losses), kind.value) + (f", {units(size)}" if size else "")
